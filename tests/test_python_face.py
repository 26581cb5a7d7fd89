"""`import repro`: the frames that a notebook gets, and docs/python.md, whose examples are run."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_results import request, runs_of, store_result

import repro
from repro.errors import ReproError, UnknownName
from repro.papers.registry import ARTEFACTS
from repro.report.files import save_request
from repro.store import Store

PROJECT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"```(python|text)\n(.*?)```", (PROJECT / "docs" / "python.md").read_text(), re.DOTALL
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A store with one run of ResAdapters-1 at smoke scale."""
    store = Store(tmp_path / "results")
    store_result(store, runs_of(request(epochs=1))[0])
    save_request(store, request(epochs=1))
    return store.root


def test_every_example_of_the_documentation_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import matplotlib.pyplot as plt

    for name in ("REPRO_STORE", "REPRO_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    names: dict[str, Any] = {}
    printed = ""
    for language, text in BLOCKS:
        if language == "text":
            assert printed == text
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(text, names)
        printed = out.getvalue()
    heights = {round(float(bar.get_height()), 2) for bar in names["axes"].patches}
    means = names["shown"]["mean"].round(2)
    assert heights >= set(means[means != 0])
    plt.close("all")


def test_importing_does_no_work_and_nothing_loads_torch(results: Path) -> None:
    code = f"""
import sys, repro
assert not {{"pandas", "pydantic", "typer", "numpy"}} & set(sys.modules)
repro.list(), repro.published(), repro.results({str(results)!r})
cells = repro.comparison("resadapters-1", store={str(results)!r})
assert len(cells) == 36 and cells["mean"].notna().sum() == 6
assert not {{"torch", "transformers", "datasets", "evaluate"}} & set(sys.modules)
import repro.comparison.published
repro.comparison("ResAdapters-1", scale="smoke", store={str(results)!r}, epochs=1)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_artefact_is_listed() -> None:
    assert repro.list()["id"].tolist() == list(ARTEFACTS)


def test_a_mistake_says_what_is_there_instead(results: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean AA-"):
        repro.comparison("AA-9")
    with pytest.raises(UnknownName, match="Did you mean smoke"):
        repro.comparison("AA-2", scale="smok")
    with pytest.raises(ReproError, match=r"There is no store .*nowhere"):
        repro.results(results / "nowhere")
    (results / "notes").mkdir()
    (results / "notes" / "todo.txt").write_text("x")
    with pytest.raises(ReproError, match="notes is no store: nothing was stored there"):
        repro.comparison("AA-2", store=results / "notes")
    with pytest.raises(ReproError, match="has no run of AA-2 at paper scale"):
        repro.comparison("AA-2", scale="paper", store=results)
    with pytest.raises(ReproError, match="Name the scale of ResAdapters-1 beside epochs"):
        repro.comparison("ResAdapters-1", store=results, epochs=1)
    with pytest.raises(ReproError, match="has no run whose key begins with 'xyz'"):
        repro.history("xyz", results)


def test_the_history_of_a_run_is_found_by_the_first_digits_of_its_key(results: Path) -> None:
    key = repro.results(results)["key"].iloc[0]
    assert repro.history(key[:8], results)["loss"].tolist() == [2.5]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seeds": 0}, "seeds=0: give a whole number from 1 to 1000"),
        ({"seeds": True}, "seeds=True: give a whole number"),
        ({"epochs": "3"}, "epochs='3': give a whole number"),
        ({"learning_rate": "fast"}, "learning_rate='fast': give a number"),
        ({"rows": 5}, "rows=5: give a text or a list of texts"),
        ({"rows": []}, "rows=.*: give a text or a list of texts"),
        ({"tasks": [""]}, "tasks=.*: give a text or a list of texts"),
        ({"settings": {"method.form": "b"}}, "settings=.*: give a text or a list of texts"),
        ({"as_released": "no"}, "as_released='no': give True or False"),
        ({"backbone": 3}, "backbone=3: give a text"),
    ],
)
def test_an_option_of_a_wrong_type_or_size_is_refused(
    results: Path, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ReproError, match=says):
        repro.comparison("ResAdapters-1", scale="smoke", store=results, **options)


def test_an_argument_of_a_wrong_type_is_refused(results: Path) -> None:
    number: Any = 3
    calls: tuple[Callable[[], Any], ...] = (
        lambda: repro.comparison(number),
        lambda: repro.comparison("AA-2", scale=number),
        lambda: repro.published(number),
        lambda: repro.history(number, results),
        lambda: repro.judged(number),
        lambda: repro.results(results, where=number),
        lambda: repro.results(""),
        lambda: repro.results(number),
    )
    for call in calls:
        with pytest.raises(ReproError, match=r"3|''"):
            call()
    file = results / "file"
    file.write_text("")
    with pytest.raises(ReproError, match="is no folder, and so no store"):
        repro.results(file)


def test_several_parts_are_a_list_and_a_text_alone_is_one(results: Path) -> None:
    found = repro.comparison(
        "ResAdapters-1", scale="smoke", store=results, rows="Adapter", columns=("ALL EM", "ALL F1"),
        settings="recipe.epochs=1",
    )  # fmt: skip
    assert (found["row"] + ", " + found["column"]).tolist() == [
        "Adapter, ALL EM",
        "Adapter, ALL F1",
    ]


def test_a_frame_and_a_file_of_it_add_the_same_row(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"CoLA": [60.1, 0.1 + 61.2], "RTE": [70.0, None]}, index=[4, 5])
    frame.to_csv(tmp_path / "mine.csv", index=False)
    added = repro.add("3-shared-2", "Frame", frame, by="Ada", store=tmp_path / "s")
    again = repro.add("3-SHARED-2", "File", tmp_path / "mine.csv", by="Ada", store=tmp_path / "s")
    pandas.testing.assert_frame_equal(added, again)
    assert added["values"].tolist() == [[60.1, 0.1 + 61.2], [70.0]]
    assert added["n"].tolist() == [2, 1]
    first, second = Store(tmp_path / "s").external()
    assert first.sha256 == second.sha256


@pytest.mark.parametrize(
    ("scores", "more", "said"),
    [
        ([1, 2], {}, "give a pandas frame or a CSV file"),
        ("no.csv", {}, "cannot be read"),
        ({"CoLA": [True, False]}, {}, "CoLA is 'True'"),
        ({"CoLA": [float("inf")]}, {}, "CoLA is 'inf'"),
        ({0: [60.0]}, {}, "no column '0'"),
        ({"CoLA": []}, {}, "no line of numbers"),
        ({}, {}, "is empty"),
        ({"CoLA": [60.0]}, {"scales": ["huge"]}, "no scale called 'huge'"),
        ({"CoLA": [60.0]}, {"by": 3}, "by=3: give a text"),
    ],
)
def test_a_frame_that_cannot_be_right_is_refused(
    tmp_path: Path, scores: Any, more: dict[str, Any], said: str
) -> None:
    import pandas

    given = pandas.DataFrame(scores) if isinstance(scores, dict) else scores
    how: dict[str, Any] = {"by": "Ada", "store": tmp_path / "s", **more}
    with pytest.raises(ReproError, match=said):
        repro.add("3-shared-2", "Mine", given, **how)
    assert not (tmp_path / "s").exists()


def test_two_rows_are_compared_as_a_frame(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    frame = repro.compare(
        "published: Full fine-tuning", "Ours (3-shared)", "3-shared-2", store=tmp_path / "s"
    )
    cola = frame.set_index("column").loc["CoLA"]
    assert (cola["first"], cola["second"]) == (52.1, 53.5)
    assert cola["outcome"] == "not tested"
    assert "higher than published Ours (3-shared) on 7 of 9 columns" in frame.attrs["words"][0]
    with pytest.raises(UnknownName, match="option"):
        repro.compare("a", "b", "3-shared-2", store=tmp_path / "s", epoch=1)
    with pytest.raises(ReproError, match="There is no store"):
        repro.compare("a", "b", "3-shared-2", store=tmp_path / "none")
