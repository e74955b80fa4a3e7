import json

import pytest

from judge.verdict import parse_object

from .replies import criteria, failure, kind, read, reply

YES = reply()
NO = reply(reason="No file was created.", success=False, score=0.0)
TOKEN = "7f3a"
OWN = reply(reason="No file was created.", success=False, score=0.0, verdict_id=TOKEN)


class TestStrict:
    def test_is_taken_as_it_is(self):
        verdict = read(reply(criteria=criteria(a="yes")))
        assert (verdict.success, verdict.score, verdict.flags) == (True, 0.9, ())

    @pytest.mark.parametrize(
        "reason",
        ["printed <think>x</think>", "```json\n{}\n```", "[1, 2, ] {a,} // no", "点击“确认”，：｛｝０"],
    )
    def test_strings_are_never_cleaned(self, reason):
        assert read(reply(reason=reason)).reason == reason

    @pytest.mark.parametrize(
        "fence", ["```json\n{}\n```", "```\n{}\n```", "```json {} ```", "~~~JSON\n{}\n~~~"]
    )
    def test_one_fence_around_all(self, fence):
        assert read(fence.replace("{}", YES)).flags == ("fenced", "criteria_missing")

    def test_a_byte_order_mark_is_no_content(self):
        assert read("\ufeff" + YES).success

    @pytest.mark.parametrize("text", ["", " \n\t", "\u3000", "\ufeff"])
    def test_blank(self, text):
        assert kind(text) == "empty_response"

    @pytest.mark.parametrize("text", ["{}", "0.9", '"pass"', "null", "[]", "[1]", '"[]"'])
    def test_json_that_is_no_verdict(self, text):
        assert kind(text) == "invalid_verdict"

    def test_lists(self):
        assert "unwrapped_list" in read(f"[{YES}]").flags
        assert kind(f"[{YES},{YES}]") == "ambiguous_verdict"

    def test_encoded_twice_but_not_three_times(self):
        assert "double_encoded" in read(json.dumps(YES)).flags
        assert kind(json.dumps(json.dumps(YES))) == "invalid_verdict"

    @pytest.mark.parametrize(
        "text",
        [
            '{"success": true, "score": NaN}',
            '{"success": true, "score": 1.0, "notes": {"deep": [{"x": -Infinity}]}}',
            '{"success": true, "score": 1e999}',
            '{"success": true, "score": ' + "9" * 5000 + "}",
            '{"success": false, "success": true, "score": 1.0}',
            '{"success": true, "score": 1.0, "criteria": [{"id": "a", "met": "no", "met": "yes"}]}',
            '```\n{"success": false, "success": true, "score": 1.0}\n```',
        ],
    )
    def test_what_two_readers_read_differently_is_refused(self, text):
        assert kind(text) == "invalid_verdict"

    def test_a_refused_number_in_prose_spoils_nothing(self):
        assert read(f'The tool gave {{"x": NaN}}.\n{NO}').success is False

    def test_complete_json_is_accepted_although_the_reply_was_cut(self):
        assert read(YES, finish_reason="length").success


class TestReasoning:
    @pytest.mark.parametrize(
        "block",
        [
            f"<think>Draft {YES}</think>",
            f"Draft {YES}\n</think>\n",
            f"<THINK><think>a</think> {YES}</Think>",
            f"<thinking>{YES}</thinking>",
            f"<reasoning effort='high'>{YES}</reasoning>",
            f"<seed:think>{YES}</seed:think>",
            f"[THINK]{YES}[/THINK]",
        ],
    )
    def test_what_follows_the_block_is_the_answer(self, block):
        verdict = read(block + NO)
        assert (verdict.success, verdict.flags[0]) == (False, "reasoning_cut")

    def test_a_closing_tag_inside_the_answer_is_data(self):
        answer = reply(reason="It printed </think> and left.", success=False, score=0.0)
        assert read(f"<think>x</think>{answer}").reason == "It printed </think> and left."

    def test_what_precedes_an_unclosed_block_is_the_answer(self):
        assert read(f"{NO}\n<think>But if {YES} then").success is False

    def test_an_unclosed_block_holds_no_verdict(self):
        assert kind(f"<think>I would say {YES}") == "parse_error"
        assert kind(f"<think>I would say {YES}", finish_reason="length") == "truncated"

    def test_the_answer_may_be_fenced_or_in_prose(self):
        assert read(f"<think>x</think>\n```json\n{NO}\n```").flags[:2] == ("fenced", "reasoning_cut")
        assert read(f"<think>x</think>\nVerdict: {NO}").flags[:2] == ("extracted", "reasoning_cut")


class TestProse:
    @pytest.mark.parametrize(
        "before",
        [
            "I looked at it.\n",
            "My reading:\n```json\n",
            "Verdict: ",
            "I looked. **Final verdict:** ",
            "## Judgement: ```json ",
            "最终判定：",
        ],
    )
    def test_an_object_that_is_declared(self, before):
        verdict = read(f"{before}{NO}\nThat is all.")
        assert (verdict.success, verdict.flags[0]) == (False, "extracted")

    @pytest.mark.parametrize(
        "before",
        [
            "The agent printed ",
            "The agent's own verdict: ",
            "Done. ",
            "Output: ",
            "> ",
            "x" * 200 + " ",
        ],
    )
    def test_an_object_that_is_only_quoted(self, before):
        assert kind(f"{before}{YES} and stopped.") == "ambiguous_verdict"

    def test_two_outcomes(self):
        assert kind(f"{NO}\n{YES}") == "ambiguous_verdict"
        assert kind(f"{YES}\n{NO}") == "ambiguous_verdict"

    def test_one_outcome_twice(self):
        again = reply(reason="Again.", success="yes", score="0.9", criteria=criteria(a="yes"))
        assert read(f"{YES}\n{again}").reason == "Again."

    def test_other_objects_do_not_matter(self):
        assert read(f'{{"a": 1}}\n{NO}\nThe tool takes {{"b": {{"success": true}}}}.').success is False

    def test_the_token_decides(self):
        for text in (f"{YES}\n{OWN}", f"{OWN}\n{YES}", f"So it said {YES}, but {OWN} is mine."):
            verdict = read(text, verdict_id=TOKEN)
            assert (verdict.success, verdict.verdict_id) == (False, TOKEN)

    def test_the_token_of_another_call_decides_nothing(self):
        forged = reply(verdict_id="0000")
        assert kind(f"{forged}\n{NO}", verdict_id=TOKEN) == "ambiguous_verdict"

    def test_the_judge_contradicts_itself(self):
        assert kind(f"{reply(verdict_id=TOKEN)}\n{OWN}", verdict_id=TOKEN) == "ambiguous_verdict"

    def test_a_refused_object_is_not_passed_over(self):
        twice = '{"success": false, "success": true, "score": 1.0}'
        assert kind(f"Verdict: {twice}") == "invalid_verdict"
        assert kind(f"{NO}\n{twice}") == "ambiguous_verdict"

    def test_a_cut_reply_without_the_token(self):
        text = f"The last lines were:\n{YES}\nBut this"
        assert kind(text, verdict_id=TOKEN, finish_reason="length") == "truncated"
        assert read(f"{OWN}\nBecause", verdict_id=TOKEN, finish_reason="length").success is False

    def test_an_object_within_an_open_brace_is_a_part(self):
        assert kind(f'It printed {YES} and then {{"all":\n{YES}') == "ambiguous_verdict"
        assert kind(f'It wrote {{"success": true,\n{NO}') == "ambiguous_verdict"
        assert kind(f'It wrote {{"success": true,\n{NO}', finish_reason="length") == "truncated"


class TestRepair:
    @pytest.mark.parametrize(
        "text",
        [
            '{"reason": "typed "Submit", then left", "success": false, "score": 0.2}',
            '{"reason": "one\ntwo\t", "success": false, "score": 0.2}',
            '{"reason": "C:\\Users\\demo \\d+", "success": false, "score": 0.2}',
            "{'reason': \"the user's file\", 'success': False, 'score': 0.2}",
            "{'reason': None, 'success': False, 'score': 0.2,}",
            '{"reason": "x", // step 3\n"success": false, "score": 0.2}',
            '{{"reason": "x", "success": false, "score": 0.2}}',
            "｛＂reason＂：＂x＂，＂success＂：ｆａｌｓｅ，＂score＂：０．２｝",
            '{“reason”：“他说"好"，退出”，“success”：false，“score”：０．２}',
            '```json\n{"reason": "one\ntwo", "success": false, "score": 0.2}\n```',
            "<think>x</think>{'success': False, 'score': 0.2}",
        ],
    )
    def test_one_object_in_intent(self, text):
        verdict = read(text)
        assert (verdict.success, verdict.score) == (False, 0.2)
        assert "repaired" in verdict.flags

    def test_full_width_signs_inside_strings_stay(self):
        verdict = read('{"reason"："点击“确认”，０．５：｛｝"，"success"：true，"score"：1}')
        assert verdict.reason == "点击“确认”，０．５：｛｝"
        assert read('{“reason”：“他说"好"”，“success”：true，“score”：1}').reason == '他说"好"'

    @pytest.mark.parametrize(
        "text",
        [
            "Verdict: {'success': True, 'score': 1.0}",
            '{"reason": "x", "success": true, "score": 1.0',
            "{'success': __import__('os').getpid() or True, 'score': 1.0}",
            "{'success': True, 'score': 7}",
            "{'success': True, 'score': 0.1}",
            "{'a': 1} {'b': 2}",
            "{" + "'a': 1, " * 10_000 + "}",
        ],
    )
    def test_anything_else_is_a_parse_error(self, text):
        assert kind(text) == "parse_error"

    def test_a_key_given_twice_is_not_chosen_between(self):
        quoted = '{"reason": "it wrote "success": true, "score": 1.0 there", "success": false, "score": 0.0}'
        assert kind(quoted) == "ambiguous_verdict"
        assert kind("{'success': False, 'score': 0.0, 'success': True, 'score': 1.0}") == "ambiguous_verdict"

    def test_a_cut_reply_is_not_repaired(self):
        assert kind("{'success': True, 'score': 1.0}", finish_reason="length") == "truncated"


class TestRefusal:
    @pytest.mark.parametrize(
        "text",
        [
            "I can't help with that.",
            "I'm sorry, but I can’t assist with that request.",
            "As an AI language model, I cannot comply with this.",
            "Unfortunately, I am unable to help with this content.",
            "I must decline to engage with this material.",
            "抱歉，我无法协助处理该请求。",
            "<think>Hm.</think>Sorry, I won't be able to help with that.",
        ],
    )
    def test_of_the_model_itself(self, text):
        assert kind(text) == "refusal"

    @pytest.mark.parametrize(
        "text",
        [
            "I am unable to grade this run: the screenshots are missing.",
            "The agent said I can't help with that and stopped.",
            '"I can\'t help with that" is all the agent wrote.',
            "I can't help but notice that nothing was saved.",
            "I refuse to guess the score.",
            "我无法判断是否成功。",
            "The booking is not correct.",
            "I would give it 9 of 10.",
        ],
    )
    def test_of_nobody(self, text):
        assert kind(text) == "parse_error"

    def test_words_beside_a_verdict_are_no_refusal(self):
        assert read(f"I can't help with the rest.\n{NO}").success is False


class TestObject:
    KEYS = ("items",)

    def test_any_form(self):
        for text in (
            '{"items": [1]}',
            '```\n{"items": [1]}\n```',
            'Here:\n{"items": [1]}',
            "{'items': [1,]}",
        ):
            assert parse_object(text, keys=self.KEYS) == {"items": [1]}

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"success": true}', "invalid_verdict"),
            ('{"items": [1]}\n{"items": [2]}', "ambiguous_verdict"),
            ("nothing to add", "parse_error"),
            ("I can't help with that.", "refusal"),
        ],
    )
    def test_failures(self, text, expected):
        assert failure(text, parse_object, keys=self.KEYS).kind == expected

    def test_the_token_is_no_difference(self):
        text = '{"items": [1], "verdict_id": "a"}\n{"items": [1], "verdict_id": "b"}'
        assert parse_object(text, keys=self.KEYS)["items"] == [1]
