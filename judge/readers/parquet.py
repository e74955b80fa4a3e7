"""Rows of a Parquet file as (place, record) pairs; needs pyarrow (extra `parquet`).

Columns hold one type, so two things differ from JSON. Every struct of a column has the keys of all: a null
in a struct says that the key was absent, and is left out. And what varies from row to row is often stored
as JSON text: in the columns named here such text is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from judge.errors import InputError
from judge.readers.lines import OnBad, Records, decode

MAGIC = b"PAR1"

_AS_JSON = (
    *("steps", "frames", "actions", "messages", "prompt", "completion", "traj", "trajectory", "history"),
    *("outcome", "metadata", "labels", "context", "info", "tools"),
)
_BATCH = 32


def is_parquet(path: str | Path) -> bool:
    """Whether a file begins as Parquet files do; False for what cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_rows(path: str | Path, on_bad: OnBad = None) -> Records:
    """Every row, with the place "path:row N", from 1, a few dozen in memory at a time.

    Raises InputError for a file that is damaged or that lacks its end, and where pyarrow is missing.
    """
    if find_spec("pyarrow") is None:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install 'adaptive-judge[parquet]'")
    with _faults_of(path):
        for number, row in enumerate(_rows(path), 1):
            where = f"{path}:row {number}"
            try:
                yield where, _record(row)
            except InputError as error:
                if on_bad is None:
                    raise InputError(f"{where}: {error.message}") from None
                on_bad(f"{where}: {error.message}")


def _rows(path: str | Path) -> Iterator[dict[str, Any]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH):
            yield from batch.to_pylist()


@contextmanager
def _faults_of(path: str | Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    # Arrow reports damage within a page as an OSError.
    except (ArrowException, OSError) as error:
        [first, *_] = str(error).splitlines() or ["no reason given"]
        raise InputError(f"{path}: cannot be read as Parquet: {first}") from None


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _decoded(name, _present(value)) for name, value in row.items()}


def _decoded(name: str, value: Any) -> Any:
    if name not in _AS_JSON or not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    fault, decoded = decode(value.encode("utf-8", "surrogatepass"))
    if fault is not None:
        raise InputError(f"{name}: {fault}")
    return decoded


def _present(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _present(item) for key, item in value.items() if item is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value
