"""The printed numbers of Houlsby et al."""

from __future__ import annotations

from repro.audit.finding import Finding, Severity
from repro.audit.means import Averaged, averages
from repro.audit.numbers import Tables, at, number, reading, rows, unit
from repro.papers.published import Cells, Published
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN
from repro.spec.counts import adapter_parameters, layer_parameters

PAPER = "houlsby"
GLUE = ("CoLA", "SST", "MRPC", "STS-B", "QQP", "MNLIm", "MNLImm", "QNLI", "RTE")
SCORE = "test accuracy %"
TASKS_GLUE, TASKS_FURTHER = 9, 17


def check(tables: Tables) -> list[Finding]:
    """Averages, totals of parameters, and what the text says of both."""
    return [
        *averages(PAPER, "Total of Table 1", "houlsby-total", glue_rows(tables["H19-T1"])),
        *averages(PAPER, "Average of Table 2", "houlsby-average", further(tables["H19-T2"])),
        *_totals(tables),
        *_sizes(tables["H19-T1"], tables["H19-text"]),
        *_gap(tables["H19-T1"], tables["H19-text"]),
    ]


def glue_rows(cells: Cells) -> list[Averaged]:
    """Table 1: nine columns and the Total."""
    return [
        Averaged(row, total, parts)
        for row in rows(cells)
        if (total := at(cells, row, "Total", "mean"))
        and len(parts := tuple(c for name in GLUE if (c := at(cells, row, name)))) == len(GLUE)
    ]


def further(cells: Cells) -> list[Averaged]:
    """Table 2, whose rows are tasks: a column is a model."""
    averaged = {
        column: cell for (row, column, metric), cell in cells.items()
        if row == "Average" and metric.startswith(SCORE)
    }  # fmt: skip
    return [
        Averaged(
            column,
            cell,
            tuple(
                part
                for (row, name, metric), part in cells.items()
                if name == column and row != "Average" and metric.startswith("test accuracy")
            ),
        )
        for column, cell in averaged.items()
    ]


def _totals(tables: Tables) -> list[Finding]:
    """All tasks' models in encoders: one shared, plus each task's share."""
    found = []
    glue, more = tables["H19-T1"], tables["H19-T2"]
    pairs = [
        (f"Table 1, {row}", at(glue, row, "Total num params"),
         at(glue, row, "Trained params / task"), TASKS_GLUE)
        for row in rows(glue)
    ]  # fmt: skip
    columns = dict.fromkeys(column for row, column, _ in more if row == "Average")
    pairs += [
        (f"Table 2, {name}", at(more, "Total number of params", name),
         at(more, "Trained params/task", name), TASKS_FURTHER)
        for name in columns
    ]  # fmt: skip
    for name, total, share, tasks in pairs:
        if total is None or share is None or total.value is None or share.value is None:
            continue
        whole = number(share) == 100
        exact = tasks * number(share) / 100 + (0 if whole else 1)
        kind = reading(total, exact)
        if kind == "rounded":
            continue
        text = f"{name}: {total.text} encoders are printed, and {tasks} tasks give {exact:.2f}."
        said = f"{'' if whole else '1 + '}{tasks} x {share.text} = {exact:.3f}"
        severity: Severity = "note" if kind in ("cut", "near") else "error"
        slug = "".join(c if c.isalnum() else "-" for c in name.lower())
        found.append(Finding(f"houlsby-total-{slug}", PAPER, severity, text, said, total.source))
    return found


def _sizes(cells: Cells, text: Cells) -> list[Finding]:
    """Counts of adapters, layers and norms against the shares and counts that are printed."""
    large, base = KNOWN[BERT_LARGE], KNOWN[BERT_BASE]
    found = []
    share = at(cells, "Adapters (64)", "Trained params / task")
    added = 2 * large.layers * adapter_parameters(64, large.hidden_size)
    if share is not None:
        whole, layers = 330e6, large.layers * layer_parameters(large)
        exact, of_layers = 100 * added / whole, 100 * added / layers
        if reading(share, exact) != "rounded":
            found.append(
                Finding(
                    "houlsby-share-of-layers", PAPER, "note",
                    f"{share.text} for size 64 is a share of the encoder's layers, not of "
                    "BERT-large with its embeddings.",
                    f"48 x (2 x 64 x 1024 + 64 + 1024) = {added:,}: {exact:.2f} % of 330M, "
                    f"{of_layers:.2f} % of {layers:,} in the layers", share.source,
                )
            )  # fmt: skip
    top = _text(text, "top layer only")
    if top is not None:
        counted = layer_parameters(base)
        said = f"one layer {counted:,}, with the pooler {counted + base.hidden_size**2 + 768:,}"
        found += _about(top, 9e6, counted, "houlsby-top-layer", "The top layer", said)
    return found


def _text(cells: Cells, words: str) -> Published | None:
    return next((cell for cell in cells.values() if words in cell.row), None)


def _about(
    cell: Published, printed: float, counted: float, slug: str, name: str, said: str
) -> list[Finding]:
    """A count that the text gives with one digit ("approx. 9M")."""
    if abs(counted - printed) <= 0.5e6:
        return []
    text = f"{name} is said to have about {printed / 1e6:.0f}M parameters; it has {counted:,.0f}."
    return [Finding(slug, PAPER, "doubt", text, said, cell.source)]


def _gap(cells: Cells, text: Cells) -> list[Finding]:
    """The gap to full fine-tuning that the abstract states."""
    said = at(text, "gap to full fine-tuning on GLUE", "sec 1/abstract")
    full, adapted = (at(cells, row, "Total", "mean") for row in ("BERT_LARGE", "Adapters (8-256)"))
    if said is None or full is None or adapted is None:
        return []
    exact = number(full) - number(adapted)
    if abs(exact - number(said)) <= unit(said) / 2:
        return []
    text_ = f"The text says {said.text} points to full fine-tuning, Table 1 says {exact:.1f}."
    return [
        Finding("houlsby-gap", PAPER, "error", text_, f"{full.text} - {adapted.text}", said.source)
    ]
