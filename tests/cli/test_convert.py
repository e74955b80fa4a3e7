"""`judge convert`: what comes out reads as the same trajectories, and comes out whole or not at all.

Not covered: the public files of the shared data (tests/readers/test_shared_formats).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from judge import cli
from judge.readers import read_trajectories
from tests.readers.samples import MESSAGES, NATIVE, RECORDS, SWEAGENT, TAU

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\nnot looked at"
BAD = {"instruction": "Book", "steps": [{}, "click"]}
Stored = Callable[..., Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stored(folder: Path) -> Stored:
    def write(*records: Any, name: str = "runs.jsonl") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


def converted(source: object, out: object = "out.jsonl", *options: str) -> list[Any]:
    assert cli.run(["convert", str(source), str(out), *options]) == 0
    return list(read_trajectories(str(out), "native"))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from judge.cli import main; main()", "convert", *map(str, arguments)]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, **options)


@pytest.mark.parametrize("name", RECORDS)
def test_what_comes_out_reads_as_the_same_trajectory(stored, folder, name):
    source = stored(RECORDS[name])
    runs = list(read_trajectories(source))
    assert converted(source) == runs
    assert converted("out.jsonl", "again.jsonl") == runs
    assert (folder / "again.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_of_many_formats_becomes_lines(folder, indent):
    (folder / "runs.json").write_text(json.dumps([*RECORDS.values()], indent=indent))
    runs = converted("runs.json")
    assert runs == list(read_trajectories("runs.json"))
    assert len(runs) == len(rows(folder / "out.jsonl")) == len(RECORDS)


def test_a_record_says_what_it_holds_and_leaves_out_defaults(stored, folder):
    steps = [{"action": "click", "text": None, "error": "", "tool_calls": [], "label": 0}, {}]
    converted(stored({"trajectory_id": 1, "task_id": 2, "instruction": "Book", "steps": steps, "n": [None]}))
    assert rows(folder / "out.jsonl") == [
        {
            **{"trajectory_id": "1", "task_id": "2", "instruction": "Book", "context": {}, "group": None},
            "steps": [{"index": 0, "action": "click", "label": 0}, {"index": 1}],
            "metadata": {"n": [None]},
        }
    ]


def test_metadata_of_a_chat_is_not_taken_for_its_group_and_context(stored):
    [run] = converted(stored({"messages": MESSAGES["messages"][1:], "metadata": MESSAGES["metadata"]}))
    assert (run.group, run.context, run.metadata) == (None, {}, MESSAGES["metadata"])


def test_the_summary_counts_and_the_format_is_said(stored, capsys):
    broken = {**TAU, "traj": [], "info": {"error": "user model down"}}
    source = stored(TAU, broken, MESSAGES)
    converted(source)
    assert capsys.readouterr() == (
        "",
        "3 trajectories, 4 steps, 1 without a step, 1 of a failed environment, read as tau and messages\n",
    )


def test_a_format_that_is_named_is_used(stored, capsys):
    [run] = converted(stored({**MESSAGES, "steps": []}), "out.jsonl", "--format", "messages")
    assert len(run.steps) == 2
    assert "read as" not in capsys.readouterr().err


def test_from_standard_input_to_standard_output(stored):
    # Runs of the two others are named after their file.
    source = stored(*(record for name, record in RECORDS.items() if name not in ("tau", "sweagent")))
    with process("-", "-") as running:
        out, err = running.communicate(source.read_bytes(), timeout=60)
    assert running.returncode == 0
    Path("out.jsonl").write_bytes(out)
    assert list(read_trajectories("out.jsonl")) == list(read_trajectories(source))
    told = "5 trajectories, 10 steps, read as native and frames and actions and messages and openhands"
    assert err.decode().splitlines() == [told]


def test_a_reader_who_has_seen_enough_is_no_error(stored):
    source = stored(*[{**NATIVE, "trajectory_id": str(n), "note": "x" * 1000} for n in range(500)])
    with process(source, "-") as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["trajectory_id"] == "0"
        running.stdout.close()
        assert running.stderr is not None
        said = running.stderr.read()
    assert (running.returncode, said) == (0, b"")


def refused(capsys: pytest.CaptureFixture[str], arguments: Sequence[object]) -> str:
    assert cli.run(["convert", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.parametrize("existing", [True, False])
def test_a_bad_record_names_file_line_and_field_and_leaves_out_as_it_was(stored, capsys, folder, existing):
    source, out = stored(NATIVE, BAD), folder / "out.jsonl"
    if existing:
        out.write_text("older")
    before = sorted(folder.iterdir())
    said = refused(capsys, [source, out])
    assert said == f"judge: {source}:2: steps.1: must be an object (it is 'click')\n"
    assert sorted(folder.iterdir()) == before
    assert not existing or out.read_text() == "older"


def test_bad_records_are_passed_over_where_that_is_asked_for(stored, capsys):
    source = stored(NATIVE, *[BAD] * 7, SWEAGENT)
    with source.open("a") as file:
        file.write('{"torn')
    assert len(converted(source, "out.jsonl", "--skip-bad")) == 2
    said = capsys.readouterr().err.splitlines()
    told = "2 trajectories, 4 steps, read as native and sweagent; 8 bad records passed over"
    assert said[0] == told
    assert said[1:] == [f"  {source}:{n}: steps.1: must be an object (it is 'click')" for n in range(2, 7)]


@pytest.mark.parametrize("spelling", ["runs.jsonl", "./runs.jsonl", "link.jsonl"])
def test_what_is_read_is_never_written_to(stored, capsys, folder, spelling):
    source = stored(NATIVE)
    (folder / "link.jsonl").symlink_to(source)
    before = source.read_bytes()
    assert "is one of the files to be read" in refused(capsys, [source, spelling])
    assert source.read_bytes() == before


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(capsys, folder, name):
    assert f"judge: {name}: cannot be read: " in refused(capsys, [name, "out.jsonl"])
    assert not [*folder.iterdir()]


def test_a_file_that_was_cut_leaves_nothing_behind_even_where_bad_records_are_passed_over(
    folder, stored, capsys
):
    (folder / "runs.json").write_text(json.dumps([NATIVE, MESSAGES], indent=1)[:-200])
    said = refused(capsys, ["runs.json", "out.jsonl", "--skip-bad"])
    assert "judge: runs.json[1]: not JSON" in said
    assert "it was cut short" in said
    assert [path.name for path in folder.iterdir()] == ["runs.json"]


def test_ctrl_c_leaves_nothing_behind(folder):
    with process("-", folder / "out.jsonl") as running:
        assert running.stdin is not None
        running.stdin.write(json.dumps(NATIVE).encode() + b"\n")
        running.stdin.flush()
        for _ in range(4_000):
            if [*folder.iterdir()] or running.poll() is not None:
                break
            time.sleep(0.005)
        assert [path.suffix for path in folder.iterdir()] == [".part"]
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
    assert not [*folder.iterdir()]


def shots(*screenshots: Any) -> dict[str, Any]:
    steps = [{"action": "look", "screenshot": shot} for shot in screenshots]
    return {"trajectory_id": "t", "instruction": "Look", "steps": steps}


def seen(out: object) -> list[Any]:
    [run] = read_trajectories(str(out))
    return [step.screenshot for step in run.steps]


@pytest.mark.parametrize(
    "out", ["out.jsonl", "data/out.jsonl", "elsewhere/deep/out.jsonl", "linked/out.jsonl"]
)
def test_screenshots_stay_where_they_are_and_are_found_from_there(stored, folder, out):
    inside, outside = folder / "data/shots/1.png", folder / "2.png"
    inside.parent.mkdir(parents=True)
    (folder / "elsewhere/deep").mkdir(parents=True)
    (folder / "linked").symlink_to(folder / "elsewhere/deep")
    for path in (inside, outside):
        path.write_bytes(path.name.encode())
    source = stored(shots("shots/1.png", "../2.png", str(outside), {"path": "shots/1.png"}), name="data/in")
    converted(source, out)
    converted(out, "again.jsonl")
    for read in (out, "again.jsonl"):
        assert [Path(path).read_bytes() for path in seen(read)] == [b"1.png", b"2.png", b"2.png", b"1.png"]
    [row] = rows(folder / out)
    written = [step["screenshot"] for step in row["steps"]]
    assert not any(os.path.isabs(path) for path in written)
    assert out != "data/out.jsonl" or written == ["shots/1.png", "../2.png", "../2.png", "shots/1.png"]


@pytest.mark.parametrize("absolute", [True, False])
def test_to_standard_output_paths_are_as_they_were_read(stored, folder, capsysbinary, absolute):
    stored(shots("shots/1.png"), name="data/runs.jsonl")
    data = folder / "data" if absolute else Path("data")
    assert cli.run(["convert", str(data / "runs.jsonl"), "-"]) == 0
    row = json.loads(capsysbinary.readouterr().out)
    assert row["steps"][0]["screenshot"] == str(data / "shots/1.png")


@pytest.mark.parametrize(
    "image", ["data:image/png;base64,AAAA", "https://example.com/1.png", "iVBORw0KGgo" + "A" * 400, 7]
)
def test_what_is_no_path_is_left_alone(stored, image):
    source = stored(shots(image))
    converted(source)
    assert seen("out.jsonl") == [image]


def test_images_of_a_table_become_data_urls(folder):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which writes Parquet, is not installed")
    from pyarrow.parquet import write_table

    image = [{"bytes": PNG, "path": "1.png"}, {"bytes": b"?", "path": None}, {"bytes": None, "path": "3.png"}]
    write_table(pyarrow.Table.from_pylist([shots(*image)]), "runs.parquet")
    converted("runs.parquet")
    assert seen("out.jsonl") == [
        "data:image/png;base64,iVBORw0KGgpub3QgbG9va2VkIGF0",
        "data:application/octet-stream;base64,Pw==",
        "3.png",
    ]


@pytest.mark.parametrize("image", [{"bytes": PNG}, {"bytes": PNG, "path": "1.png", "width": 8}])
def test_no_image_of_a_table_is_lost(folder, image):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow, which writes Parquet, is not installed")
    from pyarrow.parquet import write_table

    part = {"type": "image", "image": image}
    talk = [{"role": "user", "content": [part, part, {"type": "text", "text": "What?"}]}]
    record = {"messages": [*talk, {"role": "assistant", "content": [{"type": "text", "text": "A cat"}]}]}
    url = "data:image/png;base64,iVBORw0KGgpub3QgbG9va2VkIGF0"
    write_table(pyarrow.Table.from_pylist([shots(image)]), "runs.parquet")
    converted("runs.parquet")
    assert seen("out.jsonl") == [url]
    write_table(pyarrow.Table.from_pylist([record]), "talk.parquet")
    [run] = converted("talk.parquet", "talk.jsonl")
    assert (run.steps[0].screenshot, run.steps[0].earlier_images) == (url, [url])


def test_earlier_images_are_found_from_where_the_run_went(stored, folder):
    (folder / "elsewhere").mkdir()
    part = [{"type": "image_url", "image_url": {"url": f"shots/{number}.png"}} for number in (1, 2)]
    talk = [{"role": "user", "content": [*part, "Look"]}, {"role": "assistant", "content": "I see"}]
    converted(stored({"messages": talk}, name="data/in.jsonl"), "elsewhere/out.jsonl")
    [row] = rows(folder / "elsewhere/out.jsonl")
    assert row["steps"][0]["earlier_images"] == ["../data/shots/1.png"]
    assert row["steps"][0]["screenshot"] == "../data/shots/2.png"


def test_what_json_has_no_word_for_still_comes_out(folder):
    line = (
        '{"instruction": "a \\ud800", "steps": [], "note": [NaN, "\\u2028"], "deep": ' + "[" * 500 + "]" * 500
    )
    (folder / "runs.jsonl").write_text(line + "}\n")
    [run] = converted("runs.jsonl")
    assert (run.instruction, run.metadata["note"]) == ("a \ufffd", [None, "\u2028"])
    assert len((folder / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 1
