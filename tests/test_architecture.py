"""The house rules: who imports whom, who owns which third party, sizes, and a silent `import judge`.

Two tables say what is allowed: a new module or a new dependency fails here until it stands in one of them.
Not covered: annotations (mypy's) and what a wheel holds (test_packaging's).
"""

from __future__ import annotations

import ast
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

BASE = {"errors", "schema", "config", "resources"}
STAGES = {
    *("readers", "route", "rubric", "frames", "pictures", "prompt", "injection", "client", "cache"),
    *("verdict", "collapse", "advantage", "log", "embedded", "fingerprint", "testing"),
}
INNER = BASE | STAGES | {"pipeline", "loops"}
OUTER = INNER | {"workshop", "judging", "rewarding", "integrations", "doctor"}

MAY_IMPORT = {
    **dict.fromkeys(BASE, BASE),
    **dict.fromkeys(STAGES, BASE),
    "loops": set(),
    "pipeline": BASE | STAGES,
    "workshop": INNER,
    "judging": INNER | {"workshop"},
    "rewarding": INNER | {"judging"},
    "doctor": INNER,
    "integrations": OUTER - {"doctor"},
    "cli": OUTER,
    "analysis": BASE | {"log", "collapse", "advantage"},
}
"""Module or folder of judge (and `analysis`) → the modules of judge it may import; itself always."""

OWNERS = {
    "openai": {"client"},
    "tenacity": {"client"},
    "diskcache": {"cache"},
    "json_repair": {"verdict"},
    "yaml": {"config", "rubric"},
    "rich": {"cli", "analysis"},
    "pandas": {"analysis"},
    "numpy": {"analysis"},
    "click": {"cli"},
    "PIL": {"pictures"},
    "pyarrow": {"readers"},
    "pydantic": set(MAY_IMPORT),
}
"""Third party → the modules that may import it at run time."""

MOST_LINES, MEDIAN_LINES, MEDIAN_FUNCTION = 300, 120, 12
TOP_LEVEL = {
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
    *("judge", "rubrics", "prompts", "analysis", "tests"),
}


@dataclass(frozen=True)
class Import:
    """One imported name: where it stands, in which module, what it names, and when it happens."""

    place: str
    module: str
    target: str
    is_lazy: bool
    is_typing: bool

    @property
    def party(self) -> str:
        return self.target.partition(".")[0]

    @property
    def inner(self) -> str:
        """The module of judge it names; `analysis` for anything there."""
        return "analysis" if self.party == "analysis" else self.target.split(".")[1]


SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for folder in ("judge", "analysis")
    for path in sorted((REPOSITORY / folder).rglob("*.py"))
}


def module_of(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return parts[0] if parts[0] == "analysis" else parts[1]


def imports(path: Path, node: ast.AST, is_lazy: bool = False, is_typing: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            place = f"{path.relative_to(REPOSITORY)}:{child.lineno}"
            for target in targets(child):
                yield Import(place, module_of(path), target, is_lazy, is_typing)
        is_guard = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports(path, child, is_lazy or is_function, is_typing or is_guard)


def targets(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "relative imports hide who imports whom"
    return [f"{node.module}.{alias.name}" for alias in node.names]


IMPORTS = [found for path, tree in SOURCES.items() for found in imports(path, tree)]


def test_every_module_has_its_place():
    modules = {module_of(path) for path in SOURCES} - {"__init__"}
    assert modules <= set(MAY_IMPORT)
    assert len(IMPORTS) > 300


def test_layers():
    crossing = [
        f"{each.place}: {each.module} imports {each.inner}"
        for each in IMPORTS
        if each.party == "judge" and each.module != "__init__" and each.inner != each.module
        if each.inner not in MAY_IMPORT[each.module]
    ]
    assert not crossing, "\n".join(crossing)


def test_only_the_command_line_loads_analysis_and_only_when_called():
    loading = [each for each in IMPORTS if each.party == "analysis" and each.module != "analysis"]
    assert loading
    early = [each.place for each in loading if each.module != "cli" or not (each.is_lazy or each.is_typing)]
    assert not early


def test_third_parties_have_their_owners():
    ours = sys.stdlib_module_names | {"judge", "analysis"}
    strays = [
        f"{each.place}: {each.module} imports {each.party}"
        for each in IMPORTS
        if each.party not in ours and not each.is_typing and each.module not in OWNERS.get(each.party, ())
    ]
    assert not strays, "\n".join(strays)


def test_the_tables_hold_nothing_that_is_not_there():
    assert set(OWNERS) <= {each.party for each in IMPORTS}


def test_modules_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert not [f"{path}: {lines}" for path, lines in lengths.items() if lines > MOST_LINES]
    assert statistics.median(lengths.values()) <= MEDIAN_LINES


def test_functions_are_short():
    lengths = [
        node.end_lineno - node.lineno + 1
        for tree in SOURCES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert statistics.median(lengths) <= MEDIAN_FUNCTION


def test_every_module_says_what_it_is():
    assert not [str(path) for path, tree in SOURCES.items() if tree.body and not ast.get_docstring(tree)]


def test_data_folders_hold_no_code_and_the_package_no_copy_of_them():
    assert not [*(REPOSITORY / "rubrics").rglob("*.py"), *(REPOSITORY / "prompts").rglob("*.py")]
    assert not (REPOSITORY / "judge" / "rubrics").exists()
    assert not (REPOSITORY / "judge" / "prompts").exists()


def test_the_top_level_holds_only_what_it_must():
    git = shutil.which("git")
    if git is None or not (REPOSITORY / ".git").exists():
        pytest.skip("this is no git checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True, text=True
    )
    top = {name.partition("/")[0] for name in listed.stdout.split("\0") if name}
    assert {name for name in top if not name.startswith(".")} <= TOP_LEVEL


def test_fakes_are_shipped_and_nothing_is_patched():
    for path in (REPOSITORY / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not named & {"mock", "unittest.mock"}, path
            if isinstance(node, ast.Attribute) and node.attr == "setattr":
                assert ast.unparse(node.value) != "monkeypatch", f"{path}:{node.lineno}"


WATCH = """
import json, sys
opened = []
def watch(event, arguments):
    if event == "open" or event.startswith(("socket.", "os.mkdir", "subprocess.")):
        opened.append([event, str(arguments[0])])
sys.addaudithook(watch)
{body}
report = {{"opened": opened[:], "loaded": sorted({{name.partition(".")[0] for name in sys.modules}})}}
print(json.dumps(report), file=sys.stderr)
"""
HEAVY = {
    "pandas",
    "numpy",
    "openai",
    "httpx",
    "rich",
    "diskcache",
    "yaml",
    "pydantic",
    "json_repair",
    "tenacity",
}


@pytest.fixture
def watched(tmp_path):
    """Runs a line of Python in an empty home folder; gives what it printed, and what it opened and loaded."""

    def run(body: str) -> tuple[str, dict[str, list]]:
        environment = {"HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", WATCH.format(body=body)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert not list(tmp_path.iterdir())
        *said, report = done.stderr.splitlines()
        assert not said
        return done.stdout, json.loads(report)

    return run


def test_importing_judge_prints_creates_and_opens_nothing_and_loads_nothing_heavy(watched):
    printed, seen = watched("import judge")
    assert printed == ""
    assert not [
        event for event in seen["opened"] if event[0] != "open" or not event[1].endswith((".py", ".pyc"))
    ]
    assert not HEAVY & set(seen["loaded"])


def test_configuring_a_judge_loads_neither_pandas_nor_openai(watched):
    _, seen = watched("from judge import Config, Judge, reward_fn; Config()")
    assert not {"pandas", "numpy", "openai", "rich", "diskcache"} & set(seen["loaded"])


@pytest.mark.parametrize("arguments", [["--help"], ["rejudge", "--help"], ["report", "--help"]])
def test_help_loads_neither_pandas_nor_openai(watched, arguments):
    printed, seen = watched(f"from judge.cli import run; run({arguments})")
    assert "Usage: judge" in printed
    assert not {"pandas", "openai", "analysis"} & set(seen["loaded"])
