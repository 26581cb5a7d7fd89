"""A store's folder as the copy of a store elsewhere: what is fetched, and what waits to be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property

from repro.errors import StoreError
from repro.store.atomic import store_errors, write_bytes
from repro.store.entry import read_small
from repro.store.reading import Foreign
from repro.store.remote import Remote, Unreachable, named_in
from repro.store.shelf import KEY, Shelf

UNPUSHED = "unpushed"
"""Folder of empty files: names of runs and records that the store elsewhere does not have yet."""
FETCHED_AT_ONCE = 8


class Sharing:
    """Fetches and sends for the folder that `shelf` is in; does nothing where that is no copy."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf, self._root, self._say = shelf, shelf.place, shelf.say

    @cached_property
    def remote(self) -> Remote | None:
        """The store elsewhere; None where the folder is a store of its own."""
        url = named_in(self._root)
        return None if url is None else Remote(url, self._root, self._say)

    def fetch_all(self, keys: Iterable[str]) -> None:
        """Fetches those of the runs that are elsewhere only, several at once."""
        remote = self.remote
        if remote is not None:
            absent = [key for key in keys if key in remote.keys and not self._shelf.has(key)]
            with ThreadPoolExecutor(FETCHED_AT_ONCE) as pool:
                list(pool.map(self.fetch, absent))

    def fetch(self, key: str) -> bool:
        """Whether the run was fetched, which is tried once."""
        try:
            staged = None if self.remote is None else self.remote.fetch(key)
            if staged is not None:
                self._shelf.publish(key, staged)
        except StoreError as refusal:
            self._say(f"Run {key[:12]} cannot be fetched. {refusal}")
            return False
        return staged is not None

    def pull(self) -> None:
        """Fetches the records and bundles that are elsewhere. There they are the truth, but for
        those that were written here and not sent yet.
        """
        remote, waiting = self.remote, set(self._unpushed())
        if remote is None:
            return
        try:
            for name, data in remote.records().items():
                if name not in waiting and read_small(self._root / name, self._say) != data:
                    write_bytes(self._root / name, data)
            for name, size in remote.bundles().items():
                path = self._root / name
                known = path.stat().st_size if path.exists() else None
                content = remote.read(name) if known != size else None
                if content is not None:
                    write_bytes(path, content)
        except StoreError as refusal:
            self._say(f"What is in {remote.url} is not all copied. {refusal}")

    def push(self) -> None:
        """Sends what was stored here while the store elsewhere could not be reached."""
        for name in self._unpushed():
            self._push(name)

    @contextmanager
    def sending(self, name: str) -> Iterator[None]:
        """Sends the run or record `name` after the block wrote it. That it waits to be sent is
        written down first: a kill in between costs a look at the other side, no result.
        """
        if self.remote is not None:
            write_bytes(self._root / UNPUSHED / name, b"")
        yield
        self._push(name)

    def remove(self, name: str) -> None:
        """Removes the run or record `name` elsewhere. Raises StoreError."""
        if self.remote is not None:
            self.remote.remove(name)

    def _unpushed(self) -> list[str]:
        folder = self._root / UNPUSHED
        found = (path for path in folder.rglob("*") if path.is_file())
        return sorted(path.relative_to(folder).as_posix() for path in found)

    def _push(self, name: str) -> None:
        if self.remote is None:
            return
        try:
            if KEY.fullmatch(name):
                self._push_run(name, self.remote)
            else:
                data = read_small(self._root / name, self._say)
                if data is not None:
                    self.remote.write(name, data)
        except Unreachable:
            return
        except Foreign as problem:
            self._say(f"Run {name[:12]} is not sent to {self.remote.url}: {problem}.")
        with store_errors(self._root):
            (self._root / UNPUSHED / name).unlink(missing_ok=True)

    def _push_run(self, key: str, remote: Remote) -> None:
        run = self._shelf.peek(key, verify=True)
        other = None if run is None else remote.send(run)
        if other is not None:
            place = self._shelf.keep_aside(key, other)
            self._say(
                f"Run {key[:12]} has another result in {remote.url}, where it was stored first; "
                f"that one is kept in {place}."
            )
