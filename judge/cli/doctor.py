"""`judge doctor`: whether judgements can work with these settings, and what to do where they cannot."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

import click

from judge.cli.options import base_url_option, config_option, model_option
from judge.config import Config
from judge.doctor import Finding, Level, diagnose

_BROKEN = 4


@click.command("doctor")
@config_option
@model_option
@base_url_option
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
def doctor(config_path: str | None, model: str | None, base_url: str | None, as_json: bool) -> int:
    """Ask the configured endpoint a few tiny questions and say what is wrong, and what to do.

    Looks at the address, the key (which is never shown), the models, one judgement three times over, the
    parameters and images the endpoint takes, the cache folder and the reward log; at each endpoint where
    judge.purposes names several. Exit status: 0 judgements can work, 2 bad usage, 4 they cannot.
    """
    said = {"model": model, "base_url": base_url}
    config = Config.load(config_path, judge={key: value for key, value in said.items() if value is not None})
    findings = diagnose(config)
    levels = _print_json(findings) if as_json else _print_lines(findings)
    return _BROKEN if "fail" in levels else 0


def _print_lines(findings: Iterable[Finding]) -> list[Level]:
    levels = []
    for finding in findings:
        click.echo(str(finding))
        levels.append(finding.level)
    return levels


def _print_json(findings: Iterable[Finding]) -> list[Level]:
    found = list(findings)
    levels = [finding.level for finding in found]
    whole = {"ok": "fail" not in levels, "findings": [asdict(finding) for finding in found]}
    click.echo(json.dumps(whole, ensure_ascii=False, indent=2))
    return levels
