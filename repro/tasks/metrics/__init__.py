"""Metrics as modules of `evaluate`: `evaluate.load("repro/tasks/metrics/glue.py", "mrpc")`.

Workers alone import them: each loads `evaluate` and `datasets`. See docs/metrics.md.
"""
