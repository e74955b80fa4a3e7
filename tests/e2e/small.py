"""What a model of 135 million parameters can be asked: short prompts, and a verdict it has only to copy.

It is far too small to judge. What it replies is real all the same: generated under our own schema, token by
token, by a server that was told so in our own words.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from judge import Config, Step, Trajectory, resources

API_KEY = "e2e-0f1e2d3c4b5a"
MODEL = "smollm2-135m"

# Laid out as the model itself writes JSON: it copies this to the end, and strays from a compact form.
_VERDICT = {
    "reason": "done",
    "evidence": [{"step": 0, "quote": "ok"}],
    "criteria": [{"id": "done", "met": "yes", "step": 0}],
    "success": True,
    "score": None,
    "verdict_id": "0",
}
_KEPT = re.compile(r"\$\{\w+\}|^=== user ===$", re.MULTILINE)
_RUBRIC = "name: general\nsteps:\n  - {id: done, text: The task is done.}\n"


def rubric_folder(parent: Path, score: float) -> Path:
    """A rubric version of one item, with prompts that have the judge reply with `score`.

    Of the packaged prompts only the placeholders are left.
    """
    prompts, version = parent / "small_prompts", parent / "small"
    prompts.mkdir()
    version.mkdir()
    for file in resources.folder("prompts", "v1").glob("*.md"):
        wordless = "\n".join(["Grade:", *_KEPT.findall(file.read_text("utf-8"))])
        (prompts / file.name).write_text(wordless + (_asked(score) if file.stem == "judge" else ""))
    settings = {"description": "For tests.", "prompts": str(prompts), "fine": "off", "frames": "key"}
    (version / "version.yaml").write_text(json.dumps(settings))
    (version / "general.yaml").write_text(_RUBRIC)
    return version


def _asked(score: float) -> str:
    return "\nReply with this JSON:\n" + json.dumps({**_VERDICT, "score": score}, indent=2)


def sections(base_url: str, folder: Path, score: float = 1, **judge: Any) -> dict[str, Any]:
    """Settings for a server with one slot, as Config and its YAML file take them; the log is in `folder`."""
    return {
        "judge": {"base_url": base_url, "model": MODEL, "max_tokens": 160, "concurrency": 1, **judge},
        "rubrics": {"version": str(rubric_folder(folder, score))},
        "frames": {"max_frames": 3, "max_chars": 600},
        "cache": {"dir": None},
        "log": {"path": str(folder / "log.jsonl")},
    }


def config(base_url: str, folder: Path, score: float = 1, **judge: Any) -> Config:
    return Config(**sections(base_url, folder, score, **judge))


def timer(name: str, attempt: int = 0) -> Trajectory:
    """One of several attempts at the task of setting a timer of that name."""
    step = Step(action=f"set_timer(minutes=5, attempt={attempt})", observation=f"Timer {attempt} set.")
    instruction = f"Set a timer for 5 minutes and call it {name}."
    return Trajectory(trajectory_id=f"{name}-{attempt}", task_id=name, instruction=instruction, steps=(step,))


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of the log in `folder`."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]
