"""Where the rows of a task come from: a local folder, else the hub, or the generator.

Torch-free; `data_revision` is what a plan calls to identify the data without downloading any.
"""

from __future__ import annotations

from repro.errors import ReproError
from repro.spec import Scale, SquadTask
from repro.tasks import files
from repro.tasks.squad2 import subsets
from repro.tasks.squad2.files import (
    DATA,
    check_published,
    hub_questions,
    parse_lines,
    quick_size,
    size,
)
from repro.tasks.squad2.questions import Question, question_from_row

SPLIT_OF_TRAIN = {"train": "train", "dev-minus-cs224n": "validation", "generated": "train"}


def _other(name: str) -> str:
    return f"Replace it{DATA[name].or_hub}; the scale 'reduced' accepts any rows in this schema."


def splits_needed(task: SquadTask) -> tuple[str, ...]:
    """The published splits that a task reads, sorted: its training rows' and the dev set."""
    return tuple(sorted({SPLIT_OF_TRAIN[task.train], "validation"}))


def unavailable(name: str) -> str | None:
    """Why SQuAD 1.1 has no data here; None where it may have (the hub is not asked)."""
    absent = files.absent_splits(DATA[name], ("train", "validation"))
    named = " and ".join(f"{DATA[name].folder}/{split}" for split in absent)
    are = "is" if len(absent) == 1 else "are"
    return f"{named} {are} not in ${files.FOLDER_VARIABLE}" if absent else None


def data_revision(scale: Scale, splits: tuple[str, ...], name: str = "squad2") -> str | None:
    """What identifies the real data of a run: None means the published set, by its hub id.

    At scale "paper" a local folder has to hold the whole published splits and is then the same
    data as the hub's; at other scales its content is named by "sha256:...". Raises MissingData for
    a folder that holds only some of the splits, or at "paper" other rows than the published ones.
    """
    paths = files.local_paths(DATA[name], splits)
    if not paths:
        return None
    contents = {split: files.local_content(DATA[name], path) for split, path in paths.items()}
    if scale != "paper":
        return files.content_digest(contents)
    for split, content in contents.items():
        check_published(quick_size(content), name, split, str(paths[split]), _other(name))
    return None


def training_questions(task: SquadTask) -> list[Question]:
    """The questions a run trains on: the task's rows, its share, its cap; in file order.

    Raises MissingData where the rows cannot be had or are not those of `task.revision`.
    """
    questions = _read(task, SPLIT_OF_TRAIN[task.train])
    if task.train == "dev-minus-cs224n":
        questions = [question for question in questions if not subsets.in_cs224n(question)]
    if task.answerable_share is not None:
        questions = subsets.with_share(questions, task.answerable_share, task.subset_seed)
    kept = subsets.capped(
        questions, task.train_rows, task.subset, task.subset_seed, task.answerable_share
    )
    return _some(kept, "train on")


def evaluation_questions(task: SquadTask) -> list[Question]:
    """The questions a run is scored on, capped, in file order; raises like training_questions."""
    questions = _read(task, "validation")
    if task.evaluation == "cs224n":
        questions = [question for question in questions if subsets.in_cs224n(question)]
    kept = subsets.capped(questions, task.evaluation_rows, task.subset, task.subset_seed)
    return _some(kept, "score")


def _read(task: SquadTask, split: str) -> list[Question]:
    _check_consistent(task)
    if task.source == "generated":
        return _generated(task, split)
    splits, data = splits_needed(task), DATA[task.name]
    paths = files.local_paths(data, splits)
    if not paths:
        files.check_hub_revision(data, splits, task.revision)
        return hub_split(task.name, split, task.revision)
    contents = {name: files.local_content(data, path) for name, path in paths.items()}
    questions = parse_lines(contents[split], str(paths[split]), task.name)
    if files.is_digest(task.revision):
        files.check_digest(contents, paths, task.revision)
    else:
        check_published(size(questions), task.name, split, str(paths[split]), _other(task.name))
    files.note_rows(data, {split: questions})
    return questions


def hub_split(name: str, split: str, revision: str | None) -> list[Question]:
    """A split whole from the hub, or its cache, at a revision (None: the newest).

    Raises MissingData where it cannot be had, or is not the published set.
    """
    found = hub_questions(name, split, revision)
    files.note_rows(DATA[name], {split: found}, files.hub_commit(DATA[name], split, revision))
    return found


def _generated(task: SquadTask, split: str) -> list[Question]:
    if task.revision is None:
        raise ReproError("A generated task needs a revision: the generator's seed and sizes.")
    from repro.tasks.generated import generate

    rows = generate(task.name, task.revision)[split]
    return [question_from_row(row, f"generated {split} row") for row in rows]


def _check_consistent(task: SquadTask) -> None:
    kinds = {task.source == "generated", task.train == "generated", task.evaluation == "generated"}
    if len(kinds) > 1:
        raise ReproError(
            f"A task is generated as a whole or not at all; this one has source {task.source}, "
            f"train {task.train}, evaluation {task.evaluation}. Set all three to 'generated', or "
            "none."
        )


def _some(questions: list[Question], purpose: str) -> list[Question]:
    if not questions:
        raise ReproError(f"The task leaves no question to {purpose}. Raise its cap or its share.")
    return questions
