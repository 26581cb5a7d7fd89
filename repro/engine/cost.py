"""What a job will cost: a FLOP and traffic model, and the machine's measured speeds.

Floors and the traffic of the cells: a token passes each layer of the frozen encoder once
(24 d^2 + 4 T d multiply-adds counted twice), and each cell's matrices three times in training.
A cell is bound by memory traffic as much as by arithmetic: about 6 d + 8 b numbers a token forward
and backward in eager mode. Inside the encoder a training token costs two passes where the matrices
are frozen (forward, and the gradient of the states), three where they train. Speeds are measured by
`doctor` or the first job and stored beside the results, so that a plan measures nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from repro.engine.jobs import Job, makespan
from repro.spec import Backbone, RunSpec, Task, canonical_json
from repro.spec.identity import identity_fields
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


ASSUMED = {
    "cpu": Speed(1.2e11, 1.0e10, "2 CPU cores", False, layer=5e-4, start=8.0, job=0.5),
    "cuda": Speed(
        3.6e14,
        3e12,
        "one H100 at 45% of its bf16 peak, a twelfth of that in fp32",
        False,
        layer=3e-3,
        start=12.0,
        job=0.5,
        fp32=12.0,
    ),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one job, or of several."""

    seconds: float
    memory_bytes: float


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


def estimate(job: Job, speed: Speed) -> Estimate:
    """Seconds and peak memory of one job, by a worker that has started."""
    recipe, length = job.lead.recipe, job.lead.task.tokens()
    rows, scored_rows = passed_rows(job.lead)
    known = speed.rehearsed.get(kind_of(job))
    if known is not None and known.fit:
        trained = steps_of(job.lead) * known.step
        return Estimate(trained + scored_rows * length * known.token + speed.job, known.memory)
    padded = padding(job)
    flops, traffic = work(job, rows * length, scored_rows * length)
    slowed = speed.fp32 if recipe.precision == "fp32" else 1.0
    seconds = slowed * flops / speed.flops + traffic / speed.bytes + launching(job, speed)
    return Estimate(seconds + speed.job, memory(job, length * padded))


def padding(job: Job) -> float:
    """Tokens that the encoder reads in training for each that is no padding."""
    shared = any(spec.method.reads_states for spec in job.specs)
    return PADDED[job.lead.recipe.padding] if shared else 1.0


def work(job: Job, trained: float, scored: float) -> tuple[float, float]:
    """FLOP, and bytes moved, of so many tokens that a job trains on and that it scores."""
    length, flops, traffic = job.lead.task.tokens(), 0.0, 0.0
    if any(s.method.reads_states for s in job.specs):
        flops += encoder_flops(job.lead, length) * (trained * padding(job) + scored)
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
    costs = {job.id: estimate(job, speed) for job in jobs}
    most = sorted((cost.memory_bytes for cost in costs.values()), reverse=True)[:workers]
    seconds = makespan(jobs, lambda job: costs[job.id].seconds, workers)
    return Estimate(seconds + (speed.start if jobs else 0.0), math.fsum(most))


def launching(job: Job, speed: Speed) -> float:
    """Seconds below which the steps of a job do not fall, however little they compute.

    On a GPU the runs of one method launch their kernels together.
    """
    methods = {canonical_json(identity_fields(spec.method)) for spec in trained_specs(job)}
    layers = job.lead.backbone.layers * (2 if job.lead.backbone.family == "t5" else 1)
    return steps_of(job.lead) * layers * speed.layer * len(methods)


def trained_specs(job: Job) -> list[RunSpec]:
    """The members that take steps."""
    return [spec for spec in job.specs if spec.method.trains]


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


def stored_speed(root: Path, device: str) -> Speed:
    """The speed measured for this kind of device, else the assumed one; with its rehearsals."""
    found = _stored(root / CALIBRATION).get(device)
    rehearsed = _stored(root / REHEARSED).get(device, {})
    speed = ASSUMED[device]
    with suppress(TypeError):  # of another version of the project
        speed = Speed(**found) if isinstance(found, dict) and _is_speed(found) else speed
    with suppress(TypeError, AttributeError):
        known = {kind: Rehearsed(**one) for kind, one in rehearsed.items()}
        speed = replace(speed, rehearsed=known)
    return speed


def store_speed(root: Path, device: str, speed: Speed) -> None:
    """Remembers a measured speed."""
    measured = asdict(speed)
    del measured["rehearsed"]
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
    beside, speed = speed, replace(speed, start=0.0, job=0.0, rehearsed={})
    taken = math.fsum(seconds for _, seconds in jobs)
    launched = math.fsum(launching(job, speed) for job, _ in jobs)
    predicted = math.fsum(estimate(job, speed).seconds for job, _ in jobs)
    computed = predicted - launched
    if predicted <= 0 or taken <= 0:  # runs that train nothing say nothing about the machine
        return beside
    found = replace(beside, device=device_name, measured=True)
    if computed > 0 and taken > 2 * launched:
        factor = computed / (taken - launched)
        return replace(found, flops=speed.flops * factor, bytes=speed.bytes * factor)
    return replace(found, layer=speed.layer * taken / predicted)
