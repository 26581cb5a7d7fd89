"""`table` and `figure` without scale or setting show the best stored variant, and name others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_results import runs_of, store_all, store_result
from fake_spans import FIGURE, store_chain
from tiny_folder import write_tiny_bert

from repro.cli.requests import make_request
from repro.engine.cost import Speed, store_speed
from repro.engine.dispatch import Dispatcher
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.files import (
    backbone_label,
    command_line,
    save_request,
    saved_requests,
    write_table,
)
from repro.report.view import view_table
from repro.spec import Scale
from repro.store import Store

Call = Callable[..., Any]
ONE = TABLES["ResAdapters-1"]
SHOW = ["table", "ResAdapters-1"]
SLOW, QUICK = Speed(1.0, 1.0, "an abacus", True), Speed(1e30, 1e30, "a dream", True)


def kept(store: Store, scale: Scale, whole: bool = True, **asked: Any) -> Request:
    """A variant that was asked for, stored whole or but for its first run."""
    request = make_request(ONE, scale, **asked)
    save_request(store, request)
    if whole:
        store_all(store, request)
    else:
        for spec in runs_of(request)[1:]:
            store_result(store, spec)
    return request


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What executors were given to train; nothing is trained."""
    jobs: list[Any] = []

    def run(executor: Any, given: Any, *_: object) -> list[Any]:
        jobs.extend(given)
        return []

    monkeypatch.setattr(Dispatcher, "run", run)
    return jobs


def test_of_two_finished_reduced_variants_one_is_shown_and_one_named(
    cli: Call, store: Store, trained: list[Any]
) -> None:
    first = kept(store, "reduced", train_rows=100)
    second = kept(store, "reduced", train_rows=200)
    kept(store, "smoke")
    answer = cli(*SHOW)
    assert (answer.code, trained) == (0, [])
    assert "Scale: reduced (not comparable" in answer.out
    assert answer.err.splitlines() == [
        "Scale: reduced (the largest that is stored, 6 of 6 runs: "
        "ResAdapters-1.reduced.train-rows-100).",
        f"Also stored: {command_line(second)} (6 of 6 runs)",
        "Also stored: python -m repro table ResAdapters-1 --scale smoke (6 of 6 runs)",
    ]
    shown = cli(*command_line(second).split()[3:])
    assert (shown.code, shown.err, trained) == (0, "", [])
    assert cli(*command_line(first).split()[3:]).out == answer.out


def test_the_variant_with_most_runs_of_the_largest_scale_comes_first(
    cli: Call, store: Store, trained: list[Any]
) -> None:
    kept(store, "reduced", whole=False, train_rows=100)
    kept(store, "reduced", train_rows=200)
    kept(store, "smoke", seeds=2)
    lines = cli(*SHOW).err.splitlines()
    assert "train-rows-200" in lines[0]
    assert "--train-rows 100 (5 of 6 runs)" in lines[1]
    assert "--scale smoke --seeds 2 (12 of 12 runs)" in lines[2]


def test_a_variant_with_settings_is_shown_as_far_as_it_is_stored(
    cli: Call, store: Store, trained: list[Any]
) -> None:
    request = kept(store, "reduced", whole=False, train_rows=100)
    answer = cli(*SHOW)
    assert (answer.code, trained) == (3, [])
    assert f"To train it: {command_line(request)}" in answer.err.splitlines()[1]


def test_what_was_begun_without_a_setting_is_continued_within_the_budget(
    cli: Call, store: Store, trained: list[Any]
) -> None:
    kept(store, "smoke", whole=False)
    store_speed(store.root, "cpu", SLOW)
    cli(*SHOW)
    assert trained == []
    cli(*SHOW, "--budget", 1e6)
    assert trained == []  # an abacus needs longer
    store_speed(store.root, "cpu", QUICK)
    cli(*SHOW)
    assert [len(job.specs) for job in trained] == [1]


def test_a_setting_or_a_scale_is_taken_at_its_word(
    cli: Call, store: Store, trained: list[Any]
) -> None:
    kept(store, "reduced", train_rows=100)
    cli(*SHOW, "--scale", "smoke")
    assert len(trained) == 1
    cli(*SHOW, "--epochs", "2")
    assert len(trained) == 2


def test_a_figure_shows_its_stored_variant(cli: Call, store: Store, trained: list[Any]) -> None:
    request = make_request(FIGURE, "smoke", epochs=2)
    store_chain(store, request)
    save_request(store, request)
    answer = cli("figure", "ablation-heatmap")
    assert (answer.code, trained) == (0, [])
    assert "figures/ablation-heatmap.smoke.epochs-2.png" in answer.out


def test_results_of_a_model_folder_that_is_gone_are_shown_by_its_name(
    cli: Call, store: Store, trained: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models" / "checkpoint-500"
    write_tiny_bert(folder)
    monkeypatch.setenv("REPRO_MODELS", str(folder.parent))
    request = kept(store, "smoke", backbone="checkpoint-500")
    assert request.backbone is not None
    command = command_line(request).split()[3:]
    label = backbone_label(request.backbone)
    assert label in command
    assert cli(*command).code == 0  # its folder is found by the name with the digest
    folder.rename(tmp_path / "elsewhere")
    for name in ("checkpoint-500", label):
        answer = cli(*SHOW, "--scale", "smoke", "--backbone", name)
        assert (answer.code, answer.err, trained) == (0, "", [])
    answer = cli(*command, "--epochs", "3")
    assert (answer.code, trained) == (2, [])
    assert "The model folder checkpoint-500 (sha256:" in answer.err
    assert "REPRO_MODELS" in answer.err


def test_two_model_folders_of_one_name_are_told_apart(
    cli: Call, store: Store, trained: list[Any], tmp_path: Path
) -> None:
    requests = []
    for place, layers in (("a", 3), ("b", 6)):
        folder = tmp_path / place / "checkpoint-500"
        write_tiny_bert(folder, layers=layers)
        requests.append(kept(store, "smoke", backbone=str(folder)))
    answer = cli(*SHOW, "--scale", "smoke", "--backbone", "checkpoint-500")
    assert answer.code == 2
    for request in requests:
        assert request.backbone is not None
        assert backbone_label(request.backbone) in answer.err
        shown = cli(*command_line(request).split()[3:])
        assert (shown.code, shown.err) == (0, "")


def test_a_whole_table_is_shown_where_its_data_are_not(
    cli: Call, store: Store, trained: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was trained on rows of a folder, and here there is none."""
    found = make_request(ONE, "reduced", epochs=2)
    from dataclasses import replace

    request = replace(found, data_revisions={"squad2": "sha256:theirs"})
    save_request(store, request)
    store_all(store, request)
    command = command_line(request).split()[3:]
    answer = cli(*command)
    assert (answer.code, trained) == (0, [])
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "nowhere"))
    assert (cli(*command).code, trained) == (0, [])


@pytest.mark.parametrize("words", [SHOW, ["figure", "ablation-heatmap"]])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_trained(
    cli: Call, trained: list[Any], tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    answer = cli(*words, "--scale", "smoke", "--out", tmp_path / "file")
    assert (answer.code, trained) == (1, [])
    assert "name another folder with --out" in answer.err


def test_a_name_made_of_ten_settings_and_sixteen_tasks_is_written(
    cli: Call, store: Store, trained: list[Any], tmp_path: Path
) -> None:
    sets = [
        "recipe.epochs=2", "recipe.batch_size=8", "recipe.weight_decay=0.125", "recipe.warmup=0.25",
        "recipe.adam_beta1=0.875", "recipe.adam_beta2=0.9375", "recipe.adam_eps=0.0000001",
        "recipe.clip_norm=2.0", "recipe.schedule=constant", "recipe.order=shuffled",
    ]  # fmt: skip
    tasks = ",".join(TABLES["Houlsby-2"].tasks[:16])
    words = [word for value in sets for word in ("--set", value)]
    answer = cli("table", "Houlsby-2", "--scale", "smoke", "--tasks", tasks, *words)
    assert (answer.code, bool(trained)) == (3, True)
    assert len(store.requests()) == 1
    assert len(list((tmp_path / "tables").iterdir())) == 4


def test_a_model_folder_with_a_backslash_or_a_long_name_gives_files(
    cli: Call, store: Store, trained: list[Any], tmp_path: Path
) -> None:
    for name in ("a\\b", "m" * 250):
        write_tiny_bert(tmp_path / "models" / name)
        words = ["--scale", "smoke", "--backbone", tmp_path / "models" / name]
        assert cli(*SHOW, *words).code == 3
    assert len(store.requests()) == 2
    assert len(list((tmp_path / "tables").iterdir())) == 8


def test_a_table_that_is_stored_and_written_needs_no_pandas(tmp_path: Path) -> None:
    """Importing it takes longer than all else; LaTeX is made again where a number changes."""
    store = Store(tmp_path / "store")
    kept(store, "smoke", epochs=1)
    words = ["table", "ResAdapters-1", "--store", str(store.root), "--out", str(tmp_path)]
    code = f"import sys; sys.argv[1:] = {words}; from repro.cli.main import main\n"
    forbid = "sys.modules |= dict.fromkeys(('pandas', 'jinja2', 'matplotlib', 'torch'))\n"
    for first in ("", forbid):
        done = subprocess.run(
            [sys.executable, "-c", f"{code}{first}main()"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Cells reproduced: 36/36" in done.stdout
    (path,) = (tmp_path / "tables").glob("*.tex")
    text = path.read_text()
    path.write_text("older")
    view = view_table(ONE, saved_requests(store)[0], store)
    write_table(view, tmp_path, anew=False)
    assert path.read_text() == "older"
    path.with_suffix(".csv").write_text("older")
    write_table(view, tmp_path, anew=False)
    assert path.read_text() == text
