"""A table's cells as a tidy frame: published, reproduced, and how they compare."""

from __future__ import annotations

import math

import pandas
import pytest
from fake_glue import request as glue_request
from fake_results import request, runs_of, store_all, store_result

from repro.comparison.comparison import COLUMNS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.view import view_table
from repro.store import Store


def frame_of(store: Store, asked: Request) -> pandas.DataFrame:
    return view_table(TABLES[asked.id], asked, store).frame


def test_every_cell_is_a_row_whose_numbers_are_numbers(store: Store) -> None:
    """Seeds 0 and 1 score 30 and 31 after three epochs; Adapter is printed with 30.6."""
    asked = request(scale="reduced", seeds=2, epochs=3)
    store_all(store, asked)
    frame = frame_of(store, asked)
    found = frame.dtypes.astype(str).replace("str", "string").to_dict()
    assert found == {name: column.dtype for name, column in COLUMNS.items()}
    assert len(frame) == 6 * 6
    cell = frame.set_index(["row", "column"]).loc[("Adapter", "ALL EM")]
    assert (cell["published"], cell["mean"], cell["values"]) == (30.6, 30.5, [30.0, 31.0])
    assert cell["sd"] == pytest.approx(math.sqrt(0.5))
    assert cell["difference"] == pytest.approx(-0.1)
    assert (cell["verdict"], cell["n"]) == ("NOT COMPARABLE", 2)
    assert (cell["metric"], cell["task"], cell["split"]) == ("em", "squad2", "cs224n")
    assert len(cell["runs"]) == 2
    assert cell["trained_parameters"] == 939_794
    null = frame[frame["row"] == "Always null"]
    assert null["reference"].all()
    assert null["published"].isna().all()
    assert not (frame.select_dtypes("string") == "").any().any()


def test_rows_of_two_requests_are_never_confused(store: Store) -> None:
    asked = [request(epochs=1), request(epochs=2), request(epochs=1, data_revisions={})]
    frame = pandas.concat([frame_of(store, one) for one in asked])
    assert not frame.duplicated(["request", "row", "column"]).any()
    assert set(frame["variant"]) == {
        "ResAdapters-1.smoke.epochs-1", "ResAdapters-1.smoke.epochs-2",
    }  # fmt: skip


def test_made_up_data_are_not_compared_with_scores_but_counts_are(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    frame = frame_of(store, asked)
    assert frame["published"].notna().any()
    assert frame[["difference", "margin", "cv_star"]].isna().all().all()
    counts = frame_of(store, request("3-shared-1", "smoke"))
    share = counts[counts["difference"].notna()]
    assert set(share["kind"]) <= {"fact"}
    assert share["verdict"].isin(["MATCH", "LOWER", "HIGHER"]).all()


def test_words_have_a_column_of_their_own(store: Store) -> None:
    frame = frame_of(store, request("3-shared-1", "paper"))
    said = frame[frame["words"].notna()]
    assert said["mean"].isna().all()
    assert said["published_words"].notna().all()


def test_a_cell_says_which_seeds_are_missing_and_why_its_runs_are_not_the_papers(
    store: Store,
) -> None:
    """BERT-base has 12 layers; the paper's runs are of three epochs, at its own learning rate."""
    asked = request(scale="paper", seeds=2, learning_rate=1e-4)
    first, *_ = runs_of(asked)
    store_result(store, first)
    frame = frame_of(store, asked)
    assert set(frame["depth"]) == {12}
    found = frame[frame["runs"].map(len) == 1]
    assert found["partial"].str.startswith("1 of 2 seeds").all()
    assert found["differs"].str.startswith("recipe.learning_rate 0.0001").all()
    assert frame[frame["runs"].map(len) == 0]["partial"].isna().all()


def test_columns_that_the_request_leaves_out_are_hidden(store: Store) -> None:
    """The mean of nine tasks is none of one task; a claim about it is told why it is absent."""
    view = view_table(TABLES["3-shared-2"], glue_request("3-shared-2", tasks=("rte",)), store)
    assert set(view.frame["column"]) == {"RTE"}
    whole = view.whole
    assert set(whole["column"]) > {"RTE", "Mean of 9"}
    assert whole[whole["column"] == "Mean of 9"]["reason"].notna().all()
