"""A submission made: predictions of the picked runs, constants for the rest, archive, manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.errors import MissingData
from repro.server.archive import SubmittedFile, submitted, tsv, zipped
from repro.server.choice import Pick
from repro.server.layout import ServerFile
from repro.store.entry import StoredRun
from repro.tasks.sentences.rows import Row, submission_rows

if TYPE_CHECKING:
    import torch

Tell = Callable[[ServerFile, int, int], None]
"""(file, batches done, batches): how far the predictions are."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The archive's bytes, and the manifest's entries."""

    archive: bytes
    files: list[SubmittedFile]


def with_rows(picks: Sequence[Pick]) -> tuple[list[Pick], dict[str, list[Row]]]:
    """The picks, those without test rows turned into a reason, and file name -> rows of the others.

    Only the test sets of picked runs are read.
    """
    sets: dict[str, dict[str, list[Row]] | str] = {}
    found: list[Pick] = []
    rows: dict[str, list[Row]] = {}
    for pick in picks:
        task = pick.file.task
        if pick.run is None:
            found.append(pick)
            continue
        if task not in sets:
            try:
                sets[task] = submission_rows(task)
            except MissingData as problem:
                sets[task] = str(problem)
        had = sets[task]
        if isinstance(had, str):
            found.append(Pick(pick.file, reason=had))
        else:
            found.append(pick)
            rows[pick.file.name] = had[pick.file.split]
    return found, rows


def make_submission(
    picks: Sequence[Pick],
    rows: Mapping[str, Sequence[Row]],
    folders: Mapping[str, str],
    device: torch.device,
    tell: Tell = lambda file, done, every: None,
) -> Submission:
    """Predicts the files that have a run, each run loaded once, and fills the rest."""
    predicted = _predicted(picks, rows, folders, device, tell)
    contents: dict[str, bytes] = {}
    entries: list[SubmittedFile] = []
    for pick in picks:
        file, run = pick.file, pick.run
        words = predicted[file.name] if run is not None else [file.constant] * file.rows
        contents[file.name] = tsv(words)
        entries.append(submitted(file, contents[file.name], run, pick.reason))
    return Submission(zipped(contents), entries)


def _predicted(
    picks: Sequence[Pick],
    rows: Mapping[str, Sequence[Row]],
    folders: Mapping[str, str],
    device: torch.device,
    tell: Tell,
) -> dict[str, list[str]]:
    """File name -> what the server reads for each row."""
    from repro.server.predict import StoredModel, said

    found: dict[str, list[str]] = {}
    for run, files in _by_run(picks):
        model = StoredModel(run, folders, device)
        for file in files:

            def hear(done: int, every: int, file: ServerFile = file) -> None:
                tell(file, done, every)

            found[file.name] = said(file, model.outputs(rows[file.name], hear))
    return found


def _by_run(picks: Sequence[Pick]) -> list[tuple[StoredRun, list[ServerFile]]]:
    """Each run with the files that it predicts."""
    runs = {pick.run.key: pick.run for pick in picks if pick.run is not None}
    return [
        (run, [pick.file for pick in picks if pick.run is not None and pick.run.key == key])
        for key, run in runs.items()
    ]
