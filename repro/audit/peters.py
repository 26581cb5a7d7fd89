"""The printed numbers of Peters, Ruder and Smith, as reprinted."""

from __future__ import annotations

from repro.audit.finding import Finding
from repro.audit.numbers import SLACK, Numbers, cells_of, of_table, slug, unit

PAPER, TABLE = "peters", "PRS19-T-reprint"
DELTA = "delta = fine-tuning - feature extraction"


def check(numbers: Numbers) -> list[Finding]:
    """Printed differences against the two scores that they are of."""
    cells, found = cells_of(of_table(numbers, TABLE)), []
    scores = {(cell.row, cell.column): cell for cell in cells}
    for cell in cells:
        model, _, kind = cell.row.partition(" / ")
        if kind != DELTA:
            continue
        tuned = scores.get((f"{model} / fine-tuning", cell.column))
        frozen = scores.get((f"{model} / feature extraction", cell.column))
        if tuned is None or frozen is None:
            continue
        exact = tuned.value - frozen.value
        # Each of the three is rounded: the difference of two printed scores may be a step off.
        if abs(exact - cell.value) > unit(cell) + SLACK:
            text = (
                f"{model}, {cell.column}: the difference is printed as {cell.printed}, and the two "
                f"scores give {exact:+.1f}."
            )
            said = f"{tuned.printed} - {frozen.printed} = {exact:.1f}"
            name = slug(f"{PAPER} delta {model} {cell.column}")
            found.append(Finding(name, PAPER, "error", text, said, cell.source))
    return found
