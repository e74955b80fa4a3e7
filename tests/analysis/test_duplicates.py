"""Instructions that ask the same: each kind, and near ones against a comparison of all pairs."""

import random
import re
import unicodedata
from itertools import pairwise

import pytest

from analysis.duplicates import SIMILARITY, Instruction, find_duplicates, find_leaks


def named(texts):
    return [Instruction(str(number), text) for number, text in enumerate(texts)]


def kinds(*texts, similarity=SIMILARITY):
    """(task, the one it repeats, kind) for each that repeats one."""
    found = find_duplicates(named(texts), similarity)
    return [tuple(row) for row in found[["task_id", "duplicate_of", "kind"]].to_numpy().tolist()]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Open the cart.", "open  THE\ncart. "),
        ("Ｏｐｅｎ １", "open 1"),
        ("caf\u00e9", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("打开 设置", "打开\u3000设置"),
    ],
)
def test_texts_are_equal_but_for_unicode_case_and_white_space(first, second):
    assert kinds(first, second) == [("1", "0", "exact")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Cancel order #4521 for me", "Cancel order #9 for me"),
        ("Write to Anna Schmidt about it", "Write to Bob about it"),
        ('Set the title to "Old car" now', 'Set the title to "Three new boats" now'),
        ("Pay 1,299.00 on 2024-05-20", "Pay 5 on May 3"),
        ("You are mia_li_3668 and want a refund", "You are yusuf_99 and want a refund"),
        ("给王发送5封邮件", "给王发送12封邮件"),
    ],
)
def test_a_template_differs_in_numbers_names_and_quoted_values_only(first, second):
    assert kinds(first, second) == [("1", "0", "template")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Cancel order #4521", "Return order #4521"),
        ("Open the cart", "Close the door"),
        ("打开设置里的网络", "删除所有旧邮件吧"),
        ("Buy milk. Then call Anna.", "Buy bread. Now text Anna."),
        ("🙂", "🙁"),
    ],
)
def test_other_tasks_are_no_duplicates(first, second):
    assert kinds(first, second) == []


def test_the_first_word_of_a_sentence_and_I_are_no_names():
    assert kinds("Open it. Read it and I leave", "Close it. Burn it and They leave") == []


def jaccard(first, second):
    """By hand: pairs of neighbouring words, for texts without names, numbers and quotes."""
    a, b = ({*pairwise(re.findall(r"\w+", text))} for text in (first, second))
    return len(a & b) / len(a | b)


def test_similarity_is_that_of_pairs_of_words():
    first, second = (
        "send the long report to my boss before noon",
        "send the long report to my team before noon",
    )
    found = find_duplicates(named([first, second]), similarity=0.5)
    assert found["similarity"].to_list() == pytest.approx([6 / 10])
    assert jaccard(first, second) == pytest.approx(6 / 10)


def test_scripts_without_spaces_are_compared_by_characters():
    found = find_duplicates(named(["请帮我预订明天的机票", "请帮我预订今天的机票"]), similarity=0.5)
    assert found["similarity"].to_list() == pytest.approx([7 / 11])


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.8, 1.0])
def test_near_duplicates_are_those_that_comparing_all_pairs_finds(similarity):
    chance = random.Random(3)
    words = [f"w{letter}" for letter in "abcdefghijklmnop"]
    texts = []
    for _ in range(250):
        base = (
            list(chance.choice(texts).split())
            if texts and chance.random() < 0.7
            else chance.choices(words, k=14)
        )
        for _ in range(chance.randrange(4)):
            base[chance.randrange(len(base))] = chance.choice(words)
        texts.append(" ".join(base[: chance.randrange(8, 15)]))
    texts = list(dict.fromkeys(texts))
    expected, leaders = {}, []
    for at, text in enumerate(texts):
        alike = [(jaccard(text, texts[other]), -other) for other in leaders]
        best, other = max(alike, default=(0, 0))
        if best >= similarity:
            expected[str(at)] = (str(-other), pytest.approx(best))
        else:
            leaders.append(at)
    found = find_duplicates(named(texts), similarity)
    assert {row.task_id: (row.duplicate_of, row.similarity) for row in found.itertuples()} == expected
    assert len(expected) > 5 or similarity == 1.0
    leaks = find_leaks(named(texts[:50]), named(texts[50:]), similarity)
    kept_out = texts[50:]
    closest = {str(at): max(jaccard(text, each) for each in kept_out) for at, text in enumerate(texts[:50])}
    assert dict(zip(leaks["task_id"], leaks["similarity"], strict=True)) == pytest.approx(
        {task: value for task, value in closest.items() if value >= similarity}
    )


def test_a_repeat_of_a_near_duplicate_is_a_repeat_of_that_one():
    base = "please send the long report to my boss before noon and call the other team about it today"
    other = base.replace("today", "tomorrow")
    assert kinds(base, other, other.upper(), f"{other} 7", f"{other} 8") == [
        ("1", "0", "near"),
        ("2", "1", "exact"),
        ("3", "0", "near"),
        ("4", "3", "template"),
    ]


def test_without_its_text_a_task_is_known_by_its_hash():
    tasks = [
        Instruction("a", "Open it", "h1"),
        Instruction("b", None, "h1"),
        Instruction("c", None, "h2"),
        Instruction("d", None, None),
        Instruction("e", None, None),
        Instruction("f", "Close it", "h2"),
    ]
    found = find_duplicates(tasks)
    assert found[["task_id", "duplicate_of", "kind"]].to_numpy().tolist() == [
        ["b", "a", "exact"],
        ["f", "c", "exact"],
    ]


def test_leaks_name_the_closest_task_of_the_evaluation():
    training = named(["Cancel order 1 now", "Find a hat", "cancel  order 1 now", "Go home"])
    evaluation = [
        Instruction("e1", "Cancel order 2 now"),
        Instruction("e2", "Cancel order 1 now"),
        Instruction("e3", "go  home"),
    ]
    assert find_leaks(training, evaluation).to_numpy().tolist() == [
        ["0", "e2", "exact", 1.0],
        ["2", "e2", "exact", 1.0],
        ["3", "e3", "exact", 1.0],
    ]
    assert find_leaks(training, evaluation[:1])["kind"].to_list() == ["template", "template"]


def test_repeats_within_an_evaluation_are_compared_with_as_well():
    evaluation = ["a b c d e f g h i j", "a b c d e f g h i k"]
    assert len(find_duplicates(named(evaluation))) == 1
    leaks = find_leaks(named(["b c d e f g h i k m"]), named(evaluation))
    assert leaks[["evaluation_task", "similarity"]].to_numpy().tolist() == [["1", 0.8]]


def test_nothing_is_alike_where_there_is_nothing():
    assert find_duplicates([]).columns.to_list() == ["task_id", "duplicate_of", "kind", "similarity"]
    assert find_leaks([], named(["a"])).empty
    assert find_leaks(named(["a"]), []).empty


@pytest.mark.parametrize("similarity", [0, -0.1, 1.1, float("nan")])
def test_a_similarity_that_cannot_be_is_refused(similarity):
    with pytest.raises(ValueError, match="similarity is"):
        find_duplicates([], similarity)


def test_odd_texts_are_texts():
    odd = [
        "\ud800 x",
        "\0",
        "a" * 10_000,
        '"' * 99,
        "\u2028",
        unicodedata.normalize("NFD", "한국어 문장입니다"),
    ]
    assert kinds(*odd) == []
