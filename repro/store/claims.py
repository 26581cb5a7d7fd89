"""Who works on which run: one kernel lock (flock) a key, held for as long as its process lives.

The kernel drops the lock when the holder dies, however it dies, so no lease can go stale. The lock
files are empty and stay: removing one while another process opens it would let two hold "the" lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from repro.errors import StoreError
from repro.store.atomic import make_directory, store_errors

GATE = "gate.lock"
"""Held alone while claims are taken, shared while one is looked at. So a look, which holds a claim
for some microseconds, is never taken for a holder."""
GATE_SECONDS = 30.0


def lock_path(folder: Path, key: str) -> Path:
    """Where the lock of a key lies."""
    return folder / f"{key}.lock"


@contextmanager
def claim(folder: Path, keys: Iterable[str]) -> Iterator[set[str]]:
    """Claims those of `keys` that nobody holds, until the block ends or this process dies.

    Never waits for a holder. Raises StoreError where locks cannot be made.
    """
    with ExitStack() as held:
        with exclusive(folder / GATE, GATE_SECONDS):
            claimed = {key for key in sorted(set(keys)) if _take(lock_path(folder, key), held)}
        yield claimed


def _take(path: Path, held: ExitStack) -> bool:
    from filelock import FileLock, Timeout  # here, because commands that only read need no lock

    # Not thread-local: the thread that leaves the block need not be the one that entered it.
    lock = FileLock(path, timeout=0, thread_local=False)
    with store_errors(path):
        try:
            lock.acquire()
        except Timeout:  # an OSError too, but no refusal to write
            return False
    held.callback(lock.release)
    return True


def is_claimed(folder: Path, key: str) -> bool:
    """Whether some process, this one included, holds the claim of `key`. Raises StoreError.

    Looks with shared locks, so that two looks never see each other as a holder.
    """
    import fcntl

    lock = lock_path(folder, key)
    try:
        with _shared(folder / GATE, fcntl.LOCK_SH), _shared(lock, fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except (FileNotFoundError, NotADirectoryError):  # nobody ever claimed anything, or this
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise StoreError(
            f"Cannot look at the claims in {folder}: {error.strerror}. Without them two processes "
            "could train the same run: mend that or name another store with --store."
        ) from error


@contextmanager
def _shared(path: Path, how: int) -> Iterator[None]:
    """Holds a shared lock on a file that exists. Raises OSError."""
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(path: Path, seconds: float) -> Iterator[None]:
    """Holds the lock at `path`, waiting for it at most `seconds`. Raises StoreError."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=seconds, thread_local=False, poll_interval=0.005)
    with store_errors(path):
        make_directory(path.parent)
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreError(
                f"Another process has held {path} for {seconds:.0f} s: end it and try again."
            ) from error
    try:
        yield
    finally:
        lock.release()
