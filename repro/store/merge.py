"""Copies what other stores and bundles hold into a store. Nothing that it holds is replaced.

A result that both hold is compared: equal ones check that training is deterministic, and of
different ones the store's own stays and the other lies in its quarantine. Every run is published
whole, so a merge that was interrupted leaves a sound store, and the next one goes on.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from repro.errors import ReproError
from repro.spec.method import remember
from repro.store.atomic import make_directory, new_place, store_errors, write_bytes
from repro.store.bundle import LARGEST_RECORD, RECORDS, SUFFIX, Bundle, bundles_in
from repro.store.entry import StoredRun, read_small
from repro.store.reading import Entries
from repro.store.records import checked_record
from repro.store.result import Failure, Score
from repro.store.shelf import Shelf
from repro.store.store import Adopted, Store, holds_store
from repro.store.strict_json import parse_json
from repro.words import run_name

Outcome = Adopted | Literal["damaged"]


@dataclass(frozen=True)
class Difference:
    """A score that two results of one run do not share; None where a side has none."""

    score: str
    here: float | None
    there: float | None


@dataclass(frozen=True)
class Conflict:
    """A run or a record of which the two stores hold different content."""

    what: str
    why: str
    differences: tuple[Difference, ...] = ()
    kept: Path | None = None
    """Where the other content lies now; None in a dry run."""


@dataclass
class Merged:
    """What became of one source: the runs by outcome, records and failures copied or equal."""

    source: Path
    runs: dict[Outcome, list[str]] = field(default_factory=dict)
    records: int = 0
    equal_records: int = 0
    failures: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """One line about each damaged run or record, which was left out."""

    def count(self, outcome: Outcome) -> int:
        """How many runs ended so."""
        return len(self.runs.get(outcome, ()))


def check_sources(store: Store, sources: list[Path]) -> None:
    """Raises ReproError, before anything is copied, where one is no store and no bundle, or is
    this store or a part of it. The files of the stores' own methods are known from here on, so
    that runs of these can be read wherever they lie.
    """
    for source in sources:
        if not source.exists():
            raise ReproError(f"There is no {source}: name the folder of a store, or a bundle.")
        if source.is_dir():
            if _same(source, store.root):
                raise ReproError(f"{source} is the store itself: name another one to merge.")
            if not holds_store(source):
                raise ReproError(f"{source} is no store: it holds no runs.{_stores_in(source)}")
            remember(Store(source).method_files())
        elif not source.name.endswith(SUFFIX):
            raise ReproError(
                f"{source} is neither a store's folder nor a bundle (NAME{SUFFIX}): name one."
            )
        elif _same(source.parent, store.root):
            raise ReproError(
                f"{source} lies in the store, which shows its runs already: leave it out."
            )


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


def _stores_in(folder: Path) -> str:
    found = [str(path) for path in sorted(folder.glob("[!.]*")) if holds_store(path)]
    return f" There are stores in it: {', '.join(found[:5])}." if found else ""


def merge(
    store: Store, source: Path, *, dry_run: bool, track: Callable[[list[str]], Iterable[str]] = iter
) -> Merged:
    """Copies `source`, a store's folder or a bundle, into `store`; `track` passes its keys on.

    With `dry_run` nothing is changed, and the answer is what would happen. The source is only read.
    Raises StoreError where the store cannot be written; the runs copied before are then stored.
    """
    found = Merged(source)
    places = _places(source, found.problems.append)
    waiting = {key: place for place in reversed(places) for key in sorted(place.keys())}
    pending: dict[str, str] = {}
    if not dry_run:
        store.check_writable()
    for key in track(sorted(waiting)):
        _take(key, waiting, store, found, pending if dry_run else None)
    for place in places:
        _take_records(place, store, found, dry_run=dry_run)
    if source.is_dir():
        other = Store(source, found.problems.append)
        _take_failures(other, store, found, dry_run=dry_run)
        if not dry_run:
            _take_methods(other, store)
    return found


def _places(source: Path, say: Callable[[str], None]) -> list[Entries]:
    """The source's own entries before those of its bundles."""
    if not source.is_dir():
        return [Bundle(source, say)]
    return [Shelf(source, say), *bundles_in(source, say)]


def _take(
    key: str, waiting: dict[str, Entries], store: Store, found: Merged, dry: dict[str, str] | None
) -> None:
    """Copies the run and, before it, what it is made from, if these still wait to be copied.

    `dry`: key -> digest of the results that would have been copied by now; None: copy.
    """
    if key not in waiting:
        return
    run = waiting.pop(key).peek(key, verify=True)
    if run is None:
        found.runs.setdefault("damaged", []).append(key)
        return
    for parent in run.spec.parents.values():
        _take(parent, waiting, store, found, dry)
    if store.is_newer(key):
        found.problems.append(f"Run {key[:12]}: a newer version of repro stored it here.")
        found.runs.setdefault("damaged", []).append(key)
        return
    kept = None
    if dry is None:
        outcome, kept = store.adopt(run)
    else:
        outcome = store.compare(run, dry)
        dry |= {key: run.digest} if outcome == "new" else {}
    found.runs.setdefault(outcome, []).append(key)
    if outcome == "differs":
        found.conflicts.append(_conflict(run, store, kept))


def _conflict(run: StoredRun, store: Store, kept: Path | None) -> Conflict:
    name = f"{run.key[:12]} {run_name(run.spec)}"
    mine = store.peek(run.key)
    if mine is None or mine.digest == run.digest:
        why = "it is made from another result of its parent than the one stored here"
        return Conflict(name, why, (), kept)
    here, there = _scores(mine), _scores(run)
    lines = tuple(
        Difference(place, here.get(place), there.get(place))
        for place in sorted(here.keys() | there.keys())
        if here.get(place) != there.get(place)
    )
    differ = "1 score differs" if len(lines) == 1 else f"{len(lines)} scores differ"
    why = differ if lines else "the scores are equal, the rest is not"
    return Conflict(name, why, lines, kept)


def _scores(run: StoredRun) -> dict[str, float]:
    def place(score: Score) -> str:
        parts = (score.task, score.split, score.protocol, score.metric, score.group)
        return f"{' '.join(parts)}, epoch {score.epoch}"

    return {place(score): score.value for score in run.result.scores}


def _take_records(place: Entries, store: Store, found: Merged, *, dry_run: bool) -> None:
    for name, data in _records(place, found.problems.append):
        try:
            value = parse_json(data)
        except (ValueError, RecursionError):
            found.problems.append(f"{place.place / name} is left out: it is not JSON.")
            continue
        own = next(store.contents(name), None)
        if own is not None and _parsed(own) == value:
            found.equal_records += 1
        elif own is None:
            found.records += 1
            if not dry_run:
                store.copy_record(name, data)
        else:
            kept = None if dry_run else _aside(store, name, data)
            found.conflicts.append(Conflict(name, "its content differs", (), kept))


def _parsed(data: bytes) -> object:
    try:
        return parse_json(data)
    except (ValueError, RecursionError):
        return None


def _records(place: Entries, say: Callable[[str], None]) -> Iterator[tuple[str, bytes]]:
    """The small files of a store or a bundle by name; links are left out."""
    for folder in RECORDS:
        if isinstance(place, Bundle):
            for name in place.names(folder):
                yield name, place.content(name) or b""
            continue
        for path in sorted((place.place / folder).glob("[!.]*.json")):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_RECORD:
                say(f"{path} is left out: it is no small file.")
                continue
            data = read_small(path, say)
            if data is not None:
                yield f"{folder}/{path.name}", data


def _aside(store: Store, name: str, data: bytes) -> Path:
    """Keeps a record that differs in quarantine, once; returns where it lies."""
    quarantine, file = store.root / "quarantine", Path(name)
    for known in sorted(quarantine.glob(f"{glob.escape(file.stem)}-*/{glob.escape(file.name)}")):
        if read_small(known, store.say) == data:
            return known
    with store_errors(quarantine):
        make_directory(quarantine)
        kept = new_place(quarantine, file.stem) / file.name
    write_bytes(kept, data)
    return kept


def _take_failures(source: Store, store: Store, found: Merged, *, dry_run: bool) -> None:
    """Why runs failed there, where there is neither a result nor a failure of them here."""

    def left_out(problem: str) -> None:
        found.problems.append(f"The failure of run {key[:12]} is left out: {problem}.")

    for key in sorted(source.failed()):
        path, say = source.failure_path(key), found.problems.append
        data = read_small(path, say) or b""
        failure = checked_record(Failure, data, path, say, left_out)
        if failure is None or store.peek(key) is not None or store.failure(key) is not None:
            continue
        found.failures += 1
        if not dry_run:
            log = read_small(path.with_suffix(".log"), say) or b""
            own = failure.model_copy(update={"log": f"{Failure.folder}/{key}.log"})
            store.keep_failure(own, log.decode(errors="replace"))  # theirs may name any path


def _take_methods(source: Store, store: Store) -> None:
    """Where the files of the user's methods are, for the requests that name these."""
    known = store.method_files()
    for kind, file in source.method_files().items():
        if kind not in known:
            store.save_method(kind, file)
