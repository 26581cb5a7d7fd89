"""A process that uses a store, for tests that kill it: `store_child.py VERB ROOT ...`."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from store_samples import spec_of, write_run

from repro.spec import run_key
from repro.store import Store
from repro.store.atomic import write_json
from repro.store.temporary import machine, unfinished_name

STEPS = ("open", "write", "fsync", "mkdir", "rename", "replace", "link", "unlink", "rmdir", "close")


def announce_steps(write: Callable[[int, bytes], int] = os.write) -> None:
    """One byte on standard output before every call that changes the disk."""

    def announced(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            write(1, b".")
            return call(*args, **options)

        return wrapper

    for name in STEPS:
        setattr(os, name, announced(getattr(os, name)))


def loop(root: str, first: str) -> None:
    """Stores run after run, and overwrites one request, until killed."""
    store = Store(root)
    announce_steps()
    for seed in itertools.count(int(first)):
        write_run(store, seed)
        store.save_request("loop", {"text": "x" * 5000, "seed": seed})
        store.record_failure(run_key(spec_of(0)), spec_of(0), "killed", "m", "log" * 999)


def race(root: str, value: str, environment: str) -> None:
    """Stores ten runs as soon as it is told to."""
    store = Store(root)
    print("ready", flush=True)
    sys.stdin.readline()
    for seed in range(10):
        write_run(store, seed, float(value), environment)


def claim(root: str, *keys: str) -> None:
    """Claims keys, says which it got, and holds them until its input ends."""
    with Store(root).claim(keys) as held:
        print(*sorted(held), flush=True)
        sys.stdin.readline()


def state(root: str, key: str) -> None:
    """Says what state a run is in."""
    print(Store(root).state(key), flush=True)


def contend(root: str, key: str, times: str) -> None:
    """Claims a key again and again; fails where another process holds it at the same time.

    It leaves half of its leases behind, as a process does that is killed.
    """
    store, marker = Store(root), Path(root) / "held"
    lease = Path(root) / "claims" / f"{key}.lock"
    for time in range(int(times)):
        with store.claim([key]) as held:
            if held:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                assert store.claimed() == {key}
                marker.unlink()
                if time % 2:
                    gone = {"token": secrets.token_hex(8), "machine": machine(), "pid": 2**30}
                    write_json(lease, gone)


def tidy(root: str, key: str, times: str) -> None:
    """Removes the lease of a key again and again, if its holder is gone."""
    for _ in range(int(times)):
        Store(root).remove_claim(key)


def staging(root: str) -> None:
    """Leaves a staging folder and a temporary file, and lives until its input ends."""
    folder = Path(root) / unfinished_name(".staging")
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("half")
    (Path(root) / unfinished_name(".tmp")).write_text("half")
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {
        "loop": loop,
        "race": race,
        "claim": claim,
        "state": state,
        "staging": staging,
        "contend": contend,
        "tidy": tidy,
    }
    verbs[sys.argv[1]](*sys.argv[2:])
    assert "torch" not in sys.modules
