"""Learned activations as they stand: which curves, from which runs, in numbers, words and files."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from importlib.resources import files
from typing import Any

import fake_glue
import numpy as np
import pytest
from fake_glue import REVISIONS, store_run
from matplotlib.axes import Axes
from request_samples import made

from repro.errors import ReproError, UnknownName
from repro.papers.adaptable_adapters.setting import AA, RATIONAL_ONLY, SIM, chain_of
from repro.papers.adaptable_adapters.tables import ACTIVATIONS, FOUR, TWO
from repro.papers.figures import Curve
from repro.papers.request import Request
from repro.report.figures.activations import (
    ActivationsView,
    Line,
    view_of,
)
from repro.report.figures.style import styled
from repro.report.figures.view import view_figure
from repro.report.reproduce import picture
from repro.spec import run_key
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.store import Store
from repro.store.result import Activation

MADE: dict[str, str | None] = dict(REVISIONS.items())
QNLI_4 = "left: layers of one adapter (QNLI) / layer 4"


def asked(scale: str = "paper", **changes: Any) -> Request:
    found = {} if scale == "paper" else {"data_revisions": MADE}
    fields: dict[str, Any] = found | changes
    return made(id=ACTIVATIONS.id, scale=scale, seeds=1, **fields)


def stored(store: Store, request: Request) -> ActivationsView:
    for spec in ACTIVATIONS.matrix(request).runs.values():
        store_run(store, spec)
    return view_of(ACTIVATIONS, request, store)


def line(view: ActivationsView, panel: str, task: str, layer: int) -> Line:
    """The curve for a published layer."""
    (found,) = [one for one in view.lines if one.curve == Curve(panel, task, layer)]  # type: ignore[arg-type]
    return found


def printed() -> list[dict[str, str]]:
    path = files("repro.papers") / "adaptable_adapters/published/AA22-F3-digitised.csv"
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_curves_are_those_of_the_published_picture() -> None:
    """Every row of the file is a curve of the figure, and every curve is in the file."""
    names = {
        "left: layers of one adapter (QNLI) / layer " + str(c.layer)
        if c.panel == "layers"
        else f"right: layer {c.layer} across tasks / {c.task}"
        for c in ACTIVATIONS.curves(asked())
    }
    assert names == {row["row"] for row in printed()}
    assert len(names) == 10


def test_a_published_curve_is_as_the_file_has_it() -> None:
    own = {float(r["column"][2:]): float(r["value"]) for r in printed() if r["row"] == QNLI_4}
    curve = ACTIVATIONS.published()[Curve("layers", "qnli", 4)]
    assert dict(curve.points) == own
    assert [x for x, _ in curve.points] == sorted(own)
    assert "+/-0.1 left panel, +/-0.15 right panel" in printed()[0]["metric"]
    assert curve.error == 0.1
    assert ACTIVATIONS.published()[Curve("tasks", "cola", 2)].error == 0.15


@pytest.mark.parametrize(
    ("own", "places"),
    [
        (range(24), [0, 2, 4, 7, 10]),
        (range(12), [0, 1, 2, 4, 5]),  # 7/2 and 10/2: 3.5 rounds to 4
        (range(6), [0, 1, 2, 3, 4]),  # 0, .5, 1, 1.75, 2.5: each of its own
        (range(3), [0, 1, 2]),
        (range(11, 24), [11, 12, 13, 15, 16]),  # 13 l / 24 = 0, 1.1, 2.2, 3.8, 5.4
    ],
)
def test_which_layer_stands_for_a_published_one(own: range, places: list[int]) -> None:
    found = ACTIVATIONS.placed(own)
    assert list(found.values()) == places
    assert list(found) == [0, 2, 4, 7, 10][: len(places)]


@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
def test_nothing_is_trained_that_the_tables_do_not_train(scale: Any) -> None:
    blocks = (ACTIVATIONS.block[scale],)
    table = Request(TWO.id, scale, 1, data_revisions=asked(scale).data_revisions, sections=blocks)
    known = {run_key(spec) for spec in TWO.matrix(table).runs.values()}
    for method in (AA, SIM):
        own = {
            run_key(spec) for spec in ACTIVATIONS.matrix(asked(scale, method=method)).runs.values()
        }
        assert len(own) == 5
        assert own <= known
    four = {run_key(spec) for spec in FOUR.matrix(replace(table, id=FOUR.id)).runs.values()}
    assert {
        run_key(s) for s in ACTIVATIONS.matrix(asked(scale, method=RATIONAL_ONLY)).runs.values()
    } <= four


def test_the_run_is_that_of_the_first_seed_and_of_the_rows_asked_for() -> None:
    request = asked("reduced")
    (spec,) = chain_of(AA, "qnli", request, "Low-data-100", 42)
    assert ACTIVATIONS.matrix(request).of("", "qnli") == [spec]
    (other,) = chain_of(SIM, "qnli", request, "Low-data-300", 42)
    more = asked("reduced", method="aa-focused^SIM", sections=("Low-data-300",))
    assert ACTIVATIONS.matrix(more).of("", "qnli") == [other]


def test_tasks_are_those_of_the_right_panel() -> None:
    request = asked(tasks=("rte", "cola"))
    assert ACTIVATIONS.needed(request) == ("qnli", "cola", "rte")
    assert [c.task for c in ACTIVATIONS.curves(request)] == ["qnli"] * 5 + ["cola", "rte"]


def test_what_it_cannot_draw_is_named() -> None:
    with pytest.raises(UnknownName, match="Rational-only"):
        [*ACTIVATIONS.matrix(asked(method="Baseline")).runs.values()]
    with pytest.raises(ReproError, match="one section"):
        [*ACTIVATIONS.matrix(asked(sections=("Low-data-100", "Low-data-300"))).runs.values()]


def test_a_curve_is_that_of_the_stored_coefficients(store: Store, monkeypatch: Any) -> None:
    """R(x) = (1 + 2 x) / (1 + |x|) at x = -4, 0 and 4: -7/5, 1 and 9/5."""
    one = Activation(form="a", numerator=[1.0, 2.0], denominator=[-1.0], low=-2.0, high=0.5)
    monkeypatch.setattr(fake_glue, "activations_of", lambda _: dict.fromkeys("0123456789", one))
    view = stored(store, asked(tasks=("qnli",)))
    points = dict(line(view, "layers", "qnli", 4).points(view.x))
    assert [points[x] for x in (-4.0, 0.0, 4.0)] == pytest.approx([-1.4, 1.0, 1.8])
    assert min(points) == min(float(row["column"][2:]) for row in printed())
    assert max(points) == max(float(row["column"][2:]) for row in printed())


def test_a_layer_stands_under_its_own_number_on_24_layers_only(store: Store) -> None:
    whole = stored(store, asked())
    assert whole.same_depth
    assert line(whole, "layers", "qnli", 7).layer == 7
    assert whole.name(line(whole, "layers", "qnli", 7)) == "layer 7"
    assert "not comparable" not in picture(view_figure(ACTIVATIONS, whole.request, store))
    small = stored(store, asked("reduced"))
    assert not small.same_depth
    seven = line(small, "layers", "qnli", 7)
    assert seven.layer == 3
    assert small.name(seven) == "layer 3 (for 7 of 24)"
    assert "not comparable" in picture(view_figure(ACTIVATIONS, small.request, store))


def test_runs_of_other_settings_are_not_comparable_with_the_published_curves(store: Store) -> None:
    for changes, field in (
        ({"epochs": 1}, "recipe.epochs 1, declared "),
        ({"method": "Rational-only"}, "method.switch none, declared as-run"),
    ):
        words = stored(store, asked(**changes)).stamp
        assert "not comparable with the published curves: " in words
        assert field in words


def test_what_is_missing_is_said_and_not_drawn(store: Store) -> None:
    request = asked("reduced", unavailable={"wnli": "glue_wnli/train is not in $REPRO_DATA"})
    for spec in ACTIVATIONS.matrix(request).runs.values():
        if spec.task.name != "stsb":
            store_run(store, spec)
    view = view_of(ACTIVATIONS, request, store)
    assert (view.done, view.cells) == (8, 9)
    assert line(view, "tasks", "stsb", 2).absent == "not run"
    assert line(view, "tasks", "wnli", 2).points(view.x) == ()
    found = view_figure(ACTIVATIONS, request, store)
    assert not found.complete
    assert [note for note in found.notes if "Not drawn" in note] == [
        "Not drawn, STS-B: not run.",
        "Not drawn, WNLI: glue_wnli/train is not in $REPRO_DATA.",
    ]
    kinds = {(r["task"], r["kind"]) for r in csv.DictReader(io.StringIO(found.csv))}
    assert ("stsb", "digitised") in kinds
    assert ("stsb", "reproduced") not in kinds


def test_runs_without_activations_or_layers_are_gaps(store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(fake_glue, "activations_of", lambda _: None)
    view = stored(store, asked("reduced"))
    assert view.done == 0
    assert {one.absent for one in view.lines} == {"no activation is stored"}
    tiny = KNOWN[BERT_BASE].model_copy(update={"layers": 2, "name": "two layers"})
    few = view_of(ACTIVATIONS, asked(backbone=tiny, tasks=("cola",)), store)
    absent = [one.absent for one in few.lines]
    assert absent == ["not run"] * 2 + ["two layers has too few layers"] * 3 + ["not run"]
    assert few.cells == 3


def test_a_layer_that_is_switched_off_is_drawn_and_marked(store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(fake_glue, "layers_of", lambda _: [0, 4])
    view = stored(store, asked())
    used = [one.curve.layer for one in view.panel("layers") if one.used]
    assert used == [0, 4]
    off = line(view, "layers", "qnli", 2)
    assert off.learned is not None
    with styled():
        titles = [axes.get_title(loc="left") for axes in view.draw().findobj(Axes)]
    assert [t for t in titles if "layer" in t and "switched off" not in t] == ["layer 0", "layer 4"]


def test_the_csv_says_where_inputs_were_met(store: Store, monkeypatch: Any) -> None:
    one = Activation(form="a", numerator=[1.0], denominator=[0.0], low=-0.1, high=0.12)
    monkeypatch.setattr(fake_glue, "activations_of", lambda _: dict.fromkeys("0123456789", one))
    rows = list(csv.DictReader(io.StringIO(stored(store, asked()).csv)))
    own = [r for r in rows if (r["panel"], r["layer"], r["kind"]) == ("layers", "4", "reproduced")]
    assert [float(r["x"]) for r in own if r["met"] == "True"] == [-0.1, -0.05, 0.0, 0.05, 0.1]
    assert {r["y"] for r in own} == {"1.0"}
    digitised = [r for r in rows if r["kind"] == "digitised"]
    assert len(digitised) == len(printed())
    assert all(r["source"] for r in digitised)


def test_thick_where_inputs_were_met_and_thin_beyond(store: Store) -> None:
    """WNLI, layer 2: x / 2 + 2, met from -43 to 3: thick up to 3, thin up to 4."""
    view = stored(store, asked())
    with styled():
        axes = view.draw().axes[-1]
    published, thin, thick = axes.lines[:3]
    assert axes.get_title(loc="left").startswith("WNLI")
    assert published.get_linestyle() == "--"
    x, y = (np.asarray(axis) for axis in thin.get_data())
    assert (x[-1], y[-1]) == pytest.approx((4.0, 4.0))
    assert np.asarray(thick.get_xdata()).max() == pytest.approx(3.0)
    assert thick.get_linewidth() > thin.get_linewidth()


def test_every_curve_has_axes_of_its_own_that_hold_what_is_published(store: Store) -> None:
    with styled():
        drawn = stored(store, asked()).draw().axes
    assert len(drawn) == 10
    for axes in drawn:
        low, high = axes.get_ylim()
        published = np.asarray(axes.lines[0].get_ydata())
        assert low < published.min() < published.max() < high


def test_the_json_says_what_is_drawn(store: Store) -> None:
    request = asked("reduced")
    stored(store, request)
    found = view_figure(ACTIVATIONS, request, store)
    document = found.document
    assert document["complete"] == "10/10"
    assert document["panels"][0]["curves"][3]["learned"]["numerator"][:2] == [3.0, 0.5]
    assert document["panels"][1]["curves"][0]["published"]["error"] == 0.15
