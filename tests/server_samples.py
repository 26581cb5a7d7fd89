"""Runs of GLUE on a tiny BERT with weights that no training made, for tests of submissions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from fake_glue import by_task, task_of
from safetensors.torch import save

from repro.backbones.load import Encoder, load_encoder
from repro.cli.requests import find_folders
from repro.errors import MissingData
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.spec import RunSpec, run_key
from repro.spec.facts import SENTENCES
from repro.store import Result, Score, Store, render
from repro.training.cohort import Cohort

ASKED = ["3-shared-2", "--scale", "smoke", "--backbone", "tiny"]
ROW = "Ours (3-shared)"


@dataclass(frozen=True)
class Answer:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Tiny:
    """A folder with a store of one row's runs, its request, and its archive, if it was exported."""

    folder: Path
    request: Request

    @property
    def store(self) -> Store:
        return Store(self.folder / "runs")

    def spec(self, task: str, row: str = ROW) -> RunSpec:
        """The run of a row on a task."""
        table = TABLES["3-shared-2"]
        found = next(one for one in table.rows if one.name == row)
        column = next(column for column in table.scores if column.task == task)
        return table.matrix(self.request).of(found.name, column.name)[0]


def keep(store: Store, spec: RunSpec) -> None:
    """Stores a run with random weights, or without where a worker deletes them."""
    name, key = task_of(spec).name, run_key(spec)
    scores = [
        Score(task=name, split=split, protocol="glue", epoch=spec.recipe.epochs, group="ALL",
              metric=metric, value=by_task(spec, 1, split, metric), n=12)
        for split in SENTENCES[name].evaluation
        for metric in SENTENCES[name].metrics
    ]  # fmt: skip
    result = Result(
        key=key,
        parameters_trained=spec.trained_parameters(),
        parameters_total=spec.total_parameters(),
        scores=scores,
    )
    files: dict[str, bytes | Path] = {"result.json": render(result), "environment.json": b"{}"}
    if not spec.method.trains_encoder:
        files["adapter.safetensors"] = save(random_weights(spec))
    store.write(key, spec, files)


def random_weights(spec: RunSpec) -> dict[str, torch.Tensor]:
    """What the run would have trained, drawn anew, so that its predictions differ by row."""
    draw = torch.Generator().manual_seed(5)
    return {
        name: value + 0.3 * torch.randn(value.shape, generator=draw)
        for name, value in cohort_of(spec).artefact(0).items()
    }


def cohort_of(spec: RunSpec) -> Cohort:
    """The untrained run."""
    return Cohort([0], [spec], encoder_of(spec), torch.device("cpu"), steps=1)


def encoder_of(spec: RunSpec) -> Encoder:
    """The tiny BERT, with its tokenizer."""
    return load_encoder(spec.backbone, find_folders("tiny"), torch.device("cpu"))


def offline(data: object, split: str, revision: str | None) -> str:
    """In place of a download."""
    raise MissingData(f"no network for {split}")
