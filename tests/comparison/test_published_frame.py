"""All printed numbers as a tidy frame, whose numbers are numbers."""

from __future__ import annotations

import subprocess
import sys

from repro.comparison.published import DTYPES, published_frame
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
    """Houlsby et al., Table 1: BERT-large has 9.0 times the parameters, and CoLA 60.5."""
    frame = published_frame("Houlsby-1")
    assert set(frame["artefact"]) == {"Houlsby-1"}
    bert = frame[frame["row"] == "BERT_LARGE"].set_index("column")
    found = bert.loc["Total num params"]
    assert (found["value"], found["kind"], found["printed"]) == (9.0, "ratio", "9.0x")
    assert found["decimals"] == 1
    assert (bert.loc["CoLA", "value"], bert.loc["CoLA", "n"]) == (60.5, 5)


def test_a_figure_has_the_points_that_were_read_off_its_picture() -> None:
    frame = published_frame("learned-activations")
    assert len(frame) == 133
    assert set(frame["sd"]) == {0.1, 0.15}


def test_listing_tables_does_not_load_pandas() -> None:
    code = "import sys, repro.papers.registry, repro.cli.list_; print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
