"""Scores as the GLUE server prints them, read from a file and checked. Torch-free.

The file is a CSV with the header `task,metric,value` or `task,split,metric,value`, one score a line
in percent, or a `.json` list of objects with these keys. `split` is needed for MNLI only
(test_matched, test_mismatched).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.server.layout import BY_PLACE, FILES, ServerFile
from repro.store.strict_json import parse_json
from repro.strict import number_of

COLUMNS = ("task", "metric", "value")
ANY_SIGN = ("matthews", "pearson", "spearman")
"""Correlations; every other metric is a share."""
EXPECTED = "Expected the header task,split,metric,value (split may be left out, if MNLI is)"
OBJECTS = "Expected a list of objects with task, metric, value, and split for MNLI"
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

    Raises ReproError, which names the line (of JSON the score, from 1), for an unknown task, test
    set or metric, a value out of range, a score that stands twice.
    """
    is_json = path.suffix.lower() == ".json"
    expected = OBJECTS if is_json else EXPECTED
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or "it is not UTF-8"
        raise ReproError(f"{path} cannot be read: {why}. {expected}.") from problem
    lines = _of_json(text, path) if is_json else _of_csv(text, path)
    if not lines:
        raise ReproError(f"{path} holds no score. {expected}.")
    _check_together(lines, path)
    return lines


def _of_csv(text: str, path: Path) -> list[Line]:
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
    names = [name.strip() for name in reader.fieldnames or []]
    if sorted(names) not in (sorted(COLUMNS), sorted((*COLUMNS, "split"))):
        raise ReproError(f"{path}, line 1: {','.join(names) or 'nothing'}. {EXPECTED}.")
    reader.fieldnames = names
    return [_line(row, f"{path}, line {reader.line_num}") for row in reader]


def _of_json(text: str, path: Path) -> list[Line]:
    try:
        scores = parse_json(text.encode(), unique=True)
    except (ValueError, RecursionError) as problem:
        raise ReproError(f"{path} is no strict JSON ({problem}). {OBJECTS}.") from problem
    if not isinstance(scores, list):
        raise ReproError(f"{path} holds one {type(scores).__name__}. {OBJECTS}.")
    return [_object(score, f"{path}, score {n}") for n, score in enumerate(scores, start=1)]


def _object(score: object, place: str) -> Line:
    keys = set(score) if isinstance(score, dict) else set()
    if not isinstance(score, dict) or keys - {"split"} != set(COLUMNS):
        raise ReproError(f"{place} has the keys {', '.join(sorted(keys)) or 'none'}. {OBJECTS}.")
    split = score.get("split") or ""
    return _line({**{name: str(score[name]) for name in COLUMNS}, "split": str(split)}, place)


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
    value = number_of(text)
    if value is None or not least <= value <= 100:
        raise ReproError(
            f"{place}: {metric} is '{text}'. Expected a number from {least:g} to 100, in percent."
        )
    return value


def _check_together(lines: list[Line], path: Path) -> None:
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
