"""What the reward logs say: tables as pandas DataFrames, and how they are shown.

`frame` reads logs into one DataFrame, `compare` turns it into figures, `render` prints them. It opens logs
alone; `rollouts` and `calibration` take the stored runs that the command line hands them. Nothing under
`judge` loads it except the command line, when asked.
"""
