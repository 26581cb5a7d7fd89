"""The store: results of runs by key, with claims, failures and requests beside them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from repro.errors import StoreError
from repro.spec import RunSpec, run_key
from repro.store import claims, records
from repro.store.atomic import make_directory, remove_tree, store_errors
from repro.store.entry import (
    ADAPTER,
    ENVIRONMENT,
    MANIFEST,
    RESULT,
    SPEC,
    StoredRun,
    file_stamp,
    is_plain,
    spec_bytes,
)
from repro.store.result import Failure, FailureKind, parse
from repro.store.served import FOLDER as SERVED
from repro.store.served import ServedRun, read_served, write_served
from repro.store.shelf import Shelf, entry_keys, entry_path
from repro.store.staging import stage
from repro.store.strict_json import parse_json
from repro.store.temporary import is_leftover, is_unfinished, unfinished_name
from repro.words import counted

EXPORTED = (SPEC, RESULT, ENVIRONMENT)
"""What a reference store holds of a run: enough for every table, small enough to commit."""

State = Literal["done", "failed", "running", "missing"]


def to_stderr(line: str) -> None:
    """Where warnings go by default."""
    print(line, file=sys.stderr)


class Store:
    """A folder of results, made when first written to, with read-only `fallbacks` behind it.

    Reading never raises for what lies on disk: an entry that cannot be trusted is moved to
    `quarantine/`, `warn` gets one line, and the run counts as missing. Writing raises StoreError.
    """

    def __init__(
        self,
        root: Path | str,
        fallbacks: Iterable[Path | str] = (),
        warn: Callable[[str], None] = to_stderr,
    ) -> None:
        self.root = Path(root)
        self._warn = warn
        self._warned: set[str] = set()
        self._shelf = Shelf(self.root, self._say)
        self._fallbacks = [Shelf(Path(folder), self._say) for folder in fallbacks]
        self._digests: dict[str, tuple[list[int], str | None]] = {}

    def _say(self, line: str) -> None:
        """One line, once: a table reads the same run for many cells."""
        line = " ".join(line.split())
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)

    def say(self, line: str) -> None:
        """Warns of something that lies in this store, once."""
        self._say(line)

    @property
    def roots(self) -> list[Path]:
        """Its folder and those behind it, for small records beside the results."""
        return [self.root, *(shelf.root for shelf in self._fallbacks)]

    # Reading

    def read(self, key: str, *, verify: bool = False) -> StoredRun | None:
        """The finished run `key`, None where it is missing.

        Checks the small JSON files and every size; with `verify` the content of every file. A run
        made from another result of its parent than the one stored now is set aside.
        """
        run = self._shelf.read(key, verify=verify)
        if run is not None and self._outlived(run):
            self._shelf.set_aside(key, "the run that it was made from has another result now")
            run = None
        for shelf in self._fallbacks:
            older = None if run is not None else shelf.peek(key, verify=verify)
            if older is not None and not self._outlived(older):
                run = older
        return run

    def is_whole(self, key: str, *, weights: bool = False) -> bool:
        """Whether the run is stored with all that it kept, undamaged; `weights`: with its weights,
        which a fine-tuned run keeps only for a child or where it is asked to.
        """
        run = self.read(key, verify=True)
        return run is not None and not run.partial and (not weights or ADAPTER in run.files)

    def _outlived(self, run: StoredRun) -> bool:
        """Whether a parent is stored here with another result than `run` used."""
        for role, key in run.spec.parents.items():
            digest = self._digest(key)
            if digest is not None and digest != run.result.parents.get(role):
                return True
        return False

    def _digest(self, key: str) -> str | None:
        """Of the run's result; many children ask for one parent's, so it is remembered as long as
        its manifests are the same files.
        """
        manifests = [entry_path(root, key) / MANIFEST for root in self.roots]
        stamp = [file_stamp(path) for path in manifests]
        known = self._digests.get(key)
        if known is None or known[0] != stamp:
            run = self.read(key)
            known = self._digests[key] = stamp, None if run is None else run.digest
        return known[1]

    def keys(self) -> list[str]:
        """The keys of all finished runs, fallbacks included, unchecked and sorted."""
        shelves = (self._shelf, *self._fallbacks)
        return sorted(set().union(*(entry_keys(shelf.root) for shelf in shelves)))

    def specs(self) -> dict[str, RunSpec]:
        """Key -> spec of every finished run whose spec reads well; results are not read."""
        specs = {key: self._spec(key) for key in self.keys()}
        return {key: spec for key, spec in specs.items() if spec is not None}

    def _spec(self, key: str) -> RunSpec | None:
        spec = self._shelf.spec(key)
        for shelf in self._fallbacks:
            spec = spec or shelf.spec(key)
        return spec

    def state(self, key: str) -> State:
        """Derived from what lies on disk, so that a process that dies has nothing to write."""
        if self.read(key) is not None:
            return "done"
        if self.failure(key) is not None:
            return "failed"
        running = claims.is_claimed(self.root / "claims", key, self._say)
        return "running" if running else "missing"

    # Writing

    def check_writable(self, needed_bytes: int = 0) -> None:
        """Raises StoreError, before any training, where a run could not be claimed or stored.

        Really writes and locks: permissions mean little to a superuser or on a network share.
        """
        probe = self.root / unfinished_name(".tmp")
        with store_errors(self.root):
            make_directory(self.root)
            claims.check(probe)
            free = shutil.disk_usage(self.root).free
        if free < needed_bytes:
            raise StoreError(
                f"The store {self.root} has {free / 1e6:,.0f} MB free and needs about "
                f"{needed_bytes / 1e6:,.0f} MB. Free some space there or name another store with "
                "--store."
            )

    def check_replaceable(self, keys: Iterable[str]) -> None:
        """Raises StoreError, before any training, where a newer version stored one of these runs:
        its entry would give way to one that says less.
        """
        newer = [key for key in keys if self._shelf.is_newer(key)]
        if newer:
            raise StoreError(
                f"A newer version of repro stored {counted(len(newer), 'run')} of these in "
                f"{self.root} ({newer[0][:12]}{', ...' if newer[1:] else ''}), and this version "
                "would replace them. Update repro or name another store with --store."
            )

    def write(self, key: str, spec: RunSpec, files: Mapping[str, bytes | Path]) -> Path:
        """Stores a finished run and forgets its failure; returns the entry's folder.

        `files` is name -> content, or a file to copy; result.json is one of them. Where another
        process stored the run first, its entry stays and a different result is kept in quarantine.
        Raises StoreError where the system refuses (what was stored is intact), ValueError where
        `key`, `spec` and `files` are not one run's.
        """
        if run_key(spec) != key:
            raise ValueError(f"the spec is not of the run {key}")
        check_files(key, files)
        staged = stage(self.root, key, {**files, SPEC: spec_bytes(spec)}, partial=False)
        path = self._shelf.publish(key, staged)
        self.clear_failure(key)
        return path

    def adopt(self, run: StoredRun) -> Path:
        """Copies a run of another store as it is, older revisions included; else like `write`."""
        return self._copy(run, list(run.files), partial=run.partial)

    def export(self, keys: Iterable[str], destination: Path | str) -> None:
        """Copies spec, result and environment of `keys` to another store, over older copies, and
        what a test server said of them.

        Raises StoreError; where a run is missing before anything is copied.
        """
        runs = {key: self.read(key) for key in keys}
        missing = [key[:12] for key, run in runs.items() if run is None]
        if missing:
            names = ", ".join(missing[:3]) + (", ..." if missing[3:] else "")
            raise StoreError(
                f"{len(missing)} of {len(runs)} runs are not in {self.root} ({names}): "
                "run them first or leave them out."
            )
        target = Store(destination, warn=self._warn)
        for key, run in runs.items():
            if run is not None:
                files = [name for name in EXPORTED if name in run.files]
                old = target.read(key)
                if old is not None and old.partial and old.files != only(run, files):
                    target._shelf.discard(key)
                target._copy(run, files, partial=True)
                served = self.served(key)
                if served is not None and served != target.served(key):
                    target.save_served(served)

    def _copy(self, run: StoredRun, names: Iterable[str], *, partial: bool) -> Path:
        files = {name: run.path / name for name in names}
        staged = stage(self.root, run.key, files, partial=partial, expected=run.files)
        return self._shelf.publish(run.key, staged)

    def sweep(self) -> int:
        """Removes what dead processes left unfinished; a live one's is never touched.

        Returns the number of files and folders removed. Raises StoreError.
        """
        names = ("failures", "requests", "quarantine", SERVED)
        places = [self.root, *(self.root / name for name in names)]
        places += (self.root / "work").glob("*")
        found = [item for place in places if place.is_dir() for item in place.iterdir()]
        leftovers = [item for item in found if is_unfinished(item.name) and is_leftover(item)]
        for item in leftovers:
            with store_errors(item):
                remove_tree(item)
        return len(leftovers)

    def work_dir(self, job: str) -> Path:
        """Where the training of job `job` keeps its scratch; not made here."""
        return self.root / "work" / plain(job)

    # Claims, failures, scores of a server, requests

    def claim(self, keys: Iterable[str]) -> AbstractContextManager[set[str]]:
        """Holds those of `keys` that no process holds, until the block ends or this process dies.

        The block gets the keys held; it never waits for a holder. Raises StoreError.
        """
        return claims.claim(self.root / "claims", [plain(key) for key in keys])

    def record_failure(
        self, key: str, spec: RunSpec, kind: FailureKind, message: str, log_text: str
    ) -> Failure:
        """Writes why a run has no result, and its log. Raises StoreError."""
        failure = records.failure_of(plain(key), spec, kind, message)
        records.record_failure(self.root, failure, log_text)
        return failure

    def failure(self, key: str) -> Failure | None:
        """Why the run failed; None where it did not, or where the record is damaged."""
        return records.read_failure(self.root, plain(key), self._say)

    def clear_failure(self, key: str) -> None:
        """Forgets that the run failed. Raises StoreError."""
        records.clear_failure(self.root, plain(key))

    def served(self, key: str) -> ServedRun | None:
        """What a test server said of the run, here before in a fallback; None: nothing."""
        found = (read_served(root, plain(key), self._say) for root in self.roots)
        return next((served for served in found if served is not None), None)

    def save_served(self, served: ServedRun) -> None:
        """Replaces what a test server said of a run. Raises StoreError."""
        write_served(self.root, served)

    def save_request(self, name: str, document: Any) -> None:
        """Remembers what was asked for. Raises StoreError, ValueError (not strict JSON)."""
        records.save_request(self.root, plain(name), document)

    def requests(self) -> dict[str, Any]:
        """Name -> document of everything that was asked for, here before in a fallback.

        A damaged one is left out.
        """
        found: dict[str, Any] = {}
        for root in (*(shelf.root for shelf in reversed(self._fallbacks)), self.root):
            found |= records.read_requests(root, self._say)
        return found


def plain(name: str) -> str:
    """`name`, if it can be a file's name in a store. Raises ValueError."""
    if not is_plain(name) or name.startswith("."):
        raise ValueError(f"'{name}' cannot be the name of a file in a store")
    return name


def only(run: StoredRun, names: Iterable[str]) -> dict[str, object]:
    """The manifest's lines for some of a run's files."""
    return {name: run.files[name] for name in names}


def check_files(key: str, files: Mapping[str, bytes | Path]) -> None:
    """Raises ValueError where `files` cannot become the entry of `key`."""
    for name in files:
        if name == SPEC or plain(name) != name:
            raise ValueError(f"{name} is written by the store")
    if RESULT not in files:
        raise ValueError(f"a run without {RESULT} is not finished")
    result = parse(content_of(files[RESULT]))
    if result.key != key:
        raise ValueError(f"{RESULT} is of the run {result.key}, not of {key}")
    if ENVIRONMENT in files and not isinstance(parse_json(content_of(files[ENVIRONMENT])), dict):
        raise ValueError(f"{ENVIRONMENT} is not an object")


def content_of(file: bytes | Path) -> bytes:
    """The bytes given, or those of the file named."""
    return file if isinstance(file, bytes) else file.read_bytes()
