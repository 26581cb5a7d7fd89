"""Who works on which run: one lease file a key, which its holder renews for as long as it lives.

A lease is made by a hard link (else by O_EXCL), which is atomic on local disks, NFS and Lustre. No
kernel lock (flock) is used: some of these mounts refuse it, and others keep it to one host. The
file says who holds the key. Taking a key and looking at it judge a lease in the same way:

- Of a process of this machine, the lease holds while the process lives (id and start time).
- Of another machine, or where this one cannot tell, it holds while the file was renewed less than
  EXPIRY_SECONDS ago by the clock of the file server, so hosts whose clocks differ agree.

A holder that was suspended for minutes may find that another process has taken its key over, and
stops then (`Held.check`). What it publishes before it notices is compared by the store with what
the other one publishes: a lost race costs a second training, never a wrong result.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from repro.errors import StoreError
from repro.store.atomic import make_directory, store_errors
from repro.store.entry import checked_file
from repro.store.temporary import UNKNOWN, host, machine, started, unfinished_name

BEAT_SECONDS = 15.0
"""How often a holder renews its leases."""
EXPIRY_SECONDS = 60.0
"""The age at which a lease that cannot be judged by its process has ended."""
WAIT_SECONDS = 2 * EXPIRY_SECONDS
"""How long `exclusive` waits: longer than a holder that died on another machine blocks."""
POLL_SECONDS = (0.005, 0.5)
"""The first and the longest pause of `exclusive` between two looks."""
SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
"""Where schedulers tell a process the job that it belongs to."""
LARGEST = 4096
"""Bytes of a lease file that are read."""


class ClaimLost(StoreError):
    """Another process has taken over a run that this one was training."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"Another process has taken over the run {key[:12]}, because this one did not renew "
            f"its claim for {EXPIRY_SECONDS:.0f} s. It is left to that process."
        )


class Lease(BaseModel):
    """What a lease file holds. `token` is its own; the file's number where there is no content."""

    token: str = Field(pattern=r"^[0-9a-f]{1,32}$")
    machine: str = ""
    pid: int = Field(0, ge=0, lt=1 << 31)
    started: str = UNKNOWN
    holder: str = "another process"


class _Found(NamedTuple):
    lease: Lease
    renewed: float


def lock_path(folder: Path, key: str) -> Path:
    """Where the lease of a key lies."""
    return folder / f"{key}.lock"


@contextmanager
def claim(folder: Path, keys: Iterable[str]) -> Iterator[Held]:
    """Claims all of `keys` until the block ends or this process dies, or none of them.

    Never waits for a holder. Raises StoreError where leases cannot be made.
    """
    held = Held(folder)
    try:
        # In one order, so that of several processes that want some of the same keys one gets all.
        if not all(held.take(key) for key in sorted(set(keys))):
            held.release()
        with held.renewed():
            yield held
    finally:
        held.release()


class Held(set[str]):
    """The keys that one claim holds; a key that another process has taken over leaves the set."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._tokens: dict[str, str] = {}

    def take(self, key: str) -> bool:
        """Adds `key` unless another claim holds it; a lease that has ended is removed first.

        Raises StoreError.
        """
        path, look = lock_path(self.folder, key), _Look(self.folder)
        with store_errors(self.folder):
            make_directory(self.folder)
        with store_errors(path):
            for _ in range(2):
                token = _make(path)
                if token is not None:
                    self._tokens[key] = token
                    self.add(key)
                    return True
                found = look.find(path)
                if found is not None and not look.has_ended(found):
                    break
                if found is not None and not look.remove(path, found, look.has_ended):
                    break
        return False

    def release(self) -> None:
        """Gives every key back. What cannot be removed ends by its age, or with this process."""
        look = _Look(self.folder)
        while self:
            key = self.pop()
            path = lock_path(self.folder, key)
            with suppress(OSError):
                found = look.find(path)
                if found is not None and found.lease.token == self._tokens[key]:
                    look.remove(path, found, lambda _: True)

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renews the leases in a thread of its own while the block runs.

        Torch lets go of Python's lock (GIL) in its long steps, so the thread gets its turn.
        """
        ends = threading.Event()

        def renew() -> None:
            while not ends.wait(BEAT_SECONDS):
                for key in sorted(self):
                    with suppress(OSError):  # a server that does not answer: at the next beat
                        self.renew(key)

        thread = threading.Thread(target=renew, name="leases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def renew(self, key: str) -> None:
        """Sets the lease's time to the file server's, if it is this claim's still; else drops it
        from the set. Raises OSError.
        """
        path = lock_path(self.folder, key)
        found = _Look(self.folder).find(path)
        if found is None or found.lease.token != self._tokens[key]:
            self.discard(key)
        else:
            os.utime(path)  # without a time: the server's, not this host's

    def check(self, keys: Iterable[str]) -> None:
        """Renews the leases of `keys`. Raises ClaimLost where another process has taken one over,
        StoreError where the system refuses.
        """
        for key in keys:
            with store_errors(lock_path(self.folder, key)):
                self.renew(key)
            if key not in self:
                raise ClaimLost(key)


def _own_lease() -> Lease:
    pid = os.getpid()
    command = os.environ.get("REPRO_PARENT", pid)  # what a person started, of a worker
    job = next((f" (job {os.environ[name]})" for name in SCHEDULERS if name in os.environ), "")
    return Lease(
        token=secrets.token_hex(8),
        machine=machine(),
        pid=pid,
        started=started(pid) or UNKNOWN,
        holder=f"process {command} on {host()}{job}",
    )


def _make(path: Path) -> str | None:
    """Makes a lease file; returns its token, None where a lease is there. Raises OSError."""
    lease = _own_lease()
    data = lease.model_dump_json().encode()
    whole = path.with_name(unfinished_name(".tmp"))
    with suppress(OSError):  # no hard links here, or no room for the content
        try:
            whole.write_bytes(data)
            os.link(whole, path)
            return lease.token
        except FileExistsError:
            # With two names, NFS did it, lost the answer and tried again.
            return lease.token if whole.stat().st_nlink == 2 else None
        finally:
            with suppress(OSError):
                whole.unlink()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return None
    try:
        with suppress(OSError):  # without content it is judged by its age
            if os.write(descriptor, data) == len(data):
                return lease.token
        return _number(descriptor)
    finally:
        os.close(descriptor)


def _number(descriptor: int) -> str:
    return f"{os.fstat(descriptor).st_ino:x}"


class _Look:
    """How leases in a folder are read and judged; asks the file server for its time once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def now(self) -> float:
        """The file server's time; this host's where nothing can be written."""
        probe = self.folder / unfinished_name(".tmp")
        try:
            probe.touch(exist_ok=False)
            os.utime(probe)
            return probe.stat().st_mtime
        except OSError:
            return time.time()
        finally:
            with suppress(OSError):
                probe.unlink()

    def find(self, path: Path) -> _Found | None:
        """The lease at `path`; None where there is none. Raises OSError."""
        try:
            # Opened, not only looked at: NFS then asks the server, not its cache of attributes.
            with checked_file(path).open("rb") as stream:
                data, renewed = stream.read(LARGEST), os.fstat(stream.fileno()).st_mtime
                number = _number(stream.fileno())
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return _Found(Lease.model_validate_json(data), renewed)
        except ValidationError:
            return _Found(Lease(token=number), renewed)

    def has_ended(self, found: _Found) -> bool:
        """Whether the holder has let go without saying so."""
        lease = found.lease
        if lease.machine == machine():
            start = started(lease.pid)
            if start is None:
                return True
            if UNKNOWN not in (start, lease.started):
                return start != lease.started
        # A time far ahead is old, too: the clock was set back since, and nobody renewed it.
        return abs(self.now - found.renewed) > EXPIRY_SECONDS

    def remove(self, path: Path, found: _Found, goes: Callable[[_Found], bool]) -> bool:
        """Removes the lease that was found, and never one that took its place.

        False where another process is removing it: a lease on the lease, named after its token,
        lets one at a time do it, and it is read again meanwhile. Raises OSError.
        """
        marker = path.with_name(f".tmp-end-{path.stem}-{found.lease.token}")
        if _make(marker) is None:
            other = self.find(marker)
            if other is None or not self.has_ended(other):
                return False
            marker.unlink(missing_ok=True)  # its maker was killed
            if _make(marker) is None:
                return False
        try:
            again = self.find(path)
            if again is not None and again.lease.token == found.lease.token and goes(again):
                path.unlink(missing_ok=True)
        finally:
            marker.unlink(missing_ok=True)
        return True


def holder(folder: Path, key: str, say: Callable[[str], None]) -> str | None:
    """Who holds the claim of `key`, this process perhaps; None: nobody.

    Where it cannot look, `say` gets one line and the answer is None; taking the claim is refused
    there.
    """
    look = _Look(folder)
    try:
        found = look.find(lock_path(folder, key))
        if found is not None and not look.has_ended(found):
            return "".join(filter(str.isprintable, found.lease.holder))
    except OSError as error:
        say(f"Cannot see whether another process trains runs of {folder.parent}: {error.strerror}.")
    return None


def names(folder: Path) -> list[str]:
    """The keys that have a lease file, held or not, sorted."""
    return sorted(path.stem for path in folder.glob("[!.]*.lock"))


def remove_ended(folder: Path, key: str) -> bool:
    """Removes the lease of a holder that is gone; False where it lives. Raises StoreError."""
    path, look = lock_path(folder, key), _Look(folder)
    with store_errors(path):
        found = look.find(path)
        if found is None:
            return True
        return look.has_ended(found) and look.remove(path, found, look.has_ended)


@contextmanager
def exclusive(path: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Holds the lease at `path`, waiting for it at most `seconds`. Raises StoreError."""
    last, pause = time.monotonic() + seconds, POLL_SECONDS[0]
    while True:
        with claim(path.parent, [path.stem]) as held:
            if held:
                yield
                return
        if time.monotonic() > last:
            raise StoreError(
                f"Another process has held {path} for {seconds:.0f} s: end it and try again."
            )
        time.sleep(pause)
        pause = min(2 * pause, POLL_SECONDS[1])
