"""What the paper says and what is used: one line a field, with its source."""

from __future__ import annotations

import pytest
from fake_results import request

from repro.cli.requests import make_request
from repro.papers.registry import ARTEFACTS, TABLES
from repro.papers.request import Request
from repro.papers.resadapters.tables import PAPER
from repro.report.protocol import Choice, choices, first_runs


def choice(found: list[Choice], field: str) -> Choice:
    (one,) = (one for one in found if one.field == field)
    return one


def test_at_the_papers_scale_nothing_differs_but_the_data() -> None:
    found = choices(Request("ResAdapters-1", "paper", 3))
    assert {one.field for one in found if not one.same} == set()


def test_an_overridden_value_stands_beside_the_papers() -> None:
    found = choices(request(scale="reduced", epochs=3))
    epochs = choice(found, "recipe.epochs")
    assert epochs.paper is not None
    assert epochs.here is not None
    assert epochs.paper.value == PAPER["recipe.epochs"][0]
    assert (epochs.paper.origin, epochs.paper.citation) == (
        PAPER["recipe.epochs"][1].origin, PAPER["recipe.epochs"][1].citation,
    )  # fmt: skip
    assert (epochs.here.value, epochs.here.origin) == (3, "assumed")
    assert not epochs.same


def test_what_differs_between_rows_names_them() -> None:
    wirings = [one for one in choices(request()) if one.field == "method.wiring"]
    assert {one.rows for one in wirings} == {
        ("Adapter", "Attention"), ("Adapter ResNet", "Attention ResNet"), ("Attention ResNeXt",),
    }  # fmt: skip
    assert {one.here.value for one in wirings if one.here} == {"plain", "resnet", "resnext"}


def test_a_reference_has_no_protocol() -> None:
    assert "Always null" in first_runs(TABLES["ResAdapters-1"], request())
    assert not any("Always null" in one.rows for one in choices(request()))


@pytest.mark.parametrize("id", [id for id in ARTEFACTS if id != "architecture-resadapters"])
@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
def test_every_value_has_a_source(id: str, scale: str) -> None:
    found = choices(Request(id, scale, 1))  # type: ignore[arg-type]
    assert len(found) > 20
    for one in found:
        for value in (one.paper, one.here):
            assert value is None or (value.origin and value.citation), one.field


@pytest.mark.parametrize("id", ["low-resource", "task-embeddings"])
def test_the_protocol_of_a_figure_is_that_of_what_it_draws_not_of_the_pre_training(id: str) -> None:
    found = choices(Request(id, "smoke", 1))
    steps = choice(found, "recipe.steps").here
    assert steps is not None
    assert steps.value in (400, 800)  # pre-training takes 1,600
    smoothing = choice(found, "recipe.label_smoothing")
    assert smoothing.same  # which pre-training has none of


def test_the_row_of_a_method_has_its_settings_alone_or_among_the_others() -> None:
    alone = make_request(TABLES["3-shared-2"], "smoke", method="lora", rows=["yours"])
    among = make_request(TABLES["3-shared-2"], "smoke", method="lora")
    for asked in (alone, among):
        rank = choice(choices(asked), "method.rank")
        assert rank.here is not None
        assert rank.here.value == 8
