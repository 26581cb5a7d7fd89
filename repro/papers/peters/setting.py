"""The setting of feature extraction and fine-tuning, value by value with its source.

The table is known by a reprint (3-shared, Figure 6) that states no setting at all; "paper" here is
what the reprint shows, the rest is assumed.
"""

from __future__ import annotations

from repro.papers.glue import FINE_TUNING
from repro.papers.setting import Setting, assumed, paper

FEATURES: Setting = {
    "method.kind": ("frozen-features", paper("the row: feature extraction")),
    "method.units": (256, assumed("not stated; a usual width")),
    "method.dropout": (0.5, assumed("not stated; usual for an LSTM")),
    "recipe.batch_size": (32, assumed("as the fine-tuned row")),
    "recipe.epochs": (20, assumed("not stated; the best epoch is kept")),
    "recipe.keep": ("best", assumed("selected by the validation score")),
    "recipe.learning_rate": (1e-3, assumed("Adam's usual rate for an LSTM")),
    "recipe.schedule": ("bert", assumed("as the fine-tuned row")),
    "recipe.warmup": (0.1, assumed("as the fine-tuned row")),
    "recipe.adam_beta1": (0.9, assumed("Adam")),
    "recipe.adam_beta2": (0.999, assumed("Adam")),
    "recipe.adam_eps": (1e-8, assumed("Adam")),
    "recipe.bias_correction": (True, assumed("Adam")),
    "recipe.weight_decay": (0.0, assumed("Adam")),
    "recipe.clip_norm": (5.0, assumed("usual for an LSTM")),
}

TUNED: Setting = FINE_TUNING | {
    "recipe.keep": ("best", assumed("selected by the validation score")),
}

MORE: Setting = {
    "recipe.epochs": (10, assumed("smaller scales: the output must first get from 0 to 1..5")),
}
SLOW: dict[str, Setting] = {
    "reduced": MORE,
    "smoke": MORE
    | {"recipe.learning_rate": (2e-5, assumed("smoke scale: at 5e-5 it ends in one answer"))},
}
"""Scale -> fine-tuning on SICK-R: 3 epochs of few rows only get to the mean of the scores."""

TASK: Setting = {"task.max_length": (128, assumed("not stated; as BERT was fine-tuned on GLUE"))}
METHODS: dict[str, Setting] = {"features": TASK | FEATURES, "fine-tuning": TASK | TUNED}

SMALL: dict[str, dict[str, Setting]] = {
    "features": {
        "reduced": {
            "method.units": (128, assumed("reduced scale: a small encoder")),
            "method.dropout": (0.2, assumed("reduced scale: few rows")),
            "recipe.epochs": (10, assumed("reduced scale: a laptop")),
        },
        "smoke": {
            "method.units": (64, assumed("smoke scale: few rows")),
            "method.dropout": (0.1, assumed("smoke scale: few rows")),
            "recipe.epochs": (8, assumed("smoke scale: few rows")),
            "recipe.batch_size": (16, assumed("smoke scale: few rows")),
            "recipe.learning_rate": (3e-3, assumed("smoke scale: few steps")),
        },
    },
    "fine-tuning": {
        "reduced": {"recipe.learning_rate": (3e-5, assumed("as in the other tables"))},
        "smoke": {
            "recipe.batch_size": (16, assumed("smoke scale: few rows")),
            "recipe.learning_rate": (5e-5, assumed("smoke scale: few steps, small encoder")),
        },
    },
}
"""Variant -> scale -> what is ours."""
