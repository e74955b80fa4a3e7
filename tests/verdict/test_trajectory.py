import pytest

from judge import Rubric
from judge.schema import Criterion, Evidence, RubricItem

from .replies import criteria, kind, read, reply

IDS = ("recipient", "body", "sent")
ALL_MET = criteria(recipient="yes", body="yes", sent="yes")


class TestSuccess:
    @pytest.mark.parametrize("said", ["True", " YES ", 1, 1.0, "1", "pass", "成功", "是", "ｔｒｕｅ"])
    def test_spellings_of_true(self, said):
        verdict = read(reply(success=said))
        assert (verdict.success, "coerced" in verdict.flags) == (True, True)

    @pytest.mark.parametrize("said", ["false", "No", 0, "0", "failed", "失败", "否", "未成功"])
    def test_spellings_of_false(self, said):
        assert read(reply(success=said, score=0.1)).success is False

    @pytest.mark.parametrize("said", ["partially", "", 2, -1, None, [], {}, [True], "not true", ...])
    def test_anything_else(self, said):
        assert kind(reply(success=said)) == "invalid_verdict"


class TestScore:
    @pytest.mark.parametrize(
        ("given", "score"),
        [
            ("0.75", 0.75),
            ("1", 1.0),
            ("8/10", 0.8),
            ("8 / 10", 0.8),
            ("4.5/5", 0.9),
            ("85%", 0.85),
            ("85 ％", 0.85),
            ("０．８", 0.8),
            ("8e-1", 0.8),
            (1.0000001, 1.0),
        ],
    )
    def test_explicit_scales(self, given, score):
        verdict = read(reply(score=given))
        assert verdict.score == pytest.approx(score, abs=1e-12)
        assert "coerced" in verdict.flags

    def test_dust_below_zero_is_snapped_too(self):
        assert read(reply(success=False, score=-1e-7)).score == 0.0

    def test_a_plain_number_is_not_coerced(self):
        verdict = read(reply(score=1, criteria=criteria(a="yes")))
        assert (verdict.score, type(verdict.score), verdict.flags) == (1.0, float, ())

    @pytest.mark.parametrize(
        "given",
        [
            *(7, 10, 1.5, -0.2, 1.00001, "10", "7", "-0.1", "0.8x", "high", "", "1.0 (success)", "0,8"),
            *("8/0", "12/10", "-1/10", "8/-10", "-8/-10", "150%", "nan", "inf", "1e5", "1_0", "0x1"),
            *(True, None, [1.0], {"value": 1.0}, ...),
        ],
    )
    def test_anything_else(self, given):
        assert kind(reply(score=given)) == "invalid_verdict"


class TestCriteria:
    def test_in_reply_order_with_steps(self):
        given = [{"id": "sent", "met": "yes", "step": 4}, {"id": "body", "met": "no", "step": "2"}]
        assert read(reply(criteria=given), rubric=["body", "sent"]).criteria == (
            Criterion(id="sent", met="yes", step=4),
            Criterion(id="body", met="no", step=2),
        )

    @pytest.mark.parametrize(
        ("said", "met"),
        [
            *((said, "yes") for said in (True, "Yes", "met", "pass", "满足", 1)),
            *((said, "no") for said in (False, "NO", "not_met", "fail", "未满足", 0)),
            *((said, "unclear") for said in (None, "N/A", "insufficient_evidence", "不确定", "Unclear", "")),
        ],
    )
    def test_spellings(self, said, met):
        given = [{"id": "a", "met": said}, {"id": "b", "met": "yes"}]
        verdict = read(reply(criteria=given))
        assert verdict.criteria[0].met == met
        assert verdict.flags == ("coerced",)

    @pytest.mark.parametrize("entry", [{"id": "a", "met": "partly"}, {"id": "a"}, {"met": "yes"}, "a", None])
    def test_malformed_entries(self, entry):
        assert kind(reply(criteria=[entry])) == "invalid_verdict"

    def test_of_the_wrong_type(self):
        assert kind(reply(criteria={"a": "yes"})) == "invalid_verdict"

    @pytest.mark.parametrize("absent", [..., None])
    def test_absent(self, absent):
        assert read(reply(criteria=absent), rubric=IDS).flags == ("criteria_missing",)

    @pytest.mark.parametrize(
        "given",
        [
            [],
            criteria(recipient="yes"),
            [*ALL_MET, {"id": "tone", "met": "no"}],
            [*ALL_MET, {"id": "sent", "met": "yes"}],
        ],
        ids=["none", "missing", "unknown", "twice"],
    )
    def test_must_answer_the_rubric(self, given):
        assert kind(reply(criteria=given), rubric=IDS) == "invalid_verdict"

    def test_twice_is_refused_without_a_rubric_too(self):
        assert kind(reply(criteria=[*ALL_MET, ALL_MET[0]])) == "invalid_verdict"

    def test_fine_items_may_be_left_out(self):
        rubric = Rubric(
            version="v",
            category="mail",
            items=(
                RubricItem(id="sent", text="It is sent.", kind="step"),
                RubricItem(id="f1", text="It names Ada.", kind="fine", quote="Ada"),
            ),
        )
        assert read(reply(criteria=criteria(sent="yes")), rubric=rubric).flags == ()
        assert len(read(reply(criteria=criteria(sent="yes", f1="no")), rubric=rubric).criteria) == 2
        assert kind(reply(criteria=criteria(f1="yes")), rubric=rubric) == "invalid_verdict"
        assert kind(reply(criteria=criteria(sent="yes", f2="yes")), rubric=rubric) == "invalid_verdict"

    def test_no_answer_at_all(self):
        unclear = criteria(recipient="n/a", body="unclear", sent=None)
        assert kind(reply(criteria=unclear), rubric=IDS) == "judge_abstained"


class TestContradictions:
    @pytest.mark.parametrize(("success", "score"), [(True, 0.49), (True, 0.0), (False, 0.51), (False, 1)])
    def test_success_against_score(self, success, score):
        assert kind(reply(success=success, score=score)) == "inconsistent_verdict"

    @pytest.mark.parametrize("success", [True, False])
    def test_the_middle_fits_both(self, success):
        assert read(reply(success=success, score=0.5)).success is success

    def test_success_with_nothing_met(self):
        assert kind(reply(criteria=criteria(a="no", b="unclear"))) == "inconsistent_verdict"

    def test_failure_with_everything_met(self):
        strict = reply(criteria=ALL_MET, success=False, score=0.4)
        assert read(strict).flags == ("strict_suspect",)
        unclear = reply(criteria=criteria(a="yes", b="unclear"), success=False, score=0.4)
        assert read(unclear).flags == ()


class TestTexts:
    @pytest.mark.parametrize("absent", [..., None, ""])
    def test_reason_may_be_absent(self, absent):
        assert read(reply(reason=absent)).reason == ""

    def test_no_surrogate_survives(self):
        assert read('{"reason": "\\ud83d", "success": true, "score": 1}').reason == "�"

    @pytest.mark.parametrize(
        ("given", "evidence"),
        [
            (None, ()),
            ([], ()),
            ("saved", (Evidence(quote="saved"),)),
            (["saved"], (Evidence(quote="saved"),)),
            ([{"step": "3", "quote": "saved"}], (Evidence(step=3, quote="saved"),)),
            ([{"step": None, "quote": "saved"}], (Evidence(quote="saved"),)),
            ([{"step": "last", "quote": "saved"}], (Evidence(quote="saved"),)),
            ({"step": 3.0, "quote": "saved"}, (Evidence(step=3, quote="saved"),)),
            ([{"step": -1}], (Evidence(quote=""),)),
        ],
    )
    def test_evidence(self, given, evidence):
        assert read(reply(evidence=given)).evidence == evidence


class TestToken:
    def test_as_asked(self):
        verdict = read(reply(verdict_id="7f3a"), verdict_id="7f3a")
        assert (verdict.verdict_id, verdict.flags) == ("7f3a", ("criteria_missing",))

    @pytest.mark.parametrize("given", ["0000", ..., None, 7])
    def test_missing_or_wrong_is_flagged(self, given):
        assert "verdict_id_mismatch" in read(reply(verdict_id=given), verdict_id="7f3a").flags

    def test_not_asked_for(self):
        assert read(reply(verdict_id="0000")).verdict_id == "0000"
