"""Rows and columns of different tables that hold the same numbers."""

from __future__ import annotations

from repro.audit.finding import Finding
from repro.audit.numbers import Numbers

FEWEST = 3
"""Equal numbers that are no chance."""
ALIASES = {
    "sa sst-2": "sst-2", "sst": "sst-2", "mnlim": "mnli", "mnli(m)": "mnli", "mnlimm": "mnli(mm)",
}  # fmt: skip
"""One task under several names."""
TRANSPOSED = ("H19-T2", "SR20-T3")
"""Tables whose rows are tasks and whose columns are models."""
UPRIGHT = ("H19-T1", "SR20-T2", "PRS19-T-reprint", "HF21-T1", "RA-probe", "RA-T1", "RA-T2")
SEVERAL = ("HF21-T1", "RA-probe", "RA-T1", "RA-T2")
"""Tables with several metrics of one task."""
DERIVED = "average|total|avg|#|trained|delta"
"""What is no score of a model: such rows and columns are left out."""


def copies(numbers: Numbers) -> list[Finding]:
    """Models of two tables that agree in at least three numbers and most of those that both have;
    told once, of the later table in the frame.
    """
    scores = _scores(numbers)
    pairs = scores.merge(scores, on="task", suffixes=("", "_other"))
    later = pairs["series"] < pairs["series_other"]
    pairs = pairs[later & (pairs["table"] != pairs["table_other"])].sort_values("place_other")
    digits = pairs[["decimals", "decimals_other"]].min(axis=1)
    pairs["same"] = [*map(_equal, pairs["value"], pairs["value_other"], digits)]
    found = []
    for _, shared in pairs.groupby(["series", "series_other"]):
        same = shared[shared["same"]]
        if len(same) < FEWEST or 2 * len(same) <= len(shared):
            continue
        one, said = same.iloc[0], ", ".join(same["task"] + " " + same["printed_other"])
        found.append(
            Finding(
                f"copy-{one['table_other']}-{one['table']}".lower(), one["paper_other"], "doubt",
                f"{one['model_other']} ({one['table_other']}) and {one['model']} ({one['table']}) "
                f"have the same number in {len(same)} of {len(shared)} places: one is copied, or "
                "both are.",
                f"both: {said}", f"{one['source_other']}; {one['source']}",
            )
        )  # fmt: skip
    return found


def _scores(numbers: Numbers) -> Numbers:
    """Scores of models with a `task`, and the number of the `series` that a model's scores are."""
    scores = numbers[numbers["table"].isin((*TRANSPOSED, *UPRIGHT))]
    names = (scores["row"] + " " + scores["column"]).str.lower()
    scores = scores[~names.str.contains(DERIVED)]
    turned = scores["table"].isin(TRANSPOSED)
    task = scores["row"].where(turned, scores["column"]).str.lower().replace(ALIASES)
    metric = " " + scores["metric"].str.partition(" ")[0]
    scores = scores.assign(
        model=scores["column"].where(turned, scores["row"]),
        task=task + metric.where(scores["table"].isin(SEVERAL), ""),
        place=range(len(scores)),
    ).drop_duplicates(["paper", "table", "model", "task"], keep="last")
    return scores.assign(series=scores.groupby(["paper", "table", "model"], sort=False).ngroup())


def _equal(one: float, other: float, digits: int) -> bool:
    """Equal to the digits of the one that has fewer."""
    return round(one, digits) == round(other, digits)
