"""What Houlsby et al. print of their curves: points quoted in the text, and a digitised picture.

Every number is read from the CSVs beside; what a row says of a point's parameters is in its name.
"""

from __future__ import annotations

import re

from repro.errors import ReproError
from repro.papers.curves import MEDIAN, Mark, Said
from repro.papers.houlsby.curve_runs import FULL, NORMS, SIZED, TOP
from repro.papers.published import Published, load_published
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN

TEXT, PICTURE = "H19-text", "H19-F1-digitised"
DRAWN = {"Adapters (ours)": SIZED, "Fine-tune top layers": TOP}
"""The series of the picture, as its CSV names them."""
QUOTED = {"adapters": SIZED, "top layer only": TOP, "full fine-tuning": FULL}
"""How the text's rows begin, after the score that they are of."""
MNLI, SQUAD = "MNLIm validation accuracy, ", "SQuAD v1.1 F1, "
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
    return tuple(_digitised(cell) for cell in load_published("houlsby", PICTURE).values())


def mnli_marks() -> tuple[Mark, ...]:
    """The three points of MNLI that the text quotes."""
    return _text_marks(MNLI, "mnli")


def squad_marks() -> tuple[Mark, ...]:
    """The three points of SQuAD 1.1 that the text quotes."""
    return _text_marks(SQUAD, "squad1")


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


def _digitised(cell: Published) -> Mark:
    place = re.search(r"log10\(trained params/task\)=([\d.]+)", cell.column)
    if place is None or cell.row not in DRAWN:
        raise ReproError(f"{PICTURE}.csv: '{cell.row}, {cell.column}' names no point of a curve.")
    x = 10 ** float(place[1])
    point = cell.column.partition(":")[0]
    encoder = KNOWN[BERT_LARGE].name  # the last points train more than all of BERT-base
    return Mark(
        MEDIAN, DRAWN[cell.row], "digitised", x, cell.value, None, point, cell.source, encoder
    )


def _text_marks(begin: str, panel: str) -> tuple[Mark, ...]:
    """The points whose rows begin so: "adapters size 64 (approx. 2M params)"."""
    cells = load_published("houlsby", TEXT).values()
    return tuple(
        _text_mark(cell, cell.row.removeprefix(begin), panel)
        for cell in cells
        if cell.row.startswith(begin)
    )


def _text_mark(cell: Published, what: str, panel: str) -> Mark:
    series = next((s for start, s in QUOTED.items() if what.startswith(start)), None)
    if series is None:
        raise ReproError(f"{TEXT}.csv: '{cell.row}' names no series of a figure.")
    x = None if series == FULL else _parameters(what)
    label = what.partition(" (")[0]
    encoder = KNOWN[BERT_BASE].name
    return Mark(panel, series, "quoted", x, cell.value, cell.sd, label, cell.source, encoder)


def _parameters(what: str) -> float:
    """Trained parameters as the text gives them: in millions, or as a share of BERT-base."""
    millions = re.search(r"\(approx\. ([\d.]+)M params\)", what)
    if millions:
        return 1e6 * float(millions[1])
    share = re.search(r"\(([\d.]+)% params\)", what)
    if share is None:
        raise ReproError(f"{TEXT}.csv: '{what}' does not say how many parameters are trained.")
    return float(share[1]) / 100 * KNOWN[BERT_BASE].parameters
