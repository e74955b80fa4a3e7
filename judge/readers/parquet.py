"""Rows of a Parquet file as (place, record) pairs; needs pyarrow (extra `parquet`).

Columns hold one type, so three things differ from JSON. Every struct of a column has the keys of all: a null
in a struct says that the key was absent, and is left out. What varies from row to row is often stored as JSON
text: in the columns named here such text is read, and in three of them it may also be plain text. And an
image is a struct of bytes and path, of which the bytes count.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, BinaryIO

from judge.errors import InputError
from judge.readers.lines import OnBad, Records, decode

MAGIC = b"PAR1"

_AS_JSON = {
    *("steps", "frames", "actions", "messages", "traj", "trajectory", "history"),
    *("outcome", "metadata", "labels", "info"),
}
_MAY_BE_TEXT = {"prompt", "completion", "context"}
_IMAGE = {"bytes", "path"}
_BATCH = 32


def read_rows(path: object, file: BinaryIO, on_bad: OnBad = None) -> Records:
    """Every row, with the place "path:row N", from 1; held are a few dozen, and the bytes of a row group.

    Raises InputError for a file that is damaged or lacks its end, for a pipe, and where pyarrow is missing.
    """
    if find_spec("pyarrow") is None:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install 'adaptive-judge[parquet]'")
    if not file.seekable():
        raise InputError(f"{path}: Parquet is read from its end, which a pipe does not have: name the file")
    for number, row in enumerate(_rows(path, file), 1):
        where = f"{path}:row {number}"
        try:
            record = {name: _decoded(name, _present(value)) for name, value in row.items()}
        except InputError as error:
            if on_bad is None:
                raise InputError(f"{where}: {error.message}") from None
            on_bad(f"{where}: {error.message}")
        else:
            yield where, record


def _rows(path: object, file: BinaryIO) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow.parquet import ParquetFile

        # One thread keeps up, and leaves no pool behind for a trainer that forks.
        for batch in ParquetFile(file).iter_batches(batch_size=_BATCH, use_threads=False):
            yield from batch.to_pylist()
    # Everything, because damage has no class: it comes as an OSError, a UnicodeDecodeError, an overflow, ...
    except Exception as error:
        [first, *_] = str(error).splitlines() or ["no reason given"]
        raise InputError(f"{path}: cannot be read as Parquet: {first}") from None


def _decoded(name: str, value: Any) -> Any:
    """A column's text as what it spells, where that is a list or an object."""
    is_json = isinstance(value, str) and value.lstrip().startswith(("[", "{"))
    if not is_json or name not in _AS_JSON | _MAY_BE_TEXT:
        return value
    fault, decoded = decode(value.encode())
    if name in _MAY_BE_TEXT and not _is_meant(name, decoded):
        return value
    if fault is not None:
        raise InputError(f"{name}: {fault}")
    return decoded


def _is_meant(name: str, decoded: Any) -> bool:
    """Whether it is a context or messages, and not plain text that happens to begin with a bracket."""
    if name == "context":
        return isinstance(decoded, dict)
    return isinstance(decoded, list) and bool(decoded) and all(isinstance(each, dict) for each in decoded)


def _present(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == _IMAGE and value["bytes"] is not None:
            return value["bytes"]
        return {key: _present(item) for key, item in value.items() if item is not None}
    return [_present(item) for item in value] if isinstance(value, list) else value
