"""A step that reads kept states back, against one that encodes its batch anew."""

from __future__ import annotations

from functools import partial

from common import CYCLES, encode, random_batch, report, seconds, set_up, step
from shared_pass import all_on_one

from repro.methods.modules.learner import Inputs
from repro.training.cohort import Cohort


def reading(cohorts: list[Cohort], inputs: Inputs, number: int) -> None:
    """One step of every row on states that are there already."""
    for cohort in cohorts:
        step(cohort, inputs, number)


def main() -> None:
    """Interleaves both ways on the same batches, with all five rows, and prints the ratio."""
    encoder, cohorts, device = set_up()
    anew, kept = [], []
    for number in range(1, CYCLES + 1):
        batch = random_batch(device)
        inputs = encode(encoder, *batch)
        anew.append(seconds(partial(all_on_one, encoder, cohorts, *batch, number), device))
        kept.append(seconds(partial(reading, cohorts, inputs, number), device))
    report("encoding each batch / reading kept states", anew, kept)


if __name__ == "__main__":
    main()
