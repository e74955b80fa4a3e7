import json
import pickle
import re
from pathlib import Path

import pytest
import yaml

from judge.errors import ConfigError, RubricError
from judge.resources import names, root
from judge.rubric import ground, load_library, sift
from judge.schema import RubricItem

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
GENERAL = "name: general\nsteps: [The goal is reached]\noutput: Say so.\n"
VERSION = 'description: mine\nfine: "off"\n'


@pytest.fixture
def own(tmp_path):
    """Writes a version's folder from keyword texts and returns its path."""

    def write(**files: str) -> str:
        folder = tmp_path / "own_v1"
        folder.mkdir(exist_ok=True)
        for name, text in {"version": VERSION, "general": GENERAL, **files}.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return str(folder)

    return write


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", names("rubrics"))
def test_packaged_versions_hold(version):
    library = load_library(version)
    assert library.version == version
    for category, file in library.categories.items():
        assert file.name == category
        assert 3 <= len(file.steps) <= 6
        assert 2 <= len(file.pitfalls) <= 4
        assert 1 <= len(file.rules) <= 4
        assert file.output
        if category != "general":
            assert min(len(file.cues.en), len(file.cues.zh)) >= 15
        for words in (file.cues.en, file.cues.zh):
            assert len(set(words)) == len(words), category


def test_packaged_settings():
    assert set(names("rubrics")) >= {"static_v1", "adapt_v1"}
    static, adapt = load_library("static_v1"), load_library("adapt_v1")
    assert (static.settings.fine, adapt.settings.fine) == ("off", "on")
    assert set(static.categories) == {"general"}
    assert len(adapt.categories) == 10


def test_the_versions_of_the_ablation_differ_in_one_setting_each():
    static, adapt = load_library("static_v1"), load_library("adapt_v1")
    texts = {
        "coarse_v1": (adapt, "off", "key"),
        "fine_v1": (static, "on", "key"),
        "adapt_forced_v1": (adapt, "forced", "key"),
        "adapt_allframes_v1": (adapt, "on", "all"),
    }
    for name, (base, fine, frames) in texts.items():
        library = load_library(name)
        assert (library.settings.fine, library.settings.frames) == (fine, frames)
        assert library.categories == base.categories
        assert library.cues == base.cues
        assert library.rubric("general").version == name
    assert len({load_library(name).hash for name in names("rubrics")}) == len(names("rubrics"))


def test_a_folder_may_extend_a_version_and_replace_some_of_it(own, tmp_path):
    mine = "name: communication\nsteps: [It was sent]\n"
    path = own(version=VERSION + "extends: adapt_v1\n", communication=mine)
    library = load_library(path)
    assert library.rubric("communication").items[0].text == "It was sent"
    assert library.rubric("transfer").items == load_library("adapt_v1").rubric("transfer").items
    (tmp_path / "own_v1" / "general.yaml").unlink()
    assert load_library(path).categories["general"] == load_library("adapt_v1").categories["general"]


@pytest.mark.parametrize(
    ("extends", "says"),
    [
        ("adapt_v9", "extends: unknown rubric version 'adapt_v9'"),
        ("coarse_v1", "extends: coarse_v1 itself extends adapt_v1"),
    ],
)
def test_what_is_extended_must_be_there_and_stand_alone(own, extends, says):
    with pytest.raises(RubricError, match=rf"version\.yaml: {says}"):
        load_library(own(version=VERSION + f"extends: {extends}\n"))


def test_an_entry_is_a_mapping_or_a_text_named_by_kind_and_position(own):
    text = "name: x\nsteps: [A, {id: mine, text: B}, C]\npitfalls: [D]\nrules: [E]\noutput: F\n"
    rubric = load_library(own(tidy=text)).rubric("tidy")
    assert [(item.id, item.text, item.kind) for item in rubric.items] == [
        ("step_1", "A", "step"),
        ("mine", "B", "step"),
        ("step_3", "C", "step"),
        ("pitfall_1", "D", "pitfall"),
        ("rule_1", "E", "rule"),
    ]
    assert (rubric.version, rubric.category, rubric.output) == ("own_v1", "tidy", "F")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nsteps: [A]\nweight: 2", "weight: unknown key"),
        ("name: x\nsteps: [{id: a, text: A, weight: '1'}]", "steps.0.weight: unknown key"),
        ("name: x\nsteps: [A]\nsteps: [B]", "'steps' is given twice"),
        ("name: x\ncues: {fr: [aller]}\nsteps: [A]", "cues.fr: unknown key"),
        ("steps: [A]", "name: missing"),
        ("name: x", "steps: missing"),
        ("name: x\nsteps: []", "steps: "),
        ("name: x\nsteps: A", "steps: "),
        ("name: x\nsteps: ['  ']", "steps.0.text: "),
        ("name: x\nsteps: [{id: a}]", "steps.0.text: missing"),
        ("name: x\nsteps: [A]\noutput:", "line 3: output: is empty"),
        ("name: x\nsteps:\n  - id: a\n    text: ~", "line 4: steps.0.text: YAML reads ~ as null; quote"),
        ("name: x\nsteps: [{id: a, text: A}, {id: a, text: B}]", "id 'a' is given 2 times"),
        ("name: x\nsteps: [{id: rule_1, text: A}]\nrules: [B]", "id 'rule_1' is given 2 times"),
        ("name: x\nsteps: [{id: fine_1, text: A}]", "fine_"),
        ("name: x\nsteps: [A]\non: B", "line 3: on: YAML reads on as bool"),
        ("- a list", "not a mapping"),
        ("name: [x", "not valid YAML"),
        ("", "name: missing"),
    ],
)
def test_a_faulty_file_is_named_with_its_key(own, text, said):
    with pytest.raises(RubricError) as caught:
        load_library(own(broken=text))
    assert "broken.yaml" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", ["010", "12:30", "1_000", "2024-01-05", "no", "off", "Yes", "3.5", "0x1F"])
def test_a_value_yaml_would_change_must_be_quoted(own, value):
    for text in ("name: x\nsteps:\n  - {id: VALUE, text: A}\n", "name: x\nsteps:\n  - VALUE\n"):
        with pytest.raises(RubricError, match="quote this value") as caught:
            load_library(own(changed=text.replace("VALUE", value)))
        assert f"changed.yaml: line 3: steps.0{'.id' if 'id:' in text else ''}: " in str(caught.value)
        library = load_library(own(changed=text.replace("VALUE", f'"{value}"')))
        assert value in (library.rubric("changed").items[0].id, library.rubric("changed").items[0].text)


def test_version_settings(own):
    settings = load_library(own(version="description: mine")).settings
    assert (settings.prompts, settings.fine, settings.frames) == ("v1", "on", "key")
    with pytest.raises(RubricError, match=r"version\.yaml: line 2: fine: .*quote this value"):
        load_library(own(version="description: mine\nfine: on"))
    with pytest.raises(RubricError, match="fine: "):
        load_library(own(version='description: mine\nfine: "sometimes"'))
    with pytest.raises(RubricError, match="scale: unknown key"):
        load_library(own(version='description: mine\nscale: "1"'))


def test_a_version_is_complete(own):
    folder = Path(own())
    (folder / "general.yaml").rename(folder / "general.yml")
    with pytest.raises(RubricError, match=r"general\.yml: would be ignored"):
        load_library(str(folder))
    (folder / "general.yml").unlink()
    with pytest.raises(RubricError, match=r"general\.yaml: missing"):
        load_library(str(folder))
    (folder / "version.yaml").unlink()
    (folder / "general.yaml").write_text(GENERAL)
    with pytest.raises(RubricError, match=r"version\.yaml: missing"):
        load_library(str(folder))
    with pytest.raises(ConfigError, match="there are adapt_allframes_v1, adapt_forced_v1, adapt_v1"):
        load_library("adapt_v0")


def test_stored_yaml_case_never_changes_an_id(own):
    path = SHARED / "cases" / "cases.jsonl"
    if not path.is_file():
        pytest.skip("needs the shared cases, which are not beside this checkout")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    texts = [case["input"]["text"] for case in cases if case["input"]["kind"] == "yaml"]
    assert texts
    for text in texts:
        with pytest.raises(RubricError, match=r"line \d+: .*quote this value"):
            load_library(own(case=text))


# --- library -----------------------------------------------------------------------------------------------


def test_an_unknown_category_gets_the_general_rubric():
    library = load_library("adapt_v1")
    assert library.rubric("no_such") is library.rubric("general")
    assert library.rubric("transfer") is library.rubric("transfer")
    assert set(library.cues) == set(library.categories)


def test_fine_items_stand_after_the_coarse_ones_and_leave_them_alone():
    library = load_library("adapt_v1")
    coarse = library.rubric("communication")
    size = len(coarse.coarse)
    fine = ground([{"text": "It goes to Bob", "quote": "to Bob"}], "Send it to Bob")
    both = library.rubric("communication", fine)
    assert both.coarse == coarse.items
    assert both.fine == tuple(fine)
    assert len(library.rubric("communication").items) == size
    assert library.rubric("no_such", fine).category == "general"


def test_the_hash_follows_the_bytes(own):
    before = load_library(own()).hash
    assert load_library(own()).hash == before
    assert load_library(own(general=GENERAL + "# a note\n")).hash != before
    assert re.fullmatch("[0-9a-f]{16}", before)


def test_a_library_can_be_pickled():
    library = load_library("static_v1")
    copy = pickle.loads(pickle.dumps(library))
    assert copy.rubric("general") == library.rubric("general")


def test_packaged_files_read_alike_with_and_without_our_checks():
    library = load_library("adapt_v1")
    for category, file in library.categories.items():
        raw = yaml.safe_load((root("rubrics") / "adapt_v1" / f"{category}.yaml").read_text(encoding="utf-8"))
        assert [item.id for item in file.items] == [
            entry["id"] for key in ("steps", "pitfalls", "rules") for entry in raw[key]
        ]


# --- grounding ---------------------------------------------------------------------------------------------

MAIL = (
    'Please send the Q3 report to Bob Miller and carol@example.com by 5 pm, titled "Final numbers". '
    "Do not attach the draft. Write two paragraphs as JSON, and then leave."
)
ZH = "请给李明发送一封邮件，标题为《季度总结》，不要添加附件，共写两段，并在3月5日之前发出。"


def reasons(items, instruction=MAIL, coarse=()):
    return [reason for _, reason in sift(items, instruction, coarse)]


def reason(text, quote, instruction=MAIL, coarse=()):
    (found,) = reasons([{"text": text, "quote": quote}], instruction, coarse)
    return found


@pytest.mark.parametrize(
    "quote",
    [
        "to Bob Miller",
        "carol@example.com",
        "by 5 pm",
        "BY  5\nPM",
        "by ５ pm",
        "“Final numbers”",
        "Final numbers",
        "Do not attach the draft",
        "two paragraphs",
        "as JSON",
    ],
)
def test_a_quote_that_holds_something_is_kept(quote):
    assert reason("This part of the instruction is followed", quote) is None


@pytest.mark.parametrize(
    "quote", ["《季度总结》", "季度总结", "不要添加附件", "共写两段", "3月5日之前", "标题为"]
)
def test_a_chinese_quote_that_holds_something_is_kept(quote):
    assert reason("这一要求得到满足", quote, ZH) is None


@pytest.mark.parametrize(
    ("quote", "instruction", "expected"),
    [
        ("to Rob Miller", MAIL, "quote_not_in_instruction"),
        ("send the report", MAIL, "quote_not_in_instruction"),
        ("不要删除附件", ZH, "quote_not_in_instruction"),
        ("Please send", MAIL, "quote_holds_no_value"),
        ("and then leave", MAIL, "quote_holds_no_value"),
        ("the", MAIL, "quote_holds_no_value"),
        ("not", MAIL, "quote_holds_no_value"),
        ("Do not", MAIL, "quote_holds_no_value"),
        ("不要", ZH, "quote_holds_no_value"),
        ("发送一封邮件", ZH, "quote_holds_no_value"),
        ("类别", "请检查类别", "quote_holds_no_value"),
        ("I wonder", "Well, I wonder about it", "quote_holds_no_value"),
        ("", MAIL, "no_quote"),
        ("  ", MAIL, "no_quote"),
        (None, MAIL, "no_quote"),
    ],
)
def test_a_quote_that_is_foreign_or_empty_is_dropped(quote, instruction, expected):
    assert reason("This part is followed", quote, instruction) == expected


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The tone of the message is polite", "to Bob Miller"),
        ("The agent confirms the recipient with the user", "to Bob Miller"),
        ("The choice is explained", "to Bob Miller"),
        ("The message goes to Bob Miller and Alice", "to Bob Miller"),
        ("The message is sent by 6 pm", "by 5 pm"),
        ("The message has 3 paragraphs", "two paragraphs"),
        ('The title is "Final numbers 2024"', "Final numbers"),
        ("A copy goes to dave@example.com", "carol@example.com"),
        ("The field report_id is set", "as JSON"),
    ],
)
def test_an_item_that_adds_a_requirement_is_dropped(text, quote):
    assert reason(text, quote) == "adds_requirement"


@pytest.mark.parametrize("text", ["邮件语气礼貌", "发送前与用户确认", "邮件共写4段", "标题为《年度总结》"])
def test_a_chinese_item_that_adds_a_requirement_is_dropped(text):
    assert reason(text, "《季度总结》", ZH) == "adds_requirement"


@pytest.mark.parametrize(
    ("text", "quote", "instruction"),
    [
        ("The reply is polite", "polite reply to Bob", "Write a polite reply to Bob"),
        ("The price is 1000", "$1,000", "Set the price to $1,000"),
        ("The price is 85.5", "$85.50", "Set the price to $85.50"),
        ("It has 2 paragraphs", "two paragraphs", MAIL),
        ("邮件共2段", "共写两段", ZH),
        ("The agent's reply and the user's name match Bob's", "to Bob Miller", MAIL),
    ],
)
def test_what_the_instruction_itself_demands_is_no_addition(text, quote, instruction):
    assert reason(text, quote, instruction) is None


def test_an_item_that_repeats_the_coarse_rubric_is_dropped():
    coarse = [
        RubricItem(id="step_1", kind="step", text="The message was actually sent to the right recipient."),
        RubricItem(id="step_2", kind="step", text="邮件已经发送给指定的收件人"),
    ]
    assert reason("The message was sent to the recipient", "Bob Miller", coarse=coarse) == "repeats_coarse"
    assert reason("邮件发送给指定的收件人", "《季度总结》", ZH, coarse) == "repeats_coarse"
    assert reason("The message was sent to Bob Miller by 5 pm", "by 5 pm", coarse=coarse) is None
    assert reason("邮件标题是季度总结", "《季度总结》", ZH, coarse) is None


@pytest.mark.parametrize(
    "item",
    [None, 3, "text", [], {}, {"text": None}, {"text": " ", "quote": "Bob"}, {"text": "A", "quote": 5}],
)
def test_a_malformed_proposal_is_dropped_and_never_raises(item):
    assert reasons([item]) == ["malformed"]


def test_at_most_two_are_kept_in_order():
    proposals = [
        {"text": "The time is met", "quote": "by 5 pm"},
        {"text": "This is foreign", "quote": "by 6 pm"},
        {"text": "THE TIME is met", "quote": "5 pm"},
        {"text": "The draft stays out", "quote": " Do not attach ", "why": "extra keys are no harm"},
        {"text": "The format is right", "quote": "as JSON"},
    ]
    sifted = sift(proposals, MAIL)
    dropped = [why for _, why in sifted]
    assert dropped == [None, "quote_not_in_instruction", "repeats_coarse", None, "over_two"]
    assert sifted[1][0] is proposals[1]
    assert ground(proposals, MAIL) == [
        RubricItem(id="fine_1", text="The time is met", kind="fine", quote="by 5 pm"),
        RubricItem(id="fine_2", text="The draft stays out", kind="fine", quote="Do not attach"),
    ]
    assert ground([], MAIL) == []


def test_letters_that_fold_to_two_do_not_shift_the_quote():
    assert reason("The street is right", "STRASSE 5", "Große Sache: gehe zur Straße 5 im Ort") is None
