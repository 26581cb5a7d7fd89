"""Numbers and runs in words for a person."""

from __future__ import annotations

from repro.spec import (
    AdaptableAdapters,
    BottleneckAdapters,
    FullFineTuning,
    GlueTask,
    HyperFormer,
    LastLayers,
    LinearProbe,
    Method,
    PipelinedCells,
    RunSpec,
    SquadTask,
    T5Adapters,
    T5FineTuning,
    TextToText,
    TopLayers,
)


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """1.2 GB, 340 MB, 25 KB."""
    for unit, name, digits in ((1e9, "GB", 1), (1e6, "MB", 0)):
        if count >= unit:
            return f"{count / unit:.{digits}f} {name}"
    return f"{count / 1e3:.0f} KB"


def counted(number: int, noun: str) -> str:
    """1 job, 2 jobs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def run_name(spec: RunSpec) -> str:
    """attention-resnext b100 on MiniLM-L6, seed 0; 3-shared m64 on cola, MiniLM-L6, ..."""
    name, where = method_name(spec.method), spec.backbone.name
    if not isinstance(spec.task, SquadTask):
        rate, long = spec.recipe.learning_rate, training_length(spec)
        where = f"{_task(spec)}{_drawn(spec)}, {where}, rate {rate:g}, {long}"
    return f"{name} on {where}, seed {spec.seed}"


def training_length(spec: RunSpec) -> str:
    """5 epochs; of a run that counts steps 65,536 steps."""
    recipe = spec.recipe
    if recipe.look_steps is None:
        return counted(recipe.epochs, "epoch")
    return f"{recipe.steps or recipe.epochs * recipe.look_steps:,} steps"


def _task(spec: RunSpec) -> str:
    """cola; of a mixture 8 tasks."""
    if not isinstance(spec.task, TextToText):
        return spec.task.name
    tasks = spec.task.tasks
    return tasks[0] if len(tasks) == 1 else counted(len(tasks), "task")


def method_name(method: Method) -> str:
    """A method in a word or two, with its size."""
    match method:
        case PipelinedCells():
            kind = "attention" if method.nonlinearity == "attention" else "adapter"
            wiring = "" if method.wiring == "plain" else f"-{method.wiring}"
            return f"{kind}{wiring} b{method.bottleneck}"
        case BottleneckAdapters():
            return f"{_adapters(method)} m{method.size}"
        case AdaptableAdapters():
            return _adaptable(method)
        case FullFineTuning():
            return "full fine-tuning"
        case T5FineTuning() | T5Adapters() | HyperFormer():
            return _inside_t5(method)
        case _:
            return _of_layers(method)


def _of_layers(method: Method) -> str:
    """What is named by its layers, or by its kind alone."""
    match method:
        case LastLayers():
            return f"{method.kept} last layers of AdapterDrop"
        case LinearProbe():
            return f"linear probe of layer {method.layer}"
        case TopLayers():
            return f"top {counted(method.layers, 'layer')}"
        case _:
            return method.kind.replace("-", " ")


def _inside_t5(method: T5FineTuning | T5Adapters | HyperFormer) -> str:
    """As the paper calls it, with its reduction and what it lacks."""
    if isinstance(method, T5FineTuning):
        return "T5 fine-tuning"
    if isinstance(method, T5Adapters):
        return f"T5 adapters r{method.reduction}"
    name = {"slot": "HyperFormer", "stack": "HyperFormer++", "kind": "HyperFormer as released"}
    lacks = {
        "blocks": not method.blocks,
        "generated norm": method.norm == "shared",
        "norm": method.norm == "none",
        "projector": method.projector is None,
        "T5's norms": not method.t5_norms,
    }
    absent = [part for part, lacking in lacks.items() if lacking]
    without = f" without {' and '.join(absent)}" if absent else ""
    return f"{name[method.generators]} r{method.reduction}{without}"


def _drawn(spec: RunSpec) -> str:
    """The rows of a task that are drawn anew for every seed: " (100 rows)"."""
    if isinstance(spec.task, TextToText):
        return _rows(spec.task.train_rows) if spec.task.train_rows else ""
    if not isinstance(spec.task, GlueTask) or spec.task.development is None:
        return ""
    return _rows(spec.task.train_rows) if spec.task.train_rows else " (all rows)"


def _rows(number: int) -> str:
    return f" ({number:,} {'row' if number == 1 else 'rows'})"


def _adaptable(method: AdaptableAdapters) -> str:
    """What of adaptable adapters it has, and where."""
    rational, switch = method.activation == "rational", method.switch != "none"
    name = "rational" if rational else "pfeiffer"
    if switch:
        name = "AA" if rational else "switch"
    if method.drops:
        name = "AdapterDrop"
    name = f"{name} m{method.size}"
    if isinstance(method.layers, tuple):
        return f"{name} in {counted(len(method.layers), 'layer')}"
    return f"{name} in selected layers" if method.layers == "selected" else name


def _adapters(method: BottleneckAdapters) -> str:
    """As the papers call them; what the 3-shared report calls Houlsby is shared in layer."""
    if method.placement == "pfeiffer":
        return "pfeiffer"
    if method.span:
        return "shared-in-layer" if method.span == 1 else f"{method.span}-shared"
    return "houlsby" if method.norms == "all" else "not-shared"
