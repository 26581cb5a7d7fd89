"""The run behind a cell of HyperFormer, and the runs that it needs first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

from repro.errors import MissingData, ReproError
from repro.papers.hyperformer import setting as published
from repro.papers.hyperformer.setting import DAGGER, HYPER, MULTI, PLUS, SINGLE, TUNED, WHOLE
from repro.papers.matrix import Chain
from repro.papers.request import BOTTLENECK, Request
from repro.papers.setting import Own, Setting, Template, asked_for, assumed, code, paper, template
from repro.spec import Backbone, RunSpec, Scale, Source
from repro.spec.backbones import KNOWN, T5_BASE, T5_SMALL, TINY_T5
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import MIXTURE, TEXT_TO_TEXT
from repro.spec.types import MULTI_TASK, PRETRAINED

SMALL_T5, BASE_T5 = published.SIZES
T5 = {SMALL_T5: T5_SMALL, BASE_T5: T5_BASE}
METHODS: dict[str, Setting] = {
    TUNED: published.FINE_TUNING | published.PREFIX,
    SINGLE: published.ADAPTERS,
    MULTI: published.FINE_TUNING | published.PREFIX,
    DAGGER: published.ADAPTERS,
    HYPER: published.HYPERFORMER,
    PLUS: published.PLUS_PLUS,
}
"""A model as the claims name it -> its method, and how its inputs begin."""
ONE_TASK = (TUNED, SINGLE)
"""Trained on one task at a time."""
CORRUPTED: WrittenName = "span-corruption"
REDUCTION, STEPS, EPOCHS = "method.reduction", "recipe.steps", "recipe.epochs"
START, TRAIN_ROWS = "method.starts_from", "task.train_rows"


@lru_cache(maxsize=256)
def table_runs(model: str, size: str, task: WrittenName, request: Request) -> Template:
    """The runs of a row of Table 1 that score a task: of that task alone, or of all."""
    tasks = (task,) if model in ONE_TASK else mixture(request)
    alone = published.ALONE.get(request.scale, {}) if model in ONE_TASK else {}
    return _template(request, size, tasks, _method(model, request) | alone)


@lru_cache(maxsize=64)
def ablated_runs(row: str, request: Request) -> Template:
    """The runs of a row of Table 4: HyperFormer whole, or without some of its parts.

    What a row leaves out stays out, whatever is set by hand; a norm set by hand is for the rows
    without a generated one. The released model cannot do without its projector, so that rows are of
    the published one in both readings.
    """
    changed = {} if row == WHOLE else published.ABLATIONS[row]
    for path in changed.keys() - {"method.norm", "method.task_embedding"}:
        request = _without(path, request)
    if "method.norm" not in changed:
        request = _without("method.norm", request)
    return _template(request, SMALL_T5, mixture(request), _fitted(HYPER, request.scale) | changed)


@lru_cache(maxsize=256)
def few_shot_runs(
    model: str, task: WrittenName, samples: int, request: Request
) -> tuple[RunSpec, Template]:
    """The multi-task run that a model starts from, and its runs on so many samples of a new task.

    Raises ReproError for a task to start from that the multi-task run does not have.
    """
    tasks = mixture(request)
    start = request.settings.get(START, tasks[0])
    if start not in tasks:
        raise ReproError(
            f"--set {START}={start}: the multi-task run has no such task. Choose one of "
            f"{', '.join(tasks)}."
        )
    parent = table_runs(model, BASE_T5, tasks[0], _without(START, request)).run(published.SEED)
    few = min(
        published.FEW_SIZES[samples] if request.scale == "smoke" else samples,
        request.settings.get(TRAIN_ROWS) or samples,
    )
    setting = (
        _method(model, request)
        | published.FEW
        | published.FEW_SMALL.get(request.scale, {})
        | _start(task, tasks)
    )
    setting["recipe.batch_size"] = (
        min(published.FEW_BATCH, few), assumed("few-shot: at most all samples"),
    )  # fmt: skip
    rows = _few_rows(few, request, f"stands for {samples}" if few != samples else "", "Table 2")
    rows["task.tasks"] = ((task,), paper("Table 2"))
    return parent, _template(request, BASE_T5, (task,), setting, rows, {MULTI_TASK: parent})


@lru_cache(maxsize=64)
def low_resource_runs(model: str, samples: int, request: Request) -> Template:
    """The multi-task runs of a model of base size on so many rows of each task."""
    few = min(samples, request.settings.get(TRAIN_ROWS) or samples)
    setting = _method(model, request) | published.LOW.get(request.scale, {})
    rows = _few_rows(few, request, "", "Figure 2, caption")
    return _template(request, BASE_T5, mixture(request), setting, rows)


def _without(path: str, request: Request) -> Request:
    """The request without what is set by hand for this field, which is for other runs."""
    kept = {name: value for name, value in request.settings.items() if name != path}
    return replace(request, settings=kept) if path in request.settings else request


def pretraining(request: Request, backbone: Backbone) -> RunSpec | None:
    """The run that gives the tiny T5 its weights; None of a pre-trained one. Nothing that is set
    by hand changes it: it stands for a published checkpoint.
    """
    return _pretraining(request.scale, backbone) if backbone.id == TINY_T5 else None


@cache
def _pretraining(scale: Scale, backbone: Backbone) -> RunSpec:
    why = assumed("smoke scale: stands for a published checkpoint")
    found: Setting = {
        "task.tasks": ((CORRUPTED,), why),
        "task.revisions": ({CORRUPTED: published.CORPUS}, why),
    }
    whole = (
        published.TASK | published.RECIPE | published.FINE_TUNING | published.PRETRAINING | found
    )
    return template(Request("", scale, 1), (backbone, why), whole).run(published.SEED)


def chains_of(runs: Template, request: Request, *first: RunSpec) -> list[Chain]:
    """One chain for each seed: what gives the tiny T5 its weights, the runs `first`, the run."""
    before = pretraining(request, runs.spec.backbone)
    needed = first if before is None else (before, *first)
    return [(*needed, runs.run(published.SEED + index)) for index in range(request.seeds)]


def mixture(request: Request) -> tuple[WrittenName, ...]:
    """The tasks that are trained on together: all eight at the paper's scale; below, those of them
    that are asked for and have data. Raises MissingData for none.
    """
    if request.scale == "paper":
        return MIXTURE
    asked = [task for task in MIXTURE if request.tasks is None or task in request.tasks]
    found = tuple(task for task in asked or MIXTURE if task not in request.unavailable)
    if not found:
        raise MissingData(
            f"No task of GLUE has data here, and the multi-task runs of {request.id} need some: "
            f"{next(iter(request.unavailable.values()))}."
        )
    return found


def backbone_of(request: Request, size: str) -> tuple[Backbone, Source]:
    """The T5 asked for, the paper's own, or a small one, which stands for both sizes."""
    if request.backbone is not None:
        return request.backbone, assumed("asked for with --backbone")
    if request.scale == "paper":
        return KNOWN[T5[size]], paper(f"Table 1: T5 {size}; code: v1.0")
    if request.scale == "reduced":
        return KNOWN[T5_SMALL], assumed("reduced scale: the small one for both sizes")
    return KNOWN[TINY_T5], assumed("smoke scale: a tiny one for both sizes")


def _method(model: str, request: Request) -> Setting:
    released = request.as_released and model == HYPER
    found = _fitted(model, request.scale)
    return found | (published.RELEASED_HYPERFORMER if released else {})


def _fitted(model: str, scale: Scale) -> Setting:
    """A model's method as published, but for what a small scale changes."""
    generated = published.GENERATED.get(scale, {}) if model in (HYPER, PLUS) else {}
    return METHODS[model] | published.METHOD.get(scale, {}) | generated


def _start(task: WrittenName, tasks: tuple[WrittenName, ...]) -> Setting:
    """From which task of the multi-task run a new one starts; one fine-tuned whole ignores it."""
    like = TEXT_TO_TEXT[task].like
    if like in tasks:
        return {START: (like, assumed("the task of GLUE that is most like it"))}
    why = assumed(f"no data of {like}, the task that is most like it")
    return {START: (tasks[0], why)}


def _few_rows(few: int, request: Request, stands_for: str, where: str) -> Setting:
    """The first `few` rows of the permutation by the run's seed, as the released code draws them;
    what the repaired reading sets aside for validation is skipped.
    """
    drawn = "data/tasks.py: the first rows of torch.randperm by the seed"
    released = request.as_released and request.scale != "smoke"
    repaired = assumed(f"as {drawn}; rows set aside for validation are skipped")
    return {
        "task.train_rows": (few, assumed(stands_for) if stands_for else paper(where)),
        "task.subset_seed": (Own.SEED, code(drawn) if released else repaired),
    }


def _template(
    request: Request,
    size: str,
    tasks: tuple[WrittenName, ...],
    setting: Setting,
    rows: Setting | None = None,
    parents: Mapping[str, RunSpec] | None = None,
) -> Template:
    """The runs on these tasks. `rows` holds whatever is asked for by hand."""
    backbone = backbone_of(request, size)
    smoke = request.scale == "smoke"
    revisions = {
        task: published.SMOKE_DATA if smoke else request.data_revisions.get(task) for task in tasks
    }
    whole_set = paper("Table 1") if request.scale == "paper" else assumed("those that have data")
    found: Setting = {
        "task.tasks": (tasks, whole_set),
        "task.revisions": (revisions, assumed("the data found")),
    }
    whole = published.TASK | published.RECIPE | published.SMALL.get(request.scale, {})
    whole |= setting | found | (published.AS_RELEASED if request.as_released else {})
    whole |= _width(request, backbone[0]) | asked_for(request) | (rows or {})
    first = pretraining(request, backbone[0])
    needed = dict(parents or {}) | ({PRETRAINED: first} if first is not None else {})
    why = assumed("few-shot: the multi-task run goes on" if parents else "smoke scale: pre-trained")
    counted = _counted(whole, request)
    return template(request, backbone, counted, needed, why if needed else None)


def _width(request: Request, backbone: Backbone) -> Setting:
    """The reduction that gives the bottleneck asked for. Raises ReproError where none does."""
    width = request.settings.get(BOTTLENECK)
    if width is None:
        return {}
    if backbone.hidden_size % width:
        raise ReproError(
            f"--bottleneck {width} does not divide the hidden size of "
            f"{backbone.name}, {backbone.hidden_size}, and these adapters are a fraction of it."
        )
    return {REDUCTION: (backbone.hidden_size // width, assumed("asked for"))}


def _counted(whole: Setting, request: Request) -> Setting:
    """Looks and steps that fit each other: what is set by hand decides the other."""
    steps, look = whole[STEPS][0], whole["recipe.look_steps"][0]
    if not isinstance(look, int) or look < 1:
        return whole
    if EPOCHS not in request.settings:
        looks = max(1, -(-steps // look)) if isinstance(steps, int) else whole[EPOCHS][0]
        return whole | {EPOCHS: (looks, whole[EPOCHS][1])}
    if STEPS in request.settings:
        return whole
    return whole | {STEPS: (whole[EPOCHS][0] * look, assumed("as many looks as asked for"))}
