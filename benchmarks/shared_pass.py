"""Five rows trained on one pass of the frozen encoder, against five passes, one a row."""

from __future__ import annotations

from common import CYCLES, encode, random_batch, report, seconds, set_up, step


def main() -> None:
    """Interleaves both ways on the same batches and prints the ratio."""
    encoder, cohorts, device = set_up()
    separate, together = [], []
    for cycle in range(1, CYCLES + 1):
        ids, mask = random_batch(device)

        def each_alone(number: int = cycle) -> None:
            for cohort in cohorts:
                step(cohort, encode(encoder, ids, mask), number)

        def all_on_one(number: int = cycle) -> None:
            inputs = encode(encoder, ids, mask)
            for cohort in cohorts:
                step(cohort, inputs, number)

        separate.append(seconds(each_alone, device))
        together.append(seconds(all_on_one, device))
    report("five passes / one shared pass", separate, together)


if __name__ == "__main__":
    main()
