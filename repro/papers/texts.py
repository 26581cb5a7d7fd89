"""What the tables of further text tasks have in common: which rows, at each scale."""

from __future__ import annotations

from repro.papers.setting import Setting, assumed, code, paper

DATA: dict[str, Setting] = {
    "paper": {
        "task.source": ("local", paper("public data sets of their owners")),
        "task.split_seed": (0, assumed("published sizes; which rows are in a split is not")),
        "task.train_rows": (None, paper("the training set as it is")),
        "task.evaluation_rows": (None, paper("the whole validation and test sets")),
        "task.subset_seed": (0, assumed("draws nothing where all rows are taken")),
        "task.max_length": (128, code("max_seq_length")),
    },
    "reduced": {
        "task.source": ("local", assumed("reduced scale: real rows")),
        "task.split_seed": (0, assumed("80/10/10; which rows are in a split is not published")),
        "task.train_rows": (4_000, assumed("reduced scale: a laptop")),
        "task.evaluation_rows": (2_000, assumed("reduced scale: a laptop")),
        "task.subset_seed": (0, assumed("draws the rows that a cap keeps")),
        "task.max_length": (128, code("max_seq_length")),
    },
    "smoke": {
        "task.source": ("generated", assumed("smoke scale: sentences made from a seed")),
        "task.split_seed": (0, assumed("generated rows come in splits")),
        "task.train_rows": (None, assumed("smoke scale: all rows")),
        "task.evaluation_rows": (None, assumed("smoke scale: all rows")),
        "task.subset_seed": (0, assumed("draws nothing where all rows are taken")),
        "task.max_length": (128, code("max_seq_length")),
    },
}
"""Scale -> which rows of a task of `repro.spec.texts`."""
