"""Scores of the GLUE server kept beside the runs that it scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from repro.errors import ReproError
from repro.server.archive import Manifest, SubmittedFile
from repro.server.layout import PROTOCOL
from repro.server.page import Line
from repro.store.entry import StoredRun
from repro.store.result import ServedRun, ServerCoordinates, ServerScore
from repro.store.store import Store


def import_scores(
    lines: Iterable[Line], manifest: Manifest, store: Store, *, replace: bool
) -> list[str]:
    """Keeps the scores of the runs that the manifest names; returns the keys that changed.

    Nothing is written unless all can be. Raises ReproError for the score of a file that was filled
    with a constant, of a run whose submitted result is not in the store, and, without `replace`,
    for another value than the one imported before.
    """
    files = {entry.file: entry for entry in manifest.files}
    runs: dict[str, StoredRun] = {}
    found: dict[str, dict[ServerCoordinates, ServerScore]] = {}
    for line in lines:
        run = _run(line, files.get(line.file.name), store)
        key, place = run.key, (line.file.task, line.file.split, line.metric)
        if key not in runs:
            runs[key], found[key] = run, _known(run, store)
        old = found[key].get(place)
        if old is not None and old.value == line.value:
            continue
        if old is not None and not replace:
            raise ReproError(
                f"{line.place}: {line.metric} of {line.file.place} is {line.value:g}, and "
                f"{old.value:g} was imported before for the run {key[:12]}. Give --replace if the "
                "new one is right."
            )
        task, split, metric = place
        found[key][place] = ServerScore(
            task=task, split=split, metric=metric, value=line.value, archive=manifest.sha256
        )
    return [key for key, scores in found.items() if _save(store, runs[key], scores)]


def _known(run: StoredRun, store: Store) -> dict[ServerCoordinates, ServerScore]:
    """What was imported before for this result of the run; what another result got is dropped."""
    served = store.served(run.key)
    if served is None or served.result != run.digest:
        return {}
    return {score.coordinates: score for score in served.scores}


def _save(store: Store, run: StoredRun, scores: Mapping[ServerCoordinates, ServerScore]) -> bool:
    """Writes what is new; whether anything was."""
    served = ServedRun(
        key=run.key, result=run.digest, protocol=PROTOCOL, scores=list(scores.values())
    )
    if served == store.served(run.key):
        return False
    store.save(served)
    return True


def _run(line: Line, entry: SubmittedFile | None, store: Store) -> StoredRun:
    """The run that the server scored."""
    name = line.file.name
    if entry is None or entry.run is None:
        how = f"filled with {entry.constant}" if entry else "not submitted"
        raise ReproError(
            f"{line.place}: {name} of this submission was {how}, so its score is no run's. Leave "
            "the line out."
        )
    run, which = store.read(entry.run), f"the run {entry.run[:12]} that predicted {name}"
    if run is None:
        raise ReproError(
            f"{line.place}: {which} is not in the store {store.root}. Name the store of the export "
            "with --store."
        )
    if run.digest != entry.result:
        raise ReproError(
            f"{line.place}: {which} has another result in the store {store.root} than when it was "
            "exported: it was trained again. Name the store of the export, or export and submit "
            "again."
        )
    return run
