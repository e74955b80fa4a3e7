"""Rows of mixed JSON as a Parquet file, whose columns can hold one type only."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, BinaryIO

import pandas as pd

__all__ = ["write_parquet"]


def write_parquet(file: BinaryIO, rows: Iterable[dict[str, Any]]) -> int:
    """Write the rows and give their number; lists and objects become JSON text. Needs pyarrow.

    The rows have the same keys. All of them are held in memory.
    """
    table = pd.DataFrame([{name: _flat(value) for name, value in row.items()} for row in rows])
    table.to_parquet(file, engine="pyarrow", index=False)
    return len(table)


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | dict) else value
