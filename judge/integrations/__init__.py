"""Reward functions as training frameworks call them: one module for each, thin over Judge.

Each imports its framework lazily, if at all, so that any of them can be imported without it. What happens to
a judgement that failed is said by `on_abstain` in each: it is never passed on as a score.
"""
