"""Whether what a store holds is what was stored: checksums, and scores made anew from predictions.

Reads only. Scores are made from the stored predictions and the right answers of the task's rows, so
it needs neither a GPU nor the model's weights, only the data that the run was scored on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from repro.errors import ReproError
from repro.store.bundle import LARGEST_RECORD, RECORDS, Bundle, bundles_in
from repro.store.entry import MANIFEST, FolderFiles, StoredRun, read_small
from repro.store.reading import Corrupt, Entries, Foreign, read_entry
from repro.store.records import checked_record
from repro.store.result import Coordinates, External, Failure, Record, Score, ServedRun
from repro.store.shelf import KEY, Shelf
from repro.store.store import Store
from repro.store.strict_json import parse_json

PREDICTIONS = "predictions.json"
KINDS: dict[str, tuple[type[Record], str]] = {
    Failure.folder: (Failure, "delete it"),
    ServedRun.folder: (ServedRun, "delete it and import the scores again"),
    External.folder: (External, "delete it and add the row again"),
}
"""Folder of records of one kind -> the kind, and the mend of a damaged one."""
isclose = partial(math.isclose, rel_tol=1e-9, abs_tol=1e-9)
"""A score made anew may differ in its last digits where another version of a library sums."""


@dataclass(frozen=True)
class Checked:
    """What was found of one thing in a store.

    Attributes:
        what: A run's key, or the name of another file.
        place: Where it lies.
        problem: What is wrong with it; None where nothing is.
        mend: What to do about a problem.
        unread: Why it could not be checked; None where it was.
        scores: How many scores were made anew and are equal.
        unscored: Why none was made anew; None where some were, or where there are none.
    """

    what: str
    place: Path
    problem: str | None = None
    mend: str = ""
    unread: str | None = None
    scores: int = 0
    unscored: str | None = None


def runs_to_verify(store: Store) -> list[tuple[Entries, str]]:
    """Every run of the store's folder, then those of its bundles, by key; damaged ones included."""
    shelf = Shelf(store.root, store.say)
    found = [(shelf, path.name) for path in sorted(store.root.glob("??/*"))]
    own = [(place, name) for place, name in found if KEY.fullmatch(name)]
    bundles = bundles_in(store.root, lambda _: None)
    return [*own, *((bundle, key) for bundle in bundles for key in sorted(bundle.keys()))]


def verify_run(place: Entries, key: str, *, rescore: bool) -> Checked:
    """Checks one run whole; with `rescore` its scores, too, where its predictions are stored."""
    where = place.place if isinstance(place, Bundle) else place.place / key[:2] / key
    found = Checked(key, where, mend=_mend(place, key))
    try:
        run = read_entry(place.files(key), key, verify=True)
    except Corrupt as problem:
        return replace(found, problem=str(problem))
    except Foreign as reason:
        return replace(found, unread=str(reason))
    if run is None:
        return replace(found, problem=f"{MANIFEST} is missing")
    return _scored(found, run) if rescore else found


def _scored(found: Checked, run: StoredRun) -> Checked:
    if PREDICTIONS not in run.files:
        return replace(found, unscored="no predictions are stored")
    try:
        return replace(found, scores=_compared(run))
    except ReproError as lack:
        return replace(found, unscored=str(lack).rstrip("."))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        # predictions are plain JSON: of a wrong shape they fail wherever they are first used
        said = f"{PREDICTIONS} does not give its scores: {type(problem).__name__}: {problem}"
        return replace(found, problem=said)


def _mend(place: Entries, key: str) -> str:
    if isinstance(place, Bundle):
        return "put an undamaged copy of the bundle there"
    return (
        f"`python -m repro store rm {key[:12]} --force`, then give its table's command again, or "
        "merge a store that holds it"
    )


def _compared(run: StoredRun) -> int:
    """How many scores of the kept epoch were made anew. Raises ValueError where one differs."""
    epoch = run.result.selected_epoch or run.last_epoch
    stored = {s.coordinates: s for s in run.result.scores if s.epoch == epoch}
    document = parse_json(run.source.read(PREDICTIONS))
    if not isinstance(document, dict) or not document:
        raise ValueError("it holds no predictions")
    made = [Score(**score, epoch=epoch) for score in run.spec.task.rescored(document)]
    for score in made:
        known = stored.get(score.coordinates)
        if known is None or known.n != score.n or not isclose(known.value, score.value):
            raise ValueError(
                f"{_named(score.coordinates)} is {_plain(score)} by them, and {_plain(known)} is "
                "stored"
            )
    return len(made)


def _plain(score: Score | None) -> str:
    return "none" if score is None else f"{score.value:.10g} over {score.n}"


def _named(place: Coordinates) -> str:
    epoch, *names = place
    return f"{' '.join(names)}, epoch {epoch},"


def verify_files(store: Store) -> Iterator[Checked]:
    """Everything beside the runs: bundles, failures, requests and other records."""
    problems: list[str] = []
    for bundle in bundles_in(store.root, problems.append):
        bundle.keys()
        path, mend = bundle.place, "put an undamaged copy there, or delete it"
        while problems:
            yield Checked(f"{store.root.name}/{path.name}", path, problems.pop(0), mend)
    for folder in (Failure.folder, *RECORDS):
        kind, mend = KINDS.get(folder, (None, "delete it and give its command again"))
        for path in sorted((store.root / folder).glob("[!.]*.json")):
            yield _record(kind, path, mend)


def _record(kind: type[Record] | None, path: Path, mend: str) -> Checked:
    """Checks a record: of no `kind`, whether it is JSON."""
    found = Checked(f"{path.parent.name}/{path.name}", path, mend=mend)
    if not path.is_file() or path.stat().st_size > LARGEST_RECORD:
        return replace(found, problem="it is no small file")
    problems: list[str] = []
    unread: list[str] = []
    data = read_small(path, unread.append)
    if data is not None and kind is not None:
        checked_record(kind, data, path, unread.append, problems.append)
    elif data is not None:
        try:
            parse_json(data)
        except (ValueError, RecursionError):
            problems.append("it is not JSON")
    return replace(found, problem=next(iter(problems), None), unread=next(iter(unread), None))


def other_results(store: Store) -> list[Path]:
    """The sound results in quarantine: of a run that is stored with another result."""
    found = []
    for path in sorted((store.root / "quarantine").glob("*-*")):
        key = path.name.rpartition("-")[0]
        if KEY.fullmatch(key) and (path / MANIFEST).is_file():
            try:
                read_entry(FolderFiles(path), key, verify=True)
            except (Corrupt, Foreign):
                continue
            found.append(path)
    return found
