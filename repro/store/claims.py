"""Who works on which run: one kernel lock (flock) a key, held for as long as its process lives.

The kernel drops the lock when the holder dies, however it dies, so a claim never outlives its
process. The lock files are empty and stay until `remove_idle`: removing one while another process
opens it would let two hold "the" lock. On a file system without such locks nothing can be claimed,
so nothing is trained there: a marker file in place of a lock would outlive a process killed on
another host.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from repro.errors import StoreError
from repro.store.atomic import ELSEWHERE, make_directory, store_errors

GATE = "gate.lock"
"""Held alone while claims are taken, shared while one is looked at. So a look, which holds a claim
for some microseconds, is never taken for a holder."""
GATE_SECONDS = 30.0
POLL_SECONDS = 0.005


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
    with store_errors(path):
        try:
            held.enter_context(_locked(path, shared=False, wait=False))
        except BlockingIOError:  # an OSError too, but no refusal to write
            return False
    return True


def is_claimed(folder: Path, key: str, say: Callable[[str], None]) -> bool:
    """Whether some process, this one included, holds the claim of `key`.

    Looks with shared locks, so that two looks never see each other as a holder. Where it cannot
    look, `say` gets one line and the answer is no; taking the claim is refused there.
    """
    try:
        with (
            _locked(folder / GATE, shared=True, wait=True),
            _locked(lock_path(folder, key), shared=True, wait=False),
        ):
            return False
    except (FileNotFoundError, NotADirectoryError):  # nobody ever claimed anything, or this
        return False
    except BlockingIOError:
        return True
    except StoreError as refusal:
        say(str(refusal))
    except OSError as error:
        say(f"Cannot see whether another process trains runs of {folder.parent}: {error.strerror}.")
    return False


def names(folder: Path) -> list[str]:
    """The keys that have a lock file, held or not, sorted."""
    return sorted(path.stem for path in folder.glob("[!.]*.lock") if path.name != GATE)


def remove_idle(folder: Path, key: str) -> bool:
    """Removes the lock file of a key that nobody holds; False where somebody does.

    The gate is held alone meanwhile, so that nobody is between opening the file and locking it.
    Raises StoreError.
    """
    path = lock_path(folder, key)
    with exclusive(folder / GATE, GATE_SECONDS), ExitStack() as held:
        if path.exists() and not _take(path, held):
            return False
        with store_errors(path):
            path.unlink(missing_ok=True)
    return True


@contextmanager
def _locked(path: Path, *, shared: bool, wait: bool) -> Iterator[None]:
    """Holds a lock on `path`: shared on a file that exists, else alone on one that may be new.

    Raises BlockingIOError where another holds it and `wait` is false, StoreError where the file
    system has no locks, OSError where the file cannot be opened.
    """
    import fcntl

    descriptor = os.open(path, os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT, 0o666)
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    try:
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            raise
        except OSError as error:
            raise StoreError(
                f"Cannot lock files in {path.parent}: {error.strerror}. Without locks two "
                "processes could train the same run. Have the file system mounted with locks "
                "(flock on Lustre, a lock daemon on NFS) or " + ELSEWHERE + "."
            ) from error
        yield
    finally:
        os.close(descriptor)


def check(path: Path) -> None:
    """Makes the new file `path`, locks it, removes it. Raises StoreError without locks, OSError."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        with _locked(path, shared=False, wait=False):
            pass
    finally:
        path.unlink()


@contextmanager
def exclusive(path: Path, seconds: float) -> Iterator[None]:
    """Holds the lock at `path`, waiting for it at most `seconds`. Raises StoreError."""
    last = time.monotonic() + seconds
    with ExitStack() as held:
        with store_errors(path):
            make_directory(path.parent)
            while True:
                try:
                    held.enter_context(_locked(path, shared=False, wait=False))
                    break
                except BlockingIOError as error:
                    if time.monotonic() > last:
                        raise StoreError(
                            f"Another process has held {path} for {seconds:.0f} s: end it and "
                            "try again."
                        ) from error
                time.sleep(POLL_SECONDS)
        yield
