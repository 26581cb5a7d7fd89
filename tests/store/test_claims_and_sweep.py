"""The living are left alone, the dead block nobody and leave nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from store_samples import Child, listening, spec_of, tree, write_run

from repro.errors import StoreError
from repro.spec import run_key
from repro.store import Store
from repro.store.temporary import DAY, is_leftover, machine, started, unfinished_name

Start = Callable[..., Child]
KEYS = [run_key(spec_of(seed)) for seed in range(3)]


def said(child: Child) -> list[str]:
    assert child.stdout is not None
    return child.stdout.readline().decode().split()


def test_claims_end_when_their_holder_is_killed(tmp_path: Path, start: Start) -> None:
    store = Store(tmp_path)
    holder = start("claim", tmp_path, *KEYS[:2])
    assert said(holder) == sorted(KEYS[:2])
    assert [store.state(key) for key in KEYS] == ["running", "running", "missing"]
    with store.claim(KEYS) as held:
        assert held == {KEYS[2]}
        assert said(start("claim", tmp_path, *KEYS)) == []
    holder.kill()
    holder.wait()
    assert [store.state(key) for key in KEYS] == ["missing"] * 3
    with store.claim(KEYS) as held:
        assert held == set(KEYS)


def test_claim_in_one_process_excludes_itself(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.claim(KEYS[:2]) as one, store.claim(KEYS) as two:
        assert (one, two) == (set(KEYS[:2]), {KEYS[2]})
    with store.claim(KEYS) as three:
        assert three == set(KEYS)


def test_claims_end_with_an_exception(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(RuntimeError), store.claim(KEYS):
        raise RuntimeError
    assert store.state(KEYS[0]) == "missing"


def test_looks_from_many_threads_are_never_taken_for_a_holder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.claim(KEYS[:1]):
        pass
    seen: set[str] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.add(store.state(KEYS[0]))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        while "missing" not in seen:
            pass
        assert seen == {"missing"}
        for _ in range(20):
            with store.claim(KEYS[:1]) as held:
                assert held == {KEYS[0]}
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_claim_where_nothing_can_be_written_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    store = Store(tmp_path / "file")
    assert store.state(KEYS[0]) == "missing"
    with pytest.raises(StoreError, match="a file, not a folder"), store.claim(KEYS):
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_there_are_no_locks_nothing_is_claimed_and_one_sentence_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store, lines = listening(tmp_path)
    with store.claim(KEYS[:1]):  # so that there are lock files to look at
        pass

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = tree(tmp_path)
    sentence = rf"Cannot lock files in {tmp_path}.*: {os.strerror(code)}\. .*--store\.$"
    with pytest.raises(StoreError, match=sentence):
        store.check_writable()
    with pytest.raises(StoreError, match=sentence), store.claim(KEYS):
        pass
    assert tree(tmp_path) == before
    assert [store.state(key) for key in KEYS[:2]] == ["missing", "missing"]
    assert len(lines) == 1
    assert os.strerror(code) in lines[0]


def test_marker_file_that_a_kill_on_another_host_left_blocks_nobody(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / f"{KEYS[0]}.lock").write_text("4711\nanother-host\n")
    assert store.state(KEYS[0]) == "missing"
    with store.claim(KEYS) as held:
        assert held == set(KEYS)
        assert store.state(KEYS[0]) == "running"


def test_a_claim_is_one_process_s_alone_while_its_lock_file_is_removed(
    tmp_path: Path, start: Start
) -> None:
    started = [start("contend", tmp_path, KEYS[0], 200) for _ in range(2)]
    started.append(start("tidy", tmp_path, KEYS[0], 300))
    assert [child.wait() for child in started] == [0, 0, 0]


def test_idle_claims_are_removed_and_held_ones_stay(tmp_path: Path, start: Start) -> None:
    store, holder = Store(tmp_path), start("claim", tmp_path, KEYS[0])
    assert said(holder) == [KEYS[0]]
    with store.claim(KEYS):
        pass
    assert [path.stem for path in store.idle_claims()] == sorted(KEYS[1:])
    assert not store.remove_claim(KEYS[0])
    assert all(store.remove_claim(key) for key in KEYS[1:])
    assert store.idle_claims() == []
    assert store.state(KEYS[0]) == "running"


def test_sweep_takes_what_the_dead_left_and_nothing_of_the_living(
    tmp_path: Path, start: Start
) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    store.record_failure(KEYS[1], spec_of(1), "error", "m", "log")
    living, dead = start("staging", tmp_path), start("staging", tmp_path)
    assert said(living) == said(dead) == ["ready"]
    before = tree(tmp_path)
    assert store.sweep() == 0
    dead.kill()
    dead.wait()
    assert store.sweep() == 2
    left = tree(tmp_path)
    assert set(before) - set(left) == {name for name in before if f"-{dead.pid}-" in name}
    assert len(before) - len(left) == 2
    assert store.sweep() == 0
    assert store.read(key, verify=True) is not None
    assert store.failure(KEYS[1]) is not None
    assert lines == []


def test_sweep_reaches_cache_failures_requests_quarantine_and_work(tmp_path: Path) -> None:
    gone = f".tmp-{machine()}-{os.getpid()}-1-abc"  # this process's id, but started at another time
    places = ["cache", "failures", "requests", "quarantine", "work/job-1"]
    for place in places:
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / gone).write_text("half")
    (tmp_path / "work/job-1/state.json").write_text("{}")
    (tmp_path / "work/file").write_text("x")
    assert Store(tmp_path).sweep() == len(places)
    assert set(tree(tmp_path)) == {"work/job-1/state.json", "work/file"}


@pytest.mark.usefixtures("strange_name")
def test_process_whose_name_is_no_text_has_a_start_like_any_other(tmp_path: Path) -> None:
    ticks = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19]
    assert started(os.getpid()) == ticks.decode()
    path = tmp_path / unfinished_name(".tmp")
    path.write_text("x")
    assert Store(tmp_path).sweep() == 0
    assert path.exists()


def test_unfinished_work_of_a_process_that_is_hidden_from_this_user_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /proc is where it is mounted with hidepid."""
    path = tmp_path / unfinished_name(".tmp")
    path.write_text("x")

    def refuse(*_: object) -> bytes:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert not is_leftover(path)


def set_age(path: Path, seconds: float) -> None:
    import time

    os.utime(path, (time.time() - seconds,) * 2)


def test_unfinished_work_of_another_machine_is_left_for_a_day(tmp_path: Path) -> None:
    folder = tmp_path / ".staging-0123456789ab-1-1-abc"
    folder.mkdir()
    (folder / "part").write_text("x")
    for path, age in ((folder, 2 * DAY), (folder / "part", DAY / 2)):
        set_age(path, age)
    assert not is_leftover(folder)
    assert Store(tmp_path).sweep() == 0
    set_age(folder / "part", 1.01 * DAY)
    assert is_leftover(folder)
    assert Store(tmp_path).sweep() == 1


def test_own_unfinished_work_is_never_left_over_however_old(tmp_path: Path) -> None:
    path = tmp_path / unfinished_name(".tmp")
    path.write_text("x")
    set_age(path, 100 * DAY)
    assert not is_leftover(path)


def test_unfinished_work_from_the_future_is_left(tmp_path: Path) -> None:
    path = tmp_path / ".tmp-of-an-older-layout"
    path.write_text("x")
    set_age(path, -DAY)
    assert not is_leftover(path)


def test_start_of_a_process_is_its_own(start: Start, tmp_path: Path) -> None:
    child = start("staging", tmp_path)
    said(child)
    mine, other = started(os.getpid()), started(child.pid)
    assert mine is not None
    assert other is not None
    assert int(mine) < int(other)
    child.kill()
    child.wait()
    assert started(child.pid) is None
