"""What the reward logs say: tables as pandas DataFrames, and how they are shown.

`frame` (with `columns`) reads logs into one DataFrame, `marks` says which of its rows count for what, and
`statistics` knows nothing of logs. On these stand the views of `judge report`:

- summary: `compare`, `pairing`; with `--by fine`, `fine`
- compare: `versions`, `paired`
- noise: `noise`, `reading` (what the figures mean), `suspects` (the rows to look at first)
- health: `health`, `incentives` and `trends` (what rewards pay for), `components`, `finding`
- groups and calibration: `groups`, `stepwise`, `rollouts`, `calibration`
- tasks: `tasks`, `choosing`, `duplicates`

`agreement` is the table of `judge agreement`, `sqlite` and `parquet` write files, and `render` has a module
that prints for each view. Logs are all that is opened here: stored runs are handed in by the command line.
Nothing under `judge` loads this package except the command line, when asked.
"""
