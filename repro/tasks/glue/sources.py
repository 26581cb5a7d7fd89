"""Where the rows of a GLUE task come from: a local folder, else the hub, or the generator.

Torch-free; `data_revision` and `unavailable` are what a plan calls to identify the data without
downloading any. Local: `$REPRO_DATA/glue_<name>/<split>.jsonl.gz` or `.jsonl`.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro.errors import MissingData, ReproError
from repro.spec import GlueTask, Scale
from repro.spec.facts import Facts
from repro.spec.glue import DIAGNOSTIC
from repro.spec.sentences import SENTENCES
from repro.tasks import files
from repro.tasks.draws import Pool
from repro.tasks.files import DataSet
from repro.tasks.glue.development import divided
from repro.tasks.sentences.rows import Row, capped, check_published, checked, generated_rows

HUB_ID = "nyu-mll/glue"


def data_set(name: str) -> DataSet:
    """Where a task's files are."""
    return DataSet(f"{_glue(name).title} (GLUE)", f"glue_{name}", HUB_ID, name)


def splits_needed(name: str, pool: Pool = "train") -> tuple[str, ...]:
    """The splits that a run reads: the training rows and those that are scored.

    A run whose rows are drawn from the validation set reads nothing else (of MNLI the matched one).
    """
    scored = _glue(name).evaluation
    return ("train", *scored) if pool == "train" else scored[:1]


def pool(scale: Scale, name: str) -> Pool:
    """Which rows can be drawn from here: "validation" where a local folder has no training rows.

    That is so at scale "reduced" only: the others have made rows, or the published ones.
    """
    if scale != "reduced" or files.local_file(data_set(name), "train"):
        return "train"
    (held_out,) = splits_needed(name, "validation")
    return "validation" if files.local_file(data_set(name), held_out) else "train"


def unavailable(scale: Scale, name: str, pool: Pool = "train") -> str | None:
    """Why a task has no data here, in a few words for a table's gap; None where it may have.

    That is a local folder with some of the needed splits: the rest is not taken from the hub.
    Whether the hub can be reached is not asked.
    """
    if scale == "smoke":
        return None
    absent = files.absent_splits(data_set(name), splits_needed(name, pool))
    if not absent:
        return None
    named = " and ".join(f"glue_{name}/{split}" for split in absent)
    return f"{named} {'is' if len(absent) == 1 else 'are'} not in ${files.FOLDER_VARIABLE}"


def data_revision(scale: Scale, name: str, pool: Pool = "train") -> str | None:
    """What identifies the real data of a run: None means the published set, by its hub id.

    At scale "paper" a local folder has to hold the whole published splits and is then the same
    data as the hub's; at other scales its content is named by "sha256:...". Raises MissingData for
    a folder that holds only some of the splits, or at "paper" other rows than the published ones.
    """
    data, splits = data_set(name), splits_needed(name, pool)
    paths = files.local_paths(data, splits)
    if not paths:
        return None
    contents = {split: files.local_content(data, path) for split, path in paths.items()}
    if scale != "paper":
        return files.content_digest(contents)
    for split, content in contents.items():
        check_published(
            files.count_lines(content), _glue(name), split, str(paths[split]), _other(data)
        )
    return None


def task_rows(task: GlueTask) -> dict[str, list[Row]]:
    """The rows of "train" and of every scored split, capped, in file order; or `divided`.

    Raises MissingData where they cannot be had, are damaged, or are not those of `task.revision`.
    """
    found = _generated(task) if task.source == "generated" else _published(task)
    return capped(found, task) if task.development is None else divided(found, task)


def submission_rows(name: str) -> dict[str, list[Row]]:
    """The rows of every test split by their idx, for a submission; "ax" is the diagnostic set.

    Row n of a split has the idx n, which the server knows it by, whatever the order of the file.
    Raises MissingData where they cannot be had, are damaged, are not as many as published, or are
    not numbered from 0 without a gap.
    """
    data = data_set(name)
    splits = [split for split in _glue(name).rows if split.startswith("test")]
    paths = files.local_paths(data, splits)
    found = {}
    for split in splits:
        if split not in paths:
            rows, file = _hub(name, split, None), f"{HUB_ID} {files.hub_name(data, split)}"
        else:
            file = str(paths[split])
            rows = _parsed(name, split, files.local_content(data, paths[split]), file)
            check_published(len(rows), _glue(name), split, file, _other(data))
        found[split] = _by_idx(rows, name, file)
    return found


def _by_idx(rows: list[Row], name: str, file: str) -> list[Row]:
    """The rows sorted by idx; raises MissingData unless these are 0, 1, ... without a gap."""
    ordered = sorted(rows, key=lambda row: row.idx)
    for number, row in enumerate(ordered):
        if row.idx != number:
            raise MissingData(
                f"{file} lacks the idx {number}. The GLUE server knows the {len(rows):,} test rows "
                f"of {_glue(name).title} by their idx, from 0 to {len(rows) - 1:,}. Replace the "
                "file by the published one."
            )
    return ordered


def _published(task: GlueTask) -> dict[str, list[Row]]:
    name, data, splits = task.name, data_set(task.name), splits_needed(task.name, task.drawn_from)
    paths = files.local_paths(data, splits)
    if not paths:
        files.check_hub_revision(data, splits, task.revision)
        return hub_splits(name, splits, task.revision)
    contents = {split: files.local_content(data, path) for split, path in paths.items()}
    if files.is_digest(task.revision):
        files.check_digest(contents, paths, task.revision)
    found = {split: _parsed(name, split, contents[split], str(paths[split])) for split in splits}
    if not files.is_digest(task.revision):
        for split, rows in found.items():
            check_published(len(rows), _glue(name), split, str(paths[split]), _other(data))
    files.note_rows(data, found)
    return found


def hub_splits(name: str, splits: Sequence[str], revision: str | None) -> dict[str, list[Row]]:
    """Splits whole from the hub, or its cache, at a revision (None: the newest).

    Raises MissingData where they cannot be had, or are not as many rows as published.
    """
    found = {split: _hub(name, split, revision) for split in splits}
    data = data_set(name)
    files.note_rows(data, found, files.hub_commit(data, splits[0], revision))
    return found


def _generated(task: GlueTask) -> dict[str, list[Row]]:
    if task.revision is None:
        raise ReproError("A generated task needs a revision: the generator's seed and sizes.")
    return generated_rows(task.name, task.revision)


def _parsed(name: str, split: str, content: bytes, file: str) -> list[Row]:
    return checked(files.json_rows(content, file), _glue(name), split, file)


def _hub(name: str, split: str, revision: str | None) -> list[Row]:
    glue, data = _glue(name), data_set(name)
    file = f"{HUB_ID} {files.hub_name(data, split)}"
    columns = [*glue.texts, "label", "idx"]
    rows = checked(files.hub_rows(data, split, columns, revision), glue, split, file)
    check_published(len(rows), _glue(name), split, file, "Plan with another revision of it.")
    return rows


def _other(data: DataSet) -> str:
    return f"Replace it{data.or_hub}; the scale 'reduced' accepts any rows in this schema."


def _glue(name: str) -> Facts:
    return DIAGNOSTIC if name == "ax" else SENTENCES[name]
