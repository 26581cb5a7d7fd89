"""Where the rows of a further text task come from: a local folder, or the generator.

Local: `$REPRO_DATA/<folder>/{train,validation,test}.jsonl.gz` or `.jsonl`, one row a line: the
task's texts, `label` (SICK-R: `relatedness_score`), and if the set has them `id` and `label_text`;
docs/data.md describes it. SICK has three official splits. The other sets have none that the papers
used: whichever of the files are there are joined and cut 80/10/10 by the task's split seed, to the
published sizes where the set has the published number of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from repro.errors import MissingData, ReproError
from repro.spec import Scale, TextTask
from repro.spec.contents import ALL
from repro.spec.sentences import SENTENCES
from repro.spec.texts import HOULSBY
from repro.tasks import files
from repro.tasks.draws import ranked
from repro.tasks.files import DataSet
from repro.tasks.sentences.rows import Row, bad_row, capped, generated_rows
from repro.tasks.texts.rows import Reader, check_usable

SPLITS = ("train", "validation", "test")
FOLDERS = {
    "20-newsgroups": "20_newsgroups",
    "customer-complaints": "customer_complaints",
    "news-aggregator": "news_aggregator",
    "sms-spam": "sms_spam",
    "sick-e": "sick",
    "sick-r": "sick",
    "us-economic": "crowdflower_us_economic_performance",
}
LEAST_JOINED = 15
"""Rows of which a tenth, rounded, is two: the fewest that can be validated or tested on."""


def folder_of(name: str) -> str:
    """The set's folder under $REPRO_DATA."""
    return FOLDERS.get(name) or f"crowdflower_{name.replace('-', '_')}"


def data_set(name: str) -> DataSet:
    """Where a set's files are; no hub has them in this format."""
    return DataSet(SENTENCES[name].title, folder_of(name))


def unavailable(name: str) -> str | None:
    """Why a task has no data here, in a few words for a table's gap; None where it has."""
    found = local_paths(name)
    wanted = SPLITS if has_splits(name) else ()
    absent = [split for split in wanted if split not in found]
    if found and not absent:
        return None
    what = folder_of(name) if not found else f"{folder_of(name)}/{' and '.join(absent)}"
    return (
        f"{what} is not in ${files.FOLDER_VARIABLE}; `python -m repro prepare {name}` says where "
        "it is published"
    )


def has_splits(name: str) -> bool:
    """Whether the set comes in splits of its own."""
    return name not in HOULSBY


def data_revision(scale: Scale, name: str) -> str | None:
    """What identifies the local data of a run: "sha256:..." of its content.

    At scale "paper" the set has to have the published rows, and the revision is None. Raises
    MissingData where there is no such data, or at "paper" other rows.
    """
    contents = _contents(name, _needed(name))
    if scale != "paper":
        return files.content_digest(contents)
    _check_published(name, contents)
    return None


def task_rows(task: TextTask) -> dict[str, list[Row]]:
    """The rows of "train", "validation" and "test", capped, in file order.

    Raises MissingData where they cannot be had, are damaged, are too few, or are not those of
    `task.revision`.
    """
    return capped(_generated(task) if task.source == "generated" else _local(task), task)


def file_rows(name: str, paths: Mapping[str, Path]) -> dict[str, list[Row]]:
    """The rows of every file as it is; raises MissingData with file and line for a bad one."""
    return _read(name, _contents(name, paths), paths)


def split_rows(rows: list[Row], name: str, seed: int) -> dict[str, list[Row]]:
    """80/10/10 of a set without splits, or the published sizes where it has the published rows.

    `seed` ranks the rows, each by its own number: the first are validated on, the next are tested
    on, and the others are trained on.
    """
    sizes = SENTENCES[name].rows
    if len(rows) != sum(sizes.values()):
        tenth = round(len(rows) / 10)
        sizes = {"validation": tenth, "test": tenth}
    order = ranked((str(row.idx) for row in rows), seed, "split")
    tested_from, trained_from = sizes["validation"], sizes["validation"] + sizes["test"]
    side = dict.fromkeys(order[:tested_from], "validation")
    side |= dict.fromkeys(order[tested_from:trained_from], "test")
    found: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for row in rows:
        found[side.get(str(row.idx), "train")].append(row)
    return found


def _generated(task: TextTask) -> dict[str, list[Row]]:
    if task.revision is None:
        raise ReproError("A generated task needs a revision: the generator's seed and sizes.")
    return generated_rows(task.name, task.revision)


def _local(task: TextTask) -> dict[str, list[Row]]:
    name, paths = task.name, _needed(task.name)
    contents = _contents(name, paths)
    if files.is_digest(task.revision):
        files.check_digest(contents, dict(paths), task.revision)
    else:
        _check_published(name, contents)
    found = _read(name, contents, paths)
    files.note_rows(data_set(name), found if has_splits(name) else {ALL: _joined(found)})
    return usable_rows(name, found, paths, task.split_seed)


def usable_rows(
    name: str, found: Mapping[str, list[Row]], paths: Mapping[str, Path], seed: int = 0
) -> dict[str, list[Row]]:
    """The splits of a set's files; raises MissingData for one that is too small to use."""
    facts = SENTENCES[name]
    if has_splits(name):
        for split, rows in found.items():
            check_usable(rows, facts, str(paths[split]))
        return dict(found)
    joined = _joined(found)
    place = " and ".join(str(path) for path in paths.values())
    check_usable(joined, facts, place)
    if len(joined) < LEAST_JOINED:
        raise bad_row(
            facts, place, f"{len(joined)} rows are too few to cut (at least {LEAST_JOINED})"
        )
    cut = split_rows(joined, name, seed)
    for split, rows in cut.items():
        check_usable(rows, facts, place, f"{split} ")
    return cut


def _joined(found: Mapping[str, list[Row]]) -> list[Row]:
    """The rows of all files of a set, one file after the other."""
    return [row for split in SPLITS for row in found.get(split, [])]


def local_paths(name: str) -> dict[str, Path]:
    """The set's files that are there, by split."""
    found = {split: files.local_file(data_set(name), split) for split in SPLITS}
    return {split: path for split, path in found.items() if path is not None}


def _needed(name: str) -> dict[str, Path]:
    reason = unavailable(name)
    if reason is not None:
        raise MissingData(f"{SENTENCES[name].title}: {reason}.")
    return local_paths(name)


def _contents(name: str, paths: Mapping[str, Path]) -> dict[str, bytes]:
    data = data_set(name)
    return {split: files.local_content(data, path) for split, path in paths.items()}


def _read(
    name: str, contents: Mapping[str, bytes], paths: Mapping[str, Path]
) -> dict[str, list[Row]]:
    reader = Reader(SENTENCES[name])
    return {split: reader.read(content, str(paths[split])) for split, content in contents.items()}


def _check_published(name: str, contents: Mapping[str, bytes]) -> None:
    """Raises MissingData unless every split, or the joined set, has as many rows as published."""
    found = {split: files.count_lines(content) for split, content in contents.items()}
    published = SENTENCES[name].rows
    here, expected = sum(found.values()), sum(published.values())
    if here == expected and (found == published or not has_splits(name)):
        return
    have, has = f"{here:,}", f"{expected:,}"
    if has_splits(name):
        have, has = (
            ", ".join(f"{split} {rows:,}" for split, rows in sizes.items())
            for sizes in (found, published)
        )
    raise MissingData(
        f"The folder {folder_of(name)} under ${files.FOLDER_VARIABLE} does not hold the published "
        f"rows of {SENTENCES[name].title}: it has {have}; the published set has {has}. Replace it; "
        "the scale 'reduced' accepts any rows in this schema."
    )
