"""The published setting of HyperFormer, value by value with its source.

"code" is github rabeehk/hyperformer at 56b0f99. The copies of the paper at hand are its tables and
a few sentences, so most of how it trains is the released code's. Table 1's numbers of parameters
fix the model: no other reduction, embedding or projector gives them. The released configuration of
HyperFormer is another model, which --as-released keeps.
"""

from __future__ import annotations

from repro.papers.setting import Setting, assumed, code, lines, paper
from repro.spec import Scale

SIZES = "SMALL", "BASE"
TUNED, SINGLE, MULTI = "Single-task / T5", "Single-task / Adapters", "Multi-task / T5"
DAGGER, HYPER, PLUS = (
    "Multi-task / Adapters dagger", "Multi-task / HYPERFORMER", "Multi-task / HYPERFORMER++",
)  # fmt: skip
"""The models of Table 1."""
WHOLE, NO_BLOCKS = "HYPERFORMER_SMALL", "- Adapter blocks"
NO_CONDITIONAL, NO_PROJECTOR = "- Conditional layer norm", "- Task projector"
NO_T5_NORM, NO_NORMS = "- T5 Layer norm", "- Conditional layer norm, T5 Layer norm"
"""The rows of Table 4."""

CONFIGS = "configs/*.json"
DEFAULT = "transformers 3.5.1: the Trainer's default"
SEED = 42
"""Of the first run: the Trainer's default, which no configuration changes. Further seeds, of which
the paper does not say what they were, are the numbers after it."""
PREFIX: Setting = {
    "task.prefix": (True, code("finetune_t5_trainer.py: add_prefix where no adapters are trained"))
}
"""Of the rows that are fine-tuned whole."""

TASK: Setting = {
    "task.name": ("text-to-text", paper("GLUE as text to text, as T5 reads it")),
    "task.source": ("published", paper("the eight tasks of GLUE, and the four of Table 2")),
    "task.temperature": (10.0, code(f"{CONFIGS}: temperature")),
    "task.prefix": (False, code("finetune_t5_trainer.py: none where adapters are trained")),
    "task.set_aside": ("left-out", assumed("repaired: validation rows are not trained on")),
    "task.grid": (
        "0.2",
        assumed("repaired: the code's comment says 0.2, its arithmetic gives 0.1"),
    ),
    "task.colon": (True, assumed("repaired: as in every other task")),
    "task.last_rows": ("kept", assumed("repaired: no row is left out")),
    "task.split_seed": (42, code("training_args.py: data_seed")),
    "task.train_rows": (None, code(f"{CONFIGS}: no n_train")),
    "task.evaluation_rows": (None, code(f"{CONFIGS}: no n_val and no n_test")),
    "task.subset_seed": (0, assumed("draws nothing where all rows are taken")),
    "task.max_length": (128, code(f"{CONFIGS}: max_source_length")),
    "task.max_target": (128, code(f"{CONFIGS}: max_target_length")),
}
AS_RELEASED: Setting = {
    "task.set_aside": ("trained-on", code("finetune_t5_trainer.py: training data is not split")),
    "task.last_rows": ("left-out", code("data/tasks.py: n_obs = -1 is the end of a slice")),
    "task.grid": ("0.1", code("data/utils.py: (5 y) / 5, rounded to one decimal")),
    "task.colon": (False, code("data/tasks.py: 'hypothesis' without one")),
}
"""What --as-released changes in the data of every row."""

STEPS, LOOK, WARMUP = 65_536, 1_000, 500
RECIPE: Setting = {
    "recipe.epochs": (-(-STEPS // LOOK), code(f"{CONFIGS}: looks until max_steps")),
    "recipe.look_steps": (LOOK, code(f"{CONFIGS}: eval_steps and save_steps")),
    "recipe.steps": (STEPS, code(f"{CONFIGS}: max_steps; as many rows as 2^18 steps of 32")),
    "recipe.batch_size": (128, code("scripts/*.sh: 32 on each of four GPUs")),
    "recipe.keep": ("first-best", code(f"{CONFIGS}: load_best_model_at_end, average_metrics")),
    "recipe.learning_rate": (3e-4, code(f"{CONFIGS}: learning_rate")),
    "recipe.schedule": ("linear", code("training_args.py: lr_scheduler; the text says constant")),
    "recipe.warmup": (WARMUP / STEPS, code(f"{CONFIGS}: warmup_steps 500")),
    **lines(
        "recipe", code(DEFAULT), adam_beta1=0.9, adam_beta2=0.999, adam_eps=1e-8, weight_decay=0.0,
        clip_norm=1.0,
    ),
    "recipe.bias_correction": (True, code("transformers 3.5.1: AdamW corrects")),
    "recipe.decayed": ("all", assumed("nothing is decayed")),
    "recipe.label_smoothing": (0.1, code(f"{CONFIGS}: label_smoothing")),
    "recipe.over_tokens": ("sum", code("the loss of label smoothing is summed over tokens")),
    "recipe.loss_parts": (4, code("scripts/*.sh: gradients are averaged over four GPUs")),
    "recipe.padding": ("dynamic", assumed("equal numbers to padding at 128")),
    "recipe.order": ("shuffled", code("data/multitask_sampler.py: rows with replacement")),
    **lines(
        "recipe", assumed("of spans, which there are none of"), start_weight=1.0, end_weight=1.0
    ),
    "recipe.logit_clamp": (None, assumed("nothing is clamped")),
    "recipe.precision": ("fp32", code(f"{CONFIGS}: no fp16")),
}  # fmt: skip

DROPOUT: Setting = {"method.dropout": (0.1, code("T5's own configuration"))}
ONLY_32 = "Table 1: no other reduction gives its shares; the scripts tried 16, too"
ADAPTED: Setting = DROPOUT | {
    "method.reduction": (32, paper(ONLY_32)),
    "method.starts_from": (None, code("adapters and embeddings are new")),
}
FINE_TUNING: Setting = DROPOUT | {
    "method.kind": ("t5-fine-tuning", paper("Table 1: every parameter of T5"))
}
ADAPTERS: Setting = ADAPTED | {
    "method.kind": ("t5-adapters", paper("Table 1: adapters of a task's own"))
}
HYPERFORMER: Setting = ADAPTED | {
    "method.kind": ("hyperformer", paper("its equations: hypernetworks of adapters")),
    "method.generators": (
        "slot",
        paper("Table 1: only a set for every slot gives 5.80 and 6.86 %"),
    ),
    "method.task_embedding": (512, paper("Table 1: 5.80 % needs 512 and the projector")),
    "method.projector": (128, code("training_args.py: task_hidden_dim")),
    "method.projected": (64, code(f"{CONFIGS}: projected_task_embedding_dim")),
    "method.blocks": (True, code("training_args.py: train_adapters_blocks")),
    "method.norm": ("generated", code(f"{CONFIGS}: conditional_layer_norm")),
    "method.t5_norms": (True, code(f"{CONFIGS}: unfreeze_layer_norms")),
}
PLUS_PLUS: Setting = HYPERFORMER | {
    "method.generators": ("stack", code("configs/hyperformer++.json: efficient_unique_hyper_net")),
    "method.task_embedding": (64, code("configs/hyperformer++.json: task_embedding_dim")),
}
RELEASED_HYPERFORMER: Setting = {
    "method.generators": ("kind", code("configs/hyperformer.json: unique_hyper_net")),
    "method.task_embedding": (64, code("configs/hyperformer.json: task_embedding_dim")),
}
"""What --as-released makes of HyperFormer: a model with a tenth of the published parameters."""

SHARED_NORM: Setting = {
    "method.norm": ("shared", assumed("as in Adapters-dagger; --set method.norm=none has none"))
}
FROZEN_NORMS: Setting = {"method.t5_norms": (False, paper("Table 4: T5's layer norms are frozen"))}
ABLATIONS: dict[str, Setting] = {
    NO_BLOCKS: {"method.blocks": (False, assumed("read as A(x) = LN(x) + x, the norm generated"))},
    NO_CONDITIONAL: SHARED_NORM,
    NO_PROJECTOR: {
        "method.projector": (None, paper("Table 4: without the task projector")),
        "method.task_embedding": (64, assumed("without a projector as wide as what it gives")),
    },
    NO_T5_NORM: FROZEN_NORMS,
    NO_NORMS: SHARED_NORM | FROZEN_NORMS,
}
"""Row of Table 4 -> what it changes in HyperFormer."""


def looks(count: int, steps: int, why: str) -> Setting:
    """So many looks at the validation rows, one after each so many steps."""
    return lines("recipe", assumed(why), epochs=count, look_steps=steps, steps=count * steps)


FEW: Setting = {
    **looks(10, 100, "few-shot: not stated in the copies at hand"),
    "recipe.learning_rate": (3e-4, assumed("few-shot: as before")),
    **lines("recipe", assumed("few-shot: few steps"), schedule="constant", warmup=0.0),
    "recipe.loss_parts": (1, assumed("few-shot: one GPU holds the batch")),
}
FEW_BATCH = 32
"""At most, and at most all samples (assumed)."""
# What stands for it at the small scales: every number below is ours. At smoke scale rows are
# generated, and T5 is a tiny one that a run of the plan pre-trains.

SMOKE_DATA = "seed=0,train=1000,validation=120"
"""Generated rows of every task."""
CORPUS = "seed=0,train=8000,validation=100"
"""Generated texts that the tiny T5 is pre-trained on."""
SMOKE, REDUCED = "smoke scale: few rows", "reduced scale: a laptop"
UNTRAINED = "smoke scale: the tiny T5 knows nothing else"
TINY = "smoke scale: few steps, a tiny T5"


SMALL: dict[Scale, Setting] = {
    "reduced": {
        **looks(4, 100, REDUCED),
        **lines("task", assumed(REDUCED), train_rows=2_000, evaluation_rows=200),
        "recipe.batch_size": (16, assumed(REDUCED)),
        "recipe.loss_parts": (1, assumed("reduced scale: one device")),
        **lines("recipe", assumed("reduced scale: few steps"), learning_rate=1e-3, warmup=0.1),
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
    "smoke": {
        "method.reduction": (4, assumed("smoke scale: a bottleneck of 16")),
        "method.dropout": (0.0, assumed("smoke scale: with it so narrow a model learns nothing")),
    },
}
"""Of every method."""
ALONE: dict[Scale, Setting] = {"smoke": looks(4, 50, SMOKE)}
"""Of a run on one task alone."""
GENERATED: dict[Scale, Setting] = {"smoke": {"recipe.learning_rate": (1e-3, assumed(TINY))}}
"""Of a run whose adapters are generated: a step moves each of their tensors by many weights."""
LOW: dict[Scale, Setting] = {
    "paper": {
        "recipe.epochs": (15, assumed("low-resource: looks until 15,000 steps")),
        "recipe.steps": (15_000, assumed("low-resource: not stated in the copies at hand")),
        "recipe.warmup": (WARMUP / 15_000, assumed("low-resource: 500 steps, as before")),
    },
    "smoke": looks(4, 100, SMOKE),
}
"""Of a run of Figure 2."""

PRETRAINING: Setting = {
    **looks(2, 800, UNTRAINED),
    "task.source": ("generated", assumed("smoke scale: texts made from a seed")),
    "task.max_length": (64, assumed("smoke scale: short texts")),
    **lines("recipe", assumed(UNTRAINED), batch_size=32, learning_rate=4e-3, warmup=0.05),
    **lines(
        "recipe", assumed("as T5 was pre-trained"), label_smoothing=0.0, over_tokens="mean",
        keep="last",
    ),
    "recipe.loss_parts": (1, assumed("a mean over tokens")),
    "method.dropout": (0.0, code("T5 was pre-trained without dropout (Raffel et al. 2020)")),
}  # fmt: skip
"""The tiny T5's span corruption."""

FEW_SIZES = {4: 4, 16: 16, 32: 32, 100: 64, 250: 96, 500: 96, 1_000: 128, 2_000: 160}
"""Samples of Table 2 -> those that stand for them at smoke scale."""
FEW_SMALL: dict[Scale, Setting] = {
    "reduced": {**looks(4, 25, REDUCED), "recipe.learning_rate": (1e-3, assumed(REDUCED))},
    "smoke": {**looks(3, 20, SMOKE), "recipe.learning_rate": (1e-3, assumed(SMOKE))},
}
LOW_SIZES: dict[Scale, tuple[int, ...]] = {
    "paper": (100, 500, 1_000, 2_000, 4_000),
    "reduced": (100, 500),
    "smoke": (25, 100, 400),
}
"""Samples a task of Figure 2."""
