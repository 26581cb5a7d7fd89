"""The store: results of runs by key, with claims, failures and requests beside them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from repro.errors import StoreError
from repro.spec import RunSpec, run_key
from repro.store import claims
from repro.store.atomic import remove_tree, store_errors
from repro.store.bundle import RECORDS, SUFFIX, pack
from repro.store.entry import (
    ADAPTER,
    ENVIRONMENT,
    MANIFEST,
    RESULT,
    SPEC,
    FolderFiles,
    Manifest,
    StoredRun,
    check_files,
    discard,
    file_stamp,
    lies,
    manifest_bytes,
    plain,
    spec_bytes,
    stage,
)
from repro.store.reading import Entries
from repro.store.records import Records, Say, to_stderr
from repro.store.remote import FILE as REMOTE
from repro.store.result import Failure, FailureKind
from repro.store.shelf import KEY, SHARD, entry_path
from repro.store.strict_json import json_bytes
from repro.store.temporary import is_leftover, is_unfinished, unfinished_name
from repro.words import counted

PACKED = (SPEC, RESULT, ENVIRONMENT)
"""What a bundle holds of a run: enough for every table, small enough to commit."""

State = Literal["done", "failed", "running", "missing"]
Adopted = Literal["new", "completed", "same", "differs"]
"""What becomes of a run of another store: stored; files added to the same result; nothing; kept
aside, because the results differ.
"""


class Store(Records):
    """A folder of results, made when first written to: runs by key, and records beside them.

    Behind its own runs it shows those of the bundles (`*.jsonl.xz`) that lie in the folder, in the
    order of their names, and never writes to them. They are looked for once, when first needed.

    Reading never raises for what lies on disk: an entry that cannot be trusted is moved to
    `quarantine/`, `warn` gets one line, and the run counts as missing. Writing raises StoreError.
    """

    def __init__(self, root: Path | str, warn: Say = to_stderr) -> None:
        super().__init__(root, warn)
        self._digests: dict[str, tuple[int, str | None]] = {}
        self._held: dict[str, claims.Held] = {}

    # Reading

    def read(
        self, key: str, *, verify: bool = False, asked: RunSpec | None = None
    ) -> StoredRun | None:
        """The finished run `key`, None where it is missing; `asked`: see `read_entry`.

        Checks the small JSON files and every size; with `verify` the content of every file. A run
        made from another result of its parent than the one stored now is set aside.
        """
        run = self._own(key, verify=verify, asked=asked)
        for bundle in self._bundles if run is None else ():
            packed = bundle.peek(key, verify=verify, asked=asked)
            if packed is not None and not self._outlived(packed):
                return packed
        if run is None and self._sharing.fetch(key):
            run = self._own(key, verify=verify, asked=asked)
        return run

    def _own(self, key: str, *, verify: bool, asked: RunSpec | None) -> StoredRun | None:
        run = self._shelf.read(key, verify=verify, asked=asked)
        if run is not None and self._outlived(run):
            self._shelf.set_aside(key, "the run that it was made from has another result now")
            return None
        return run

    def is_whole(self, key: str, *, weights: bool = False) -> bool:
        """Whether the run is stored with all that it kept, undamaged; `weights`: with its weights,
        which a fine-tuned run keeps only for a child or where it is asked to.
        """
        run = self.read(key, verify=True)
        if not _is_whole(run, weights) and self._sharing.fetch(key):
            run = self.read(key, verify=True)
        return _is_whole(run, weights)

    def _outlived(self, run: StoredRun) -> bool:
        """Whether a parent is stored here with another result than `run` used."""
        for role, key in run.spec.parents.items():
            digest = self._digest(key)
            if digest is not None and digest != run.result.parents.get(role):
                return True
        return False

    def _digest(self, key: str) -> str | None:
        """Of the run's result; many children ask for one parent's, so it is remembered as long as
        its manifest is the same file.
        """
        stamp = file_stamp(entry_path(self.root, key) / MANIFEST)
        known = self._digests.get(key)
        if known is None or known[0] != stamp:
            run = self.read(key)
            known = self._digests[key] = stamp, None if run is None else run.digest
        return known[1]

    def keys(self) -> list[str]:
        """The keys of all finished runs, those in bundles included, unchecked and sorted."""
        return sorted(self._shelf.keys().union(*(bundle.keys() for bundle in self._bundles)))

    def holds(self, key: str) -> bool:
        """Whether there is an entry of the run, here or in the store elsewhere, unchecked."""
        elsewhere = set[str]() if self.remote is None else self.remote.keys
        packed = (bundle.keys() for bundle in self._bundles)
        return self._shelf.has(key) or any(key in keys for keys in (*packed, elsewhere))

    def peek(self, key: str) -> StoredRun | None:
        """The finished run as `read` finds it; moves nothing and does not look at its parents."""
        places: list[Entries] = [self._shelf, *self._bundles]
        return next((run for one in places if (run := one.peek(key)) is not None), None)

    def folder(self, key: str) -> Path | None:
        """The folder of the run's own entry, whatever its state; None where it has none."""
        path = entry_path(self.root, key)
        return path if path.is_dir() else None

    def bundle_of(self, key: str) -> Path | None:
        """The first bundle that holds the run."""
        return next((one.place for one in self._bundles if one.files(key).exists()), None)

    def specs(self) -> dict[str, RunSpec]:
        """Key -> spec of every finished run whose spec reads well; results are not read."""
        found = {}
        for key in self.keys():
            specs = (entries.spec(key) for entries in (self._shelf, *self._bundles))
            spec = next((one for one in specs if one is not None), None)
            if spec is not None:
                found[key] = spec
        return found

    def identities(self) -> dict[str, Mapping[str, Any]]:
        """Key -> identity document of every finished run, unchecked: a tenth of the cost of
        `specs`, for a look over all of them. `read` checks the one that is used.
        """
        found = {}
        for key in self.keys():
            documents = (entries.identity(key) for entries in (self._shelf, *self._bundles))
            document = next((one for one in documents if one is not None), None)
            if document is not None:
                found[key] = document
        return found

    def state(self, key: str, asked: RunSpec | None = None) -> State:
        """Derived from what lies on disk, so that a process that dies has nothing to write;
        `asked`: see `read_entry`.
        """
        if self.read(key, asked=asked) is not None:
            return "done"
        if self.failure(key) is not None:
            return "failed"
        held = lies(f"{self._folder}/claims/{key}.lock") and self.holder(key) is not None
        return "running" if held else "missing"

    def fetch(self, keys: Iterable[str]) -> None:
        """Fetches those of the runs that only the store elsewhere has."""
        self._sharing.fetch_all(keys)

    # Writing

    def check_writable(self, needed_bytes: int = 0) -> None:
        """Raises StoreError, before any training, where a run could not be claimed or stored.

        Really claims: permissions mean little to a superuser or on a network share.
        """
        with claims.claim(self.root, [unfinished_name(".tmp")]):
            pass
        with store_errors(self.root):
            free = shutil.disk_usage(self.root).free
        if free < needed_bytes:
            raise StoreError(
                f"The store {self.root} has {free / 1e6:,.0f} MB free and needs about "
                f"{needed_bytes / 1e6:,.0f} MB. Free some space there or name another store with "
                "--store."
            )

    def check_links(self) -> None:
        """Raises StoreError where a folder of this store, or a file of a job, is a link to a place
        outside: what is written there would not stay in the store, which may be somebody else's.
        """
        for pattern in ("*", "work/*", "work/*/*"):
            for path in self.root.glob(pattern):
                if not path.is_symlink() or path.name.endswith(SUFFIX):
                    continue
                if not path.resolve().is_relative_to(self.root.resolve()):
                    raise StoreError(
                        f"{path} is a link to {path.resolve()}, outside of the store. Remove it, "
                        "or put the store itself there and name it with --store."
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
        self._check_claim(key)
        staged = stage(self.root, key, {**files, SPEC: spec_bytes(spec)})
        with self._sharing.sending(key):
            path = self._shelf.publish(key, staged)
            self.clear_failure(key)
        return path

    def compare(self, run: StoredRun, pending: Mapping[str, str] | None = None) -> Adopted:
        """What `adopt` would do with a run of another store; changes nothing.

        `pending`: key -> digest of results that will be stored before it.
        """
        mine, pending = self.peek(run.key), pending or {}
        if mine is None:
            for role, key in run.spec.parents.items():
                parent = self.peek(key)
                digest = pending.get(key) if parent is None else parent.digest
                if digest not in (None, run.result.parents.get(role)):
                    return "differs"
            return "new"
        if mine.digest != run.digest:
            return "differs"
        return "same" if set(run.files) <= set(mine.files) else "completed"

    def adopt(self, run: StoredRun) -> tuple[Adopted, Path | None]:
        """Stores a verified run of another store or bundle, file by file as it is there.

        Of a run that is stored here with the same result, files that are only there are added. A
        different result, and one of another result of its parent, is kept in quarantine; the
        second value says where. Raises StoreError.
        """
        outcome, key = self.compare(run), run.key
        if outcome == "same":
            return outcome, None
        known = self._shelf.kept_aside(key, run.digest) if outcome == "differs" else None
        if known is not None:
            return outcome, known
        files = {name: _content(run, name) for name in run.files}
        mine = self._shelf.peek(key) if outcome == "completed" else None
        if mine is not None:
            files |= {name: _content(mine, name) for name in mine.files}
        partial = run.partial and (mine is None or mine.partial)
        expected = {**run.files, **(mine.files if mine is not None else {})}
        changed = f"The run {key[:12]} changed while it was copied: give the command again."
        try:
            staged = stage(self.root, key, files, partial=partial)
        except FileNotFoundError as error:
            raise StoreError(changed) from error
        if staged.manifest.files != expected:
            discard(staged.folder)
            raise StoreError(changed)
        if outcome == "differs":
            return outcome, self._shelf.keep_aside(key, staged)
        with self._sharing.sending(key):
            self._shelf.publish(key, staged)
            self.clear_failure(key)
        return outcome, None

    def is_newer(self, key: str) -> bool:
        """Whether only a newer version of repro can read the run's own entry."""
        return self._shelf.is_newer(key)

    def pack(self, keys: Iterable[str], path: Path, files: Mapping[str, bytes]) -> int:
        """Writes the bundle `path`: spec, result, environment and server scores of the runs `keys`
        and of their parents as far as those are stored, and `files` (requests, counts and external
        numbers by name).

        Returns the number of runs; equal content gives equal bytes. Raises StoreError; where a run
        is missing, before anything is written.
        """
        runs: dict[str, StoredRun] = {}
        wanted = list(keys)
        asked = set(wanted)
        while wanted:
            key = wanted.pop()
            run = None if key in runs else self.read(key)
            if run is not None:
                runs[key] = run
                wanted += run.spec.parents.values()
        missing = sorted(asked - runs.keys())
        if missing:
            names = ", ".join(key[:12] for key in missing[:3]) + (", ..." if missing[3:] else "")
            raise StoreError(
                f"{len(missing)} of {len(asked)} runs are not in {self.root} ({names}): "
                "run them first or leave them out."
            )
        packed = dict(files)
        for key, run in runs.items():
            kept = {name: run.files[name] for name in PACKED if name in run.files}
            manifest = Manifest(key=key, partial=True, files=kept)
            packed |= {f"{key[:2]}/{key}/{name}": run.source.read(name) for name in kept}
            packed[f"{key[:2]}/{key}/{MANIFEST}"] = manifest_bytes(manifest)
            served = self.served(key)
            if served is not None:
                packed[served.file] = json_bytes(served.model_dump(mode="json"))
        pack(path, packed)
        return len(runs)

    def sweep(self) -> int:
        """Removes what dead processes left unfinished; a live one's is never touched.

        Returns the number of files and folders removed. Raises StoreError.
        """
        found = self.leftovers()
        for item in found:
            with store_errors(item):
                remove_tree(item)
        return len(found)

    def leftovers(self) -> list[Path]:
        """What dead processes left unfinished."""
        own = [place for place in self.root.glob("[!.]*") if not SHARD.fullmatch(place.name)]
        places = [self.root, *own, *(self.root / "work").glob("[!.]*")]
        found = (item for place in places if place.is_dir() for item in place.glob(".*"))
        return [item for item in found if is_unfinished(item.name) and is_leftover(item)]

    def remove(self, key: str) -> bool:
        """Removes the run's own entry, then its failure; False where there was neither. A bundle's
        copy stays. Raises StoreError.
        """
        failed = self.failure_path(key).exists()
        if self.folder(key) is not None:
            self._sharing.remove(key)
        removed = self._shelf.remove(key)
        self.clear_failure(key)
        return removed or failed

    def work_dir(self, job: str) -> Path:
        """Where the training of job `job` keeps its scratch; not made here."""
        return self.root / "work" / plain(job)

    @property
    def cache(self) -> Path:
        """The folder of what any process can make again (tokenised rows); not made here.

        Every file in it may be removed at any time.
        """
        return self.root / "cache"

    # Claims and failures

    @contextmanager
    def claim(self, keys: Iterable[str]) -> Iterator[set[str]]:
        """Holds all of `keys` until the block ends or this process dies, or none of them if
        another process holds one; it never waits for a holder.

        The block gets the keys held. One that another process takes over, because this one was
        suspended for a minute, leaves the set, and what it would store or record of such a run
        raises ClaimLost. Raises StoreError.
        """
        with claims.claim(self.root / "claims", [plain(key) for key in keys]) as held:
            mine = dict.fromkeys(held, held)
            self._held |= mine
            try:
                yield held
            finally:
                for key in mine:
                    del self._held[key]

    def check_claims(self) -> None:
        """Raises ClaimLost where a claim of this store was taken over and that was noticed since;
        reads no file.
        """
        for key, held in self._held.items():
            if key not in held:
                raise claims.ClaimLost(key)

    def _check_claim(self, key: str) -> None:
        """Raises ClaimLost where this store's claim of `key` was taken over."""
        if key in self._held:
            self._held[key].check([key])

    def holder(self, key: str) -> str | None:
        """The process that holds the claim of `key`, this one perhaps, in words; None: nobody."""
        return claims.holder(self.root / "claims", key, self.say)

    def claimed(self) -> set[str]:
        """The keys that some process holds now, this one included."""
        names = filter(KEY.fullmatch, claims.names(self.root / "claims"))
        return {key for key in names if self.holder(key) is not None}

    def idle_claims(self) -> list[Path]:
        """The lease files whose holders are gone."""
        folder, held = self.root / "claims", self.claimed()
        return [claims.lock_path(folder, key) for key in claims.names(folder) if key not in held]

    def remove_claim(self, key: str) -> bool:
        """Removes the lease of a holder that is gone; False where it lives. Raises StoreError."""
        return claims.remove_ended(self.root / "claims", key)

    def record_failure(
        self, key: str, spec: RunSpec, kind: FailureKind, message: str, log_text: str
    ) -> Failure:
        """Writes why a run has no result, and its log. Raises StoreError."""
        self._check_claim(key)
        readable = message.encode(errors="backslashreplace").decode()  # UTF-8 has no surrogates
        log = f"{Failure.folder}/{plain(key)}.log"
        document = spec.model_dump(mode="json")
        failure = Failure(key=key, kind=kind, message=readable, log=log, spec=document)
        self.keep_failure(failure, log_text)
        return failure


def _is_whole(run: StoredRun | None, weights: bool) -> bool:
    return run is not None and not run.partial and (not weights or ADAPTER in run.files)


def holds_store(root: Path) -> bool:
    """Whether a folder is a store that something was stored in, or holds a bundle."""
    records = (f"{name}/*.json" for name in (*RECORDS, Failure.folder))
    marks = (f"??/*/{MANIFEST}", f"[!.]*{SUFFIX}", "work/*/job.json", REMOTE, *records)
    return root.is_dir() and any(True for mark in marks for _ in root.glob(mark))


def _content(run: StoredRun, name: str) -> bytes | Path:
    return run.path / name if isinstance(run.source, FolderFiles) else run.source.read(name)
