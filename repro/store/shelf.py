"""The finished runs of one root: read with suspicion, published once, moved away when damaged."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from repro.errors import StoreError
from repro.spec import RunSpec
from repro.store import claims
from repro.store.atomic import (
    move_aside,
    publish_directory,
    remove_tree,
    rename_folder,
    store_errors,
)
from repro.store.entry import ENVIRONMENT, MANIFEST, RESULT, StoredRun
from repro.store.reading import Corrupt, Foreign, Newer, read_entry, read_spec
from repro.store.staging import Staged, discard

KEY = re.compile(r"[0-9a-f]{64}")
LOCK_SECONDS = 30.0
"""How long to wait for another process that moves an entry; it needs some milliseconds."""


def entry_path(root: Path, key: str) -> Path:
    """Where the run `key` lies under `root`. Raises ValueError where `key` is no run key."""
    if not KEY.fullmatch(key):
        raise ValueError(f"'{key}' is not a run key")
    return root / key[:2] / key


def entry_keys(root: Path) -> set[str]:
    """The keys of all entries under `root`, unchecked."""
    names = {path.parent.name for path in root.glob(f"??/*/{MANIFEST}")}
    return {name for name in names if KEY.fullmatch(name)}


class Shelf:
    """The entries under `root`. `say` gets one line about each that is not trusted."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        self.root = root
        self.quarantine = root / "quarantine"
        self._say = say

    def peek(self, key: str, *, verify: bool = False) -> StoredRun | None:
        """The entry of `key`, None where there is no good one; moves nothing."""
        try:
            return read_entry(entry_path(self.root, key), key, verify=verify)
        except (Corrupt, Foreign) as problem:
            self._say(f"Run {key[:12]} in {self.root} is ignored: {problem}.")
            return None

    def read(self, key: str, *, verify: bool = False) -> StoredRun | None:
        """Like `peek`, but an entry that cannot be trusted is moved to quarantine."""
        try:
            return read_entry(entry_path(self.root, key), key, verify=verify)
        except Foreign as problem:
            self._say(f"Run {key[:12]} in {self.root} is ignored: {problem}.")
            return None
        except Corrupt as damage:
            try:
                return self._quarantine(key, verify=verify)
            except StoreError as refusal:
                self._say(f"Run {key[:12]} counts as missing: {damage}. {refusal}")
                return None

    def spec(self, key: str) -> RunSpec | None:
        """The spec alone of an entry, without reading its result; None where it is not good."""
        try:
            return read_spec(entry_path(self.root, key), key)
        except (Corrupt, Foreign) as problem:
            self._say(f"Run {key[:12]} in {self.root} is ignored: {problem}.")
            return None

    def is_newer(self, key: str) -> bool:
        """Whether the entry of `key` is undamaged and only a newer version can read it."""
        try:
            read_entry(entry_path(self.root, key), key, verify=False)
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
        target = entry_path(self.root, key)
        less = None
        try:
            less = self._make_room(key, target, staged)
            # Environments differ between equal runs, and the manifest holds their checksums.
            published = publish_directory(
                staged.folder, target, self.quarantine, ignore=(ENVIRONMENT, MANIFEST)
            )
        except BaseException:
            discard(staged.folder)
            if less is not None:
                with store_errors(target):
                    rename_folder(less, target)
            raise
        if published.kept is not None:
            self._say(
                f"Run {key[:12]} was stored before with other content, which stays; "
                f"the new one is kept in {published.kept}."
            )
        if less is not None:
            self._retire(key, less, target)
        return target

    def set_aside(self, key: str, why: str) -> None:
        """Moves an entry that holds no longer to quarantine; where it cannot be moved, says so."""
        path = entry_path(self.root, key)
        try:
            with self._moving():
                if path.exists():
                    place = move_aside(path, self.quarantine, key)
                    self._say(f"Run {key[:12]} counts as missing: {why}; moved to {place}.")
        except StoreError as refusal:
            self._say(f"Run {key[:12]} counts as missing: {why}. {refusal}")

    def discard(self, key: str) -> None:
        """Removes an entry that is only a copy. Raises StoreError."""
        with store_errors(self.root):
            remove_tree(entry_path(self.root, key))

    def _moving(self) -> AbstractContextManager[None]:
        """Held while an entry is moved away, so that nobody moves away its good successor."""
        return claims.exclusive(self.quarantine / "moving.lock", LOCK_SECONDS)

    def _quarantine(self, key: str, *, verify: bool) -> StoredRun | None:
        """Moves a corrupt entry away, unless another process did and a good one stands there."""
        path = entry_path(self.root, key)
        with self._moving():
            try:
                return read_entry(path, key, verify=verify)
            except Corrupt as damage:
                place = move_aside(path, self.quarantine, key)
                self._say(f"Run {key[:12]} counts as missing: {damage}; moved to {place}.")
            except Foreign as problem:
                self._say(f"Run {key[:12]} in {self.root} is ignored: {problem}.")
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
        self._say(f"Run {key[:12]} is replaced; the old entry is kept in {place}.")
        return None

    def _is_replaced(self, key: str, staged: Staged) -> bool:
        """Whether the entry of `key` gives way: not readable, or with fewer files (an export)."""
        run = self.peek(key)
        return run is None or set(run.files) < set(staged.manifest.files)

    def _retire(self, key: str, less: Path, target: Path) -> None:
        """Removes the replaced part; it stays in quarantine where its result was another."""
        with store_errors(less):
            if (less / RESULT).read_bytes() == (target / RESULT).read_bytes():
                remove_tree(less)
            else:
                self._say(f"Run {key[:12]} has another result than before, kept in {less}.")
