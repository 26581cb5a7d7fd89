"""Where tagged sentences come from: a local folder, or the generator. Torch-free.

Local: `$REPRO_DATA/conll2003/{train,validation,test}.jsonl.gz` or `.jsonl`, one sentence a line;
docs/data.md describes it.
"""

from __future__ import annotations

from pathlib import Path

from repro.errors import MissingData, ReproError
from repro.spec import Scale, TaggingTask
from repro.spec.tagging import SENTENCES_PUBLISHED
from repro.tasks import files
from repro.tasks.draws import drawn
from repro.tasks.files import DataSet
from repro.tasks.tagging.rows import Sentence, checked_sentences

DATA = DataSet("CoNLL-2003", "conll2003", "", "")


def unavailable() -> str | None:
    """Why the set is not here, in a few words for a table's gap; None where it is."""
    found = _paths()
    absent = [split for split in SENTENCES_PUBLISHED if split not in found]
    if not absent:
        return None
    what = f"{DATA.folder}/{' and '.join(absent)}" if found else DATA.folder
    return (
        f"{what} is not in ${files.FOLDER_VARIABLE}; `python -m repro prepare conll2003` says "
        "where it is published"
    )


def data_revision(scale: Scale) -> str | None:
    """What identifies the local data: "sha256:..." of its content, None at scale "paper", where
    it has to be the published sentences. Raises MissingData where it is not.
    """
    contents = _contents()
    if scale != "paper":
        return files.content_digest(contents)
    _check_published({split: files.count_lines(content) for split, content in contents.items()})
    return None


def task_rows(task: TaggingTask) -> dict[str, list[Sentence]]:
    """The sentences of "train", "validation" and "test", capped, in file order.

    Raises MissingData where they cannot be had, are damaged or are not those of `task.revision`.
    """
    found = _generated(task) if task.source == "generated" else _local(task)
    kept = {}
    for split, rows in found.items():
        count = task.train_rows if split == "train" else task.evaluation_rows
        ids = [str(row.idx) for row in rows]
        chosen = set(ids) if count is None else drawn(ids, count, task.subset_seed)
        kept[split] = [row for row in rows if str(row.idx) in chosen]
    return kept


def _local(task: TaggingTask) -> dict[str, list[Sentence]]:
    contents, paths = _contents(), _paths()
    if files.is_digest(task.revision):
        files.check_digest(contents, paths, task.revision)
    else:
        _check_published({split: files.count_lines(text) for split, text in contents.items()})
    found = {
        split: checked_sentences(files.json_rows(content, str(paths[split])), str(paths[split]))
        for split, content in contents.items()
    }
    files.note_rows(DATA, found)
    return found


def _generated(task: TaggingTask) -> dict[str, list[Sentence]]:
    if task.revision is None:
        raise ReproError("A generated task needs a revision: the generator's seed and sizes.")
    from repro.tasks.generated import generate

    return {
        split: [
            Sentence(idx, tuple(row["tokens"]), tuple(row["ner_tags"]))
            for idx, row in enumerate(rows)
        ]
        for split, rows in generate("conll2003", task.revision).items()
    }


def _paths() -> dict[str, Path]:
    found = {split: files.local_file(DATA, split) for split in SENTENCES_PUBLISHED}
    return {split: path for split, path in found.items() if path is not None}


def _contents() -> dict[str, bytes]:
    reason = unavailable()
    if reason is not None:
        raise MissingData(f"{DATA.title}: {reason}.")
    return {split: files.local_content(DATA, path) for split, path in _paths().items()}


def _check_published(found: dict[str, int]) -> None:
    if found != SENTENCES_PUBLISHED:
        here, there = (
            ", ".join(f"{split} {count:,}" for split, count in rows.items())
            for rows in (found, SENTENCES_PUBLISHED)
        )
        raise MissingData(
            f"The folder {DATA.folder} under ${files.FOLDER_VARIABLE} does not hold the published "
            f"sentences of {DATA.title}: {here}; published are {there}. Replace it; the scale "
            "'reduced' accepts any rows in this schema."
        )
