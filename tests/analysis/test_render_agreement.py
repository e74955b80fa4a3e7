from io import StringIO

import pandas as pd
import pytest
from rich.console import Console

from analysis.agreement import agree
from analysis.render.agreement import show_agreement


@pytest.fixture
def shown():
    def show(rows, by=None, task=None):
        table = pd.DataFrame(rows, columns=["task", "human", "judge"], dtype=object)
        console = Console(file=StringIO(), width=100, highlight=False)
        show_agreement(console, agree(table, "human", ["judge"], by=by, task=task), "human", by=by, task=task)
        return " ".join(console.file.getvalue().split())

    return show


ROWS = [["a", "1", "1"], ["a", "0", "0"], ["b", "1", "0"], ["b", "0", ""]]


def test_counts_figures_and_what_was_left_out_are_shown(shown):
    text = shown(ROWS)
    assert "judge 3 1 0 1 1 1" in text
    assert "judge 1.000 0.500 0.667 0.000 0.667 0.667 0.400" in text
    assert "intervals over rows" in text


def test_the_tasks_and_groups_are_named(shown):
    assert "intervals over task" in shown(ROWS, task="task")
    assert "rows with both, by task task name n" in shown(ROWS, by="task")


def test_nothing_to_break_down_is_said(shown):
    assert shown([], by="task") == "No rows."
