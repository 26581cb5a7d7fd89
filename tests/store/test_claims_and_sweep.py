"""The living are left alone, the dead block nobody and leave nothing."""

from __future__ import annotations

import errno
import json
import os
import platform
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from store_samples import Child, listening, spec_of, tree, write_run

from repro.errors import StoreError
from repro.spec import run_key
from repro.store import Store, claims
from repro.store.claims import ClaimLost
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
    assert store.holder(KEYS[0]) == f"process {holder.pid} on {platform.node()}"
    assert said(start("claim", tmp_path, *KEYS)) == []
    holder.kill()
    holder.wait()
    assert [store.state(key) for key in KEYS] == ["missing"] * 3
    with store.claim(KEYS) as held:
        assert held == set(KEYS)
    assert not list((tmp_path / "claims").iterdir())


def test_claim_takes_all_of_its_keys_or_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.claim(KEYS[:2]) as one, store.claim(KEYS) as two, store.claim(KEYS[2:]) as three:
        assert (one, two, three) == (set(KEYS[:2]), set(), {KEYS[2]})
    with store.claim(KEYS) as four:
        assert four == set(KEYS)


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


def test_taking_and_looking_agree_where_the_kernel_refuses_locks(
    tmp_path: Path, start: Start, refusing_flock: Callable[[int], dict[str, str]]
) -> None:
    store, environment = Store(tmp_path), refusing_flock(errno.ENOSYS)
    holder = start("claim", tmp_path, KEYS[0], environment=environment)
    assert said(holder) == [KEYS[0]]
    assert store.state(KEYS[0]) == "running"
    assert said(start("state", tmp_path, KEYS[0], environment=environment)) == ["running"]
    assert said(start("claim", tmp_path, KEYS[0], environment=environment)) == []
    holder.kill()
    holder.wait()
    assert said(start("state", tmp_path, KEYS[0], environment=environment)) == ["missing"]
    assert said(start("claim", tmp_path, KEYS[0], environment=environment)) == [KEYS[0]]
    with store.claim(KEYS[:1]) as held:
        assert held == set()


def foreign_lease(root: Path, key: str, age: float = 0.0) -> Path:
    """A lease that a process of another machine renewed `age` seconds ago."""
    path = root / "claims" / f"{key}.lock"
    path.parent.mkdir(exist_ok=True)
    fields = {"token": "ab12", "machine": "0123456789ab", "pid": 1, "started": "7"}
    path.write_text(json.dumps(fields | {"holder": "process 1 on node7 (job 31)"}))
    set_age(path, age)
    return path


@pytest.mark.parametrize(("age", "lives"), [(0, True), (45, True), (75, False), (-75, False)])
def test_lease_of_another_machine_ends_after_missed_beats(
    tmp_path: Path, age: float, lives: bool
) -> None:
    """-75: the file server's clock was set back, and nobody has renewed the lease since."""
    store = Store(tmp_path)
    path = foreign_lease(tmp_path, KEYS[0], age)
    assert store.holder(KEYS[0]) == ("process 1 on node7 (job 31)" if lives else None)
    assert store.idle_claims() == ([] if lives else [path])
    with store.claim(KEYS[:2]) as held:
        assert held == (set() if lives else set(KEYS[:2]))
    assert store.claimed() == ({KEYS[0]} if lives else set())


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_clock_of_this_host_does_not_end_a_lease_of_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    store, real = Store(tmp_path), time.time
    foreign_lease(tmp_path, KEYS[0])
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert store.state(KEYS[0]) == "running"
    with store.claim(KEYS) as held:
        assert held == set()


def test_lease_of_a_living_process_holds_however_old(tmp_path: Path, start: Start) -> None:
    """One that is stopped, or whose machine's clock jumped."""
    store, holder = Store(tmp_path), start("claim", tmp_path, KEYS[0])
    assert said(holder) == [KEYS[0]]
    os.kill(holder.pid, signal.SIGSTOP)
    set_age(tmp_path / "claims" / f"{KEYS[0]}.lock", 3600)
    assert store.state(KEYS[0]) == "running"
    with store.claim(KEYS[:1]) as held:
        assert held == set()


@pytest.mark.parametrize(
    "content",
    ["", "4711\nanother-host\n", "[" * 5000, '{"token": "../../x"}', f'{{"token": "{"a" * 999}"}}'],
)
def test_lease_that_cannot_be_read_is_judged_by_its_age(tmp_path: Path, content: str) -> None:
    store = Store(tmp_path)
    path = foreign_lease(tmp_path, KEYS[0])
    path.write_text(content)
    assert store.state(KEYS[0]) == "running"
    set_age(path, 75)
    assert store.state(KEYS[0]) == "missing"
    with store.claim(KEYS) as held:
        assert held == set(KEYS)
        assert store.state(KEYS[0]) == "running"
    assert not list((tmp_path / "claims").iterdir())


def test_claims_exclude_each_other_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    store = Store(tmp_path)
    with store.claim(KEYS[:2]) as one, store.claim(KEYS) as two:
        assert (one, two) == (set(KEYS[:2]), set())
    assert not list((tmp_path / "claims").iterdir())


def test_claims_are_made_and_given_back_on_a_full_disk(small_disk: Path) -> None:
    """So that `gc` and `rm` can make room on it."""
    store = Store(small_disk)
    write_run(store, 0)
    with store.claim(KEYS[1:]):
        fill(small_disk)
        with store.claim(KEYS[:1]) as one, store.claim(KEYS) as two:
            assert (one, two) == ({KEYS[0]}, set())
            assert store.claimed() == set(KEYS)
    assert not list((small_disk / "claims").iterdir())
    assert store.remove(KEYS[0])
    assert store.keys() == []


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(bytes(1000))


def test_holder_is_named_without_control_characters(tmp_path: Path) -> None:
    path = foreign_lease(tmp_path, KEYS[0])
    path.write_text(json.dumps({"token": "ab12", "holder": "\x1b[2Jprocess 1\n"}))
    assert Store(tmp_path).holder(KEYS[0]) == "[2Jprocess 1"


def test_a_machine_whose_name_is_no_text_claims_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sethostname(2) takes any bytes; a claim could not be written."""
    monkeypatch.setattr(platform, "node", lambda: os.fsdecode(b"no\xffde\n7"))
    with Store(tmp_path).claim(KEYS[:1]) as held:
        assert held == set(KEYS[:1])
        assert Store(tmp_path).holder(KEYS[0]) == f"process {os.getpid()} on no?de?7"


def test_scheduler_s_job_is_named_by_the_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "31")
    with Store(tmp_path).claim(KEYS[:1]):
        found = Store(tmp_path).holder(KEYS[0])
    assert found == f"process {os.getpid()} on {platform.node()} (job 31)"


def test_lease_is_renewed_during_one_long_step_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.01)
    in_step = beaten_in_step = False

    def beat(path: Path) -> None:
        nonlocal beaten_in_step
        beaten_in_step = beaten_in_step or in_step

    square = torch.ones(1500, 1500)
    monkeypatch.setattr(os, "utime", beat)
    with Store(tmp_path).claim(KEYS):
        in_step = True
        torch.mm(square, square)
        in_step = False
    assert beaten_in_step


def taken_over(root: Path, key: str) -> None:
    """As another machine does that has waited for beats in vain."""
    foreign_lease(root, key)


def test_holder_whose_lease_was_taken_over_stops_before_it_publishes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.claim(KEYS[:2]) as held:
        taken_over(tmp_path, KEYS[0])
        with pytest.raises(ClaimLost, match="left to that process"):
            write_run(store, 0)
        with pytest.raises(ClaimLost):
            store.record_failure(KEYS[0], spec_of(0), "diverged", "m", "log")
        assert held == {KEYS[1]}
        write_run(store, 1)
    assert store.keys() == [KEYS[1]]
    assert store.failure(KEYS[0]) is None
    assert store.claimed() == {KEYS[0]}  # the other one's lease stays when this one lets go
    write_run(Store(tmp_path), 0)  # who claimed nothing may store what it has


def test_holder_notices_by_itself_that_its_lease_was_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.01)
    with Store(tmp_path).claim(KEYS[:2]) as held:
        taken_over(tmp_path, KEYS[0])
        while KEYS[0] in held:
            pass
        assert held == {KEYS[1]}


@pytest.mark.parametrize(("value", "kept"), [(50.0, 0), (51.0, 1)])
def test_result_of_a_lost_race_is_dropped_if_equal_and_set_aside_if_not(
    tmp_path: Path, value: float, kept: int
) -> None:
    store, other = listening(tmp_path)[0], Store(tmp_path)
    with store.claim(KEYS[:1]):
        check = claims.Held.check

        def late(held: claims.Held, keys: list[str]) -> None:
            """The other process takes over and stores the run just after this one has looked."""
            check(held, keys)
            taken_over(tmp_path, KEYS[0])
            write_run(other, 0)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claims.Held, "check", late)
            write_run(store, 0, value)
    run = store.read(KEYS[0], verify=True)
    assert run is not None
    assert run.result.scores[0].value == 51.0
    assert len(list((tmp_path / "quarantine").glob("*"))) == kept


def test_a_remover_that_was_killed_blocks_a_key_until_its_own_lease_ends(tmp_path: Path) -> None:
    store = Store(tmp_path)
    foreign_lease(tmp_path, KEYS[0], 75)
    marker = tmp_path / "claims" / f".tmp-end-{KEYS[0]}-ab12"
    foreign_lease(tmp_path, KEYS[1]).rename(marker)
    with store.claim(KEYS[:1]) as held:
        assert held == set()
    set_age(marker, 75)
    with store.claim(KEYS[:1]) as held:
        assert held == set(KEYS[:1])


def test_a_claim_is_one_process_s_alone_while_leases_end_and_are_removed(
    tmp_path: Path, start: Start
) -> None:
    started = [start("contend", tmp_path, KEYS[0], 200) for _ in range(2)]
    started.append(start("tidy", tmp_path, KEYS[0], 300))
    assert [child.wait() for child in started] == [0, 0, 0]


def test_leases_of_the_dead_are_removed_and_those_of_the_living_stay(
    tmp_path: Path, start: Start
) -> None:
    store, living, dead = Store(tmp_path), *(start("claim", tmp_path, key) for key in KEYS[:2])
    assert [said(living), said(dead)] == [[KEYS[0]], [KEYS[1]]]
    dead.kill()
    dead.wait()
    assert [path.stem for path in store.idle_claims()] == [KEYS[1]]
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
