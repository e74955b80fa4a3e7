"""Rows of a Parquet file as (place, record) pairs; needs pyarrow (extra `parquet`).

Columns hold one type, so that four things differ from JSON.

- Every struct of a column has the keys of all: a null in a struct says that the key was absent, and is left
  out. A map is an object too, but has the keys of its own row: a null in it is null.
- A list of objects may be stored as a struct of lists of one length, as `datasets` writes Sequence({...}). It
  is turned around where a list of objects belongs: in the columns of _LISTS, and in `tool_calls` of what they
  hold. A null in one of the lists was absent, as it is in a struct.
- What varies from row to row is often stored as JSON text: in the columns named here such text is read, and
  in three of them it may also be plain text.
- An image is a struct of bytes and path, of which the bytes count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, BinaryIO

from judge.errors import InputError
from judge.readers.lines import OnBad, Records, decode

MAGIC = b"PAR1"

_LISTS = {"steps", "frames", "actions", "messages", "traj", "trajectory", "history", "prompt", "completion"}
_MAY_BE_TEXT = {"prompt", "completion", "context"}
_AS_JSON = (_LISTS - _MAY_BE_TEXT) | {"outcome", "metadata", "labels", "info"}
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
            record = {name: _decoded(name, _turned(name, value)) for name, value in row.items()}
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
        table = ParquetFile(file)
        plain = {field.name: _plain(field.type) for field in table.schema_arrow}
        for batch in table.iter_batches(batch_size=_BATCH, use_threads=False):
            for row in batch.to_pylist():
                yield {name: plain[name](value) for name, value in row.items()}
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


def _plain(kind: Any) -> Callable[[Any], Any]:
    """What makes of a value of an Arrow type the value that JSON would hold."""
    from pyarrow import types

    if not types.is_nested(kind):
        return lambda value: value
    if types.is_map(kind):
        of_item = _plain(kind.item_type)
        return lambda pairs: None if pairs is None else {str(key): of_item(item) for key, item in pairs}
    if not types.is_struct(kind):
        of_item = _plain(kind.value_type)
        return lambda items: None if items is None else [of_item(item) for item in items]
    fields = [kind.field(at) for at in range(kind.num_fields)]
    return partial(_present, {field.name: _plain(field.type) for field in fields})


def _present(plain: Mapping[str, Callable[[Any], Any]], value: Any) -> Any:
    if value is None:
        return None
    if value.keys() == _IMAGE and value["bytes"] is not None:
        return value["bytes"]
    return {key: plain[key](item) for key, item in value.items() if item is not None}


def _turned(name: str, value: Any) -> Any:
    """A column that is a struct of lists, where a list of objects belongs, as that list."""
    if name not in _LISTS:
        return value
    found = _rows_of(name, value)
    for position, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict) and "tool_calls" in each:
            each["tool_calls"] = _rows_of(f"{name}.{position}.tool_calls", each["tool_calls"])
    return found


def _rows_of(place: str, value: Any) -> Any:
    if not value or not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        return value
    if len({len(each) for each in value.values()}) > 1:
        told = ", ".join(f"{key} {len(each)}" for key, each in value.items())
        raise InputError(f"{place}: lists of one length make a list of objects; these differ ({told})")
    rows = zip(*value.values(), strict=True)
    return [{key: item for key, item in zip(value, row, strict=True) if item is not None} for row in rows]
