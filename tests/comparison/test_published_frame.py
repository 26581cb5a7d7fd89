"""All printed numbers as a tidy frame, whose numbers are numbers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from repro.comparison.published import DTYPES, published_frame
from repro.errors import UnknownName
from repro.papers.names import PAPERS
from repro.papers.published import load_published, table_names


def test_the_frame_has_each_cell_once_and_typed() -> None:
    frame = published_frame()
    assert frame.dtypes.astype(str).replace("str", "string").to_dict() == DTYPES
    cells = [c for p in PAPERS for t in table_names(p) for c in load_published(p, t).values()]
    assert len(frame) == len(cells)
    assert not frame.duplicated(["paper", "table", "row", "column", "metric"]).any()
    assert (frame["value"].isna() == frame["words"].notna()).all()
    assert not (frame.select_dtypes("string") == "").any().any()


def test_a_number_of_a_table_is_found_with_its_digits() -> None:
    """Houlsby et al., Table 1: nine BERT-large have 9.0 times its parameters, and CoLA 60.5; the
    adapters' 59.5 is the best of five restarts (section 3.2).
    """
    frame = published_frame("Houlsby-1")
    assert set(frame["artefact"]) == {"Houlsby-1"}
    bert, adapters = (
        frame[frame["row"] == name].set_index("column")
        for name in ("BERT_LARGE", "Adapters (8-256)")
    )
    found = bert.loc["Total num params"]
    assert (found["value"], found["kind"], found["printed"]) == (9.0, "ratio", "9.0x")
    assert found["decimals"] == 1
    assert bert.loc["CoLA", "value"] == 60.5
    assert bert["n"].isna().all()
    assert (adapters.loc["CoLA", "value"], adapters.loc["CoLA", "n"]) == (59.5, 5)


def test_a_figure_has_the_points_that_were_read_off_its_picture() -> None:
    frame = published_frame("learned-activations")
    assert len(frame) == 133
    assert set(frame["sd"]) == {0.1, 0.15}


def test_an_id_is_found_in_any_case_and_an_unknown_one_is_refused() -> None:
    assert len(published_frame("houlsby-1")) == len(published_frame("Houlsby-1")) > 0
    with pytest.raises(UnknownName, match="Houlsby-1"):
        published_frame("Houlsby-11")


def test_listing_tables_does_not_load_pandas() -> None:
    code = "import sys, repro.papers.registry, repro.cli.list; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
