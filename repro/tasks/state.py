"""How the local files of a data set stand, beside what its owner publishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from repro.errors import MissingData
from repro.spec import TaggingTask, TextTask
from repro.spec.glue import GLUE
from repro.spec.sentences import SENTENCES
from repro.spec.tagging import SENTENCES_PUBLISHED, TAGS
from repro.spec.texts import TEXTS
from repro.tasks import files
from repro.tasks.catalogue import CONLL
from repro.tasks.files import DataSet
from repro.tasks.glue import sources as glue
from repro.tasks.sentences.rows import checked
from repro.tasks.squad2.files import COLUMNS, DATA, PUBLISHED, parse_lines
from repro.tasks.texts import sources as texts

State = Literal["published rows", "other rows", "in part", "not here", "damaged"]
ENDINGS = "{}.jsonl.gz or .jsonl"


@dataclass(frozen=True, slots=True)
class Found:
    """One data set: what is published, and what is here. `here` counts rows by file, or by split
    where the set was read whole; `joined`: its files are joined before they are cut into splits.
    """

    name: str
    folder: str
    files: str
    hub: str
    fields: tuple[str, ...]
    labels: tuple[str, ...]
    published: Mapping[str, int]
    joined: bool = False
    here: Mapping[str, int] = field(default_factory=dict)
    state: State = "not here"
    problem: str = ""


def look(name: str) -> Found:
    """Counts the rows of the local files, without reading them."""
    known, data = _published(name), _data_set(name)
    try:
        found = {split: files.local_file(data, split) for split in known.published}
        here = {
            split: files.count_lines(files.local_content(data, path))
            for split, path in found.items()
            if path is not None
        }
    except MissingData as problem:
        return replace(known, state="damaged", problem=str(problem))
    return replace(known, here=here, state=_state(known, here))


def whole(name: str) -> Found:
    """Reads and checks every row of the local files; a damaged file is the `problem`."""
    quick = look(name)
    if quick.state in ("not here", "in part", "damaged"):
        return quick
    try:
        here = _reader(name)()
    except MissingData as problem:
        return replace(quick, state="damaged", problem=str(problem))
    return replace(quick, here={split: len(rows) for split, rows in here.items()})


def _published(name: str) -> Found:
    data = _data_set(name)
    place = name, data.folder
    if name == CONLL:
        every = ENDINGS.format("train, validation and test")
        return Found(*place, every, "", ("tokens", "ner_tags"), TAGS, SENTENCES_PUBLISHED)
    if name in DATA:
        rows = {split: size.rows for split, size in PUBLISHED[name].items()}
        every = ENDINGS.format("train and validation")
        return Found(*place, every, data.hub_id, tuple(COLUMNS), (), rows)
    facts = SENTENCES[name]
    if name in GLUE:
        splits = glue.splits_needed(name)
        rows = {split: facts.rows[split] for split in splits}
        every = ENDINGS.format(", ".join(splits))
        fields = (*facts.texts, facts.label, "idx")
        return Found(*place, every, data.hub_id, fields, facts.labels, rows)
    joined = not texts.has_splits(name)
    every = ENDINGS.format("train, validation and test")
    if joined:
        every = f"{ENDINGS.format('train')}; validation and test, if there, are joined to it"
    fields = (*facts.texts, facts.label)
    return Found(*place, every, "", fields, facts.labels, facts.rows, joined)


def _data_set(name: str) -> DataSet:
    if name in DATA:
        return DATA[name]
    if name in GLUE:
        return glue.data_set(name)
    return DataSet(name, CONLL if name == CONLL else texts.folder_of(name), "", "")


def _state(known: Found, here: Mapping[str, int]) -> State:
    if not here:
        return "not here"
    if known.joined:
        same = sum(here.values()) == sum(known.published.values())
        return "published rows" if same else "other rows"
    if len(here) < len(known.published):
        return "in part"
    return "published rows" if dict(here) == dict(known.published) else "other rows"


def _reader(name: str) -> Callable[[], Mapping[str, list[Any]]]:
    """What reads every row of a set that is here."""
    if name in TEXTS:
        revision = texts.data_revision("reduced", name)
        task = TextTask.model_validate({"name": name, "source": "local", "revision": revision})
        return lambda: texts.task_rows(task)
    if name == CONLL:
        from repro.tasks.tagging import sources as tagging

        words = TaggingTask(source="local", revision=tagging.data_revision("reduced"))
        return lambda: tagging.task_rows(words)
    return lambda: _files(name)


def _files(name: str) -> dict[str, list[Any]]:
    """The rows of a set whose files are its splits."""
    data = _data_set(name)
    rows: dict[str, list[Any]] = {}
    for split in _published(name).published:
        path = files.local_file(data, split)
        assert path is not None
        content, file = files.local_content(data, path), str(path)
        if name in DATA:
            rows[split] = parse_lines(content, file)
        else:
            rows[split] = checked(files.json_rows(content, file), SENTENCES[name], split, file)
    return rows
