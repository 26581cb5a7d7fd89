"""Which rows train, validate and test."""

from __future__ import annotations

from typing import Any

import pytest
from written_samples import made, numbered

from repro.errors import MissingData
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.tasks.sentences.rows import Row
from repro.tasks.text_to_text.rows import divided, permutation, scored_rows

SMALL_SETS: list[WrittenName] = ["cola", "mrpc", "stsb", "rte", "cb"]
LARGE_SETS: list[WrittenName] = ["sst2", "qqp", "qnli"]


def ids(rows: list[Row]) -> list[int]:
    return [row.idx for row in rows]


def shuffled_by_torch(rows: int, seed: int) -> list[int]:
    """What the released code calls: torch.randperm with a generator of its own."""
    import torch

    return torch.randperm(rows, generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize("rows", [1, 2, 3, 277, 408, 5_749])
@pytest.mark.parametrize("seed", [0, 42, 2**32 + 7])
def test_the_permutation_is_that_of_torch(rows: int, seed: int) -> None:
    assert permutation(rows, seed) == shuffled_by_torch(rows, seed)


@pytest.mark.parametrize("name", SMALL_SETS)
def test_a_small_set_has_its_validation_rows_halved_as_in_the_released_code(
    name: WrittenName,
) -> None:
    found = divided({"train": numbered(9), "validation": numbered(277)}, name, made(name))
    order = shuffled_by_torch(277, 42)
    assert ids(found["train"]) == list(range(9))
    # RTE: 138 rows validate and 139 test
    assert ids(found["validation"]) == sorted(order[:138])
    assert ids(found["test"]) == sorted(order[138:])


def test_imdb_has_its_test_rows_halved() -> None:
    found = divided({"train": numbered(4), "test": numbered(10)}, "imdb", made("imdb"))
    order = shuffled_by_torch(10, 42)
    assert (ids(found["validation"]), ids(found["test"])) == (sorted(order[:5]), sorted(order[5:]))


@pytest.mark.parametrize("name", LARGE_SETS)
def test_a_large_set_has_a_thousand_training_rows_set_aside(name: WrittenName) -> None:
    splits = {"train": numbered(6_000), "validation": numbered(30)}
    aside = sorted(shuffled_by_torch(6_000, 42)[:1_000])
    left_out = divided(splits, name, made(name))
    assert ids(left_out["validation"]) == aside
    assert ids(left_out["train"]) == sorted(set(range(6_000)) - set(aside))
    assert ids(left_out["test"]) == list(range(30))
    trained_on = divided(splits, name, made(name, set_aside="trained-on"))
    assert ids(trained_on["validation"]) == aside
    assert ids(trained_on["train"]) == list(range(6_000))


def test_of_fewer_training_rows_a_fifth_is_set_aside() -> None:
    found = divided({"train": numbered(57), "validation": numbered(9)}, "sst2", made("sst2"))
    assert (len(found["train"]), len(found["validation"]), len(found["test"])) == (46, 11, 9)


def test_yelp_is_tested_on_its_test_rows() -> None:
    splits = {"train": numbered(50), "test": numbered(7)}
    found = divided(splits, "yelp-polarity", made("yelp-polarity"))
    assert (len(found["train"]), len(found["validation"])) == (40, 10)
    assert ids(found["test"]) == list(range(7))


def test_mnli_validates_on_mismatched_and_tests_on_matched_rows() -> None:
    splits = {
        "train": numbered(5), "validation_matched": numbered(3),
        "validation_mismatched": numbered(4),
    }  # fmt: skip
    found = divided(splits, "mnli", made("mnli"))
    assert (len(found["train"]), len(found["validation"]), len(found["test"])) == (5, 4, 3)


def test_scitail_has_splits_of_its_own() -> None:
    splits = {"train": numbered(5), "validation": numbered(3), "test": numbered(4)}
    found = divided(splits, "scitail", made("scitail"))
    assert (len(found["train"]), len(found["validation"]), len(found["test"])) == (5, 3, 4)


def capped(seed: int) -> TextToText:
    return made("sst2", train_rows=20, evaluation_rows=6, subset_seed=seed)


def test_a_cap_draws_training_rows_by_the_subset_seed_and_leaves_the_scored_ones() -> None:
    splits = {"train": numbered(100), "validation": numbered(30)}
    first, second = (divided(splits, "sst2", capped(seed)) for seed in (1, 2))
    assert (len(first["train"]), len(first["validation"]), len(first["test"])) == (20, 6, 6)
    assert ids(first["train"]) != ids(second["train"])
    assert ids(first["validation"]) == ids(second["validation"])
    assert ids(first["test"]) == ids(second["test"])
    # what is set aside is never drawn
    whole = divided(splits, "sst2", made("sst2"))
    assert set(ids(first["train"])) <= set(ids(whole["train"]))


@pytest.mark.parametrize("seed", [42, 43])
def test_drawn_training_rows_are_the_first_of_torchs_permutation_as_in_the_released_code(
    seed: int,
) -> None:
    """data/tasks.py: `torch.randperm(rows, generator)[:n_obs]` of the training split."""
    splits = {"train": numbered(6_000), "validation": numbered(30)}
    order = shuffled_by_torch(6_000, seed)

    def few(name: str, **changes: Any) -> TextToText:
        return made(name, train_rows=16, subset_seed=seed, **changes)

    released = few("sst2", set_aside="trained-on", last_rows="left-out")
    assert ids(divided(splits, "sst2", released)["train"]) == sorted(order[:16])
    aside = set(shuffled_by_torch(6_000, 42)[:1_000])
    kept = [place for place in order if place not in aside]
    assert ids(divided(splits, "sst2", few("sst2"))["train"]) == sorted(kept[:16])
    cola = divided(splits, "cola", few("cola"))
    assert ids(cola["train"]) == sorted(order[:16])


def test_fewer_rows_are_a_part_of_more() -> None:
    splits = {"train": numbered(100), "validation": numbered(30)}
    few = divided(splits, "cola", made("cola", train_rows=4, subset_seed=3))
    more = divided(splits, "cola", made("cola", train_rows=16, subset_seed=3))
    assert set(ids(few["train"])) < set(ids(more["train"]))


def test_a_cap_above_what_there_is_keeps_everything() -> None:
    splits = {"train": numbered(5), "validation": numbered(4)}
    found = divided(splits, "cb", made("cb", train_rows=250, evaluation_rows=90))
    assert (len(found["train"]), len(found["validation"]), len(found["test"])) == (5, 2, 2)


@pytest.mark.parametrize(("name", "train", "scored"), [("rte", 9, 1), ("sst2", 4, 9)])
def test_too_few_rows_to_divide_are_refused(name: WrittenName, train: int, scored: int) -> None:
    with pytest.raises(MissingData, match="too few to be divided"):
        divided({"train": numbered(train), "validation": numbered(scored)}, name, made(name))


@pytest.mark.parametrize("name", ["rte", "sst2", "mnli"])
def test_the_released_reading_leaves_out_the_last_row_of_every_part(name: WrittenName) -> None:
    """Of a shuffled part the last one as it is shuffled, else the last one of the file. Printed
    accuracies show it: RTE's are of 138 rows, where half of 277 is 139.
    """
    splits = {"train": numbered(6_000), "validation": numbered(277)}
    if name == "mnli":
        splits |= {f"validation_{kind}": numbered(50) for kind in ("matched", "mismatched")}
    found = divided(splits, name, made(name, last_rows="left-out", set_aside="trained-on"))
    assert ids(found["train"]) == list(range(5_999))
    expected = {
        "rte": (shuffled_by_torch(277, 42)[:137], shuffled_by_torch(277, 42)[138:-1]),
        "sst2": (shuffled_by_torch(6_000, 42)[:999], range(276)),
        "mnli": (range(49), range(49)),
    }[name]
    assert (ids(found["validation"]), ids(found["test"])) == tuple(map(sorted, expected))
    if name == "rte":
        assert len(found["test"]) == 138
    spec = made(name, last_rows="left-out", source="published")
    assert scored_rows(spec)[1] == {"rte": 138, "sst2": 871, "mnli": 9_814}[name]
