"""`--view health`: what may be wrong with a run, from its log."""

from __future__ import annotations

from judge.cli.report.asked import Asked, print_json


def show(asked: Asked) -> None:
    from analysis.compare import records
    from analysis.health import HEALTH_COLUMNS, failure_kinds, health, training_steps
    from analysis.render.health import show_health
    from analysis.render.tables import report_console

    frame = asked.frame(also=HEALTH_COLUMNS)
    tables = {"health": health(frame), "failures": failure_kinds(frame), "steps": training_steps(frame)}
    asked.write_csv(tables)
    if asked.as_json:
        shown = {name: records(table, list(table.columns)) for name, table in tables.items()}
        print_json({"findings": shown.pop("health"), **shown})
    else:
        show_health(report_console(), **tables)
