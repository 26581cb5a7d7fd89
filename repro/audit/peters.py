"""The printed numbers of Peters, Ruder and Smith, as reprinted."""

from __future__ import annotations

from repro.audit.finding import Finding
from repro.audit.numbers import SLACK, Numbers, at, cells_of, of_table, slug, unit

PAPER, TABLE = "peters", "PRS19-T-reprint"
MODELS = ("ELMo", "BERT-base")
"""Of which the reprint has both scores; of Skip-thoughts it has only those of frozen features."""
TUNED, FROZEN = "fine-tuning", "feature extraction"


def check(numbers: Numbers) -> list[Finding]:
    """Printed differences against the two scores that they are of."""
    own, found = of_table(numbers, TABLE), []
    for model in MODELS:
        for cell in cells_of(own[own["row"] == f"{model} / delta = {TUNED} - {FROZEN}"]):
            tuned, frozen = (at(own, f"{model} / {kind}", cell.column) for kind in (TUNED, FROZEN))
            if tuned is None or frozen is None:
                continue
            exact = tuned.value - frozen.value
            # Each of the three is rounded: the difference of two printed scores may be a step off.
            if abs(exact - cell.value) > unit(cell) + SLACK:
                text = (
                    f"{model}, {cell.column}: the difference is printed as {cell.printed}, and the "
                    f"two scores give {exact:+.1f}."
                )
                said = f"{tuned.printed} - {frozen.printed} = {exact:.1f}"
                name = slug(f"{PAPER} delta {model} {cell.column}")
                found.append(Finding(name, PAPER, "error", text, said, cell.source))
    return found
