"""Where the rows of a further text task come from: a local folder, or the generator.

Local: `$REPRO_DATA/<folder>/{train,validation,test}.jsonl.gz` or `.jsonl`, one row a line: the
task's texts, `label` (SICK-R: `relatedness_score`), and if the set has them `id` and `label_text`;
docs/data.md describes it. SICK has three official splits. The other sets have none that the papers
used: whichever of the files are there are joined and cut 80/10/10 by the task's split seed, to the
published sizes where the set has the published number of rows.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from repro.errors import MissingData, ReproError
from repro.spec import Scale, TextTask
from repro.spec.facts import Facts
from repro.spec.sentences import SENTENCES
from repro.spec.texts import HOULSBY
from repro.tasks import files
from repro.tasks.draws import drawn
from repro.tasks.sentences.rows import Row, capped
from repro.tasks.texts.rows import checked_rows

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
LEAST = 2
"""Rows that a split needs to be learned from or scored."""


def folder_of(name: str) -> str:
    """The set's folder under $REPRO_DATA."""
    return FOLDERS.get(name) or f"crowdflower_{name.replace('-', '_')}"


def unavailable(name: str) -> str | None:
    """Why a task has no data here, in a few words for a table's gap; None where it has."""
    found = _paths(name)
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
    paths = _needed(name)
    contents = {
        split: _content(str(path), path.stat().st_mtime_ns) for split, path in paths.items()
    }
    if scale != "paper":
        return files.content_digest(contents)
    _check_published(name, {split: files.count_lines(text) for split, text in contents.items()})
    return None


def task_rows(task: TextTask) -> dict[str, list[Row]]:
    """The rows of "train", "validation" and "test", capped, in file order.

    Raises MissingData where they cannot be had, are damaged, are too few, or are not those of
    `task.revision`.
    """
    if task.source == "generated":
        if task.revision is None:
            raise ReproError("A generated task needs a revision: the generator's seed and sizes.")
        from repro.tasks.texts.generated import generate

        return capped(generate(task.name, task.revision), task)
    return capped(_local(task), task)


def split_rows(rows: list[Row], name: str, seed: int, place: str) -> dict[str, list[Row]]:
    """80/10/10 of a set without splits, or the published sizes where it has the published rows.

    Which rows are validated and tested on is drawn by `seed`, each by its own rank, so that it does
    not depend on the others'. Raises MissingData, which names `place`, for too few rows.
    """
    published = SENTENCES[name].rows
    if len(rows) == sum(published.values()):
        sizes = published
    else:
        tenth = round(len(rows) / 10)
        sizes = {"train": len(rows) - 2 * tenth, "validation": tenth, "test": tenth}
    if min(sizes.values()) < LEAST:
        raise MissingData(
            f"{place}: {len(rows)} rows are too few, as a tenth each is for validation and for "
            f"test. Expected at least {10 * LEAST}; the published set has {_total(name):,}."
        )
    ids = [str(row.idx) for row in rows]
    held = drawn(ids, sizes["validation"] + sizes["test"], seed)
    tested = drawn(held, sizes["test"], seed + 1)
    side = {id: "test" if id in tested else "validation" if id in held else "train" for id in ids}
    return {split: [row for row in rows if side[str(row.idx)] == split] for split in SPLITS}


def _local(task: TextTask) -> dict[str, list[Row]]:
    paths = _needed(task.name)
    contents = {
        split: _content(str(path), path.stat().st_mtime_ns) for split, path in paths.items()
    }
    if task.revision is None:
        _check_published(
            task.name, {split: files.count_lines(text) for split, text in contents.items()}
        )
    else:
        files.check_digest(contents, paths, task.revision)
    return read_rows(task.name, contents, paths, task.split_seed)


def read_rows(
    name: str, contents: Mapping[str, bytes], paths: Mapping[str, Path], seed: int
) -> dict[str, list[Row]]:
    """The checked rows of every split; raises MissingData with file, line and what was expected."""
    facts = SENTENCES[name]
    texts = [(contents[split], str(paths[split])) for split in SPLITS if split in contents]
    if has_splits(name):
        made = {
            split: checked_rows([(contents[split], str(paths[split]))], facts) for split in SPLITS
        }
    else:
        made = split_rows(checked_rows(texts, facts), name, seed, texts[0][1])
    for split, rows in made.items():
        _check_split(rows, split, facts, texts[0][1])
    return made


def _check_split(rows: list[Row], split: str, facts: Facts, file: str) -> None:
    if len(rows) < LEAST:
        raise MissingData(f"{file}: the {split} rows are {len(rows)}, too few to use.")
    if len({row.label for row in rows}) == 1:
        raise MissingData(
            f"{file}: every {split} row of {facts.title} has the label {rows[0].label}. Expected "
            "more than one class; replace the file by the published one."
        )


def _paths(name: str) -> dict[str, Path]:
    """The files that are there."""
    data = files.DataSet(SENTENCES[name].title, folder_of(name), "", "")
    found = {split: files.local_file(data, split) for split in SPLITS}
    return {split: path for split, path in found.items() if path is not None}


def _needed(name: str) -> dict[str, Path]:
    reason = unavailable(name)
    if reason is not None:
        raise MissingData(f"{SENTENCES[name].title}: {reason}.")
    return _paths(name)


@functools.lru_cache(maxsize=4)
def _content(path: str, changed: int) -> bytes:
    """The decompressed file, read once as long as it is not `changed`."""
    file = Path(path)
    return files.local_content(files.DataSet(file.parent.name, file.parent.name, "", ""), file)


def _check_published(name: str, found: Mapping[str, int]) -> None:
    expected = SENTENCES[name].rows
    same = dict(found) == expected if has_splits(name) else sum(found.values()) == _total(name)
    if not same:
        here = sum(found.values())
        raise MissingData(
            f"The folder {folder_of(name)} under ${files.FOLDER_VARIABLE} does not hold the "
            f"published rows of {SENTENCES[name].title}: "
            f"it has {here:,}; the published set has {_total(name):,}. Replace it; the scale "
            "'reduced' accepts any rows in this schema."
        )


def _total(name: str) -> int:
    return sum(SENTENCES[name].rows.values())
