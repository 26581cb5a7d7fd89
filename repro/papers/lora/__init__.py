"""LoRA (Hu et al. 2021) on GLUE with RoBERTa-base.

"code" is microsoft/LoRA @c4593f0: examples/NLU (the scripts roberta_base_*.sh, run_glue.py, the
Trainer of transformers 4) and loralib/layers.py. The numbers are those of its README.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from repro.papers.glue import encoder, on_sentences
from repro.papers.matrix import Chain
from repro.papers.published import for_rows
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, assumed, code, lines, paper
from repro.papers.tables import Column, Fact, Mean, Printed, Row, Score, Table
from repro.spec import RunSpec, Scale
from repro.spec.backbones import ROBERTA_BASE
from repro.spec.facts import KNOWN, Metric
from repro.spec.types import START

TITLE = "LoRA (Hu et al. 2021)"


class Script(NamedTuple):
    """What a task's script sets: a step has the rows of all its devices."""

    rate: float
    epochs: int
    batch: int
    devices: int
    start: str = ""
    """The task whose LoRA it starts from."""


SCRIPTS: dict[str, Script] = {
    "mnli": Script(5e-4, 30, 16, 8),
    "sst2": Script(5e-4, 60, 16, 8),
    "mrpc": Script(4e-4, 30, 16, 8, "mnli"),
    "cola": Script(4e-4, 80, 32, 2),
    "qnli": Script(4e-4, 25, 32, 8),
    "qqp": Script(5e-4, 25, 16, 8),
    "rte": Script(5e-4, 80, 32, 8, "mnli"),
    "stsb": Script(4e-4, 40, 16, 8, "mnli"),
}
LORA: Setting = {
    "method.kind": ("lora", paper("the method")),
    "method.rank": (8, code("scripts: lora_r")),
    "method.alpha": (16.0, code("scripts: lora_alpha")),
    "method.maps": (("query", "value"), code("the maps that examples/NLU changes")),
    "method.pooler": ("none", code("RoBERTa's classifier reads the first token")),
    "method.head": ("two-layer", code("RoBERTa's classifier: dense, tanh, output layer")),
    "method.dropout": (0.1, code("RoBERTa's configuration; the branch of LoRA has none")),
    "task.max_length": (512, code("scripts: max_seq_length")),
    "recipe.padding": ("dynamic", assumed("equal numbers to padding at 512")),
    "recipe.keep": ("last", code("scripts: no load_best_model_at_end")),
    "recipe.warmup": (0.06, code("scripts: warmup_ratio")),
    **lines(
        "recipe", code("Trainer"), schedule="linear", adam_beta1=0.9, adam_beta2=0.999,
        adam_eps=1e-8,
    ),
    "recipe.bias_correction": (True, code("Trainer: AdamW")),
    "recipe.weight_decay": (0.1, code("scripts: weight_decay")),
    "recipe.decayed": ("matrices", code("Trainer: no biases, no layer norms")),
    "recipe.clip_norm": (1.0, code("Trainer: max_grad_norm")),
    "recipe.precision": ("fp32", assumed("no other is known; the Trainer's default")),
}  # fmt: skip
SMALL: dict[Scale, Setting] = {
    "reduced": {
        **lines("recipe", assumed("reduced scale: a laptop"), batch_size=32, epochs=5),
        "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps, small encoder")),
    },
    "smoke": {
        **lines("recipe", assumed("smoke scale: few rows"), batch_size=16, epochs=4),
        "recipe.learning_rate": (2e-3, assumed("smoke scale: few steps, small encoder")),
    },
}


def runs_of(task: str, request: Request, start: RunSpec | None = None) -> Template:
    """The runs of LoRA on a task of GLUE; `start`: the run whose LoRA they start from."""
    script = SCRIPTS[task]
    of_task: Setting = {
        "recipe.learning_rate": (script.rate, code("scripts: learning_rate")),
        "recipe.epochs": (script.epochs, code("scripts: num_train_epochs")),
        "recipe.batch_size": (
            script.batch * script.devices,
            code(f"scripts: {script.batch} rows a device, {script.devices} devices"),
        ),
    }
    backbone = encoder(request, ROBERTA_BASE, code("roberta-base"))
    setting = LORA | of_task | SMALL.get(request.scale, {})
    if start is None:
        return on_sentences(request, task, backbone, setting)
    why = code("scripts: lora_path, of one run on MNLI; its head is not taken")
    return on_sentences(request, task, backbone, setting, {START: start}, why)


def chains(row: Row, column: Column, request: Request) -> list[Chain]:
    """The runs of a cell, one a seed; those that start from MNLI all from that of the first seed.
    The parameters are those of a task with two classes.
    """
    if not isinstance(column, Score):
        return [(runs_of("sst2", request).run(0),)]
    first = [runs_of(column.start, request).run(0)] if column.start else []
    runs = runs_of(column.task, request, *first)
    return [(*first, runs.run(seed)) for seed in range(request.seeds)]


def trained(spec: RunSpec, counted: Mapping[str, int]) -> float:
    """A and B of all layers, and the classifier."""
    return float(spec.trained_parameters())


ONE_NUMBER = "printed of fine-tuning alone, which has one number for two columns"


def score(name: str, task: str, metric: Metric, label: str, split: str = "validation") -> Score:
    """A printed column; the README says that its rows are the development set."""
    margin, start = for_rows(KNOWN[task].rows[split]), SCRIPTS[task].start
    return Score(name, name, label, metric, split, split, task=task, margin=margin, start=start)


ONE = Table(
    id="LoRA-1",
    paper="lora",
    title="GLUE with RoBERTa-base and LoRA (Hu et al. 2021, README of the released code)",
    published="LoRA21-T2-readme",
    rows=(
        Row(
            "Fine-tune",
            "",
            "RoBERTa base / Fine-tune",
            only_printed="copied from Liu et al. (2019), who searched a setting for each task",
        ),
        Row("LoRA", "lora", "RoBERTa base / LoRA"),
    ),
    columns=(
        Fact("Trainable params", "# of Trainable Params.", "parameters", trained),
        score("MNLI-m", "mnli", "accuracy", "accuracy % (matched)", "validation_matched"),
        score("MNLI-mm", "mnli", "accuracy", "accuracy % (mismatched)", "validation_mismatched"),
        Printed(
            "MNLI (one)",
            "MNLI",
            "accuracy % (row is labelled m-Acc/mm-Acc, one number printed)",
            ONE_NUMBER,
        ),
        score("SST2", "sst2", "accuracy", "accuracy %"),
        score("MRPC", "mrpc", "accuracy", "accuracy %"),
        score("CoLA", "cola", "matthews", "Matthews corr x100"),
        score("QNLI", "qnli", "accuracy", "accuracy %"),
        score("QQP", "qqp", "accuracy", "accuracy %"),
        score("RTE", "rte", "accuracy", "accuracy %"),
        score("STSB", "stsb", "pearson", "Pearson corr x100"),
        score("STSB-spearman", "stsb", "spearman", "Spearman corr x100"),
        Printed(
            "STSB (one)",
            "STSB",
            "Pearson corr x100 (row is labelled Pearson/Spearman, one number printed)",
            ONE_NUMBER,
        ),
        Mean("Average", "Average", "average", digits=2, without=("MNLI-mm", "STSB-spearman")),
    ),
    protocol="glue",
    default_seeds={"paper": 5, "reduced": 1, "smoke": 1},
    chains=chains,
    statistic="median",
    spread="interval",
    also=("mnli",),
    notes=(
        "A cell is the median of its runs, as printed, and Average the mean of the cells of eight "
        "tasks, with MNLI-m and STSB (Pearson).",
        "The README calls its ± a confidence interval and states no level, so no deviation follows "
        "from it: the paper's five runs are taken to scatter like ours.",
        "Fine-tune: one number is printed for the two columns of MNLI and one for those of STSB; "
        "which of the two it is of is not said.",
        "MRPC, RTE and STSB start from the LoRA of one run on MNLI, with a new head. The released "
        "scripts have one seed.",
        "A step has the rows of all devices that a script names: 16 or 32 on 2 or 8.",
    ),
)
