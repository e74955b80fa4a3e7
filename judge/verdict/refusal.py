"""Whether a reply without a verdict is the model declining to do the work.

Only the model's own words at the very beginning count. "I am unable to grade this" is a judge that found no
basis, not one that declined, and a refusal quoted from the run is the agent's.
"""

from __future__ import annotations

import re

_PREAMBLE = (
    r"(?:(?:(?:i['’]?m|i am)\s+)?(?:(?:so|very|really|truly)\s+)?sorry\b[^.!?\n\"“]{0,40}[,.!;:—-]+\s*"
    r"|(?:(?:my\s+)?apologies|i apologi[sz]e)\b[^.!?\n\"“]{0,40}[,.!;:—-]+\s*"
    r"|as an? [^,.\n\"“]{1,60},\s*|unfortunately,?\s+|however,?\s+|but\s+)"
)
_CANNOT = (
    r"(?:can['’]?t|can ?not|won['’]?t(?: be able to)?|will not(?: be able to)?"
    r"|(?:['’]?m|am)\s+(?:unable|not able|not going)\s+to)"
)
_WORK = (
    r"(?:(?:help|assist)(?:\s+you)?\s*(?:with\b|in\b|here\b|[.,!;]|\Z)"
    r"|(?:comply|engage|participate|fulfil{1,2}|discuss)\b|do (?:that|this)\b"
    r"|provide\s+(?:help|assistance|support|that|this)\b"
    r"|(?:process|respond to|continue with)\s+(?:this|that|the|your)\s+(?:request|conversation|content)\b)"
)
_DECLINE = (
    r"(?:(?:must|have to|need to|will|respectfully)\s+){0,2}(?:decline|refuse)\s*"
    rf"(?:to\s+{_WORK}|(?:this|that|the|your)\s+request\b|[.!]|\Z)"
)
_ENGLISH = re.compile(rf"\s*{_PREAMBLE}{{0,4}}i\s*(?:{_CANNOT}\s+{_WORK}|{_DECLINE})", re.IGNORECASE)
_CHINESE = re.compile(
    r"\s*(?:(?:非常|很|十分)?(?:抱歉|对不起|遗憾)[，,。！!\s]*|作为[^，,。\n“\"]{1,40}[，,]\s*|但是?){0,3}"
    r"我(?:无法|不能|没法|没有办法|不可以|拒绝)(?:为您|为你|对此|就此|给您|给你)?"
    r"(?:提供(?:帮助|协助|支持)|协助|帮助|帮忙|满足|参与|讨论|(?:处理|回应|继续)(?:这|该|此|您|你))"
)


def is_refusal(text: str) -> bool:
    """Whether `text` begins with the model saying of itself that it will not do what was asked."""
    opening = text[:400]
    return bool(_ENGLISH.match(opening) or _CHINESE.match(opening))
