"""An epoch that reads kept states back, against one that encodes its batches anew."""

from __future__ import annotations

from common import CYCLES, encode, random_batch, report, seconds, set_up, step


def main() -> None:
    """Interleaves both ways on the same batches, with all five rows, and prints the ratio."""
    encoder, cohorts, device = set_up()
    anew, kept = [], []
    for cycle in range(1, CYCLES + 1):
        ids, mask = random_batch(device)
        inputs = encode(encoder, ids, mask)

        def encoding(number: int = cycle) -> None:
            fresh = encode(encoder, ids, mask)
            for cohort in cohorts:
                step(cohort, fresh, number)

        def reading(number: int = cycle) -> None:
            for cohort in cohorts:
                step(cohort, inputs, number)

        anew.append(seconds(encoding, device))
        kept.append(seconds(reading, device))
    report("encoding each batch / reading kept states", anew, kept)


if __name__ == "__main__":
    main()
