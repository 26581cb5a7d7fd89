"""The published setting of Adaptable Adapters, value by value with its source, and our scales.

"code" is github UKPLab/adaptable-adapters at 9449be3. Where it has a defect that changes results,
the headline repairs it, and --as-released keeps it.
"""

from __future__ import annotations

from repro.papers.setting import Setting, assumed, code, paper

SECTION = "section 4.3"

PLAIN: Setting = {
    "method.kind": ("adaptable-adapters", paper(f"{SECTION}: AdapterHub's pfeiffer")),
    "method.activation": ("relu", paper("section 3.1: AdapterHub's default")),
    "method.switch": ("none", paper(f"{SECTION}: the baseline has none")),
    "method.layers": (None, paper(f"{SECTION}: every layer")),
    "method.drops": (0, paper(f"{SECTION}: nothing is dropped")),
    "method.init_std": (0.02, code("AdapterHub: N(0, 0.02), biases 0")),
    "method.pooler": ("frozen", code("the whole encoder is frozen; a classifier is trained")),
    "method.dropout": (0.1, code("BERT's own, active in training")),
    "method.form": ("a", assumed("of rationals, which it has none of")),
    "method.start": ("one", assumed("of rationals, which it has none of")),
    "method.temperature": (0.1, assumed("of switches, which it has none of")),
    "method.restored": ("best", assumed("of switches, which it has none of")),
}
"""The baseline."""

RATIONAL: Setting = {
    "method.activation": ("rational", paper("section 3.1, m = 5, n = 4")),
    "method.form": ("a", code("rational_activations 0.2.2, version A; the equation fits A and B")),
    "method.start": ("one", paper(f"{SECTION}: the constant 1")),
}
SWITCH: Setting = {
    "method.switch": (
        "as-run",
        code("the adapter's branch keeps its residual; the paper drops it"),
    ),
    "method.temperature": (0.1, paper(f"{SECTION}: tau")),
    "method.restored": ("best", assumed("switches of the epoch whose adapters are kept")),
}
AS_RELEASED: Setting = {
    "method.switch": ("released", code("the identity branch adds the layer's output once more")),
    "method.restored": ("last", code("checkpoints hold no switches")),
}
"""What --as-released changes in every model with a switch."""

RECIPE: Setting = {
    "recipe.batch_size": (32, code("run.py")),
    "recipe.epochs": (20, paper("section 4.4: low-data")),
    "recipe.keep": ("first-best", code("the best epoch on development rows, ties to the first")),
    "recipe.learning_rate": (1e-4, code("run.py: adapters and classifier")),
    "recipe.switch_rate": (0.05, code("run.py: switches")),
    "recipe.rational_rate": (0.01, code("run.py: rationals")),
    "recipe.schedule": ("linear", code("the Trainer's default")),
    "recipe.warmup": (0.0, code("the Trainer's default")),
    "recipe.adam_beta1": (0.9, code("the Trainer's default")),
    "recipe.adam_beta2": (0.999, code("the Trainer's default")),
    "recipe.adam_eps": (1e-8, code("the Trainer's default")),
    "recipe.bias_correction": (True, code("torch's Adam")),
    "recipe.weight_decay": (0.0, code("no decay")),
    "recipe.decayed": ("all", assumed("nothing is decayed")),
    "recipe.clip_norm": (1.0, code("the Trainer's default")),
}

FULL_DATA: Setting = {
    "recipe.epochs": (20, code("run.py: the default; the paper states it for low data only")),
}
"""What training on all rows changes in the recipe."""

DRAWN: Setting = {
    "task.development": (0.25, paper("section 4.4: a quarter of the training rows")),
}

SMALL: dict[str, Setting] = {
    "reduced": {
        "task.evaluation_rows": (1_000, assumed("reduced scale: a laptop")),
        "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps, small encoder")),
    },
    "smoke": {
        "task.revision": ("seed=0,train=100,validation=40", assumed("smoke scale: few rows")),
        "recipe.batch_size": (8, assumed("smoke scale: few rows")),
        "recipe.epochs": (3, assumed("smoke scale: few rows")),
        "recipe.learning_rate": (1e-3, assumed("smoke scale: few steps")),
    },
}

FULL = "Full data"
LOW = {100: "Low-data-100", 300: "Low-data-300", 500: "Low-data-500"}
"""Rows -> the block of a table, as the paper calls it."""
BLOCKS: dict[str, int | None] = {FULL: None} | {name: rows for rows, name in LOW.items()}
"""Block -> the annotated rows that it draws; None: all."""
SMOKE_ROWS = {100: 40, 300: 60, 500: 80}
"""What stands for them among the generated rows."""
REDUCED_FULL: Setting = {
    "task.train_rows": (2_000, assumed("reduced scale: a laptop")),
    "recipe.epochs": (5, assumed("reduced scale: a laptop")),
}

SEEDS = (42, 92, 111, 245, 651)
"""Of the paper (released code), the first one first; ours go on from `FURTHER`."""
FURTHER = 1_000
DEPTH, KEPT = 24, 13
"""BERT-large's layers, and how many of them AA keeps for QQP (section 5)."""
