"""What judged, as 16 hex digits: a rerun asks again only where something here is different.

It needs no call to compute, and says nothing about the run that was judged. The reward scheme is left out:
it can be recomputed from the stored verdicts and stands beside the fingerprint in the log.
"""

from __future__ import annotations

import hashlib
import json

from judge.config import Config

JUDGING_REVISION = 2
"""Raised by hand when this code judges differently from before; an upgrade alone must not re-bill a run."""

_SAMPLING = ("model", "temperature", "seed", "max_tokens", "extra_body", "vision")


def fingerprint(config: Config, rubric_hash: str, prompt_hash: str, purposes: tuple[str, ...]) -> str:
    """The fingerprint of `config` with a rubric folder and a prompt set; `purposes` are those it asks."""
    endpoints = {purpose: config.judge.endpoint(purpose) for purpose in sorted(purposes)}
    facts = {
        "revision": JUDGING_REVISION,
        "rubrics": rubric_hash,
        "prompts": prompt_hash,
        "endpoints": {
            purpose: [endpoint.identity, *(getattr(endpoint, name) for name in _SAMPLING)]
            for purpose, endpoint in endpoints.items()
        },
        "max_reask": config.judge.max_reask,
        "fine": [config.rubrics.router, config.rubrics.fine, config.rubrics.on_fine_error],
        "frames": config.frames.model_dump(),
        "steps": config.steps.model_dump() if config.steps.mode != "none" else "none",
        "on_empty": config.on_empty,
        "context_retry": config.context_retry,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]
