"""Scores as the GLUE server prints them: read from a file, checked, kept beside the runs.

The file is a CSV with the header `task,metric,value` or `task,split,metric,value`, one score a line
in percent. `split` is needed for MNLI only (test_matched, test_mismatched).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.server.archive import Manifest, SubmittedFile
from repro.server.layout import BY_PLACE, FILES, PROTOCOL, ServerFile
from repro.store.served import Coordinates, ServedRun, ServerScore
from repro.store.store import Store

COLUMNS = ("task", "metric", "value")
ANY_SIGN = ("matthews", "pearson", "spearman")
"""Correlations; every other metric is a share."""
EXPECTED = "Expected the header task,split,metric,value (split may be left out, if MNLI is)"
TITLES = {file.facts.title.lower(): file.task for file in FILES} | {f.task: f.task for f in FILES}


@dataclass(frozen=True, slots=True)
class Line:
    """One score of the file, and where it stands."""

    place: str
    file: ServerFile
    metric: str
    value: float


def read_scores(path: Path) -> list[Line]:
    """Every score of the file at `path`.

    Raises ReproError, which names the line, for an unknown task, test set or metric, a value out of
    range, a score that stands twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise ReproError(f"{path} cannot be read: {why}. {EXPECTED}.") from problem
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
    names = [name.strip() for name in reader.fieldnames or []]
    if sorted(names) not in (sorted(COLUMNS), sorted((*COLUMNS, "split"))):
        raise ReproError(f"{path}, line 1: {','.join(names) or 'nothing'}. {EXPECTED}.")
    reader.fieldnames = names
    lines = [_line(row, f"{path}, line {reader.line_num}") for row in reader]
    _check_together(lines, path)
    return lines


def _line(row: Mapping[str | None, str | None], place: str) -> Line:
    if None in row or None in row.values():
        raise ReproError(f"{place} has not as many fields as the header. {EXPECTED}.")
    given = {str(name): str(value).strip() for name, value in row.items()}
    file = _file(given["task"], given.get("split", ""), place)
    metric = given["metric"].lower()
    if metric not in file.metrics:
        raise ReproError(
            f"{place}: the server prints no '{given['metric']}' of {file.place}. It prints: "
            f"{', '.join(file.metrics)}."
        )
    return Line(place, file, metric, _value(given["value"], metric, place))


def _file(task: str, split: str, place: str) -> ServerFile:
    name = TITLES.get(task.lower())
    if name is None:
        known = ", ".join(dict.fromkeys(file.task for file in FILES))
        raise ReproError(f"{place}: there is no task called '{task}'. Known: {known}.")
    found = BY_PLACE.get((name, split or "test"))
    if found is None:
        splits = " or ".join(file.split for file in FILES if file.task == name)
        raise ReproError(f"{place}: the split of {name} is {splits}, not '{split}'.")
    return found


def _value(text: str, metric: str, place: str) -> float:
    least = -100.0 if metric in ANY_SIGN else 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= 100:
        raise ReproError(
            f"{place}: {metric} is '{text}'. Expected a number from {least:g} to 100, in percent."
        )
    return value


def _check_together(lines: list[Line], path: Path) -> None:
    if not lines:
        raise ReproError(f"{path} holds no score. {EXPECTED}, then one score a line.")
    seen: dict[tuple[str, str], str] = {}
    for line in lines:
        first = seen.setdefault((line.file.name, line.metric), line.place)
        if first != line.place:
            raise ReproError(
                f"{line.place}: {line.metric} of {line.file.place} stands twice, here and in "
                f"{first}. Leave one of them."
            )
    if all(abs(line.value) <= 1 for line in lines) and any(line.value for line in lines):
        raise ReproError(
            f"{path}: every value is at most 1, so they look like fractions. Expected percent, as "
            "the server prints them (88.5, not 0.885)."
        )


def import_scores(
    lines: Iterable[Line], manifest: Manifest, store: Store, *, replace: bool
) -> list[str]:
    """Keeps the scores of the runs that the manifest names; returns the keys that changed.

    Nothing is written unless all can be. Raises ReproError for the score of a file that was filled
    with a constant, of a run that is not in the store, and, without `replace`, for another value
    than the one imported before.
    """
    files = {entry.file: entry for entry in manifest.files}
    found: dict[str, dict[Coordinates, ServerScore]] = {}
    for line in lines:
        key = _run(line, files.get(line.file.name), store)
        place = (line.file.task, line.file.split, line.metric)
        if key not in found:
            served = store.served(key)
            found[key] = {score.coordinates: score for score in served.scores} if served else {}
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
    return [key for key, scores in found.items() if _save(store, key, scores)]


def _save(store: Store, key: str, scores: Mapping[Coordinates, ServerScore]) -> bool:
    """Writes what is new; whether anything was."""
    served = ServedRun(key=key, protocol=PROTOCOL, scores=list(scores.values()))
    if served == store.served(key):
        return False
    store.save_served(served)
    return True


def _run(line: Line, entry: SubmittedFile | None, store: Store) -> str:
    """The key of the run that the server scored."""
    if entry is None or entry.run is None:
        how = f"filled with {entry.constant}" if entry else "not submitted"
        raise ReproError(
            f"{line.place}: {line.file.name} of this submission was {how}, so its score is no "
            "run's. Leave the line out."
        )
    if store.read(entry.run) is None:
        raise ReproError(
            f"{line.place}: the run {entry.run[:12]} that predicted {line.file.name} is not in the "
            f"store {store.root}. Name the store of the export with --store."
        )
    return entry.run
