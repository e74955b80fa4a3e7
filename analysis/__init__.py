"""What the reward logs say: tables as pandas DataFrames, and how they are shown.

`frame` reads logs into one DataFrame, `compare` turns it into figures, `render` prints them. It reads only
logs, never trajectories or caches, and nothing under `judge` loads it except the command line, when asked.
"""
