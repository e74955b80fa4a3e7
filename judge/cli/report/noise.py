"""`--view noise`: strict or noisy, from the repeated judgements of a run, and the rows to look at first."""

from __future__ import annotations

from judge.cli.report.asked import Asked, print_json
from judge.log import read_log


def show(asked: Asked) -> None:
    from analysis.compare import records
    from analysis.noise import NOISE_COLUMNS, judged_runs, noise_figures, notes
    from analysis.render.noise import show_noise
    from analysis.render.tables import report_console
    from analysis.suspects import look_first

    frame = asked.frame(also=NOISE_COLUMNS)
    runs = judged_runs(frame)
    versions, categories = noise_figures(runs), noise_figures(runs, by_category=True)
    said = notes(frame, runs)
    examined = look_first(read_log(*asked.logs, on_bad=lambda _: None), runs, frame)
    tables = {"noise": versions, "noise_categories": categories, "noise_look_first": examined.rows}
    asked.write_csv(tables)
    if asked.as_json:
        names = {"noise": "versions", "noise_categories": "categories", "noise_look_first": "look_first"}
        found = {names[name]: records(table, list(table.columns)) for name, table in tables.items()}
        print_json({**found, "notes": said})
    else:
        show_noise(report_console(), versions, categories, examined, said)
