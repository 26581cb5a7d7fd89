"""How the local files of a data set stand, beside what its owner publishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from repro.errors import MissingData
from repro.spec import Task, TextToText
from repro.spec.contents import Content
from repro.spec.glue import GLUE
from repro.spec.sentences import SENTENCES
from repro.spec.tagging import SENTENCES_PUBLISHED, TAGS
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import FEW_SHOT, TEXT_TO_TEXT
from repro.spec.texts import TEXTS
from repro.tasks import files
from repro.tasks.catalogue import CONLL, TITLES
from repro.tasks.files import DataSet
from repro.tasks.glue import sources as glue
from repro.tasks.sentences.rows import checked
from repro.tasks.squad2 import sources as squad
from repro.tasks.squad2.files import COLUMNS, DATA, PUBLISHED, parse_lines
from repro.tasks.tagging import sources as tagging
from repro.tasks.tagging.rows import checked_sentences
from repro.tasks.text_to_text import sources as written
from repro.tasks.texts import sources as texts

State = Literal["published rows", "other rows", "in part", "not here", "damaged"]


@dataclass(frozen=True, slots=True)
class Found:
    """One data set: what is published, and what is here. `here` counts rows by file, or by split
    where the set was read whole; `joined`: its files are joined before they are cut into splits.
    """

    name: str
    folder: str
    hub: str
    fields: tuple[str, ...]
    labels: tuple[str, ...]
    published: Mapping[str, int]
    joined: bool = False
    here: Mapping[str, int] = field(default_factory=dict)
    state: State = "not here"
    problem: str = ""


def look(name: str) -> Found:
    """Counts the rows of the local files, without reading them.

    Raises MissingData where $REPRO_DATA is set and no folder.
    """
    known, data = _published(name), _data_set(name)
    files.local_folder(data)
    try:
        paths = _paths(known)
        here = {
            split: files.count_lines(files.local_content(data, path))
            for split, path in paths.items()
        }
    except MissingData as problem:
        return replace(known, state="damaged", problem=str(problem))
    return replace(known, here=here, state=_state(known, here))


def whole(name: str) -> Found:
    """Reads and checks every row of the local files; a damaged file is the `problem`."""
    quick = look(name)
    if quick.state in ("not here", "damaged"):
        return quick
    try:
        here = _checked(name, _paths(quick), in_part=quick.state == "in part")
    except MissingData as problem:
        return replace(quick, state="damaged", problem=str(problem))
    return replace(quick, here=here)


def folders() -> dict[str, str]:
    """Folder of a data set below $REPRO_DATA -> one of the tasks that read it."""
    return {_data_set(name).folder: name for name in TITLES}


def folders_of(task: Task) -> list[str]:
    """The folders below $REPRO_DATA of the data sets that a run of this task reads; the name of a
    task whose rows are made from a seed alone, as it has none.
    """
    names = task.tasks if isinstance(task, TextToText) else [task.name]
    return [_data_set(name).folder if name in TITLES else name for name in names]


def hub_content(name: str) -> Content | None:
    """What the hub holds for a task today, by digest; None for a set that is not on the hub.

    Downloads it; local folders are not read. Raises MissingData where it cannot be had.
    """
    if not _data_set(name).hub_id:
        return None
    with files.reading() as read:
        if name in DATA:
            for split in PUBLISHED[name]:
                squad.hub_split(name, split, None)
        elif name in FEW_SHOT:
            written.hub_splits(name, written.splits_needed(name), None)
        else:
            glue.hub_splits(name, glue.splits_needed(name), None)
    return read[_data_set(name).folder]


def _published(name: str) -> Found:
    data = _data_set(name)
    if name == CONLL:
        fields: tuple[str, ...] = ("tokens", "ner_tags")
        return Found(name, data.folder, "", fields, TAGS, SENTENCES_PUBLISHED)
    if name in DATA:
        rows = {split: size.rows for split, size in PUBLISHED[name].items()}
        return Found(name, data.folder, data.hub_id, tuple(COLUMNS), (), rows)
    if name in FEW_SHOT:
        return _few_shot(name, data)
    facts = SENTENCES[name]
    fields = (*facts.texts, facts.label)
    if name in GLUE:
        rows = {split: facts.rows[split] for split in glue.splits_needed(name)}
        return Found(name, data.folder, data.hub_id, (*fields, "idx"), facts.labels, rows)
    joined = not texts.has_splits(name)
    return Found(name, data.folder, "", fields, facts.labels, facts.rows, joined)


def _few_shot(name: WrittenName, data: DataSet) -> Found:
    """Of the splits that a run reads."""
    facts = TEXT_TO_TEXT[name].facts
    rows = {split: facts.rows[split] for split in written.splits_needed(name)}
    return Found(name, data.folder, data.hub_id, (*facts.texts, facts.label), facts.labels, rows)


def _data_set(name: str) -> DataSet:
    if name in DATA:
        return DATA[name]
    if name in FEW_SHOT:
        return written.data_set(name)
    if name in GLUE:
        return glue.data_set(name)
    return tagging.DATA if name == CONLL else texts.data_set(name)


def _state(known: Found, here: Mapping[str, int]) -> State:
    if not here:
        return "not here"
    if known.joined:
        same = sum(here.values()) == sum(known.published.values())
        return "published rows" if same else "other rows"
    if len(here) < len(known.published):
        return "in part"
    return "published rows" if dict(here) == dict(known.published) else "other rows"


def _paths(known: Found) -> dict[str, Path]:
    """The files that are here, by split."""
    data = _data_set(known.name)
    found = {split: files.local_file(data, split) for split in known.published}
    return {split: path for split, path in found.items() if path is not None}


def _checked(name: str, paths: Mapping[str, Path], in_part: bool) -> dict[str, int]:
    """Rows by split after a check of every one; a set that is here in part is not cut."""
    rows: Mapping[str, list[Any]]
    if name in TEXTS:
        rows = texts.file_rows(name, paths)
        if not in_part:
            rows = texts.usable_rows(name, rows, paths)
    else:
        rows = {split: _file(name, split, path) for split, path in paths.items()}
    return {split: len(found) for split, found in rows.items()}


def _file(name: str, split: str, path: Path) -> list[Any]:
    """The rows of a file that is a split."""
    content, file = files.local_content(_data_set(name), path), str(path)
    if name in DATA:
        return parse_lines(content, file, name)
    if name in FEW_SHOT:
        return written.file_rows(name, split, content, file)
    if name == CONLL:
        return checked_sentences(files.json_rows(content, file), file)
    return checked(files.json_rows(content, file), SENTENCES[name], split, file)
