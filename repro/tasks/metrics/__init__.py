"""Metrics as modules of `evaluate`: `evaluate.load("repro/tasks/metrics/glue.py", "mrpc")`.

The functions behind them are in `*_scores.py`, which training calls. See docs/metrics.md.
"""
