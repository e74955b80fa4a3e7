"""`--view calibration`: what the steps of each tier are worth by the outcomes."""

from __future__ import annotations

import click

from judge.cli.report.asked import Asked, print_json
from judge.cli.report.calibrated import labelled_rollouts, tiered_rollouts
from judge.config import Config


def show(asked: Asked) -> None:
    from analysis.calibration import as_yaml, calibrate
    from analysis.compare import records
    from analysis.render.calibration import show_calibration
    from analysis.render.tables import report_console
    from analysis.rollouts import LABEL_VALUES, TIER_VALUES

    if asked.alpha is None or asked.delta is None:
        raise click.UsageError("--view calibration needs --alpha and --delta: there are no good defaults")
    if asked.tiers == "labels" and asked.inputs:
        raise click.UsageError("--tiers labels takes the judge's labels from the log: leave out --input")
    by_label = asked.tiers == "labels" or not (asked.tiers or asked.inputs)
    in_force = Config.load(asked.config_path).reward.tiers
    start = LABEL_VALUES if by_label else TIER_VALUES
    values = {tier: in_force.get(tier, value) for tier, value in start.items()}
    rollouts = (
        labelled_rollouts(asked.logs, asked.candidate, asked.bad.append)
        if by_label
        else tiered_rollouts(asked.logs, asked.candidate, asked.inputs, asked.bad.append)
    )
    asked.say_what_is_missing()
    table = calibrate(rollouts, alpha=asked.alpha, delta=asked.delta, values=values)
    asked.write_csv({"calibration": table})
    if asked.as_json:
        tiers = records(table, list(table.columns))
        print_json({"alpha": asked.alpha, "delta": asked.delta, "tiers": tiers})
    else:
        show_calibration(report_console(), table, as_yaml(table))
