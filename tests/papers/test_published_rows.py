"""On which rows the published numbers are, and on which ours: declared for every score."""

from __future__ import annotations

import pytest

from repro.papers.curves import Curves, Scored
from repro.papers.figures import Figure
from repro.papers.registry import FIGURES, TABLES
from repro.papers.request import Request
from repro.papers.tables import SERVER, Score, Table

VALIDATION, MATCHED, MISMATCHED = "validation", "validation_matched", "validation_mismatched"
WITHHELD = "test rows whose labels are withheld"
OWN_CUT = "test rows of a cut that is not published"
NOT_STATED = "rows that cannot be known (trained on 100, 300 or 500 rows: the paper does not say)"


def on_validation(names: str, published: str = "") -> dict[str, tuple[str, str]]:
    """Columns that are scored on validation rows here; of MNLI on those that the name says."""
    splits = {"MNLI": MATCHED, "MNLI(m)": MATCHED, "MNLIm": MATCHED}
    splits |= {"MNLI(mm)": MISMATCHED, "MNLImm": MISMATCHED}
    splits |= {"MNLI-m": MATCHED, "MNLI-mm": MISMATCHED}
    found = {name: splits.get(name, VALIDATION) for name in names.split()}
    return {name: (published or split, split) for name, split in found.items()}


# Column -> (rows of the printed number, rows scored here); "*": every column. What the papers say:
# ResAdapters, caption of Table 1 "SQuAD2.0 dev set", and its shares of unanswerable questions;
# Houlsby et al., Table 1 "GLUE test sets scored using the GLUE evaluation server", Table 2 "test
# accuracy" of sets that they cut themselves; 3-shared, Table 2 "GLUE evaluation server", Figure 6
# (Peters et al.) "test set performance"; Adaptable Adapters, HyperFormer and LoRA: released code.
SAID: dict[str, dict[str, tuple[str, str]]] = {
    "ResAdapters-1": {"*": ("cs224n", "cs224n")},
    "ResAdapters-2": {"*": ("cs224n", "cs224n")},
    "Houlsby-1": on_validation("CoLA SST MRPC STS-B QQP MNLIm MNLImm QNLI RTE", SERVER),
    "3-shared-1": {},
    "3-shared-2": on_validation("CoLA SST-2 MRPC STS-B QQP MNLI(m) MNLI(mm) QNLI RTE", SERVER),
    "Houlsby-2": {"*": (OWN_CUT, "test")},
    "3-shared-3": {"*": (OWN_CUT, "test")},
    "Peters-1": on_validation("SST-2 MNLI MRPC STS-B", WITHHELD)
    | dict.fromkeys(("NER", "SICK-E", "SICK-R"), ("test", "test")),
    "Hyperformer-1": {"*": ("test", "test")},
    "Hyperformer-2": {"*": ("test", "test")},
    "Hyperformer-4": {"*": ("test", "test")},
    "AA-1": {},
    "AA-2": on_validation("MNLI QQP QNLI SST-2 CoLA STS-B MRPC RTE WNLI"),
    "AA-3": on_validation("MNLI QQP QNLI SST-2 CoLA STS-B MRPC RTE WNLI", NOT_STATED),
    "AA-4": on_validation("MNLI QQP QNLI SST-2 CoLA STS-B MRPC RTE WNLI"),
    "AA-5": on_validation("MNLI QQP QNLI SST-2 CoLA STS-B MRPC RTE WNLI"),
    "LoRA-1": on_validation("MNLI-m MNLI-mm SST2 MRPC CoLA QNLI QQP RTE STSB STSB-spearman"),
}


def test_rows_are_said_of_every_table() -> None:
    assert SAID.keys() == TABLES.keys()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_every_column_declares_the_rows_that_its_paper_and_we_score(table: Table) -> None:
    declared = {column.name: (column.published_rows, column.split) for column in table.scores}
    said = SAID[table.id]
    if "*" in said:
        said = dict.fromkeys(declared, said["*"])
    assert declared == said


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_declared_rows_agree_with_how_the_printed_numbers_are_labelled(table: Table) -> None:
    """The CSVs call a number "(GLUE test server)", "test accuracy %", "(SQuAD2.0 dev)"."""
    for column in table.scores:
        for row in table.rows:
            cell = table.published_cell(row, column)
            label = cell.metric.lower() if cell is not None else ""
            assert ("test server" in label) == (column.published_rows == SERVER) or not label
            assert "test" not in label or "test" in column.published_rows
            assert "dev" not in label or column.published_rows in ("cs224n", VALIDATION)


def test_a_column_or_a_curve_without_declared_rows_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="published_rows"):
        Score("SST-2", "SST-2", "accuracy", "accuracy", split="test")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="split"):
        Score("SST-2", "SST-2", "accuracy", "accuracy", "test")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="published_rows"):
        Scored("F1", split="test", protocol="glue", metric="f1")  # type: ignore[call-arg]


def test_rows_of_the_figures_that_show_published_points() -> None:
    asked = {name: Request(name, "paper", 1) for name in FIGURES}
    said = {
        name: {
            (found.published_rows, found.split)
            for task in figure.tasks
            for found in [figure.scored(task, asked[name])]
        }
        for name, figure in FIGURES.items()
        if isinstance(figure, Curves)
    }
    assert said == {
        "tradeoff-glue": {(VALIDATION, VALIDATION), (MATCHED, MATCHED)},  # section 3.4: validation
        "init-robustness": {(VALIDATION, VALIDATION), (MATCHED, MATCHED)},  # section 3.6
        "tradeoff-extra": {(OWN_CUT, "test")},
        "tradeoff-squad": {("official-dev", "official-dev")},  # section 3.5: the validation set
        "low-resource": {("test", "test")},
    }
    heat_maps = [figure for figure in FIGURES.values() if isinstance(figure, Figure)]
    assert [figure.published_rows for figure in heat_maps] == [
        {"cola": VALIDATION, "mnli": MATCHED}  # both papers: the validation set
    ]
