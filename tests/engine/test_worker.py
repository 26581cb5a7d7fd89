"""One job in one process: what it stores, what it says, and how each kind of failure ends it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import torch
from drive_jobs import pinned
from fake_results import request, runs_of, store_result
from in_process import InProcess
from run_samples import run_spec
from tiny_folder import write_tiny_bert
from tiny_models import tiny_data

from repro.backbones.describe import describe
from repro.engine import progress, worker
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, make_job, write_job
from repro.engine.loaded import Loaded
from repro.engine.results import collapsed
from repro.engine.worker import Exit
from repro.errors import MissingData
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AlwaysNull
from repro.spec import RunSpec, run_key
from repro.store import Store, claims, entry
from repro.store.atomic import write_json
from repro.store.claims import ClaimLost
from repro.training.checkpoint import HistoryFile
from repro.training.group import Group
from repro.training.member import Member

Event = dict[str, Any]
Train = Callable[..., int]
Unbroken = Callable[[list[RunSpec]], dict[str, bytes]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The worker's events, in place of its standard output."""
    events: list[Event] = []
    monkeypatch.setattr(worker, "report", events.append)
    return events


@pytest.fixture
def train(store: Store, model: Path, heard: list[Event]) -> Train:
    """Trains runs as one job, as `python -m repro worker` does; returns the exit code."""
    revision = describe(str(model)).revision
    assert revision is not None

    def run(*specs: RunSpec, **execution: Any) -> int:
        job = make_job(list(specs))
        options = {"threads": 1, "checkpoint_steps": 1, "folders": {revision: str(model)}}
        write_job(store, job, Execution.model_validate(options | execution))
        return worker.execute(store, store.work_dir(job.id), Loaded(store.cache))

    return run


@pytest.fixture
def specs(model: Path) -> list[RunSpec]:
    """ResNeXt cells, a probe, full fine-tuning, always null: two epochs of three steps each."""
    asked = request(
        "ResAdapters-2",
        backbone=describe(str(model)),
        data_revisions={"squad2": "seed=0,train=40,validation=12"},
        epochs=2,
    )
    return [
        pinned(spec) for spec in runs_of(asked)
    ]  # ResNeXt, probe, full fine-tuning, always null


def served(status: int) -> Exception:
    """What a request raises that a server answered so."""
    response = requests.Response()
    response.status_code = status
    return requests.HTTPError("no", response=response)


def kinds(events: list[Event]) -> list[str]:
    return [event["event"] for event in events]


def last_failure(heard: list[Event]) -> tuple[str, str]:
    assert heard[-1]["event"] == "failed"
    return heard[-1]["kind"], heard[-1]["message"]


def test_a_job_stores_every_member_with_all_its_files(
    store: Store, train: Train, specs: list[RunSpec], heard: list[Event]
) -> None:
    cells, probe, _, null = specs
    assert train(cells, probe, null) == Exit.DONE
    assert kinds(heard)[-3:] == ["stored"] * 3
    for spec in (cells, probe, null):
        run = store.read(run_key(spec), verify=True)
        assert run is not None
        assert set(run.files) == {
            "spec.json", "result.json", "environment.json", "history.jsonl", "predictions.json",
            "adapter.safetensors",
        }  # fmt: skip
        assert {score.epoch for score in run.result.scores} == {1, 2}
        machine = run.environment()
        assert machine["members"] == [run_key(s) for s in (cells, probe, null)]
        assert (machine["device"], machine["threads"], machine["resumes"]) == ("cpu", 1, 0)
        assert machine["seconds"] > 0
        assert machine["steps"] == 6
    history = (store.read(run_key(probe)) or pytest.fail("not stored")).path / "history.jsonl"
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [1, 2, 3, 4, 5, 6]
    assert [line["epoch"] for line in lines if "scores" in line] == [1, 2]


def test_weights_of_full_fine_tuning_are_kept_only_when_asked(
    store: Store, train: Train, specs: list[RunSpec]
) -> None:
    tuning = specs[2]
    assert train(tuning) == Exit.DONE
    run = store.read(run_key(tuning))
    assert run is not None
    assert "adapter.safetensors" not in run.files
    assert "--keep-weights" in run.result.notes[0]
    other = tuning.model_copy(update={"seed": 1})
    assert train(other, keep_weights=True) == Exit.DONE
    kept = store.read(run_key(other))
    assert kept is not None
    assert "adapter.safetensors" in kept.files
    assert kept.result.notes == []


def test_a_run_that_diverges_is_a_failure_and_the_rest_is_stored(
    store: Store, train: Train, specs: list[RunSpec], heard: list[Event]
) -> None:
    recipe = specs[1].recipe.model_copy(update={"learning_rate": 1e38})
    wild = specs[1].model_copy(update={"recipe": recipe})
    assert train(wild, specs[3]) == Exit.DONE
    failure = store.failure(run_key(wild))
    assert failure is not None
    assert failure.kind == "diverged"
    assert "not finite" in failure.message
    assert store.state(run_key(specs[3])) == "done"
    assert "diverged" in kinds(heard)


def test_a_full_disk_while_results_are_written_costs_only_the_writing(
    store: Store,
    train: Train,
    specs: list[RunSpec],
    heard: list[Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(descriptor: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(entry, "write_all", full)
        assert train(specs[1], specs[3]) == Exit.STORE
    kind, message = last_failure(heard)
    assert kind == "store"
    assert "the disk is full" in message
    assert "--store" in message
    assert {store.state(run_key(spec)) for spec in (specs[1], specs[3])} == {"missing"}
    heard.clear()
    assert train(specs[1], specs[3]) == Exit.DONE
    assert "resumed" in kinds(heard)
    assert "step" not in kinds(heard)  # trained and scored before: only written now


def test_a_disk_that_fills_up_in_training_is_continued_once_there_is_room(
    small_store: Store, train_on: Callable[..., int], specs: list[RunSpec], heard: list[Event]
) -> None:
    ballast = small_store.root.parent / "ballast"

    def fill(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 3:
            with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
                while True:
                    stream.write(bytes(1000))

    assert train_on(small_store, [specs[1]], fill) == Exit.STORE
    kind, message = last_failure(heard)
    assert kind == "store"
    assert "the disk is full" in message
    ballast.unlink()
    heard.clear()
    assert train_on(small_store, [specs[1]]) == Exit.DONE
    assert next(event for event in heard if event["event"] == "resumed")["step"] == 2
    assert small_store.state(run_key(specs[1])) == "done"


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Store]:
    """A store on a real file system of 1 MiB, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "engine-test", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a tmpfs, so no disk can really be full")
    yield Store(disk / "store")
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def train_on(
    model: Path, heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Like `train`, in a given store; `watch` gets every event as it comes."""
    revision = describe(str(model)).revision or ""

    def run(
        store: Store,
        specs: list[RunSpec],
        watch: Callable[[Event], None] = lambda event: None,
        stopping: worker.Stopping | None = None,
        checkpoint_steps: int | None = 1,
        threads: int = 1,
    ) -> int:
        def report(event: Event) -> None:
            heard.append(event)
            watch(event)

        monkeypatch.setattr(worker, "report", report)
        execution = Execution(
            threads=threads, checkpoint_steps=checkpoint_steps, folders={revision: str(model)}
        )
        folder = write_job(store, make_job(specs), execution)
        return worker.execute(store, folder, Loaded(store.cache), stopping)

    return run


class Cut(BaseException):
    """Ends a worker in the middle of its work, as a kill would, at an exact place."""


@pytest.fixture(scope="module")
def unbroken(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    """What a job of these runs stores that nothing cuts; each job is trained once."""
    known: dict[str, dict[str, bytes]] = {}

    def trained(specs: list[RunSpec]) -> dict[str, bytes]:
        job = make_job(specs)
        if job.id not in known:
            store = Store(tmp_path_factory.mktemp("unbroken"))
            folders = {describe(str(model)).revision or "": str(model)}
            found = Dispatcher(InProcess()).run([job], store, Execution(threads=1, folders=folders))
            assert [outcome.kind for outcome in found] == [None]
            known[job.id] = contents(store, specs)
        return known[job.id]

    return trained


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("step", {"step": 4}),  # right after an epoch's checkpoint
        ("evaluation", {"epoch": 2}),  # the epoch's last step is in the checkpoint, its score not
        ("stored", {}),
    ],
)
def test_a_worker_cut_anywhere_and_started_again_stores_the_same_bytes(
    store: Store,
    unbroken: Unbroken,
    train_on: Callable[..., int],
    specs: list[RunSpec],
    kind: str,
    fields: dict[str, int],
) -> None:
    """Cuts of a group at its every event are in `training/test_resume.py`."""

    def cut(event: Event) -> None:
        if event["event"] == kind and fields.items() <= event.items():
            raise Cut

    members = [specs[0], specs[1], specs[3]]
    with pytest.raises(Cut):
        train_on(store, members, cut)
    assert train_on(store, members) == Exit.DONE
    assert contents(store, members) == unbroken(members)


@pytest.mark.parametrize(
    ("kind", "fields", "resumed"),
    [
        ("loading", {}, None),
        ("step", {"step": 2}, 2),
        ("step", {"step": 3}, 3),  # the last of its epoch
        ("evaluation", {"epoch": 2}, 3),  # from the checkpoint before
    ],
)
def test_a_worker_asked_to_stop_writes_a_checkpoint_and_is_continued_to_the_same_bytes(
    store: Store,
    unbroken: Unbroken,
    train_on: Callable[..., int],
    specs: list[RunSpec],
    heard: list[Event],
    kind: str,
    fields: dict[str, int],
    resumed: int | None,
) -> None:
    stopping = worker.Stopping()

    def ask(event: Event) -> None:
        if event["event"] == kind and fields.items() <= event.items():
            stopping.asked = True

    assert train_on(store, specs[1:2], ask, stopping, checkpoint_steps=None) == Exit.PREEMPTED
    assert "stored" not in kinds(heard)
    heard.clear()
    assert train_on(store, specs[1:2], checkpoint_steps=None) == Exit.DONE
    begun = [event["step"] for event in heard if event["event"] == "resumed"]
    assert begun == ([] if resumed is None else [resumed])
    assert contents(store, specs[1:2]) == unbroken(specs[1:2])


def test_a_job_goes_on_with_the_threads_that_it_began_with(
    store: Store, tmp_path: Path, train_on: Callable[..., int], specs: list[RunSpec]
) -> None:
    """Another number of threads adds in another order. The next job has its own number again."""

    def cut(event: Event) -> None:
        if event.get("step") == 2:
            raise Cut

    with pytest.raises(Cut):
        train_on(store, specs[1:2], cut, threads=2)
    assert train_on(store, specs[1:2], threads=1) == Exit.DONE
    unbroken = Store(tmp_path / "unbroken")
    assert train_on(unbroken, specs[1:2], threads=2) == Exit.DONE
    assert contents(store, specs[1:2]) == contents(unbroken, specs[1:2])
    assert train_on(store, specs[3:], threads=1) == Exit.DONE
    runs = [store.read(run_key(spec)) for spec in (specs[1], specs[3])]
    assert [run.environment()["threads"] for run in runs if run is not None] == [2, 1]


def test_another_process_reads_how_far_a_job_is_and_why_it_ended(
    store: Store, train_on: Callable[..., int], specs: list[RunSpec], monkeypatch: Any
) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    folder = store.work_dir(make_job(specs[1:2]).id)
    seen = []

    def look(event: Event) -> None:
        seen.append(progress.read_progress(folder))
        if event["event"] == "step" and event["step"] == 4:
            raise MemoryError

    assert train_on(store, specs[1:2], look) == Exit.OUT_OF_MEMORY
    assert seen[0] is None
    states = [one.state for one in seen if one is not None]
    assert list(dict.fromkeys(states)) == ["loading", "encoding", "training", "scoring"]
    last = seen[-1]
    assert last is not None
    assert (last.epoch, last.step, last.steps) == (1, 3, 6)
    assert last.loss is not None
    assert last.seconds_left is not None
    assert (last.process, last.host) == (os.getpid(), platform.node())
    assert progress.read_progress(folder) is None  # nobody is at it any more
    failure = progress.read_failure(folder)
    assert failure == progress.JobFailure(kind="out-of-memory", message="MemoryError")
    assert train_on(store, specs[1:2]) == Exit.DONE
    assert not folder.exists()  # the results are stored


@pytest.mark.parametrize("content", ["[" * 10_000, '{"state": "<b>"}', "\x00"])
def test_what_a_work_folder_says_is_not_trusted(tmp_path: Path, content: str) -> None:
    for name in (progress.PROGRESS, progress.FAILURE):
        (tmp_path / name).write_text(content)
    assert progress.read_progress(tmp_path) is None
    assert progress.read_failure(tmp_path) is None


@pytest.mark.parametrize("name", ["../0123", "", "0123/../4567", "job"])
def test_a_worker_looks_for_no_job_outside_its_store(
    store: Store, heard: list[Event], name: str
) -> None:
    assert worker.serve(store, [name]) == Exit.ERROR
    assert last_failure(heard[:1]) == ("error", f"'{name}' is no name of a job.")


def test_a_work_folder_that_holds_another_job_is_refused(
    store: Store, train: Train, specs: list[RunSpec], heard: list[Event]
) -> None:
    """Its checkpoint would be continued under other keys."""
    folder = write_job(store, make_job(specs[1:2]), Execution())
    other = folder.rename(folder.with_name("0123"))
    assert worker.execute(store, other, Loaded(store.cache)) == Exit.ERROR
    assert "There is no job 0123 in" in last_failure(heard)[1]


@pytest.mark.parametrize(
    ("problem", "passing"),
    [
        (RuntimeError("CUDA error: unknown error"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (served(503), True),
        (served(404), False),
        (served(429), True),
        (ZeroDivisionError(), False),
    ],
)
def test_what_a_gpu_or_a_server_is_at_fault_for_may_succeed_next(
    problem: Exception, *, passing: bool
) -> None:
    assert worker.is_passing(problem) is passing
    outer = MissingData("cannot be had")
    outer.__cause__ = problem
    assert worker.is_passing(outer) is passing


def contents(store: Store, members: list[RunSpec]) -> dict[str, bytes]:
    """The files of the members' entries that do not depend on the machine."""
    found = {}
    for spec in members:
        run = store.read(run_key(spec))
        assert run is not None
        for name in ("history.jsonl", "result.json", "predictions.json", "adapter.safetensors"):
            found[f"{run.key}/{name}"] = (run.path / name).read_bytes()
    return found


@pytest.mark.parametrize("pattern", ["checkpoint.safetensors", "history-*"])
def test_a_damaged_work_folder_is_set_aside_and_the_job_begins_anew(
    pattern: str,
    store: Store,
    unbroken: Unbroken,
    specs: list[RunSpec],
    train_on: Callable[..., int],
    heard: list[Event],
) -> None:

    def cut(event: Event) -> None:
        if event.get("step") == 4:
            raise Cut

    with pytest.raises(Cut):
        train_on(store, specs[1:2], cut)
    folder = store.work_dir(make_job(specs[1:2]).id)
    path = next(folder.glob(pattern))
    path.write_bytes(path.read_bytes()[:-7])
    damaged = path.read_bytes()
    heard.clear()
    assert train_on(store, specs[1:2]) == Exit.DONE
    assert contents(store, specs[1:2]) == unbroken(specs[1:2])
    assert "resumed" not in kinds(heard)
    message = next(event["message"] for event in heard if event["event"] == "notice")
    (place,) = (store.root / "quarantine").glob("[!.]*/")
    assert f"{path.name} " in message
    assert f"Moved to {place};" in message
    assert (place / path.name).read_bytes() == damaged


def test_a_worker_whose_parent_is_gone_already_does_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_library(name: str | None) -> None:
        raise OSError("prctl is Linux's")

    monkeypatch.setattr("ctypes.CDLL", no_library)
    monkeypatch.setenv("REPRO_PARENT", str(os.getppid()))
    worker.die_with_parent()
    monkeypatch.setenv("REPRO_PARENT", str(os.getpid()))
    with pytest.raises(SystemExit):
        worker.die_with_parent()


def test_a_full_disk_met_outside_the_store_names_the_mend_too(
    train: Train, specs: list[RunSpec], heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(group: Group) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "history.jsonl")

    monkeypatch.setattr(Group, "train", full)
    assert train(specs[1]) == Exit.STORE
    kind, message = last_failure(heard)
    assert (kind, "the disk is full" in message) == ("store", True)


def test_another_error_of_the_system_is_not_called_a_full_disk(
    train: Train, specs: list[RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(group: Group) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Group, "train", broken)
    with pytest.raises(OSError, match="Input/output error"):
        train(specs[1])


@pytest.mark.parametrize(
    "error", [torch.cuda.OutOfMemoryError("CUDA out of memory.\nTried"), MemoryError()]
)
def test_memory_that_runs_out_has_an_exit_code_of_its_own(
    train: Train,
    specs: list[RunSpec],
    heard: list[Event],
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def greedy(group: Group) -> None:
        raise error

    monkeypatch.setattr(Group, "train", greedy)
    assert train(specs[1]) == Exit.OUT_OF_MEMORY
    kind, message = last_failure(heard)
    assert kind == "out-of-memory"
    assert message in ("CUDA out of memory.", "MemoryError")


def test_a_bug_is_not_caught_so_that_its_traceback_is_in_the_log(
    train: Train, specs: list[RunSpec], heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Group, "train", lambda group: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(specs[1])
    assert "failed" not in kinds(heard)


def test_a_model_that_cannot_be_had_says_where_to_put_it(
    store: Store, train: Train, heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.delenv("REPRO_MODELS", raising=False)
    spec = run_spec(
        LinearProbe(layer=6), backbone__id="nobody/no-such-model", backbone__revision=None
    )
    assert train(spec) == Exit.MISSING
    kind, message = last_failure(heard)
    assert kind == "missing-model"
    assert "$REPRO_MODELS/nobody/no-such-model" in message
    assert "\n" not in message


def test_the_deepest_cause_of_a_model_that_cannot_be_loaded_is_told_and_all_are_logged(
    train: Train,
    specs: list[RunSpec],
    heard: list[Event],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As transformers hides what httpx says of a proxy."""

    def behind_a_proxy(*_: object, **__: object) -> None:
        try:
            try:
                raise ModuleNotFoundError("No module named 'socksio'")
            except ModuleNotFoundError:
                raise ImportError("Using SOCKS proxy, but 'socksio' is not installed") from None
        except ImportError as problem:
            raise OSError("Can't load the configuration of 'x'.\nIf you") from problem

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", behind_a_proxy)
    assert train(specs[1]) == Exit.MISSING
    kind, message = last_failure(heard)
    assert kind == "missing-model"
    assert "(ImportError: Using SOCKS proxy, but 'socksio' is not installed)" in message
    log = capsys.readouterr().err
    assert "OSError: Can't load the configuration of 'x'." in log
    assert "ImportError: Using SOCKS proxy" in log


def test_an_unforeseen_error_ends_the_log_with_its_deepest_cause(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        try:
            return 1 // 0
        except ZeroDivisionError as problem:
            raise RuntimeError("cannot scale\nCompile with X for details") from problem

    monkeypatch.setattr(worker, "execute", broken)
    monkeypatch.setattr("sys.stdin", ["0123\n"])
    assert worker.main([str(store.root), "-"]) == Exit.ERROR
    lines = capsys.readouterr().err.splitlines()
    assert "Traceback (most recent call last):" in lines
    assert lines[-1] == (
        "RuntimeError: cannot scale (ZeroDivisionError: integer division or modulo by zero)"
    )


def test_a_model_folder_that_changed_since_is_refused(
    train: Train, specs: list[RunSpec], heard: list[Event], tmp_path: Path
) -> None:
    other = write_tiny_bert(tmp_path / "other", hidden=16)
    revision = specs[1].backbone.revision or ""
    assert train(specs[1], folders={revision: str(other)}) == Exit.MISSING
    kind, message = last_failure(heard)
    assert kind == "missing-model"
    assert "has changed" in message
    assert "--backbone" in message


def test_data_that_is_gone_says_where_to_put_it(
    train: Train, specs: list[RunSpec], heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPRO_DATA", raising=False)
    changes = {
        "source": "squad_v2",
        "revision": "sha256:0",
        "train": "dev-minus-cs224n",
        "evaluation": "cs224n",
    }
    spec = specs[1].model_copy(update={"task": specs[1].task.model_copy(update=changes)})
    assert train(spec) == Exit.MISSING
    kind, message = last_failure(heard)
    assert kind == "missing-data"
    assert "REPRO_DATA" in message


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_cuda_without_a_gpu_says_so(train: Train, specs: list[RunSpec], heard: list[Event]) -> None:
    assert train(specs[1], device="cuda") == Exit.ERROR
    kind, message = last_failure(heard)
    assert kind == "error"
    assert "--device cpu" in message


def test_runs_that_another_process_holds_are_left_to_it(
    store: Store, train: Train, specs: list[RunSpec], heard: list[Event]
) -> None:
    with store.claim([run_key(specs[1])]):
        assert train(specs[1], specs[3]) == Exit.CLAIMED_ELSEWHERE
    assert heard == []


def test_a_job_that_another_process_took_over_is_left_to_it_at_the_next_step(
    store: Store,
    train_on: Callable[..., int],
    specs: list[RunSpec],
    heard: list[Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a laptop's sleep of some minutes."""
    lease = store.root / "claims" / f"{run_key(specs[1])}.lock"

    def take_over(event: Event) -> None:
        if event["event"] == "step" and event["step"] == 3:
            write_json(lease, {"token": "ab12", "machine": "0123456789ab", "pid": 1})
            with contextlib.suppress(ClaimLost):
                while True:
                    store.check_claims()

    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.01)
    assert train_on(store, [specs[1]], take_over) == Exit.CLAIMED_ELSEWHERE
    assert [event["step"] for event in heard if event["event"] == "step"] == [1, 2, 3]
    assert "failed" not in kinds(heard)
    assert store.keys() == []
    assert store.state(run_key(specs[1])) == "running"
    lease.unlink()
    assert train_on(store, [specs[1]]) == Exit.DONE


def test_runs_that_another_process_stored_are_not_trained_again(
    store: Store, train: Train, specs: list[RunSpec], heard: list[Event]
) -> None:
    store_result(store, specs[3])
    assert train(specs[3]) == Exit.ALREADY_DONE
    assert heard == []


def test_a_worker_given_a_finished_job_again_says_that_it_is_stored(
    store: Store, specs: list[RunSpec], heard: list[Event]
) -> None:
    """Its folder went with its end; `members` of the environment names the runs of the job."""
    job = make_job(specs[:2])
    for spec in specs[:2]:
        store_result(store, spec, members=job.keys)
    assert worker.main([str(store.root), job.id]) == Exit.ALREADY_DONE
    assert [event["event"] for event in heard] == ["ended"]


def test_a_job_whose_parent_is_not_stored_waits_and_has_not_failed(
    store: Store, specs: list[RunSpec], heard: list[Event]
) -> None:
    child = specs[0].model_copy(update={"parents": {"intact": run_key(specs[1])}})
    folder = write_job(store, make_job([child]), Execution())
    assert worker.main([str(store.root), folder.name]) == Exit.WAITS
    assert heard[0]["event"] == "waits"
    assert run_key(specs[1])[:12] in heard[0]["message"]
    assert not (folder / "failure.json").exists()


def test_a_worker_without_a_job_says_so(
    store: Store, heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", ["0123\n", "4567\n"])
    assert worker.main([str(store.root), "-"]) == Exit.ERROR
    assert "There is no job 0123 in" in last_failure(heard[:1])[1]
    assert heard[1:] == [{"event": "ended", "job": "0123", "code": Exit.ERROR}]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [({"dev": 100.0}, True), ({"dev": 100.0, "part": 99.9}, False), ({"dev": 0.0}, False)],
)
def test_a_run_is_collapsed_that_answers_nothing_at_its_end(
    rates: dict[str, float], expected: bool, tmp_path: Path
) -> None:
    def score(split: str, epoch: int, value: float) -> dict[str, Any]:
        name = {"protocol": "legacy/argmax-pair", "metric": "null_rate", "group": "ALL"}
        return {**name, "split": split, "epoch": epoch, "value": value}

    history = HistoryFile(tmp_path / "history.jsonl")
    scores = [score("dev", 1, 50.0), *(score(split, 2, rate) for split, rate in rates.items())]
    member = Member(run_spec(), run_spec(), "its key", history, scores)  # two epochs
    assert collapsed(member, tiny_data()) is expected
    null = Member(run_spec(AlwaysNull()), run_spec(AlwaysNull()), "its key", history, scores)
    assert collapsed(null, tiny_data()) is None
    member.kept = 1
    assert collapsed(member, tiny_data()) is False


def test_full_fine_tuning_is_alone_in_its_job(specs: list[RunSpec]) -> None:
    assert isinstance(specs[2].method, FullFineTuning)
