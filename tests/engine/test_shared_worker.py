"""One process trains many jobs: each as if alone, with a log of its own, and none costs another."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from glue_samples import rows, write_split
from in_process import InProcess
from run_samples import run_spec
from tiny_folder import write_tiny_bert

from repro.backbones.describe import describe
from repro.engine import dispatch
from repro.engine.dispatch import Dispatcher, Ended, Executor
from repro.engine.jobs import Execution, Job, make_job, write_job
from repro.engine.loaded import TASKS_KEPT, Loaded
from repro.engine.local import LocalExecutor
from repro.engine.worker import LOG, Exit
from repro.errors import ChangedProgram, StoreError
from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import FullFineTuning, LayerNorms
from repro.methods.frozen_features import FrozenFeatures
from repro.spec import GlueTask, RunSpec, run_key
from repro.spec.backbones import KNOWN, TINY_T5
from repro.spec.contents import Content, Contents, file_digest
from repro.spec.method import Method
from repro.spec.types import PRETRAINED
from repro.store import Store
from repro.tasks import tokenised
from repro.training.environment import prepare_torch

COMPARED = ("history.jsonl", "result.json", "predictions.json", "adapter.safetensors")
METHODS: list[Method] = [
    FrozenFeatures(units=4),
    FullFineTuning(),
    LayerNorms(),
    BottleneckAdapters(
        placement="houlsby", size=4, nonlinearity="gelu", init_std=0.02, norms="all"
    ),
    AdaptableAdapters(size=4, activation="rational", switch="as-run"),
]


def task(seed: int) -> GlueTask:
    """Rows of another generator each."""
    return GlueTask(name="cola", source="generated", revision=f"seed={seed},train=16,validation=8")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


def train(
    jobs: list[Job], model: Path, root: Path, executor: Executor | None = None
) -> list[dict[str, Any]]:
    """Trains the jobs in a store of their own; returns the events."""
    heard: list[dict[str, Any]] = []
    folders = {jobs[0].lead.backbone.revision or "": str(model)}
    execution = Execution(threads=1, folders=folders, keep_weights=True)
    dispatcher = Dispatcher(
        executor or InProcess(), lambda job, event: heard.append(event | {"job": job.id})
    )
    outcomes = dispatcher.run(jobs, Store(root), execution)
    assert [outcome.kind for outcome in outcomes] == [None] * len(jobs)
    return heard


def test_a_run_after_others_has_the_bytes_of_a_run_alone(model: Path, tmp_path: Path) -> None:
    """One process trains them all; this one does, in the opposite order."""
    backbone = describe(str(model))
    specs = [run_spec(method, backbone=backbone, task=task(0)) for method in METHODS]
    jobs = [make_job([spec]) for spec in specs]
    forth, back = tmp_path / "forth", tmp_path / "back"
    heard = train(jobs, model, forth, LocalExecutor())
    assert len({event["process"] for event in heard if event["event"] == "loading"}) == 1
    train(jobs[::-1], model, back)
    for spec in specs:
        ours, theirs = (Store(root).read(run_key(spec), verify=True) for root in (forth, back))
        assert ours is not None
        assert theirs is not None
        for name in COMPARED:
            assert (ours.path / name).read_bytes() == (theirs.path / name).read_bytes(), name


def test_what_is_kept_is_loaded_once_and_the_oldest_task_is_dropped(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenised, "KEPT_FROM", 16)
    lead = run_spec(LayerNorms(), backbone=describe(str(model)), task=task(0))
    loaded = Loaded(tmp_path)
    device = prepare_torch("cpu", threads=1, deterministic=False, tf32=False)
    folders = {lead.backbone.revision or "": str(model)}
    encoder = loaded.encoder(lead, folders, device)
    first = loaded.task(lead.task)
    assert [path.suffix for path in tmp_path.iterdir()] == [".arrow"]  # of its 16 training rows
    assert loaded.encoder(lead, folders, device) is encoder
    assert loaded.task(task(0)) is first
    for seed in range(1, TASKS_KEPT + 1):
        assert loaded.task(task(seed)) is not first
    assert loaded.task(task(0)) is not first
    latest = loaded.task(task(0))
    child = lead.model_copy(update={"parents": {PRETRAINED: "0" * 64}})
    assert loaded.encoder(child, folders, device) is not encoder
    assert loaded.task(task(0)) is latest  # cut for the same tokenizer
    other = run_spec(LayerNorms(), backbone=KNOWN[TINY_T5])
    assert loaded.encoder(other, {}, device) is not encoder
    assert loaded.task(task(0)) is not latest  # cut again, for the other's own


def test_a_run_says_by_digest_what_its_encoder_and_its_rows_were_read_from(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder below $REPRO_MODELS in the place of a hub id, and rows below $REPRO_DATA."""
    shutil.copytree(model, tmp_path / "models" / "tiny" / "bert")
    for split, count in (("train", 635), ("validation", 71)):
        write_split(tmp_path / "data", "wnli", split, rows("wnli", count))
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    fields = {"id": "tiny/bert", "revision": None}
    spec = run_spec(
        LayerNorms(),
        backbone=describe(str(model)).model_copy(update=fields),
        task=GlueTask(name="wnli", source="glue", revision=None, train_rows=8, evaluation_rows=8),
    )
    store = Store(tmp_path / "store")
    train([make_job([spec])], model, store.root)
    run = store.read(run_key(spec))
    assert run is not None
    read = Contents.model_validate(run.environment()["read"])
    files = "config.json", "model.safetensors", "tokenizer.json"
    assert read.models == {
        "tiny/bert": Content(digests={name: file_digest(model / name) for name in files})
    }
    assert read.data.keys() == {"glue_wnli"}
    # SHA-256 over a line a row: [idx, [texts], label] as canonical JSON
    lines = "".join(
        f'[{n},["Text {n} of the sentence1.","Text {n} of the sentence2."],{n % 2}]\n'
        for n in range(71)
    )
    digest = hashlib.sha256(lines.encode()).hexdigest()
    assert read.data["glue_wnli"].digests["validation"] == digest


def foreign_folder(folder: Path) -> Path:
    """A folder with another checkout, and with files that have a library's name."""
    (folder / "repro" / "engine").mkdir(parents=True)
    names = ("repro/__init__", "repro/engine/__init__", "repro/engine/worker", "random", "types")
    for name in (*names, "torch", "pydantic"):
        (folder / f"{name}.py").write_text("raise SystemExit(99)\n")
    return folder


def end_of(executor: LocalExecutor, job: Job, store: Store) -> Ended:
    """Has the executor train one job whose work folder is written."""
    executor.start(job, store)
    (ended,) = executor.wait(lambda job, event: None, None)
    return ended


def test_a_process_runs_its_own_code_whatever_lies_in_the_current_folder(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job([run_spec()])
    folder = store.work_dir(job.id)
    folder.mkdir(parents=True)
    monkeypatch.chdir(foreign_folder(tmp_path / "current"))
    with LocalExecutor() as executor:
        ended = end_of(executor, job, store)
    assert (ended.job, ended.code) == (job, Exit.ERROR)
    assert ended.failure is not None
    assert f"There is no job {job.id} in {folder.parent}" in ended.failure.message


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """A shell script in the place of the Python that workers are started with."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


def test_bytes_that_are_no_text_in_a_librarys_output_go_to_the_log(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path, "printf '\\377 of 3\\n'\nexit 7")
    job = make_job([run_spec()])
    folder = write_job(store, job, Execution())
    with LocalExecutor() as executor:
        assert end_of(executor, job, store) == Ended(job, 7)
    assert (folder / LOG).read_bytes() == b"\\xff of 3\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_log_on_a_full_disk_is_an_error_with_the_mend(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, tmp_path, "echo Downloading\nexit 0")
    job = make_job([run_spec()])
    (write_job(store, job, Execution()) / LOG).symlink_to("/dev/full")
    with (
        pytest.raises(StoreError, match=r"log.txt: the disk is full\. Free some space"),
        LocalExecutor() as executor,
    ):
        end_of(executor, job, store)


def test_code_that_changed_since_the_plan_trains_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "code_digest", lambda: "that of this command")
    spec = run_spec()
    with pytest.raises(ChangedProgram, match="Give the same command again"):
        Dispatcher(LocalExecutor()).run([make_job([spec])], store, Execution())
    assert store.state(run_key(spec)) == "missing"


# -- with a stand-in, whose end each test chooses -------------------------------------------------

Scenario = Callable[..., None]


def runs(count: int) -> list[RunSpec]:
    return [run_spec(recipe__learning_rate=float(n)) for n in range(1, count + 1)]


def processes(store: Store) -> list[int]:
    """Of each attempt."""
    lines = (store.root.parent / "attempts.jsonl").read_text().splitlines()
    return [json.loads(line)["process"] for line in lines]


def test_a_crash_ends_the_process_and_costs_no_other_job(store: Store, scenario: Scenario) -> None:
    scenario(broken=[2.0], say=["some library's word"])
    specs = runs(4)
    outcomes = Dispatcher(LocalExecutor()).run(
        [make_job([spec]) for spec in specs], store, Execution()
    )
    assert [outcome.kind for outcome in outcomes] == [None, "error", None, None]
    first, second, third, fourth = processes(store)
    assert first == second != third == fourth
    assert store.failure(run_key(specs[1])) is not None


def test_every_job_has_a_log_of_its_own(store: Store, scenario: Scenario) -> None:
    scenario(broken=[1.0, 3.0], say=["once"])
    specs = runs(3)
    Dispatcher(LocalExecutor()).run([make_job([spec]) for spec in specs], store, Execution())
    for spec, broken in zip(specs, (True, False, True), strict=True):
        failure = store.failure(run_key(spec))
        assert (failure is not None) == broken
        if failure is not None:
            log = (store.root / failure.log).read_text()
            assert log.count("once") == log.count("Traceback") == 1


def test_runs_that_another_process_holds_do_not_end_the_process(
    store: Store, scenario: Scenario
) -> None:
    scenario(exit=11)
    outcomes = Dispatcher(LocalExecutor()).run(
        [make_job([spec]) for spec in runs(2)], store, Execution()
    )
    assert [outcome.kind for outcome in outcomes] == ["running", "running"]
    assert len(set(processes(store))) == 1


def test_a_process_that_was_killed_between_two_jobs_is_started_again(
    store: Store, scenario: Scenario
) -> None:
    scenario()
    one, other = (make_job([spec]) for spec in runs(2))
    for job in (one, other):
        write_job(store, job, Execution())
    with LocalExecutor() as executor:
        assert end_of(executor, one, store) == Ended(one, 0)
        os.kill(processes(store)[0], signal.SIGKILL)
        process = executor._all[0]._process
        assert process is not None
        process.wait()
        assert end_of(executor, other, store) == Ended(other, 0)


def test_a_listener_that_stops_takes_the_process_with_it(store: Store, scenario: Scenario) -> None:
    scenario(say=['{"event": "step"}'])
    job = make_job(runs(1))

    def stop(job: Job, event: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Dispatcher(LocalExecutor(), stop).run([job], store, Execution())
    (process,) = processes(store)
    assert not Path(f"/proc/{process}").exists()
