"""The reward log: one JSON line per judged trajectory, written in one append and read as a stream.

`line` is the format, `append` writes, `rows` reads and says which rows a rerun may skip. Tables and figures
over many rows are analysis/'s.
"""

from judge.log.append import RewardLog
from judge.log.line import SCHEMA, Judgement, encode_line, line_of
from judge.log.rows import SETTLED_ERRORS, is_settled, read_log, settled_keys

__all__ = [
    "SCHEMA",
    "SETTLED_ERRORS",
    "Judgement",
    "RewardLog",
    "encode_line",
    "is_settled",
    "line_of",
    "read_log",
    "settled_keys",
]
