"""Where the rows of a task of text to text come from: a local folder, else the hub, or a seed.

Tasks of GLUE are read as GLUE's own runs read them. Local files of the few-shot sets:
`$REPRO_DATA/<folder>/<split>.jsonl.gz` or `.jsonl`, with the fields of the hub; a row is known by
its place in the file. Torch-free; `data_revision` and `unavailable` are for plans and read no hub.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.spec import GlueTask, Scale, TextToText
from repro.spec.facts import Facts
from repro.spec.glue import GLUE
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks import files
from repro.tasks.files import DataSet
from repro.tasks.glue import sources as glue
from repro.tasks.sentences.rows import Row, bad_row, check_published, checked, generated_rows

ANY_ROWS = "the scale 'reduced' accepts any rows in this schema."


def data_set(name: WrittenName) -> DataSet:
    """Where a few-shot set's files are."""
    written = TEXT_TO_TEXT[name]
    return DataSet(written.facts.title, written.folder, *written.hub)


def splits_needed(name: WrittenName) -> tuple[str, ...]:
    """The official splits that a run reads: training rows and those that are scored, or divided."""
    return ("train", *TEXT_TO_TEXT[name].scored)


def unavailable(scale: Scale, name: WrittenName) -> str | None:
    """Why a few-shot set has no data here, in a few words for a table's gap; None where it may.

    That is a local folder with some of the needed splits. Whether the hub can be reached is not
    asked.
    """
    if scale == "smoke":
        return None
    absent = files.absent_splits(data_set(name), splits_needed(name))
    if not absent:
        return None
    named = " and ".join(f"{TEXT_TO_TEXT[name].folder}/{split}" for split in absent)
    return f"{named} {'is' if len(absent) == 1 else 'are'} not in ${files.FOLDER_VARIABLE}"


def data_revision(scale: Scale, name: WrittenName) -> str | None:
    """What identifies the data of a few-shot set: None means the published rows, by the hub's id.

    At "smoke" it is the generator's. At "paper" a local folder has to hold the published splits; at
    "reduced" its content is named by "sha256:...". Raises MissingData for a folder that holds only
    some of the splits, or at "paper" other rows than the published ones.
    """
    if scale == "smoke":
        from repro.tasks.generated import default_revision

        return default_revision(f"text-to-text/{name}")
    data = data_set(name)
    paths = files.local_paths(data, splits_needed(name))
    if not paths:
        return None
    contents = {split: files.local_content(data, path) for split, path in paths.items()}
    if scale != "paper":
        return files.content_digest(contents)
    for split, content in contents.items():
        check_published(
            files.count_lines(content),
            TEXT_TO_TEXT[name].facts,
            split,
            str(paths[split]),
            _other(data),
        )
    return None


def task_rows(task: TextToText, name: WrittenName) -> dict[str, list[Row]]:
    """The rows of "train" and of every official split that is scored or divided, whole.

    Raises MissingData where they cannot be had, are damaged, or are not those of the task's
    revision; ReproError where the spec names no revision of generated rows.
    """
    revision = task.revisions.get(name)
    if task.source == "generated":
        return _generated(name, revision)
    if name in GLUE:
        return glue.task_rows(GlueTask(name=name, source="glue", revision=revision))
    if not TEXT_TO_TEXT[name].folder:
        raise ReproError(f"{TEXT_TO_TEXT[name].facts.title} has generated rows only.")
    data, splits = data_set(name), splits_needed(name)
    paths = files.local_paths(data, splits)
    if not paths:
        files.check_hub_revision(data, splits, revision)
        return hub_splits(name, splits, revision)
    return _local(name, paths, revision)


def hub_splits(
    name: WrittenName, splits: Sequence[str], revision: str | None
) -> dict[str, list[Row]]:
    """Splits of a few-shot set whole from the hub, as `glue.sources.hub_splits` reads GLUE's."""
    found, data = {split: _hub(name, split, revision) for split in splits}, data_set(name)
    files.note_rows(data, found, files.hub_commit(data, splits[0], revision))
    return found


def file_rows(name: WrittenName, split: str, content: bytes, file: str) -> list[Row]:
    """The rows of a few-shot set's file; raises MissingData with file and line for a bad one."""
    return _checked(name, split, files.json_rows(content, file), file)


def _generated(name: WrittenName, revision: str | None) -> dict[str, list[Row]]:
    if revision is None:
        raise ReproError(
            f"Generated rows of {TEXT_TO_TEXT[name].facts.title} need a revision: the generator's "
            "seed and sizes."
        )
    return generated_rows(f"text-to-text/{name}", revision)


def _local(name: WrittenName, paths: dict[str, Path], revision: str | None) -> dict[str, list[Row]]:
    data = data_set(name)
    contents = {split: files.local_content(data, path) for split, path in paths.items()}
    whole = not files.is_digest(revision)
    if not whole:
        files.check_digest(contents, paths, revision)
    found = {
        split: file_rows(name, split, content, str(paths[split]))
        for split, content in contents.items()
    }
    for split, rows in found.items() if whole else ():
        check_published(len(rows), TEXT_TO_TEXT[name].facts, split, str(paths[split]), _other(data))
    files.note_rows(data, found)
    return found


def _hub(name: WrittenName, split: str, revision: str | None) -> list[Row]:
    facts, data = TEXT_TO_TEXT[name].facts, data_set(name)
    file = f"{data.hub_id} {files.hub_name(data, split)}"
    found = files.hub_rows(data, split, [*facts.texts, facts.label], revision)
    rows = _checked(name, split, found, file)
    check_published(
        len(rows), TEXT_TO_TEXT[name].facts, split, file, "Plan with another revision of it."
    )
    return rows


def _checked(
    name: WrittenName, split: str, rows: Iterable[tuple[Any, str]], file: str
) -> list[Row]:
    facts = TEXT_TO_TEXT[name].facts
    # "test" would let withheld labels pass, and a scored split has none
    kind = "validation" if split in TEXT_TO_TEXT[name].scored else split
    return checked(_numbered(rows, facts), facts, kind, file)


def _numbered(rows: Iterable[tuple[Any, str]], facts: Facts) -> Iterator[tuple[Any, str]]:
    """Rows with their place as idx, and with the number of a label that is a name (SciTail's)."""
    for idx, (row, place) in enumerate(rows):
        if not isinstance(row, Mapping):
            yield row, place
            continue
        label = row.get(facts.label)
        named = isinstance(label, str)
        if named and label not in facts.labels:
            raise bad_row(facts, place, f"the label {label!r} is unknown")
        number = facts.labels.index(label) if named else label
        yield {**row, facts.label: number, "idx": idx}, place


def _other(data: DataSet) -> str:
    return f"Replace it{data.or_hub}; {ANY_ROWS}"
