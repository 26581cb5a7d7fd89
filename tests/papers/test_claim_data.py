"""Claims as data: what they name exists, and they hold no number that a sentence does not state."""

from __future__ import annotations

import ast
import importlib
import inspect
import re

import pytest

from repro.errors import ReproError
from repro.papers.adaptable_adapters.claims import average, gain
from repro.papers.adaptable_adapters.setting import BASELINE, UNI
from repro.papers.claims import KINDS, Claim, Ours, Printed, Quantity, printed_cell
from repro.papers.curves import Curves
from repro.papers.names import PAPERS
from repro.papers.registry import ARTEFACTS, CLAIMS, FIGURES, TABLES
from repro.papers.request import Request
from repro.papers.tables import Fact

EACH = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
OF_READING = {0.05, 0.5}
"""How "about half" is read."""


def sides(claim: Claim) -> list[Quantity]:
    both = [side for one in claim.statements for side in (one.left, one.right)]
    return [side for side in both if isinstance(side, Quantity)]


@EACH
def test_every_printed_place_has_a_number(claim: Claim) -> None:
    for side in sides(claim):
        for place in side.printed:
            assert printed_cell(place).value is not None


@EACH
def test_a_claim_says_where_it_stands_and_some_number_can_decide_it(claim: Claim) -> None:
    assert claim.paper in PAPERS
    assert claim.says.endswith(".")
    assert re.search(r"section \d|section [A-Z]|Table \d|Figure \d", claim.source)
    assert claim.statements
    assert all(side.printed or side.ours for side in sides(claim))


@EACH
def test_a_claim_is_a_sentence_or_the_reading_of_a_table_or_figure(claim: Claim) -> None:
    assert claim.kind in KINDS
    if claim.kind == "reading":
        assert re.search(r"(Table|Figure) \d", claim.source)


COPIES = {
    "houlsby": r"as on arXiv \(1902\.00751\)",
    "peters": "as retold by Mohebbi & Rajaee",
    "hyperformer": "as in (the ACL Anthology|Zhang, Adapter Modules for NLP, slides)",
}
"""How a paper is known whose text none of the copies at hand has."""


@EACH
def test_a_paper_whose_text_is_not_at_hand_is_known_by_a_copy(claim: Claim) -> None:
    assert re.search(COPIES.get(claim.paper, ""), claim.source)


@EACH
def test_what_is_measured_is_within_a_bound_that_runs_can_show(claim: Claim) -> None:
    """Of two scores no number of runs shows that they are equal; counts can be."""
    for one in claim.statements:
        if one.kind == "within" and one.by == 0:
            assert one.left.ours
            for place in one.left.ours:
                column = {c.name: c for c in TABLES[place.artefact].columns}[place.column]
                assert isinstance(column, Fact), one


def test_the_averages_at_100_rows_are_apart_by_the_printed_gain() -> None:
    """The claim on gains names the three printed gains, of which this one can be checked."""
    (uni,), (baseline,), (gained,) = (
        side.printed for side in (average(UNI), average(BASELINE), gain(100))
    )
    values = [printed_cell(place).value for place in (uni, baseline, gained)]
    assert None not in values
    first, second, difference = (value or 0.0 for value in values)
    assert first - second == pytest.approx(difference)


@EACH
def test_every_cell_of_ours_exists(claim: Claim) -> None:
    for side in sides(claim):
        assert len({place.artefact for place in side.ours}) <= 1
        for place in side.ours:
            assert place.artefact in ARTEFACTS
            assert exists(place), place


def exists(place: Ours) -> bool:
    if place.artefact in TABLES:
        table = TABLES[place.artefact]
        rows = [row.name for row in table.rows]
        return place.row in rows and place.column in [column.name for column in table.columns]
    figure = FIGURES[place.artefact]
    if isinstance(figure, Curves):
        points = figure.points(Request(place.artefact, "paper", 1))
        return place.row in [p.name for p in points] and place.column in figure.tasks
    return 0 <= int(place.row) <= int(place.column) < 12  # layers of BERT-base


@EACH
def test_both_sides_of_a_statement_are_of_one_artefact(claim: Claim) -> None:
    for one in claim.statements:
        both = [side for side in (one.left, one.right) if isinstance(side, Quantity)]
        if all(side.ours for side in both):
            assert len({place.artefact for side in both for place in side.ours}) == 1


WITHOUT_TEXT = {"lora"}
"""Papers of which only a table is known here."""


def test_ids_are_unique_and_every_paper_claims_something() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    assert {claim.paper for claim in CLAIMS} == set(PAPERS) - WITHOUT_TEXT


@pytest.mark.parametrize("paper", sorted(set(PAPERS) - WITHOUT_TEXT))
def test_fractions_in_the_code_are_stated_by_the_sentences(paper: str) -> None:
    module = importlib.import_module(f"repro.papers.{paper}.claims")
    said = {
        float(number)
        for claim in CLAIMS
        if claim.paper == paper
        for number in re.findall(r"\d+(?:\.\d+)?", claim.says)
    }
    constants = [n.value for n in ast.walk(ast.parse(inspect.getsource(module)))
                 if isinstance(n, ast.Constant)]  # fmt: skip
    assert {value for value in constants if isinstance(value, float)} <= said | OF_READING


@pytest.mark.parametrize(
    "place",
    [
        Printed("resadapters", "RA-T1", "nobody", "ALL", "F1 (SQuAD2.0 dev)"),
        Printed("resadapters", "RA-T9", "", "", ""),
    ],
)
def test_a_place_without_a_number_is_named(place: Printed) -> None:
    with pytest.raises(ReproError, match=place.table):
        printed_cell(place)
