"""The finished runs of one root: read with suspicion, published once, moved away when damaged."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from repro.errors import StoreError
from repro.spec import RunSpec
from repro.spec.contents import file_digest
from repro.store import claims
from repro.store.atomic import (
    move_aside,
    publish_directory,
    remove_tree,
    rename_folder,
    store_errors,
    sync,
    sync_directory,
)
from repro.store.entry import (
    ENVIRONMENT,
    MANIFEST,
    RESULT,
    FolderFiles,
    Staged,
    StoredRun,
    discard,
    lies,
)
from repro.store.reading import Corrupt, Entries, Foreign, Newer, read_entry
from repro.store.temporary import unfinished_name

KEY = re.compile(r"[0-9a-f]{64}")
SHARD = re.compile(r"[0-9a-f]{2}")
"""Names of the folders that hold entries."""


def entry_path(root: Path, key: str) -> Path:
    """Where the run `key` lies under `root`. Raises ValueError where `key` is no run key."""
    if not KEY.fullmatch(key):
        raise ValueError(f"'{key}' is not a run key")
    return root / key[:2] / key


class Shelf(Entries):
    """The entries under `root`, which change."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        super().__init__(root, say)
        self.quarantine = root / "quarantine"
        self._root = str(root)

    def files(self, key: str) -> FolderFiles:
        """The files of the run `key`. Raises ValueError where that is no run key."""
        return FolderFiles(entry_path(self.place, key))

    def has(self, key: str) -> bool:
        """Whether something lies where the entry would. Raises ValueError where `key` is no key."""
        return lies(f"{self._root}/{key[:2]}/{key}") or not KEY.fullmatch(key)

    def keys(self) -> set[str]:
        """The keys of all entries, unchecked."""
        names = {path.parent.name for path in self.place.glob(f"??/*/{MANIFEST}")}
        return {name for name in names if KEY.fullmatch(name)}

    def read(
        self, key: str, *, verify: bool = False, asked: RunSpec | None = None
    ) -> StoredRun | None:
        """Like `peek`, but an entry that cannot be trusted is moved to quarantine."""
        if not self.has(key):  # as of most runs of a large plan
            return None
        try:
            return read_entry(self.files(key), key, asked, verify=verify)
        except Foreign as problem:
            self.say(f"Run {key[:12]} in {self.place} is ignored: {problem}.")
            return None
        except Corrupt as damage:
            try:
                return self._quarantine(key, verify=verify)
            except StoreError as refusal:
                self.say(f"Run {key[:12]} counts as missing: {damage}. {refusal}")
                return None

    def is_newer(self, key: str) -> bool:
        """Whether the entry of `key` is undamaged and only a newer version can read it."""
        try:
            read_entry(self.files(key), key, verify=False)
        except Newer:
            return True
        except (Corrupt, Foreign):
            return False
        return False

    def publish(self, key: str, staged: Staged) -> Path:
        """Gives a staged entry its name and returns where the run lies.

        An entry that another process stored before stays; another result than its own is kept in
        quarantine. Raises StoreError; what was stored is then intact and the staging is gone.
        """
        target = entry_path(self.place, key)
        less = None
        try:
            less = self._make_room(key, target, staged)
            # Environments differ between equal runs, and the manifest holds their checksums.
            kept = publish_directory(
                staged.folder, target, self.quarantine, ignore=(ENVIRONMENT, MANIFEST)
            )
        except BaseException:
            discard(staged.folder)
            if less is not None:
                with store_errors(target):
                    rename_folder(less, target)
            raise
        if kept is not None:
            self.say(
                f"Run {key[:12]} was stored before with other content, which stays; "
                f"the new one is kept in {kept}."
            )
        if less is not None:
            self._retire(key, less, target)
        return target

    def keep_aside(self, key: str, staged: Staged) -> Path:
        """Puts a staged entry into quarantine; returns where it lies. Raises StoreError."""
        try:
            with store_errors(self.quarantine):
                for item in (*sorted(staged.folder.iterdir()), staged.folder):
                    sync(item)
            return move_aside(staged.folder, self.quarantine, key)
        except BaseException:
            discard(staged.folder)
            raise

    def kept_aside(self, key: str, digest: str) -> Path | None:
        """Where a result of the run with this digest lies in quarantine, if it does."""
        for place in sorted(self.quarantine.glob(f"{key}-*")):
            result = place / RESULT
            if result.is_file() and file_digest(result) == digest:
                return place
        return None

    def set_aside(self, key: str, why: str) -> None:
        """Moves an entry that holds no longer to quarantine; where it cannot be moved, says so."""
        path = entry_path(self.place, key)
        try:
            with self._moving():
                if path.exists():
                    place = move_aside(path, self.quarantine, key)
                    self.say(f"Run {key[:12]} counts as missing: {why}; moved to {place}.")
        except StoreError as refusal:
            self.say(f"Run {key[:12]} counts as missing: {why}. {refusal}")

    def remove(self, key: str) -> bool:
        """Removes an entry, whatever its state; False where there is none. Raises StoreError.

        It first gets a name that a sweep knows, so a kill leaves it whole or gone.
        """
        path, unfinished = entry_path(self.place, key), self.place / unfinished_name(".staging")
        with self._moving(), store_errors(path):
            try:
                os.rename(path, unfinished)
            except FileNotFoundError:
                return False
            sync_directory(path.parent)
        with store_errors(unfinished):
            remove_tree(unfinished)
        return True

    def _moving(self) -> AbstractContextManager[None]:
        """Held while an entry is moved away, so that nobody moves away its good successor."""
        return claims.exclusive(self.quarantine / "moving.lock")

    def _quarantine(self, key: str, *, verify: bool) -> StoredRun | None:
        """Moves a corrupt entry away, unless another process did and a good one stands there."""
        path = entry_path(self.place, key)
        with self._moving():
            try:
                return read_entry(self.files(key), key, verify=verify)
            except Corrupt as damage:
                place = move_aside(path, self.quarantine, key)
                self.say(f"Run {key[:12]} counts as missing: {damage}; moved to {place}.")
            except Foreign as problem:
                self.say(f"Run {key[:12]} in {self.place} is ignored: {problem}.")
        return None

    def _make_room(self, key: str, target: Path, staged: Staged) -> Path | None:
        """Moves away what the new entry replaces: a damaged or unreadable one, or a part of it.

        Returns where the part lies now. It is in quarantine until the new entry stands, so that a
        kill in between loses nothing.
        """
        if not target.exists() or not self._is_replaced(key, staged):
            return None
        with self._moving():
            if not target.exists() or not self._is_replaced(key, staged):
                return None
            readable = self.peek(key) is not None
            place = move_aside(target, self.quarantine, key)
        if readable:
            return place
        self.say(f"Run {key[:12]} is replaced; the old entry is kept in {place}.")
        return None

    def _is_replaced(self, key: str, staged: Staged) -> bool:
        """Whether the entry of `key` gives way: not readable, or with fewer files (no weights)."""
        run = self.peek(key)
        return run is None or set(run.files) < set(staged.manifest.files)

    def _retire(self, key: str, less: Path, target: Path) -> None:
        """Removes the replaced part; it stays in quarantine where its result was another."""
        with store_errors(less):
            if (less / RESULT).read_bytes() == (target / RESULT).read_bytes():
                remove_tree(less)
            else:
                self.say(f"Run {key[:12]} has another result than before, kept in {less}.")
