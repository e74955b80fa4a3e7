"""`--view groups`: the advantages within each group, and the groups whose rewards are all equal."""

from __future__ import annotations

from judge.cli.report.asked import Asked, print_json
from judge.config import Config


def show(asked: Asked) -> None:
    from analysis.compare import records
    from analysis.groups import (
        GROUP_COLUMNS,
        VERSION_FIGURES,
        dead_groups,
        group_records,
        group_rollouts,
        summarise_groups,
    )
    from analysis.render.groups import show_groups
    from analysis.render.tables import report_console
    from analysis.stepwise import STEP_COLUMNS, labelled_rows, step_advantages

    tiers = Config.load(asked.config_path).reward.tiers
    frame = asked.frame(also=(*GROUP_COLUMNS, *STEP_COLUMNS))
    rollouts = group_rollouts(frame)
    groups = dead_groups(rollouts)
    versions = summarise_groups(groups)
    # The tables on the terminal show no step's advantage, only how many groups have any.
    if asked.as_json or asked.csv_folder is not None:
        rollouts = step_advantages(rollouts, frame, tiers)
    dead = rollouts["number"].map(groups["dead"])
    asked.write_csv({"groups": rollouts.drop(columns="number").assign(dead=dead)})
    if asked.as_json:
        shown = records(versions, VERSION_FIGURES)
        print_json({"groups": group_records(rollouts, groups), "versions": shown})
    else:
        labelled = rollouts.loc[labelled_rows(rollouts, frame), "number"].nunique()
        show_groups(report_console(), versions, rollouts, groups, labelled)
