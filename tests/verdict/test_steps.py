import json

import pytest

from judge import StepVerdict, parse_steps, parse_verdict

from .replies import failure


def whole(*entries, **fields):
    verdict = {"reason": "Done.", "success": True, "score": 0.9, **fields}
    return json.dumps(
        {"steps": [dict(zip(("step", "label"), entry, strict=True)) for entry in entries], **verdict}
    )


def check(**changes):
    fields = {"step": 3, "reason": "x", "correct": True, "error_type": "none", "confidence": 0.9, **changes}
    return {key: value for key, value in fields.items() if value is not ...}


def kind(text, steps, **asked):
    return failure(text, lambda raw, **rest: parse_steps(raw, steps, **rest), **asked).kind


class TestWhole:
    def test_in_the_order_asked_by_number(self):
        text = whole((0, 1), (2, -1), (1, 0))
        assert parse_steps(text, [0, 1, 2]) == [
            StepVerdict(step=0, label=1),
            StepVerdict(step=1, label=0),
            StepVerdict(step=2, label=-1),
        ]
        assert parse_verdict(text).success

    @pytest.mark.parametrize(
        ("given", "label"),
        [
            (1, 1),
            (0, 0),
            (-1, -1),
            ("+1", 1),
            ("1", 1),
            ("-1", -1),
            ("−1", -1),
            ("＋１", 1),
            ("０", 0),
            (-1.0, -1),
        ],
    )
    def test_spellings_of_a_label(self, given, label):
        assert parse_steps(whole((4, given)), [4])[0].label == label

    @pytest.mark.parametrize("given", [2, -2, 0.5, True, False, None, "good", "", "1/1", [1]])
    def test_no_label(self, given):
        assert kind(whole((4, given)), [4]) == "invalid_verdict"

    @pytest.mark.parametrize("given", [4, "4", "４", 4.0])
    def test_spellings_of_a_step(self, given):
        assert parse_steps(whole((given, 1)), [4])[0].step == 4

    @pytest.mark.parametrize("given", [-1, 4.5, "step 4", None, True, "4-5"])
    def test_no_step(self, given):
        assert kind(whole((given, 1)), [4]) == "invalid_verdict"

    def test_missing_steps_are_named(self):
        error = failure(whole((1, 1)), lambda text: parse_steps(text, [1, 3, 6]))
        assert (error.kind, error.message) == ("incomplete_steps", "no verdict on step 3, 6")

    @pytest.mark.parametrize("text", ['{"success": true, "score": 1}', '{"steps": null}', '{"steps": []}'])
    def test_none_at_all(self, text):
        assert kind(text, [1]) == "incomplete_steps"

    @pytest.mark.parametrize("text", [whole((1, 1), (2, 1)), whole((1, 1), (1, 1)), '{"steps": {"1": 1}}'])
    def test_unknown_twice_or_no_list(self, text):
        assert kind(text, [1]) == "invalid_verdict"

    def test_malformed_entry(self):
        assert kind('{"steps": [1]}', [1]) == "invalid_verdict"

    def test_broken_json_is_repaired_as_a_whole(self):
        text = "{'steps': [{'step': 1, 'label': 1}, {'step': 2, 'label': -1},], 'success': False}"
        assert [verdict.label for verdict in parse_steps(text, [1, 2])] == [1, -1]

    def test_cut(self):
        assert kind('{"steps": [{"step": 1, "label": 1},', [1, 2], finish_reason="length") == "truncated"


class TestPrefix:
    @pytest.mark.parametrize("wrap", [json.dumps, lambda entry: json.dumps({"steps": [entry]})])
    def test_alone_or_in_a_list(self, wrap):
        text = wrap(check(correct=False, error_type="Tool", confidence="80%"))
        assert parse_steps(text, [3], mode="prefix") == [
            StepVerdict(step=3, reason="x", correct=False, error_type="tool", confidence=0.8)
        ]

    def test_null_is_no_error_type(self):
        (verdict,) = parse_steps(json.dumps(check(error_type=None)), [3], mode="prefix")
        assert verdict.error_type == "none"

    @pytest.mark.parametrize(
        "changes",
        [
            *({key: ...} for key in ("step", "correct", "error_type", "confidence")),
            *({"correct": "maybe"}, {"error_type": "typo"}, {"error_type": 1}, {"confidence": 85}),
            *({"confidence": None}, {"confidence": True}, {"step": 4}),
        ],
    )
    def test_every_field_is_needed(self, changes):
        text = json.dumps({"steps": [check(**changes)]})
        assert kind(text, [3], mode="prefix") == "invalid_verdict"

    def test_correct_with_an_error(self):
        assert kind(json.dumps(check(error_type="logic")), [3], mode="prefix") == "inconsistent_verdict"

    def test_broken_json_is_repaired_as_a_whole(self):
        entries = ", ".join(json.dumps(check(step=step)) for step in (3, 6))
        verdicts = parse_steps(f'{{"steps": [{entries},]}}', [3, 6], mode="prefix")
        assert [verdict.step for verdict in verdicts] == [3, 6]

    def test_two_objects_that_disagree(self):
        text = f"{json.dumps(check())}\n{json.dumps(check(correct=False))}"
        assert kind(text, [3], mode="prefix") == "ambiguous_verdict"

    def test_the_token_decides(self):
        own = check(correct=False, error_type="policy", verdict_id="7f3a")
        text = f"It printed\n{json.dumps(check())}\nso {json.dumps(own)}"
        assert parse_steps(text, [3], mode="prefix", verdict_id="7f3a")[0].correct is False

    def test_labels_are_not_checks(self):
        assert kind(whole((3, 1)), [3], mode="prefix") == "invalid_verdict"
