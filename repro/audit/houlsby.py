"""The printed numbers of Houlsby et al."""

from __future__ import annotations

import math
from collections.abc import Iterator

from repro.audit.numbers import (
    Finding,
    Numbers,
    Severity,
    at,
    of_table,
    reading,
    slug,
)
from repro.methods.inside import adapter_parameters
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN

MNLI = "MNLIm validation accuracy, "
TASKS_GLUE, TASKS_FURTHER = 9, 17


def check(numbers: Numbers) -> list[Finding]:
    """Totals of parameters, and what the text says of both."""
    glue, more, text = (of_table(numbers, f"H19-{name}") for name in ("T1", "T2", "text"))
    return [
        *_totals(glue, more),
        *_layers_share(glue),
        *_abouts(text),
        *_stated(glue, more, text),
    ]


def _totals(glue: Numbers, more: Numbers) -> Iterator[Finding]:
    """All tasks' models in encoders: one shared, plus each task's share."""
    pairs = [
        (f"Table 1, {row}", at(glue, row, "Total num params"),
         at(glue, row, "Trained params / task"), TASKS_GLUE)
        for row in glue["row"].unique()
    ]  # fmt: skip
    pairs += [
        (f"Table 2, {name}", at(more, "Total number of params", name),
         at(more, "Trained params/task", name), TASKS_FURTHER)
        for name in more.loc[more["row"] == "Average", "column"].unique()
    ]  # fmt: skip
    for name, total, share, tasks in pairs:
        if total is None or share is None:
            continue
        whole = share.value == 100
        exact = tasks * share.value / 100 + (0 if whole else 1)
        kind = reading(total, exact)
        if kind == "rounded":
            continue
        text = f"{name}: {total.printed} encoders are printed, and {tasks} tasks give {exact:.2f}."
        said = f"{'' if whole else '1 + '}{tasks} x {share.printed} = {exact:.3f}"
        severity: Severity = "note" if kind in ("cut", "near") else "error"
        yield Finding(f"houlsby-total-{slug(name)}", severity, text, said, total.source)


def _layers_share(cells: Numbers) -> Iterator[Finding]:
    """The share that adapters of size 64 are of BERT-large: of the whole, or of its layers."""
    share = at(cells, "Adapters (64)", "Trained params / task")
    if share is None:
        return
    large = KNOWN[BERT_LARGE]
    d, added = large.hidden_size, 2 * large.layers * adapter_parameters(64, large.hidden_size)
    layers = large.layers * large.layer_parameters
    exact, of_layers = 100 * added / large.parameters, 100 * added / layers
    if reading(share, exact) == "rounded":
        return
    fits = reading(share, of_layers) == "rounded"
    yield Finding(
        "houlsby-share-of-layers", "note" if fits else "error",
        f"{share.printed} for size 64 is "
        f"{'a share of the layers, ' if fits else ''}not of BERT-large with its embeddings.",
        f"{2 * large.layers} x (2 x 64 x {d} + 64 + {d}) = {added:,}: {exact:.2f} % of "
        f"{large.parameters:,}, {of_layers:.2f} % of {layers:,} in the layers", share.source,
    )  # fmt: skip


def _abouts(cells: Numbers) -> Iterator[Finding]:
    """Counts that the text gives roughly, "approx. 9M params" or "40k": right to one digit?"""
    base = KNOWN[BERT_BASE]
    d, layer = base.hidden_size, base.layer_parameters
    size_64 = 2 * base.layers * adapter_parameters(64, d)
    norms = 2 * base.layers * 2 * d + 2 * d  # two a layer, and one of the embeddings
    counted = {
        "top-layer": (
            f"{MNLI}top layer only (approx. 9M params)",
            layer,
            f"with the pooler {layer + d * d + d:,}",
        ),
        "size-64": (f"{MNLI}adapters size 64 (approx. 2M params)", size_64, "24 modules"),
        "norms": ("layer-norm parameters, BERT_BASE", norms, "25 norms"),
    }
    for name, (words, count, said) in counted.items():
        cell = at(cells, words)
        if cell is None:
            continue
        placed = not math.isnan(cell.x)  # the row is of a score, at such a size
        if (cell.x if placed else cell.value) != float(f"{count:.0e}"):
            told = f"{cell.x / 1e6:.0f}M" if placed else cell.printed
            text = f"{cell.row}: its modules have {count:,} parameters, not about {told}."
            arithmetic = f"{count:,}; {said}"
            yield Finding(f"houlsby-about-{name}", "doubt", text, arithmetic, cell.source)


def _stated(glue: Numbers, more: Numbers, text: Numbers) -> Iterator[Finding]:
    """What the text says of numbers of the tables: each rounds to it, or is another."""
    score, share, size = "Total", "Trained params / task", "Trained params/task"
    full, best = at(glue, "BERT_LARGE", score, "mean"), at(glue, "Adapters (8-256)", score, "mean")
    tuned, adapted = (
        at(more, "Average", f"{name} BERT_BASE") for name in ("Fine-tune", "Adapters")
    )
    statements = {
        "gap": ("gap to full fine-tuning on GLUE", full, best),
        "gap-further": ("adapters behind full fine-tuning (17 tasks)", tuned, adapted),
        "share": ("parameters added per task on GLUE", at(glue, "Adapters (8-256)", share), None),
        "share-further": (
            "new parameters per task, adapters", at(more, size, "Adapters BERT_BASE"), None
        ),
        "share-variable": (
            "variable fine-tuning share trained", at(more, size, "Variable FT BERT_BASE"), None
        ),
        "share-blog": (
            "blog: task-specific parameters needed", at(glue, "Adapters (8-256)", share), None
        ),
    }  # fmt: skip
    for name, (words, first, second) in statements.items():
        cell = at(text, words)
        if cell is None or first is None:
            continue
        exact = first.value - (second.value if second else 0)
        kind = reading(cell, exact)
        if kind == "rounded":
            continue
        said = f"{first.printed} - {second.printed} = {exact:.1f}" if second else first.printed
        told = f"The text says {cell.value:g} ({cell.row}); the table gives {exact:.4g}."
        severity: Severity = "note" if kind == "cut" else "error"
        yield Finding(f"houlsby-text-{name}", severity, told, said, cell.source)
