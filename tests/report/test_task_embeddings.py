"""Task embeddings as they stand: of which run, in numbers, words and files."""

from __future__ import annotations

import csv
import io
import json
from importlib.resources import files
from itertools import combinations
from typing import Any

import fake_embeddings as fake
import numpy as np
import pytest
from fake_embeddings import FIGURE, request, store_figure, store_run
from matplotlib.text import Text
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_distances

from repro.errors import MissingData, UnknownName
from repro.methods.t5 import HyperFormer
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.figures.embeddings import (
    CSV_COLUMNS,
    EmbeddingsView,
    view_of,
)
from repro.report.figures.style import styled
from repro.report.figures.view import view_figure
from repro.report.protocol import choices
from repro.report.reproduce import picture
from repro.spec import RunSpec, TextToText, run_key
from repro.store import Store

TABLE = "Hyperformer-1"
FIVE = ("cola", "sst2", "mnli", "qnli", "rte")


def stored(store: Store, asked: Request, likeness: float = 1.0) -> EmbeddingsView:
    store_figure(store, asked, likeness)
    return view_of(FIGURE, asked, store)


def vectors(asked: Request) -> np.ndarray[Any, Any]:
    (spec,) = FIGURE.matrix(asked).of("")
    found = fake.drawn(spec)
    return np.array([found[task] for task in FIGURE.shown(spec, asked)])


def rows_of(view: EmbeddingsView, part: str) -> list[dict[str, str]]:
    return [row for row in csv.DictReader(io.StringIO(view.csv)) if row["part"] == part]


def method_of(spec: RunSpec) -> HyperFormer:
    assert isinstance(spec.method, HyperFormer)
    return spec.method


def test_its_tasks_are_the_papers_eight_each_of_one_kind() -> None:
    path = files("repro.papers") / "hyperformer/published/HF21-text.csv"
    (said,) = [row["note"] for row in csv.DictReader(path.read_text().splitlines())
               if row["row"] == "tasks"]  # fmt: skip
    names = {name.lower().replace("-", "") for name in said.split(": ")[1].split()}
    assert set(FIGURE.tasks) == names
    assert len(FIGURE.tasks) == len(names) == 8


@pytest.mark.parametrize("scale", ["paper", "reduced", "smoke"])
@pytest.mark.parametrize(("method", "width"), [("HyperFormer++", 64), ("hyperformer", 512)])
def test_nothing_is_trained_that_the_table_does_not_train(
    scale: Any, method: str, width: int
) -> None:
    asked = request(scale, method=method)
    known = {run_key(s) for s in TABLES[TABLE].matrix(request(scale, id=TABLE)).runs.values()}
    *parents, spec = [*FIGURE.matrix(asked).runs.values()]
    assert {run_key(one) for one in [*parents, spec]} <= known
    assert set(spec.parents.values()) == {run_key(parent) for parent in parents}
    assert method_of(spec).task_embedding == width
    assert spec.backbone.name == {
        "paper": "T5-base", "reduced": "T5-small", "smoke": "tiny T5"
    }[scale]  # fmt: skip


def test_several_seeds_are_one_run_and_the_first_is_drawn(store: Store) -> None:
    view = stored(store, request(seeds=3))
    assert [*FIGURE.matrix(request(seeds=3)).runs.values()] == [
        *FIGURE.matrix(request()).runs.values()
    ]
    assert "Of several seeds the first one is drawn." in view.notes
    assert "Of several seeds the first one is drawn." not in stored(store, request()).notes


def test_a_method_without_embeddings_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match=r"hyperformer\+\+"):
        [*FIGURE.matrix(request(method="adapters")).runs.values()]


def test_the_left_map_is_that_of_scikit_learn_with_shares_in_the_labels(store: Store) -> None:
    view, model = stored(store, request()), PCA(2, svd_solver="full")
    places = model.fit_transform(vectors(request()))
    found = [[float(row["x"]), float(row["y"])] for row in rows_of(view, "pca")]
    assert np.abs(found) == pytest.approx(np.abs(places), abs=1e-4)
    shares = model.explained_variance_ratio_
    assert view.maps[0].axes == tuple(
        f"PC {n} ({round(100 * share)} %)" for n, share in enumerate(shares, 1)
    )
    assert float(rows_of(view, "pca")[0]["y_share"]) == pytest.approx(shares[1], abs=1e-4)


def test_distances_and_nearest_are_those_of_scikit_learn(store: Store) -> None:
    view, far = stored(store, request()), cosine_distances(vectors(request()))
    tasks = FIGURE.tasks
    assert len(rows_of(view, "distance")) == 8 * 7
    for row in rows_of(view, "distance"):
        i, j = tasks.index(row["task"]), tasks.index(row["other"])
        assert float(row["distance"]) == pytest.approx(far[i, j], abs=1e-4)
    nearest = (far + np.diag([9.0] * 8)).argmin(axis=1)
    assert [view.nearest(task) for task in tasks] == [tasks[i] for i in nearest]
    close = {row["task"]: row["other"] for row in rows_of(view, "distance")
             if row["nearest"] == "True"}  # fmt: skip
    assert close == {task: view.nearest(task) for task in tasks}


def test_mean_distances_within_and_between_kinds(store: Store) -> None:
    """Pairs by hand: 3 of paraphrase and 3 of inference, of 28."""
    view, far = stored(store, request()), cosine_distances(vectors(request()))
    kinds = [FIGURE.kind_of(task) for task in FIGURE.tasks]
    own = [far[i, j] for i, j in combinations(range(8), 2) if kinds[i] == kinds[j]]
    others = [far[i, j] for i, j in combinations(range(8), 2) if kinds[i] != kinds[j]]
    assert (len(own), len(others)) == (6, 22)
    (within, pairs), (between, more) = (view.mean_distance(within=w) for w in (True, False))
    assert (pairs, more) == (6, 22)
    assert within == pytest.approx(np.mean(own), abs=1e-4)
    assert between == pytest.approx(np.mean(others), abs=1e-4)
    said = view_figure(FIGURE, view.request, store).caption
    assert f"one kind {np.mean(own):.2f} (6 pairs)" in said
    assert "standard deviation of 0.12 a pair" in said  # 1 / sqrt(64)


def test_independent_vectors_are_as_far_apart_as_the_caption_says() -> None:
    stream = np.random.default_rng(0).normal(size=(400, 64))
    far = cosine_distances(stream)[np.triu_indices(400, 1)]
    assert far.mean() == pytest.approx(1.0, abs=0.01)
    assert far.std() == pytest.approx(64**-0.5, abs=0.01)


def test_a_run_that_is_missing_is_named_with_its_command(store: Store) -> None:
    found = view_figure(FIGURE, request("smoke"), store)
    assert (found.done, found.cells, found.complete, found.runs) == (0, 8, False, ())
    command = "python -m repro figure task-embeddings --scale smoke"
    assert f"Not drawn: not run. It is trained by: {command}" in found.notes
    assert [panel["points"] for panel in found.document["panels"]] == [[], []]
    assert found.csv == ",".join(CSV_COLUMNS) + "\n"


def test_the_protocol_is_that_of_the_run_that_is_drawn() -> None:
    """At smoke scale another run comes first: the tiny T5's pre-training."""
    found = {choice.field: choice.here for choice in choices(request("smoke"))}
    shown = found["method.task_embedding"]
    assert shown is not None
    assert shown.value == 64


def test_a_failed_run_says_how_it_failed(store: Store) -> None:
    (spec,) = FIGURE.matrix(request()).of("")
    store.record_failure(run_key(spec), spec, "diverged", "The loss was not finite.", "log")
    (said,) = [n for n in view_of(FIGURE, request(), store).notes if "Not drawn" in n]
    assert said == "Not drawn: failed (diverged): The loss was not finite."


@pytest.mark.parametrize("held", [None, {"rte": [1.0] * 64}])
def test_a_result_without_the_embeddings_is_no_figure(store: Store, held: Any) -> None:
    store_run(store, FIGURE.matrix(request()).of("")[0], held)
    view = view_of(FIGURE, request(), store)
    assert view.done == 0
    assert view.absent.startswith("no embedding is stored of sst2, cola, mrpc")
    assert ("rte" in view.absent) == (held is None)


def test_at_the_papers_scale_a_task_without_data_is_a_gap(store: Store) -> None:
    asked = request(unavailable={"qqp": "glue_qqp/train is not in $REPRO_DATA"})
    assert [*FIGURE.matrix(asked).runs.values()] == []
    view = view_of(FIGURE, asked, store)
    assert (view.done, view.cells) == (0, 0)
    assert "no data of qqp: glue_qqp/train is not in $REPRO_DATA" in view.absent


def test_below_it_the_others_are_trained_on_and_drawn(store: Store) -> None:
    asked = request("reduced", unavailable={"qqp": "no rows", "wnli": "never needed"})
    (spec,) = [*FIGURE.matrix(asked).runs.values()]
    assert isinstance(spec.task, TextToText)
    assert "qqp" not in spec.task.tasks
    view = stored(store, asked)
    assert (view.done, view.cells) == (7, 7)
    nothing = dict.fromkeys(FIGURE.tasks, "no rows")
    with pytest.raises(MissingData):
        [*FIGURE.matrix(request("reduced", unavailable=nothing)).runs.values()]


def test_only_tasks_asked_for_are_drawn_and_three_are_too_few_for_a_map(store: Store) -> None:
    view = stored(store, request(tasks=FIVE))
    assert set(view.maps[1].points) == set(FIVE)
    few = view_of(FIGURE, request(tasks=FIVE[:3]), store)
    assert [one.absent for one in few.maps] == ["3 of at least 4 tasks"] * 2
    assert (few.done, few.cells, len(few.distances)) == (3, 3, 6)
    assert "t-SNE, perplexity 3: not drawn, 3 of at least 4 tasks." in few.notes


def test_equal_embeddings_have_distances_but_no_map(store: Store) -> None:
    store_run(store, FIGURE.matrix(request()).of("")[0], fake.alike(0.5))
    view = view_of(FIGURE, request(), store)
    assert {one.absent for one in view.maps} == {"all embeddings are the same"}
    assert set(view.distances.values()) == {0.0}
    store_run(store, FIGURE.matrix(request("reduced")).of("")[0], fake.alike(0.0))
    none = view_of(FIGURE, request("reduced"), store)
    assert none.distances == {}
    assert none.nearest("rte") is None
    json.dumps(view_figure(FIGURE, none.request, store).document, allow_nan=False)


def test_a_run_that_gives_constant_answers_is_marked(store: Store) -> None:
    (spec,) = FIGURE.matrix(request()).of("")
    store_run(store, spec, fake.drawn(spec), collapsed=True)
    found = view_figure(FIGURE, request(), store)
    assert found.collapsed == "HyperFormer++"
    assert any("constant answer on every task" in note for note in found.notes)


@pytest.mark.parametrize("likeness", [0.0, 2.0, 500.0])
def test_names_in_the_picture_touch_no_other_name(store: Store, likeness: float) -> None:
    """At 500 the tasks of a kind stand on one spot."""
    view = stored(store, request(), likeness)
    with styled():
        drawing = view.draw()
        drawing.draw_without_rendering()
        for axes in drawing.axes:
            names = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
            assert set(names) == {
                "CoLA", "SST-2", "MRPC", "QQP", "STS-B", "MNLI", "QNLI", "RTE"
            }  # fmt: skip
            inside = axes.get_window_extent()
            for one, other in combinations(names, 2):
                assert not names[one].overlaps(names[other]), (one, other)
            assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in names.values())
        words = [axes.get_xlabel() + axes.get_title(loc="left") for axes in drawing.axes]
    assert words[0].startswith(f"PC 1 ({100 * view.maps[0].shares[0]:.0f} %)")
    assert "perplexity 3" in words[1]


def test_a_picture_without_points_has_no_axes_and_says_why(store: Store) -> None:
    with styled():
        drawing = view_of(FIGURE, request(), store).draw()
    assert drawing.axes == []
    assert drawing.get_suptitle().endswith("t-SNE, perplexity 3: not run.")


def test_a_screen_reader_hears_each_task_and_its_place(store: Store) -> None:
    found = view_figure(FIGURE, stored(store, request()).request, store)
    x, y = (rows_of(view_of(FIGURE, request(), store), "tsne")[0][axis] for axis in "xy")
    assert f"SST-2 {float(x):.2f}, {float(y):.2f}" in found.alternative
    assert "picture without coordinates" in picture(found)


def test_the_json_says_what_is_drawn(store: Store) -> None:
    asked = request("smoke")
    store_figure(store, asked)
    found = view_figure(FIGURE, asked, store)
    document = found.document
    assert document["complete"] == "8/8"
    assert document["panels"][1]["perplexity"] == 3.0
    assert len(document["distances"]) == 8
