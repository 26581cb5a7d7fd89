"""The options that verbs share, and what they resolve to."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from pydantic import BaseModel

from repro.engine.cost import ASSUMED, Speed
from repro.engine.jobs import Execution
from repro.errors import MissingData, ReproError, UnknownName
from repro.folders import expanded, named_by
from repro.papers.tables import Artefact, Request
from repro.report.files import backbone_label
from repro.spec import Backbone, Method, Recipe, Scale, Task
from repro.store.store import Store
from repro.strict import is_misread
from repro.tasks.catalogue import SQUAD2, TITLES, data_revision, pool, unavailable

SCALES: tuple[Scale, ...] = ("paper", "reduced", "smoke")
DEFAULT_STORE = "runs"

ScaleOption = Annotated[
    str,
    typer.Option(help="paper, reduced, smoke, or auto: the largest that is stored or affordable."),
]
StoreOption = Annotated[
    Path | None, typer.Option(help="Folder of results (default: $REPRO_STORE, else runs).")
]
SeedsOption = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Runs a row (default: the table's).")
]
BackboneOption = Annotated[
    str | None,
    typer.Option(help="minilm-l6, a hub id (see below), or a folder with a BERT or a T5 v1.0."),
]
TasksOption = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        "--task",
        help="Only these tasks of a table or figure (cola,sst2; default: all).",
    ),
]
TrainRowsOption = Annotated[int | None, typer.Option(min=0, help="Cap on training rows; 0: none.")]
EvaluationRowsOption = Annotated[
    int | None, typer.Option(min=0, help="Cap on scored rows; 0: none.")
]
EpochsOption = Annotated[
    int | None, typer.Option(min=1, max=10_000, help="Epochs instead of the scale's.")
]
RateOption = Annotated[float | None, typer.Option(help="Learning rate instead of the scale's.")]
BottleneckOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=100_000,
        help="Width of cells or adapters (ResAdapters: 80 and 136 are its 3M and 7M).",
    ),
]
PrecisionOption = Annotated[str | None, typer.Option(help="fp32 or bf16, instead of the scale's.")]
AsReleasedOption = Annotated[
    bool, typer.Option("--as-released", help="The authors' code as it stands, defects included.")
]
ServerOption = Annotated[
    bool, typer.Option("--server", help="Imported scores of the GLUE test server, in GLUE tables.")
]
SectionOption = Annotated[
    str | None,
    typer.Option("--section", help="Only these parts of a table (Low-data-100; default: all)."),
]
WHAT_IT_IS = {
    "method.kind", "task.name", "task.source", "task.revision", "task.revisions", "task.tasks",
}  # fmt: skip
"""Fields that say which method or which data: no setting of either."""
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A field of the runs that have it (method.form=b); repeatable."),
]
PublishedLayersOption = Annotated[
    bool,
    typer.Option("--published-layers", help="The printed layers in place of selected ones (AA)."),
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

    scale: ScaleOption = "auto"
    seeds: SeedsOption = None
    backbone: BackboneOption = None
    train_rows: TrainRowsOption = None
    evaluation_rows: EvaluationRowsOption = None
    epochs: EpochsOption = None
    learning_rate: RateOption = None
    bottleneck: BottleneckOption = None
    precision: PrecisionOption = None
    as_released: AsReleasedOption = False
    budget: BudgetOption = 1.0
    tasks: TasksOption = None
    server: ServerOption = False
    section: SectionOption = None
    published_layers: PublishedLayersOption = False
    set: SetOption = None


@dataclass(frozen=True, slots=True)
class How:
    """How runs are trained on this machine."""

    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    deterministic: DeterministicOption = False
    tf32: Tf32Option = False
    keep_weights: KeepWeightsOption = False
    micro_batch: MicroBatchOption = None

    def execution(self, backbone: str | None, found: Backbone | None) -> Execution:
        """For the engine; `backbone` is what the user gave, a folder perhaps, `found` what it is
        of.
        """
        values = asdict(self) | {"device": check_device(self.device)}
        return Execution(**values, folders=find_folders(backbone, found))


def open_store(given: Path | None) -> Store:
    """The store asked for."""
    return Store(expanded(given) if given else named_by("REPRO_STORE") or Path(DEFAULT_STORE))


def check_scale(given: str) -> Scale | None:
    """The scale, None for auto; an unknown one names the choices."""
    if given.lower() == "auto":
        return None
    for scale in SCALES:
        if scale == given.lower():
            return scale
    raise UnknownName("scale", given, [*SCALES, "auto"])


def split_tasks(given: str | None) -> tuple[str, ...] | None:
    """The tasks of `--tasks cola,sst2`, in their usual order; an unknown name names the closest."""
    if given is None:
        return None
    names = [name.strip().lower() for name in given.split(",")]
    for name in names:
        if name not in TITLES:
            raise UnknownName("task", name, TITLES)
    return tuple(name for name in TITLES if name in names)


def split_sections(given: str | None, artefact: Artefact) -> tuple[str, ...] | None:
    """The parts of `--section Low-data-100,Low-data-300`, in the table's order, in any case.

    An unknown one names the closest; raises ReproError for what has no parts.
    """
    if given is None:
        return None
    known: tuple[str, ...] = getattr(artefact, "sections", ())
    if not known:
        raise ReproError(f"{artefact.id} has no sections: leave out --section.")
    names = [name.strip().lower() for name in given.split(",")]
    for name in names:
        if name not in [section.lower() for section in known]:
            raise UnknownName(f"section of {artefact.id}", name, known)
    return tuple(section for section in known if section.lower() in names)


def split_settings(given: Sequence[str]) -> dict[str, Any]:
    """The values of `--set method.form=b`, read as JSON where they are that (0.1, true, null; None
    is null, as `show` prints it).

    An unknown field names the closest; raises ReproError for what is no field and value, and for
    a field that is given twice.
    """
    kinds: list[tuple[str, type[BaseModel]]] = [("recipe", Recipe)]
    for part, union in (("method", Method), ("task", Task)):
        kinds += [(part, kind) for kind in get_args(get_args(union)[0])]
    known = sorted(
        {f"{part}.{name}" for part, kind in kinds for name in kind.model_fields} - WHAT_IT_IS
    )
    found: dict[str, Any] = {}
    for text in given:
        path, equals, value = text.partition("=")
        if not equals or not value:
            raise ReproError(
                f"--set wants a field and its value, like method.form=b, not '{text}'."
            )
        if path.strip() in WHAT_IT_IS or path.partition(".")[0] in ("backbone", "parents"):
            raise ReproError(
                f"{path.strip()} says what a run is of, and is no setting: choose by table and "
                "row, by --tasks, or by --backbone."
            )
        if path.strip() not in known:
            raise UnknownName("field", path.strip(), known)
        if path.strip() in found:
            raise ReproError(f"--set {path.strip()} is given twice: leave one of them out.")
        try:
            found[path.strip()] = json.loads("null" if value == "None" else value)
        except ValueError:
            if is_misread(value):
                raise ReproError(
                    f"--set {text}: write a number with the digits 0 to 9, like 0.001."
                ) from None
            found[path.strip()] = value
    return found


def make_request(
    artefact: Artefact, scale: Scale, asked: Asked, method: str | None = None
) -> Request:
    """The request at this scale; looks for the data, loads nothing. `method`: which a figure draws.

    Raises MissingData where the artefact's data cannot be had; see `with_data`.
    """
    return with_data(bare_request(artefact, scale, asked, method), artefact)


def bare_request(
    artefact: Artefact,
    scale: Scale,
    asked: Asked,
    method: str | None = None,
    stored: Iterable[Request] = (),
) -> Request:
    """The request before its data are looked for; `stored`: see `find_backbone`."""
    if asked.precision not in (None, "fp32", "bf16"):
        raise UnknownName("precision", str(asked.precision), ["fp32", "bf16"])
    if asked.learning_rate is not None and not 0 < asked.learning_rate < math.inf:
        raise ReproError(f"A learning rate is a number above 0, not {asked.learning_rate}.")
    if asked.server and not getattr(artefact, "server", ""):
        raise ReproError(
            f"No number of {artefact.id} is a test server's: leave out --server, which is for the "
            "GLUE tables."
        )
    return Request(
        table=artefact.id,
        scale=scale,
        seeds=asked.seeds or artefact.default_seeds[scale],
        backbone=find_backbone(asked.backbone, stored),
        tasks=split_tasks(asked.tasks),
        method=method,
        train_rows=asked.train_rows,
        evaluation_rows=asked.evaluation_rows,
        epochs=asked.epochs,
        learning_rate=asked.learning_rate,
        bottleneck=asked.bottleneck,
        precision=asked.precision,
        as_released=asked.as_released,
        server=asked.server,
        sections=split_sections(asked.section, artefact),
        published_layers=asked.published_layers,
        settings=split_settings(asked.set or []),
    )


def _check_settings(request: Request, artefact: Artefact) -> None:
    """Raises ReproError for a field that no run of the artefact has: it would change nothing."""
    runs = artefact.runs(request) if request.settings else []
    for path in request.settings:
        part, name = path.split(".")
        if not any(name in type(getattr(spec, part)).model_fields for spec in runs):
            raise ReproError(
                f"No run of {artefact.id} has a {path}: leave out --set {path}=..., or see "
                f"`python -m repro show {artefact.id}` for what its runs have."
            )


def with_data(request: Request, artefact: Artefact) -> Request:
    """The request with the data found for what it trains on.

    A task whose data cannot be had is a gap; raises MissingData where that is so of all, for a
    damaged file, and at the paper's scale for other rows than the published ones. A table of
    low data divides validation rows where a folder here has no training rows. Raises ReproError for
    a task that the artefact does not have.
    """
    needed = artefact.needed(request)
    lacking = [task for task in request.tasks or () if task not in artefact.tasks]
    if lacking:
        raise ReproError(
            f"{artefact.id} has no task {' or '.join(lacking)}. It has: "
            f"{', '.join(artefact.tasks) or 'no task at all'}."
        )
    revisions: dict[str, str | None] = {}
    gaps: dict[str, str] = {}
    pools: dict[str, Literal["validation"]] = {}
    low_data, also = getattr(artefact, "low_data", False), getattr(artefact, "also", ())
    for name in dict.fromkeys((*needed, *also)):
        drawn = pool(request.scale, name) if low_data else "train"
        reason = unavailable(request.scale, name, drawn)
        if reason is not None:
            gaps[name] = reason
            continue
        try:
            revisions[name] = data_revision(request.scale, name, drawn)
        except MissingData as problem:
            if name in needed:
                raise
            gaps[name] = str(problem).removesuffix(".")  # of a task that only parents are on
            continue
        if drawn == "validation":
            pools[name] = drawn
    if needed and not any(name in revisions for name in needed):
        raise MissingData(f"No task of {artefact.id} has data here: {next(iter(gaps.values()))}.")
    found = replace(
        request,
        data_revision=revisions.pop(SQUAD2, None),
        data_revisions=revisions,
        unavailable=gaps,
        pools=pools,
    )
    _check_settings(found, artefact)
    return found


def find_backbone(given: str | None, stored: Iterable[Request] = ()) -> Backbone | None:
    """The backbone asked for, None for the scale's own.

    A model folder can also be named as the report does, by its name and the beginning of a digest.
    One that is not here is known if one of the `stored` requests is of it: what is stored of it can
    be shown.
    """
    from repro.backbones.describe import describe

    if given is None:
        return None
    try:
        return describe(given)
    except UnknownName:
        models = [request.backbone for request in stored if request.backbone is not None]
        models += _same_folder(given)
        named = {backbone_label(one): one for one in models if given in names_of(one)}
        if not named:
            raise
    if len(named) > 1:
        raise ReproError(
            f"{len(named)} model folders called {given} were used in this store. Name one of them "
            f"with --backbone: {', '.join(sorted(named))}."
        )
    return next(iter(named.values()))


def names_of(backbone: Backbone) -> tuple[str, str]:
    """What a user may call a model folder: its name, or the name with a digest."""
    return backbone.name, backbone_label(backbone)


def _same_folder(label: str) -> list[Backbone]:
    """The model folder of this label, if it is here: the name without the digest finds it."""
    from repro.backbones.describe import describe_folder, find_folder

    named = re.fullmatch(r"(.+)-[0-9a-f]{8}", label)
    folder = None if named is None else find_folder(named[1])
    return [] if folder is None else [describe_folder(folder)]


def find_folders(given: str | None, backbone: Backbone | None = None) -> dict[str, str]:
    """Where a model folder is that was asked for: revision -> folder; none where it is not here.
    `backbone`: what `given` names, where that is known.
    """
    from repro.backbones.describe import LOCAL, describe, describe_folder, find_folder

    if given is None:
        return {}
    found = backbone or describe(given)
    if found.id != LOCAL or found.revision is None:
        return {}
    folder = find_folder(given)
    if folder is None:  # it was given as the report names it
        folder = find_folder(found.name)
        folder = folder if folder is not None and describe_folder(folder) == found else None
    return {} if folder is None else {found.revision: str(folder.resolve())}


def has_gpu() -> bool:
    """Whether torch would find an NVIDIA GPU here; imports no library."""
    return has_card() and is_visible(os.environ.get("CUDA_VISIBLE_DEVICES")) and torch_has_cuda()


def has_card() -> bool:
    """Whether an NVIDIA driver is at work here."""
    return Path("/dev/nvidiactl").exists() and shutil.which("nvidia-smi") is not None


def is_visible(devices: str | None) -> bool:
    """Whether CUDA_VISIBLE_DEVICES leaves a device: CUDA stops at the first that is none."""
    if devices is None:
        return True
    first = devices.split(",")[0].strip()
    return first.isdecimal() or first.startswith(("GPU-", "MIG-"))


def torch_has_cuda() -> bool:
    """Whether the installed torch is a CUDA build, as its version.py says."""
    try:
        found = importlib.metadata.distribution("torch")
        text = Path(str(found.locate_file("torch/version.py"))).read_text(encoding="utf-8")
    except (importlib.metadata.PackageNotFoundError, OSError):
        return False
    return re.search(r"^cuda\b[^=]*=\s*['\"]", text, re.MULTILINE) is not None


def trains_on(device: str) -> str:
    """cpu or cuda: what `--device` means here."""
    if check_device(device) == "auto":
        return "cuda" if has_gpu() else "cpu"
    return device


def device_kind(execution: Execution) -> str:
    """cpu or cuda, for looking up a measured speed."""
    return trains_on(execution.device)


def check_device(given: str) -> str:
    """auto, cpu or cuda."""
    if given not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", given, ["auto", "cpu", "cuda"])
    return given


def any_speed() -> Speed:
    """A speed for plans whose cost nobody reads."""
    return ASSUMED["cpu"]
