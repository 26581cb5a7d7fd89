"""The options that verbs share, and what they resolve to."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from repro.engine.cost import ASSUMED, Speed
from repro.engine.jobs import Execution
from repro.errors import ReproError, UnknownName
from repro.papers.tables import Request, Table
from repro.spec import Backbone, Scale
from repro.store.store import Store

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
DEFAULT_STORE = "runs"

ScaleOption = Annotated[
    str,
    typer.Option(help="paper, reduced, smoke, or auto: the largest that is stored or affordable."),
]
StoreOption = Annotated[
    Path | None, typer.Option(help="Folder of results (default: $REPRO_STORE, else runs).")
]
SeedsOption = Annotated[int | None, typer.Option(min=1, help="Runs a row (default: the table's).")]
BackboneOption = Annotated[
    str | None, typer.Option(help="minilm-l6, a hub id, or a folder with a BERT-family model.")
]
TrainRowsOption = Annotated[int | None, typer.Option(min=1, help="Cap on training questions.")]
EvaluationRowsOption = Annotated[int | None, typer.Option(min=1, help="Cap on scored questions.")]
EpochsOption = Annotated[int | None, typer.Option(min=1, help="Epochs instead of the scale's.")]
RateOption = Annotated[float | None, typer.Option(help="Learning rate instead of the scale's.")]
BottleneckOption = Annotated[
    int | None, typer.Option(min=1, help="Cell width; 80 and 136 match the paper's 3M and 7M.")
]
PrecisionOption = Annotated[str | None, typer.Option(help="fp32 or bf16, instead of the scale's.")]
AsReleasedOption = Annotated[
    bool, typer.Option("--as-released", help="The authors' code as it stands, defects included.")
]
BudgetOption = Annotated[
    float, typer.Option(min=0, max=1e6, help="Hours that --scale auto may spend.")
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="CPU threads (default: all cores).")]
DeterministicOption = Annotated[
    bool, typer.Option("--deterministic", help="Deterministic kernels on a GPU (slower).")
]
Tf32Option = Annotated[bool, typer.Option("--tf32", help="TF32 matrix products for fp32 on a GPU.")]
KeepWeightsOption = Annotated[
    bool, typer.Option("--keep-weights", help="Keep the weights of full fine-tuning.")
]
MicroBatchOption = Annotated[
    int | None,
    typer.Option(min=1, help="Windows at once; the rest of a batch is accumulated."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user asked of one or more tables, before the scale is chosen."""

    scale: str = "auto"
    seeds: int | None = None
    backbone: str | None = None
    train_rows: int | None = None
    evaluation_rows: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    bottleneck: int | None = None
    precision: str | None = None
    as_released: bool = False
    budget: float = 1.0


def open_store(given: Path | None) -> Store:
    """The store asked for, with the committed reference results behind it."""
    root = given or Path(os.environ.get("REPRO_STORE") or DEFAULT_STORE)
    return Store(root, fallbacks=[root / "reference"])


def check_scale(given: str) -> Scale | None:
    """The scale, None for auto; an unknown one names the choices."""
    if given == "auto":
        return None
    for scale in SCALES:
        if scale == given.lower():
            return scale
    raise UnknownName("scale", given, [*SCALES, "auto"])


def make_request(table: Table, scale: Scale, asked: Asked) -> Request:
    """The request at this scale; looks for the data, loads nothing."""
    if asked.precision not in (None, "fp32", "bf16"):
        raise UnknownName("precision", str(asked.precision), ["fp32", "bf16"])
    if asked.learning_rate is not None and not 0 < asked.learning_rate < math.inf:
        raise ReproError(f"A learning rate is a number above 0, not {asked.learning_rate}.")
    return Request(
        table=table.id,
        scale=scale,
        seeds=asked.seeds or table.default_seeds[scale],
        backbone=find_backbone(asked.backbone),
        data_revision=find_data(scale),
        train_rows=asked.train_rows,
        evaluation_rows=asked.evaluation_rows,
        epochs=asked.epochs,
        learning_rate=asked.learning_rate,
        bottleneck=asked.bottleneck,
        precision=asked.precision,
        as_released=asked.as_released,
    )


def find_backbone(given: str | None) -> Backbone | None:
    """The backbone asked for, None for the scale's own."""
    from repro.backbones.describe import describe

    return None if given is None else describe(given)


def find_data(scale: Scale) -> str | None:
    """The revision of the data set at this scale, as far as this machine knows it."""
    if scale == "smoke":
        from repro.tasks.squad2.generated import DEFAULT_REVISION

        return DEFAULT_REVISION
    from repro.tasks.squad2.sources import data_revision

    splits = ("train", "validation") if scale == "paper" else ("validation",)
    return data_revision(scale, splits)


def find_folders(given: str | None) -> dict[str, str]:
    """Where a local backbone's weights are: revision -> folder."""
    from repro.backbones.describe import LOCAL, describe, find_folder

    if given is None:
        return {}
    backbone, folder = describe(given), find_folder(given)
    if backbone.id != LOCAL or backbone.revision is None or folder is None:
        return {}
    return {backbone.revision: str(folder.resolve())}


def has_gpu() -> bool:
    """Whether an NVIDIA driver is at work here; asks no library."""
    return Path("/dev/nvidiactl").exists() and shutil.which("nvidia-smi") is not None


def device_kind(execution: Execution) -> str:
    """cpu or cuda, for looking up a measured speed."""
    if execution.device == "auto":
        return "cuda" if has_gpu() else "cpu"
    return execution.device


def check_device(given: str) -> str:
    """auto, cpu or cuda."""
    if given not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", given, ["auto", "cpu", "cuda"])
    return given


def any_speed() -> Speed:
    """A speed for plans whose cost nobody reads."""
    return ASSUMED["cpu"]
