"""What stands for HyperFormer's setting at the small scales: every number here is ours.

At smoke scale rows are generated, and T5 is a tiny one that a run of the plan pre-trains.
"""

from __future__ import annotations

from repro.papers.setting import Setting, assumed, code
from repro.spec import Scale

SMOKE_DATA = "seed=0,train=1000,validation=120"
"""Generated rows of every task."""
CORPUS = "seed=0,train=8000,validation=100"
"""Generated texts that the tiny T5 is pre-trained on."""
SMOKE, REDUCED = "smoke scale: few rows", "reduced scale: a laptop"
PRETRAINED = "smoke scale: the tiny T5 knows nothing else"
TINY = "smoke scale: few steps, a tiny T5"


def looks(count: int, steps: int, why: str) -> Setting:
    """So many looks at the validation rows, one after each so many steps."""
    return {
        "recipe.epochs": (count, assumed(why)),
        "recipe.look_steps": (steps, assumed(why)),
        "recipe.steps": (count * steps, assumed(why)),
    }


SMALL: dict[Scale, Setting] = {
    "paper": {},
    "reduced": {
        **looks(4, 100, REDUCED),
        "task.train_rows": (2_000, assumed(REDUCED)),
        "task.evaluation_rows": (200, assumed(REDUCED)),
        "recipe.batch_size": (16, assumed(REDUCED)),
        "recipe.loss_parts": (1, assumed("reduced scale: one device")),
        "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps")),
        "recipe.warmup": (0.1, assumed("reduced scale: few steps")),
    },
    "smoke": {
        **looks(4, 200, SMOKE),
        "task.source": ("generated", assumed("smoke scale: texts made from a seed")),
        "task.max_length": (64, assumed("smoke scale: short texts")),
        "recipe.batch_size": (32, assumed(SMOKE)),
        "recipe.loss_parts": (1, assumed("smoke scale: one device")),
        "recipe.learning_rate": (3e-3, assumed(TINY)),
        "recipe.warmup": (0.05, assumed("smoke scale: few steps")),
    },
}
"""Of every run on tasks, beside what the paper's scale says."""

METHOD: dict[Scale, Setting] = {
    "paper": {},
    "reduced": {},
    "smoke": {
        "method.reduction": (4, assumed("smoke scale: a bottleneck of 16")),
        "method.dropout": (0.0, assumed("smoke scale: with it so narrow a model learns nothing")),
    },
}
"""Of every method."""
SINGLE: dict[Scale, Setting] = {"paper": {}, "reduced": {}, "smoke": looks(4, 50, SMOKE)}
"""Of a run on one task alone."""
GENERATED: dict[Scale, Setting] = {
    "paper": {},
    "reduced": {},
    "smoke": {"recipe.learning_rate": (1e-3, assumed(TINY))},
}
"""Of a run whose adapters are generated: a step moves each of their tensors by many weights."""
LOW_SMALL: dict[Scale, Setting] = {"paper": {}, "reduced": {}, "smoke": looks(4, 100, SMOKE)}
"""Of a run of Figure 2."""

PRETRAINING: Setting = {
    **looks(2, 800, PRETRAINED),
    "task.source": ("generated", assumed("smoke scale: texts made from a seed")),
    "task.max_length": (64, assumed("smoke scale: short texts")),
    "recipe.batch_size": (32, assumed(PRETRAINED)),
    "recipe.learning_rate": (4e-3, assumed(PRETRAINED)),
    "recipe.warmup": (0.05, assumed(PRETRAINED)),
    "recipe.label_smoothing": (0.0, assumed("as T5 was pre-trained")),
    "recipe.over_tokens": ("mean", assumed("as T5 was pre-trained")),
    "recipe.loss_parts": (1, assumed("a mean over tokens")),
    "recipe.keep": ("last", assumed("as T5 was pre-trained")),
    "method.dropout": (0.0, code("T5 was pre-trained without dropout (Raffel et al. 2020)")),
}
"""The tiny T5's span corruption."""

FEW_SIZES = {4: 4, 16: 16, 32: 32, 100: 64, 250: 96, 500: 96, 1_000: 128, 2_000: 160}
"""Samples of Table 2 -> those that stand for them at smoke scale."""
FEW_SMALL: dict[Scale, Setting] = {
    "paper": {},
    "reduced": {**looks(4, 25, REDUCED), "recipe.learning_rate": (1e-3, assumed(REDUCED))},
    "smoke": {**looks(3, 20, SMOKE), "recipe.learning_rate": (1e-3, assumed(SMOKE))},
}
LOW_SIZES: dict[Scale, tuple[int, ...]] = {
    "paper": (100, 500, 1_000, 2_000, 4_000),
    "reduced": (100, 500),
    "smoke": (25, 100, 400),
}
"""Samples a task of Figure 2."""
