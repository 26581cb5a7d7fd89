"""What Houlsby et al. print of their curves: points quoted in the text, and a digitised picture.

Every number is read from the CSVs beside.
"""

from __future__ import annotations

from collections.abc import Mapping

from repro.errors import ReproError
from repro.papers.curves import MEDIAN, Mark, Said
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.published import Published, load_published
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN

TEXT, PICTURE = "H19-text", "H19-F1-digitised"
DRAWN = {"Adapters (ours)": SIZED, "Fine-tune top layers": TOP}
"""The series of the picture, as its CSV names them."""
MNLI = {
    "MNLIm validation accuracy, top layer only (approx. 9M params)": (TOP, "top layer only"),
    "MNLIm validation accuracy, adapters size 64 (approx. 2M params)": (SIZED, "adapters size 64"),
    "MNLIm validation accuracy, full fine-tuning": (FULL, "full fine-tuning"),
}
"""Rows of the text -> the series that the point is of, and what the point is called."""
SQUAD = {
    "SQuAD v1.1 F1, adapters size 64 (2% params)": (SIZED, "adapters size 64"),
    "SQuAD v1.1 F1, full fine-tuning": (FULL, "full fine-tuning"),
    "SQuAD v1.1 F1, adapters size 2 (0.1% params)": (SIZED, "adapters size 2"),
}
"""The same; these are placed by the share of BERT-base's parameters that is trained, in percent."""
DROPS = {"cola": "layer-norm only, drop on CoLA", "mnli": "layer-norm only, drop on MNLI"}
BEHIND = "adapters behind full fine-tuning (17 tasks)"


def quoted(row: str) -> Published:
    """A number of the paper's text, by the name of its row."""
    found = next((c for c in load_published("houlsby", TEXT).values() if c.row == row), None)
    if found is None or found.value is None:
        raise ReproError(f"{TEXT}.csv: no row '{row}' with a number.")
    return found


def digitised_medians() -> tuple[Mark, ...]:
    """The two median curves of Figure 1 over the tasks of GLUE, measured on a picture."""
    encoder = KNOWN[BERT_LARGE].name  # the last points train more than all of BERT-base
    cells = load_published("houlsby", PICTURE).values()
    found = {row: [cell for cell in cells if cell.row == row] for row in DRAWN}
    return tuple(
        Mark(
            MEDIAN, DRAWN[row], "digitised", 10**_place(cell), cell.value, None, f"point {count}",
            cell.source, encoder,
        )
        for row, own in found.items()
        for count, cell in enumerate(own, 1)
    )  # fmt: skip


def mnli_marks() -> tuple[Mark, ...]:
    """The three points of MNLI that the text quotes."""
    return _text_marks(MNLI, "mnli")


def squad_marks() -> tuple[Mark, ...]:
    """The three points of SQuAD 1.1 that the text quotes."""
    return _text_marks(SQUAD, "squad1", shares=True)


def threshold_marks() -> tuple[Mark, ...]:
    """The deviation below which the text calls adapters robust, for each task that is drawn."""
    cell = quoted("robust below std")
    label = f"quoted: robust below {cell.text}"
    return tuple(
        Mark(task, SIZED, "quoted", cell.value, None, None, label, cell.source)
        for task in ("mnli", "cola")
    )


def norm_drops() -> tuple[Said, ...]:
    """What the text says that layer norms alone lose."""
    cells = {task: quoted(row) for task, row in DROPS.items()}
    return tuple(
        Said("What layer norms alone lose", cell.value or 0.0, cell.source, NORMS, task)
        for task, cell in cells.items()
    )


def adapters_behind() -> tuple[Said, ...]:
    """What the text says of adapters on the 17 further tasks."""
    cell, share = quoted(BEHIND), quoted("new parameters per task, adapters")
    text = f"How far adapters that train {share.text} % a task are behind full fine-tuning"
    note = "theirs is a mean over 17 tasks, each with its best size, and no point of a curve"
    return (Said(text, cell.value or 0.0, cell.source, note=note),)


def _text_marks(
    points: Mapping[str, tuple[str, str]], panel: str, *, shares: bool = False
) -> tuple[Mark, ...]:
    """Points of the text; `shares`: they are placed by a share of BERT-base's parameters."""
    base, marks = KNOWN[BERT_BASE], []
    for row, (series, label) in points.items():
        cell = quoted(row)
        x = None if series == FULL else _place(cell)
        if shares and x is not None:
            x = x / 100 * base.parameters
        marks.append(
            Mark(panel, series, "quoted", x, cell.value, cell.sd, label, cell.source, base.name)
        )
    return tuple(marks)


def _place(cell: Published) -> float:
    """Where a point is on the horizontal axis."""
    if cell.x is None:
        raise ReproError(f"The point '{cell.row}, {cell.column}' of Houlsby et al. has no x.")
    return cell.x
