"""Writers that are killed, or that the disk stops, leave every run complete or absent."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from kill_points import interrupted, killed_in_a_fork, steps_of
from store_samples import (
    FULL,
    Child,
    files_of,
    listening,
    spec_of,
    tree,
    unfinished,
    write_run,
    write_scores,
)

from repro.errors import StoreError
from repro.spec import run_key
from repro.store import Store

Start = Callable[..., Child]


def assert_complete_or_absent(root: Path) -> list[str]:
    """Reads everything under `root` and compares it with what was to be written."""
    store, lines = listening(root)
    keys = store.keys()
    folders = [path for path in root.glob("??/*") if path.is_dir()]
    assert sorted(path.name for path in folders) == keys
    for key in keys:
        run = store.read(key, verify=True)
        assert run is not None
        for name, content in files_of(key).items():
            assert (run.path / name).read_bytes() == content
        assert {path.name for path in run.path.iterdir()} == FULL
    assert all(set(document) == {"text", "seed"} for document in store.requests().values())
    store.failure(run_key(spec_of(0)))
    assert lines == []
    return keys


def kill_at_random_moments(start: Start, root: Path, kills: int) -> None:
    chance = random.Random(kills)
    before = 0
    for number in range(kills):
        child = start("loop", root, 1000 * number)
        assert child.stdout is not None
        # The child says a byte before each call that changes the disk: some 60 a run.
        steps = chance.randint(1, 400)
        seen = b""
        while len(seen) < steps:
            seen += os.read(child.stdout.fileno(), steps - len(seen))
        child.kill()
        assert child.wait() == -signal.SIGKILL
        before = max(before, len(assert_complete_or_absent(root)))
    assert before > 0
    Store(root).sweep()
    assert not unfinished(root)
    assert len(assert_complete_or_absent(root)) == before


def test_killed_writer_leaves_every_run_complete_or_absent(tmp_path: Path, start: Start) -> None:
    kill_at_random_moments(start, tmp_path, 5)


@pytest.mark.slow
def test_writer_killed_often_leaves_every_run_complete_or_absent(
    tmp_path: Path, start: Start
) -> None:
    kill_at_random_moments(start, tmp_path, 20)


def test_writer_killed_at_every_single_step(tmp_path: Path) -> None:
    names = steps_of(lambda store: write_run(store, 0), tmp_path / "whole")
    assert names.count("rename") == 1
    for step in range(len(names)):
        root = tmp_path / str(step)
        killed_in_a_fork(partial(write_run, Store(root), 0), step)
        keys = assert_complete_or_absent(root)
        assert len(keys) == (step > names.index("rename"))
        Store(root).sweep()
        assert not unfinished(root)
        write_run(Store(root), 0)
        assert len(assert_complete_or_absent(root)) == 1


def test_kill_at_every_single_step_of_overwriting_leaves_old_or_new(tmp_path: Path) -> None:
    old, new = {"seeds": 1}, {"seeds": 2}
    store, lines = listening(tmp_path)
    store.save_request("T-1", old)
    names = steps_of(lambda other: other.save_request("T-1", old), tmp_path)
    for step, name in enumerate(names):
        killed_in_a_fork(partial(store.save_request, "T-1", new), step)
        replaced = "replace" in names[:step]
        assert store.requests() == {"T-1": new if replaced else old}, (step, name)
        store.save_request("T-1", old)
    assert "replace" in names[:-1]
    assert store.sweep() > 0
    assert not unfinished(tmp_path)
    assert lines == []


def test_kill_while_a_whole_run_replaces_one_with_fewer_files_loses_nothing(
    tmp_path: Path,
) -> None:
    key = write_scores(Store(tmp_path / "whole"), 0)
    result = (tmp_path / "whole" / key[:2] / key / "result.json").read_bytes()
    names = steps_of(lambda store: write_run(store, 0), tmp_path / "whole")
    for step in range(names.index("rename") - 3, len(names)):
        root = tmp_path / str(step)
        write_scores(Store(root), 0)
        killed_in_a_fork(partial(write_run, Store(root), 0), step)
        Store(root).sweep()
        assert result in tree(root).values(), step
        store, lines = listening(root)
        store.read(key, verify=True)
        assert lines == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_error_at_every_single_step_leaves_what_was_stored(tmp_path: Path, code: int) -> None:
    def refuse() -> None:
        raise OSError(code, os.strerror(code))

    write_run(Store(tmp_path / "whole"), 0)
    names = steps_of(lambda store: write_run(store, 1), tmp_path / "whole")
    store, lines = listening(tmp_path / "runs")
    old = write_run(store, 0)
    kept = tree(tmp_path / "runs")
    for step in range(len(names)):
        stopped = pytest.raises(StoreError, match="nothing stored before")
        with interrupted(step, refuse) as seen, stopped:
            write_run(store, 1)
        now = tree(tmp_path / "runs")
        assert kept.items() <= now.items()
        assert not unfinished(tmp_path)
        assert_complete_or_absent(tmp_path / "runs")
        if store.state(run_key(spec_of(1))) == "done":  # the error came after the last rename
            assert "rename" in seen[:step]
            break
        assert "rename" not in seen[:step]
    else:
        pytest.fail("no step after the rename was reached")
    assert store.read(old, verify=True) is not None
    assert lines == []


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_disk_that_fills_up_while_a_run_with_fewer_files_is_replaced_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    write_scores(Store(tmp_path / "runs"), 0)
    kept = tree(tmp_path / "runs")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(StoreError, match="the disk is full"):
            write_run(Store(tmp_path / "runs"), 0)
    assert tree(tmp_path / "runs") == kept
    assert not unfinished(tmp_path)


def test_really_full_disk_keeps_the_old_runs_and_leaves_no_part(small_disk: Path) -> None:
    store, lines = listening(small_disk)
    stored: list[str] = []
    with pytest.raises(StoreError, match=r"the disk is full\. Free some space"):
        stored.extend(write_run(store, seed) for seed in range(20))
    assert len(store.keys()) > 1
    assert not unfinished(small_disk)
    assert_complete_or_absent(small_disk)
    with pytest.raises(StoreError, match="needs about 100 MB"):
        store.check_writable(100_000_000)
    assert lines == []


def raced(start: Start, root: Path, values: tuple[str, str]) -> list[str]:
    """Two processes write the same ten runs at once; returns what each said."""
    children = [start("race", root, value, name) for value, name in zip(values, "ab", strict=True)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    said = [child.communicate()[1].decode() for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    return said


def test_two_processes_that_write_the_same_runs_agree(tmp_path: Path, start: Start) -> None:
    assert raced(start, tmp_path, ("50.0", "50.0")) == ["", ""]
    assert len(assert_equal_runs(tmp_path)) == 10
    assert not (tmp_path / "quarantine").exists()
    assert not unfinished(tmp_path)


def assert_equal_runs(root: Path) -> list[str]:
    store, lines = listening(root)
    keys = store.keys()
    for key in keys:
        assert store.read(key, verify=True) is not None
    assert lines == []
    return keys


def test_two_processes_with_different_results_keep_both(tmp_path: Path, start: Start) -> None:
    said = raced(start, tmp_path, ("50.0", "51.0"))
    lines = "".join(said).splitlines()
    assert len(lines) == 10
    assert all("was stored before with other content" in line for line in lines)
    keys = assert_equal_runs(tmp_path)
    assert len(keys) == 10
    assert sorted(path.name for path in (tmp_path / "quarantine").iterdir()) == sorted(
        f"{key}-1" for key in keys
    )
