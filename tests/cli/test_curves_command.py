"""`curves RUN...`: loss and scores of stored runs as text, as a picture and for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_results import request, runs_of, store_all, store_result

from repro.report.files import save_request
from repro.report.run_curves import courses, draw, sparkline
from repro.store import Store

Call = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("unpainted")


def history(*losses: float, scores: dict[int, float]) -> bytes:
    """Two steps an epoch; the kept epoch, the last one, is scored a second time at the end."""
    lines: list[dict[str, Any]] = []
    for number, loss in enumerate(losses):
        epoch, step = 1 + number // 2, number + 1
        lines.append({"epoch": epoch, "step": step, "loss": loss, "gradient_norm": [1.0]})
        if step % 2 == 0:
            lines.append({"epoch": epoch, "step": step, "scores": {"f1": scores[epoch]}})
    lines.append(lines[-1])
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def two(store: Store) -> list[str]:
    """Two runs of ResAdapters-1's first row, which differ in the learning rate."""
    specs = [runs_of(request(epochs=2, learning_rate=rate))[0] for rate in (0.5, 0.25)]
    told = [
        history(4.0, 3.0, 2.0, 1.0, scores={1: 40.0, 2: 50.0}),
        history(4.0, 4.0, 3.0, 3.0, scores={1: 45.0, 2: 30.0}),
    ]
    return [store_result(store, spec, history=one) for spec, one in zip(specs, told, strict=True)]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0, 7.0], "▁█"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "▁▂▃▄▅▆▇█"),
        ([3.0], "▄"),
        ([0.0, 7.0] * 32, "▅" * 32),  # the mean of each two is 3.5, which rounds to the even 4
    ],
)
def test_a_sparkline_has_a_block_a_value_or_the_mean_of_several(
    values: list[float], shown: str
) -> None:
    assert sparkline(values, 0.0, 7.0) == shown


def test_each_run_is_told_by_what_differs_with_its_loss_and_its_scores(
    cli: Call, two: list[str]
) -> None:
    answer = cli("curves", *(key[:8] for key in two))
    assert answer.code == 0, answer.err
    loss, score, files = answer.out.split("\n\n")
    assert f"{two[0][:8]}  learning rate 0.5   █▆▃▁" in loss
    assert "4.000 -> 1.000" in loss
    assert "f1 by epoch, %, 30.0 to 50.0" in score
    assert "45.0 -> 30.0" in score
    assert "kept epoch 2" in score
    assert files.count("Wrote figures/curves.") == 5


def test_json_and_csv_hold_every_loss_and_each_epochs_score_once(
    cli: Call, two: list[str], tmp_path: Path
) -> None:
    found = json.loads(cli("curves", *two, "--json").out)
    first = {one["name"]: one["points"] for one in found["runs"][0]["curves"]}
    assert [point["value"] for point in first["loss"]] == [4.0, 3.0, 2.0, 1.0]
    assert first["f1"] == [
        {"epoch": 1, "step": 2, "value": 40.0}, {"epoch": 2, "step": 4, "value": 50.0},
    ]  # fmt: skip
    (path,) = (tmp_path / "figures").glob("*.csv")
    frame = pd.read_csv(path)
    assert frame.groupby(["key", "name"])["value"].size().tolist() == [2, 4, 2, 4]


def test_the_picture_has_the_loss_and_a_panel_a_score(store: Store, two: list[str]) -> None:
    runs = [run for key in two if (run := store.read(key)) is not None]
    drawing = draw(courses(runs))
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["training loss", "f1"]
    lines = [np.asarray(line.get_ydata()).tolist() for line in drawing.axes[0].lines]
    assert sorted(line for line in lines if line) == [[4, 3, 2, 1], [4, 4, 3, 3]]


def test_runs_of_a_bundle_are_left_out_and_said(cli: Call, store: Store, two: list[str]) -> None:
    asked = request(epochs=2)
    source = Store("source")
    keys = store_all(source, asked)
    save_request(source, asked)
    store.root.mkdir(exist_ok=True)
    assert cli("store", "pack", store.root / "one.jsonl.xz", "--store", "source").code == 0
    answer = cli("curves", two[0], keys[0])
    assert (answer.code, two[0][:8] in answer.out) == (3, True)
    assert f"Left out: {keys[0][:12]}, whose history is not stored." in answer.err
    alone = cli("curves", keys[0])
    assert (alone.code, alone.out) == (2, "")
    assert "holds scores only" in alone.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("x" * 8, "is no run's key"),
        ("0" * 64, "No run's key begins"),
        ("", "is no run's key"),
    ],
)
def test_what_names_no_stored_run_is_refused(
    cli: Call, two: list[str], given: str, said: str
) -> None:
    answer = cli("curves", two[0], given)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.parametrize(
    "content", [b"no json\n", b"[1]\n", b'{"loss": 1.0}\n', b'{"epoch": "x", "step": 1}\n']
)
def test_a_damaged_history_is_an_error_that_names_the_run(
    cli: Call, store: Store, content: bytes
) -> None:
    key = store_result(store, runs_of(request(epochs=1))[0], history=content)
    answer = cli("curves", key)
    assert answer.code == 2
    assert f"The history of run {key[:12]} is damaged" in answer.err


def test_a_run_without_a_step_has_curves_without_points(cli: Call, store: Store) -> None:
    key = store_result(store, runs_of(request(epochs=1))[0], history=b"")
    found = json.loads(cli("curves", key, "--json").out)
    assert found["runs"][0]["curves"] == []


def test_event_files_hold_what_tensorboard_reads_back(
    cli: Call, two: list[str], tmp_path: Path
) -> None:
    read = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="the extra tensorboard is not installed",
    )
    assert cli("curves", *two, "--tensorboard", "events").code == 0
    (folder,) = (tmp_path / "events").glob(f"learning-rate-0.5.{two[0][:8]}")
    found = read.EventAccumulator(str(folder)).Reload()
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [
        (1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0),
    ]  # fmt: skip
    assert [(e.step, e.value) for e in found.Scalars("score/f1")] == [(2, 40.0), (4, 50.0)]
    again = cli("curves", *two, "--tensorboard", "events")
    assert (again.code, "2 runs left as they are" in again.err) == (0, True)


def test_tensorboard_is_an_extra_whose_absence_is_said(
    cli: Call, two: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'tensorboard'")

    monkeypatch.setattr("repro.cli.curves.write_events", absent)
    answer = cli("curves", *two, "--tensorboard", "events")
    assert answer.code == 2
    assert "pip install 'repro[tensorboard]'" in answer.err
