"""What a job will cost: measured where that is known, else a model of arithmetic and traffic.

Known are the steps of its kind from a rehearsal on this machine, or stored runs of its kind that
were trained on it. The model: a token passes each layer of the frozen encoder once
(24 d^2 + 4 T d multiply-adds counted twice), and each cell's matrices three times in training.
A cell is bound by memory traffic as much as by arithmetic: about 6 d + 8 b numbers a token forward
and backward in eager mode. Inside the encoder a training token costs two passes where the matrices
are frozen (forward, and the gradient of the states), three where they train. Speeds are measured by
`doctor`, `bench` or the first job and stored beside the results, so that a plan measures nothing;
of a card that nobody measured they are a share of its datasheet.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from repro.engine.jobs import Job, makespan
from repro.spec import Backbone, RunSpec, Task, canonical_json
from repro.spec.identity import identity_fields, identity_json, remembered
from repro.store.atomic import write_json
from repro.store.entry import read_file
from repro.store.strict_json import parse_json

CALIBRATION, REHEARSED = "calibration.json", "rehearsed.json"

PADDED = {"dynamic": 1.4, "max": 2.3}
"""Tokens with padding for each token without, at batches of 8 in random order."""
ANSWER_TOKENS, VOCABULARY = 3, 32_128
"""Tokens of a written answer, and of T5."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a few steps of a job took on this machine."""

    step: float
    """Seconds a step, at typical lengths: the median."""
    spread: float
    """Their standard deviation."""
    token: float
    """Seconds a scored token."""
    memory: float
    """Peak bytes, with the longest inputs that can be."""
    batch: int
    """Rows of a step: fewer than the job's where only its running was tried."""
    device: str
    fit: bool
    """Whether plans may use it: whole batches, on a machine with nothing else to do."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number, and between which ones it lies."""

    usual: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Speed:
    """A machine's speed at this work."""

    flops: float
    """Multiply-adds counted twice, per second, in the encoder; in bf16, where `fp32` is not 1."""
    bytes: float
    """Memory traffic of the cells, per second."""
    device: str
    measured: bool
    layer: float = 0.0
    """Seconds that a layer takes at least in a step of training: launches of kernels."""
    start: float = 0.0
    """Seconds until a worker trains: imports, weights. It is started once for many jobs."""
    job: float = 0.0
    """Seconds that a job takes beside its steps: small jobs are mostly that."""
    fp32: float = 1.0
    """How many times as long fp32 takes."""
    rehearsed: Mapping[str, Rehearsed] = field(default_factory=dict)
    """Kind of job -> what its rehearsal took; see `kind_of`."""
    stored: Mapping[str, Range] = field(default_factory=dict)
    """Kind of job -> how many times the model's seconds stored runs of it took here."""


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU as its datasheet has it: FLOP a second of dense products by precision, memory traffic
    in bytes a second.
    """

    name: str
    peak: Mapping[str, float]
    traffic: float
    source: str


CARDS = {
    "h100": Card(
        "H100",
        {"bf16": 989.4e12, "tf32": 494.7e12, "fp32": 66.9e12},
        3.35e12,
        "NVIDIA H100 Tensor Core GPU datasheet, SXM5 80 GB",
    ),
    "a100": Card(
        "A100",
        {"bf16": 312e12, "tf32": 156e12, "fp32": 19.5e12},
        2.039e12,
        "NVIDIA A100 Tensor Core GPU datasheet, SXM 80 GB",
    ),
    "l4": Card(
        "L4",
        {"bf16": 121e12, "tf32": 60e12, "fp32": 30.3e12},
        0.3e12,
        "NVIDIA L4 Tensor Core GPU datasheet; half of its figures, which are for sparse matrices",
    ),
    "t4": Card(
        "T4",
        {"bf16": 8.1e12, "tf32": 8.1e12, "fp32": 8.1e12},
        0.32e12,
        "NVIDIA T4 datasheet; it has neither bf16 nor TF32, and computes both in fp32",
    ),
}
REACHED = {"peak": 0.45, "traffic": 0.9}
"""Shares of a datasheet's figures that training reaches: goals of docs/performance.md."""
ERROR = {"measured": 2.0, "assumed": 4.0}
"""The factor within which nine of ten jobs lay of the model: of 460 stored ones (MiniLM and a tiny
T5 on one CPU), once its speed was measured, and before.
"""


def card_speed(card: str, *, tf32: bool = False) -> Speed:
    """The speed assumed of a card that nobody measured; `tf32`: products of fp32 in TF32."""
    known = CARDS[card]
    return Speed(
        flops=REACHED["peak"] * known.peak["bf16"],
        bytes=REACHED["traffic"] * known.traffic,
        device=f"one {known.name} at {REACHED['peak']:.0%} of its datasheet",
        measured=False,
        layer=3e-3,
        start=12.0,
        job=0.5,
        fp32=known.peak["bf16"] / known.peak["tf32" if tf32 else "fp32"],
    )


ASSUMED = {
    "cpu": Speed(1.2e11, 1.0e10, "2 CPU cores", False, layer=5e-4, start=8.0, job=0.5),
    "cuda": card_speed("h100"),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one job, or of several: seconds, and between which they probably lie."""

    seconds: float
    memory_bytes: float
    low: float
    high: float


Basis = Literal["rehearsed", "stored", "model"]


def passed_rows(spec: RunSpec) -> tuple[float, float]:
    """Rows that a whole run trains on and scores, each as often as it is passed.

    All evaluated rows are scored after every epoch; where rows are set aside for that, these are,
    and the others once.
    """
    recipe = spec.recipe
    if spec.method.evaluates:
        return 0, spec.task.rows()[1] * spec.method.evaluations(spec)
    drawn = 0 if recipe.look_steps is None else steps_of(spec) * recipe.batch_size
    return spec.task.passed(recipe.epochs, drawn)


def steps_of(spec: RunSpec) -> int:
    """The steps of a whole run."""
    recipe = spec.recipe
    if recipe.look_steps is not None:
        return recipe.steps or recipe.epochs * recipe.look_steps
    epochs = recipe.epochs
    return int(epochs * -(-passed_rows(spec)[0] // epochs // recipe.batch_size))


def basis(job: Job, speed: Speed) -> Basis:
    """What a job's estimate comes from."""
    if not speed.rehearsed and not speed.stored:
        return "model"
    kind = kind_of(job)
    known = speed.rehearsed.get(kind)
    if known is not None and known.fit:
        return "rehearsed"
    return "stored" if kind in speed.stored else "model"


def estimate(job: Job, speed: Speed) -> Estimate:
    """Seconds and peak memory of one job, by a worker that has started."""
    known = basis(job, speed)
    if known == "rehearsed":
        figures = speed.rehearsed[kind_of(job)]
        scored = passed_rows(job.lead)[1] * job.lead.task.tokens() * figures.token
        usual = steps_of(job.lead) * figures.step + scored + speed.job
        off = figures.spread / figures.step if figures.step else 0.0
        return Estimate(usual, figures.memory, usual * max(0.0, 1 - off), usual * (1 + off))
    seconds, most = modelled(job, speed), memory(job, job.lead.task.tokens() * padding(job))
    if known == "stored":
        times = speed.stored[kind_of(job)]
    else:
        error = ERROR["measured" if speed.measured else "assumed"]
        times = Range(1.0, 1 / error, error)
    usual, low, high = (seconds * factor + speed.job for factor in astuple(times))
    return Estimate(usual, most, low, high)


def estimates(jobs: Iterable[Job], speed: Speed) -> dict[str, Estimate]:
    """The estimate of each job, by id; those that differ in their seeds alone have the same one."""
    known: dict[tuple[Any, ...], Estimate] = {}
    found = {}
    for job in jobs:
        alike = tuple(
            (
                spec.backbone,
                identity_json(spec.method),
                identity_json(spec.recipe),
                _but_for_the_draw(spec.task),
                *sorted(spec.parents),
            )
            for spec in job.specs
        )
        if alike not in known:
            known[alike] = estimate(job, speed)
        found[job.id] = known[alike]
    return found


@remembered
def _but_for_the_draw(task: Task) -> str:
    """What a task costs by: all but which of its rows a seed draws."""
    return canonical_json({**identity_fields(task), "subset_seed": None})


def modelled(job: Job, speed: Speed) -> float:
    """Seconds of one job's training and scoring by the model."""
    length = job.lead.task.tokens()
    rows, scored_rows = passed_rows(job.lead)
    flops, traffic = work(job, rows * length, scored_rows * length)
    slowed = speed.fp32 if job.lead.recipe.precision == "fp32" else 1.0
    return slowed * flops / speed.flops + traffic / speed.bytes + launching(job, speed)


def floor(job: Job, peak: Mapping[str, float]) -> float:
    """Seconds below which a job cannot fall: its arithmetic on tokens that are no padding, at the
    speed of a large matrix product, by precision.
    """
    length = job.lead.task.tokens()
    rows, scored_rows = passed_rows(job.lead)
    flops, _ = work(job, rows * length, scored_rows * length, padded=False)
    return flops / peak[job.lead.recipe.precision]


def padding(job: Job) -> float:
    """Tokens that the encoder reads in training for each that is no padding."""
    shared = any(spec.method.reads_states for spec in job.specs)
    return PADDED[job.lead.recipe.padding] if shared else 1.0


def work(job: Job, trained: float, scored: float, *, padded: bool = True) -> tuple[float, float]:
    """FLOP, and bytes moved, of so many tokens that a job trains on and that it scores."""
    length, flops, traffic = job.lead.task.tokens(), 0.0, 0.0
    if any(s.method.reads_states for s in job.specs):
        read = trained * padding(job) if padded else trained
        flops += encoder_flops(job.lead, length) * (read + scored)
    for spec in job.specs:
        own, moved = method_cost(spec, length)
        flops += own * (spec.method.passes(spec) * trained + scored)
        traffic += moved * (trained + scored / 3)
    return flops, traffic


def typical_tokens(task: Task) -> int:
    """The mean tokens of an input to the next 16: tasks that share it are rehearsed as one."""
    return min(task.max_length, max(16, -16 * int(-task.tokens() // 16)))


def kind_of(job: Job) -> str:
    """A digest that jobs share whose steps are alike: model, methods, batch, lengths, outputs."""
    return _digest([*_shape(job), job.lead.outputs, typical_tokens(job.lead.task)])


def longest_kind_of(job: Job) -> str:
    """The same of jobs whose steps are alike on the longest inputs that there can be."""
    return _digest([*_shape(job), job.lead.outputs])


def path_of(job: Job) -> str:
    """The same of jobs that take the same way through the program, in small batches: only whether
    there is one output or several matters then.
    """
    return _digest([*_shape(job, batch=False), min(job.lead.outputs, 2)])


def _shape(job: Job, *, batch: bool = True) -> list[Any]:
    task, recipe = job.lead.task, job.lead.recipe
    return [
        identity_fields(job.lead.backbone),
        [identity_fields(spec.method) for spec in job.specs],
        [type(task).__name__, len(task.names), task.source == "generated", task.max_length],
        task.development_share is not None,
        [recipe.padding, recipe.order, recipe.precision, recipe.keep],
        [recipe.batch_size] if batch else [],
        sorted(job.lead.parents),
    ]


def _digest(alike: list[Any]) -> str:
    return hashlib.sha256(canonical_json(alike).encode()).hexdigest()[:16]


def estimate_all(jobs: Sequence[Job], speed: Speed, workers: int = 1) -> Estimate:
    """Of all jobs, by so many workers side by side, each as fast as one alone."""
    return combined(jobs, estimates(jobs, speed), speed.start, workers)


def combined(
    jobs: Sequence[Job], costs: Mapping[str, Estimate], start: float, workers: int = 1
) -> Estimate:
    """The estimate of jobs whose own are known, by id, after `start` seconds in which none trains.

    What is wrong with one is taken to be wrong with all, so the ranges add up.
    """
    if not jobs:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    every = [costs[job.id] for job in jobs]
    seconds = makespan(jobs, lambda job: costs[job.id].seconds, workers)
    most = sorted((one.memory_bytes for one in every), reverse=True)[:workers]
    whole = math.fsum(one.seconds for one in every)
    low, high = (
        start + (seconds * math.fsum(end) / whole if whole else 0.0)
        for end in zip(*((one.low, one.high) for one in every), strict=True)
    )
    return Estimate(start + seconds, math.fsum(most), low, high)


def launching(job: Job, speed: Speed) -> float:
    """Seconds below which the steps of a job do not fall, however little they compute.

    On a GPU the runs of one method launch their kernels together.
    """
    methods = {identity_json(spec.method) for spec in job.specs if spec.method.trains}
    layers = job.lead.backbone.layers * (2 if job.lead.backbone.family == "t5" else 1)
    return steps_of(job.lead) * layers * speed.layer * len(methods)


def encoder_flops(spec: RunSpec, length: float) -> float:
    """Of one token through the encoder, forward."""
    d, layers = spec.backbone.hidden_size, spec.backbone.layers
    if spec.backbone.family == "t5":
        return _t5_flops(spec.backbone, length)
    linear = 8 * d * d + 4 * d * spec.backbone.intermediate_size
    return layers * (linear + 4 * length * d)


def _t5_flops(backbone: Backbone, length: float) -> float:
    """Of one token of an input through T5, forward, with its share of the written ones.

    The decoder makes keys and values of every token that it reads; an answer has few tokens.
    """
    d, f = backbone.hidden_size, backbone.intermediate_size
    encoder = 8 * d * d + 4 * d * f + 4 * length * d
    decoder = 16 * d * d + 4 * d * f + 4 * length * d
    written = ANSWER_TOKENS / length * (decoder + 2 * VOCABULARY * d / backbone.layers)
    return backbone.layers * (encoder + 4 * d * d + written)


def method_cost(spec: RunSpec, length: float) -> tuple[float, float]:
    """FLOP of one token forward, and bytes moved forward and backward, of one run alone."""
    flops, moved = spec.method.cost(spec, length)
    own_pass = spec.method.own_rows or spec.method.evaluates
    return flops + encoder_flops(spec, length) * own_pass, moved


def memory(job: Job, length: float) -> float:
    """Peak bytes: weights, frozen states, the widest member's activations, all optimizers."""
    spec = job.lead
    tokens = spec.recipe.batch_size * length
    states = spec.backbone.layers * tokens * spec.backbone.hidden_size * 4
    weights = (spec.backbone.parameters - spec.backbone.pooler_parameters) * 4
    optimizers = math.fsum(16.0 * s.trained_parameters() for s in job.specs)
    activations = max(method_cost(s, length)[1] * tokens for s in job.specs)
    if any(s.method.own_rows for s in job.specs):
        activations += spec.backbone.layers * tokens * spec.backbone.hidden_size * 4 * 34
    base = weights * any(s.method.trains or s.method.evaluates for s in job.specs)
    return base + states + optimizers + activations


def stored_speed(root: Path, device: str, card: str | None = None, *, tf32: bool = False) -> Speed:
    """The speed measured for this kind of device, else the assumed one; with its rehearsals.

    `card`: of that one, if it is what was measured; fp32 in TF32 was not.
    """
    found = _stored(root / CALIBRATION).get(device)
    rehearsed = _stored(root / REHEARSED).get(device, {})
    speed = ASSUMED[device] if card is None else card_speed(card, tf32=tf32)
    with suppress(TypeError):  # of another version of the project
        if isinstance(found, dict) and _is_speed(found) and is_of(card, str(found.get("device"))):
            speed = Speed(**found)
    with suppress(TypeError, AttributeError):
        known = {kind: Rehearsed(**one) for kind, one in rehearsed.items()}
        speed = replace(speed, rehearsed={k: r for k, r in known.items() if is_of(card, r.device)})
    return speed


def is_of(card: str | None, device: str) -> bool:
    """Whether a device's own name ("NVIDIA H100 80GB HBM3") is that of a card; any where None."""
    return card is None or CARDS[card].name in device.replace("-", " ").split()


def store_speed(root: Path, device: str, speed: Speed) -> None:
    """Remembers a measured speed."""
    measured = asdict(speed)
    del measured["rehearsed"], measured["stored"]
    write_json(root / CALIBRATION, {**_stored(root / CALIBRATION), device: measured})


def store_rehearsed(root: Path, device: str, rehearsed: Mapping[str, Rehearsed]) -> None:
    """Remembers what kinds of jobs took; plans use it."""
    known = _stored(root / REHEARSED)
    own = known.get(device, {}) | {kind: asdict(one) for kind, one in rehearsed.items()}
    write_json(root / REHEARSED, {**known, device: own})


def _stored(path: Path) -> dict[str, Any]:
    """What the file holds; nothing where it is absent or damaged: it is for estimates."""
    try:
        document = parse_json(read_file(path))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_speed(document: dict[str, Any]) -> bool:
    numbers = [document.get("flops"), document.get("bytes")]
    return all(isinstance(number, (int, float)) and number > 0 for number in numbers)


def calibrated(jobs: list[tuple[Job, float]], speed: Speed, device_name: str) -> Speed:
    """The speed at which the model's estimate meets the seconds that these jobs trained."""
    beside, speed = speed, replace(speed, start=0.0, job=0.0, rehearsed={}, stored={})
    taken = math.fsum(seconds for _, seconds in jobs)
    launched = math.fsum(launching(job, speed) for job, _ in jobs)
    predicted = math.fsum(modelled(job, speed) for job, _ in jobs)
    computed = predicted - launched
    if predicted <= 0 or taken <= 0:  # runs that train nothing say nothing about the machine
        return beside
    found = replace(beside, device=device_name, measured=True)
    if computed > 0 and taken > 2 * launched:
        factor = computed / (taken - launched)
        return replace(found, flops=speed.flops * factor, bytes=speed.bytes * factor)
    return replace(found, layer=speed.layer * taken / predicted)
