"""Figures as tables for a reader: rich on a terminal, plain text of 100 columns elsewhere.

One module for each view of `judge report`. They compute no figure: undefined ones show as a dash, and a mean
stands in the row of its n, or beside its own where that differs.
"""
