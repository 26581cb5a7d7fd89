"""Five rows trained on one pass of the frozen encoder, against five passes, one a row."""

from __future__ import annotations

from functools import partial

from common import CYCLES, encode, random_batch, report, seconds, set_up, step
from torch import Tensor

from repro.backbones.load import Encoder
from repro.training.cohort import Cohort


def each_alone(
    encoder: Encoder, cohorts: list[Cohort], ids: Tensor, mask: Tensor, number: int
) -> None:
    """One step of every row, the batch encoded anew for each."""
    for cohort in cohorts:
        step(cohort, encode(encoder, ids, mask), number)


def all_on_one(
    encoder: Encoder, cohorts: list[Cohort], ids: Tensor, mask: Tensor, number: int
) -> None:
    """One step of every row on the same states."""
    inputs = encode(encoder, ids, mask)
    for cohort in cohorts:
        step(cohort, inputs, number)


def main() -> None:
    """Interleaves both ways on the same batches and prints the ratio."""
    encoder, cohorts, device = set_up()
    separate, together = [], []
    for number in range(1, CYCLES + 1):
        batch = random_batch(device)
        separate.append(seconds(partial(each_alone, encoder, cohorts, *batch, number), device))
        together.append(seconds(partial(all_on_one, encoder, cohorts, *batch, number), device))
    report("five passes / one shared pass", separate, together)


if __name__ == "__main__":
    main()
