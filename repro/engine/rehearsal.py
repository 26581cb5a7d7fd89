"""Rehearsals: a few steps of every kind of job, through the code of a real run.

A kind is what jobs share whose steps are alike; see `kind_of`. Each is run twice, in a store of its
own: with inputs as long as the task allows, which tells its peak memory, and with typical ones,
which tell its speed. Kinds that differ in typical lengths only share the first. The model and the
inputs are made up; see `made_up`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from repro.engine.cost import (
    ASSUMED,
    Rehearsed,
    Speed,
    encoder_flops,
    kind_of,
    longest_kind_of,
    method_cost,
    path_of,
)
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution, Job, Rehearsal, make_job
from repro.engine.local import LocalExecutor
from repro.engine.made_up import SCORED, computes_bf16
from repro.spec import RunSpec, canonical_json
from repro.spec.identity import identity_fields
from repro.store.entry import ENVIRONMENT
from repro.store.store import Store
from repro.store.strict_json import parse_json

TOGETHER = 2
"""Runs of one method in a rehearsal with smaller batches."""
PARTS = "memory ran out: it runs in parts of fewer runs"


@dataclass
class Heard:
    """When a job's events came, in seconds, and what it scores."""

    events: list[float] = field(default_factory=list)
    """All of them."""
    steps: list[tuple[float, int]] = field(default_factory=list)
    """And how many steps had been taken."""
    scored: list[float] = field(default_factory=list)
    batches: int = 0
    """Of the last pass over the scored rows."""
    loaded: float = 0.0
    """When the rows were made."""
    tokens: int = 0
    """Of all scored rows."""
    device: str = ""
    kernels: list[int] = field(default_factory=list)
    """Launched until each of the steps, if they are counted."""

    def hear(self, event: dict[str, Any]) -> None:
        """Takes one event of the worker."""
        now = time.monotonic()
        self.events.append(now)
        if event["event"] == "step":
            self.steps.append((now, event["step"]))
            self.kernels += [event["kernels"]] if "kernels" in event else []
        elif event["event"] == "evaluation":
            self.scored.append(now)
            self.batches = event["batches"]
        elif event["event"] == "rows":
            self.loaded, self.tokens = now, event["scored_tokens"]
        elif event["event"] == "loading":
            self.device = event["device"]

    @property
    def seconds(self) -> list[float]:
        """Of a step, without those before the first event, which warm up."""
        return [
            (later - before) / (steps - taken)
            for (before, taken), (later, steps) in pairwise(self.steps)
        ]

    @property
    def seconds_a_token(self) -> float:
        """Of the last pass over the scored rows."""
        begun = self.steps[-1][0] if self.steps else self.loaded
        times = [begun, *self.scored]
        return (times[-1] - times[-1 - self.batches]) / max(1, self.tokens)

    @property
    def kernels_a_step(self) -> float | None:
        """After the first event of a step; None where they are not counted."""
        if len(self.kernels) < 2:
            return None
        steps = self.steps[-1][1] - self.steps[0][1]
        return (self.kernels[-1] - self.kernels[0]) / steps

    @property
    def beside(self) -> float:
        """Seconds before the first step and after the last row was scored."""
        begun = [when for when, _ in self.steps] + self.scored
        return self.events[-1] - self.events[0] - (max(begun) - min(begun))


@dataclass(frozen=True, slots=True)
class Found:
    """What the rehearsal of a kind found. `failure`: "" where it ran; `beside`: seconds that the
    job took beside its steps and its scoring.
    """

    failure: str
    memory: int = 0
    figures: Rehearsed | None = None
    beside: float = 0.0
    kernels: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """How kinds of jobs are rehearsed: `steps` each, in batches of `batch_size` rows if that is
    fewer than the job's. Plans may use the figures where the machine is `idle`.
    """

    execution: Execution
    steps: int
    batch_size: int | None = None
    idle: bool = True
    longest: bool = True
    """Whether the longest inputs are tried, too."""
    kernels: bool = False
    """Whether kernels are counted, which slows the steps."""

    @property
    def smaller(self) -> bool:
        """Whether only the running of jobs is tried, in smaller batches."""
        return self.batch_size is not None

    def batch(self, job: Job) -> int:
        """Rows of a step of the job's rehearsal."""
        own = job.lead.recipe.batch_size
        return min(own, self.batch_size or own)

    def kind(self, job: Job) -> str:
        """What jobs share that are rehearsed as one."""
        return path_of(self.made(job)) if self.smaller else kind_of(job)

    def made(self, job: Job) -> Job:
        """The job with the members that are rehearsed: all, or the first two of each method."""
        if not self.smaller:
            return job
        kept: dict[str, list[RunSpec]] = {}
        for spec in job.specs:
            kept.setdefault(_method(spec), []).append(spec)
        return make_job([spec for alike in kept.values() for spec in alike[:TOGETHER]])


@dataclass(frozen=True, slots=True)
class Rehearsals:
    """What was found, by kind, and the seconds until a worker loads its first job."""

    found: Mapping[str, Found]
    start: float


def rehearse(
    jobs: Sequence[Job],
    folder: Path,
    asked: Asked,
    told: Callable[[Job, int, bool], None],
    keep: Callable[[str, Found], None],
) -> Rehearsals:
    """Rehearses every kind among `jobs`, in stores below `folder`.

    Args:
        jobs: Those of a plan, parents first; the parents' jobs are among them.
        folder: What is written there may be deleted afterwards.
        asked: How. With smaller batches, kinds that take the same way through the program count as
            one, and typical inputs are left out.
        told: Called after each rehearsal, with the job, how many are taken in all, and whether its
            inputs were the longest ones.
        keep: Called with each kind that ran, as soon as it did, and with what was found of it.
    """
    typical = {} if asked.smaller else kinds(jobs, asked, kind_of)
    alike = asked.kind if asked.smaller else longest_kind_of
    longest = kinds(jobs, asked, alike) if asked.longest else {}
    last = typical or longest
    examples = {asked.kind(job): job for job in reversed(jobs)}
    worst: Outcomes = {}

    def found_of(kind: str, timed: Outcome) -> Found:
        example = examples[kind]
        _, wrong, memory = worst[longest[alike(example)].id] if worst else timed
        return _found(timed[0], wrong or timed[1], memory, example, asked)

    def train(made: Mapping[str, Job]) -> tuple[Outcomes, float]:
        def ended(job: Job, outcome: Outcome | None) -> None:
            told(job, len(longest) + len(typical), made is longest)
            if made is last and outcome is not None:
                for kind in (kind for kind, one in made.items() if one.id == job.id):
                    keep(kind, found_of(kind, outcome))

        how = Rehearsal(
            steps=asked.steps,
            longest=made is longest,
            smaller=asked.smaller,
            kernels=asked.kernels,
        )
        execution = asked.execution.model_copy(update={"rehearsal": how})
        store = Store(folder / ("longest" if how.longest else "typical"))
        return _train(list(made.values()), store, execution, ended)

    if longest and typical:
        worst, _ = train(longest)
    usual, start = train(last)
    found = {kind: found_of(kind, usual[made.id]) for kind, made in last.items()}
    return Rehearsals(found, start)


def _found(heard: Heard, failure: str, memory: int, example: Job, asked: Asked) -> Found:
    method = example.lead.method
    if failure or not heard.scored or not (heard.seconds or method.evaluates):
        return Found(failure or "it took no step", memory)
    passes = method.evaluations(example.lead) if method.evaluates else 1
    device = "cpu" if heard.device.endswith("threads") else "cuda"
    emulated = example.lead.recipe.precision == "bf16" and not computes_bf16(device)
    figures = Rehearsed(
        step=statistics.median(heard.seconds) if heard.seconds else 0.0,
        spread=statistics.stdev(heard.seconds) if len(heard.seconds) > 1 else 0.0,
        token=heard.seconds_a_token / passes,
        memory=memory,
        batch=asked.batch(example),
        device=heard.device,
        fit=asked.idle and not asked.smaller and not emulated,
    )
    return Found("", memory, figures, heard.beside, heard.kernels_a_step)


def kinds(jobs: Sequence[Job], asked: Asked, alike: Callable[[Job], str]) -> dict[str, Job]:
    """For each kind among `jobs`, parents first, the job that rehearses it.

    It has the members of the first of these, for a few steps; with smaller batches, no more than
    two of each method. Parents are the runs of their method that rehearse theirs.
    """
    found: dict[str, Job] = {}
    stands_for: dict[str, str] = {}
    for job in jobs:
        kind = alike(job)
        if kind not in found:
            specs = asked.made(job).specs
            found[kind] = make_job([_short(spec, asked, stands_for) for spec in specs])
        made = found[kind]
        methods = {_method(spec): key for spec, key in zip(made.specs, made.keys, strict=True)}
        for spec, key in zip(job.specs, job.keys, strict=True):
            stands_for[key] = methods[_method(spec)]
    return found


def _method(spec: RunSpec) -> str:
    return canonical_json(identity_fields(spec.method))


def _short(spec: RunSpec, asked: Asked, stands_for: Mapping[str, str]) -> RunSpec:
    recipe, steps = spec.recipe, asked.steps
    size = min(recipe.batch_size, asked.batch_size or recipe.batch_size)
    changed = {"epochs": 1, "steps": None, "batch_size": size}
    changed |= {"look_steps": steps} if recipe.look_steps is not None else {}
    rows = {"train_rows": steps * size, "evaluation_rows": SCORED}
    return spec.model_copy(
        update={
            "recipe": recipe.model_copy(update=changed),
            "task": spec.task.model_copy(update=rows),
            "parents": {role: stands_for[key] for role, key in spec.parents.items()},
        }
    )


Outcome = tuple[Heard, str, int]
"""A job's events, why it failed ("": it did not), its peak bytes."""
Outcomes = dict[str, Outcome]
"""Job -> how it ended."""


def _train(
    jobs: Sequence[Job],
    store: Store,
    execution: Execution,
    ended: Callable[[Job, Outcome | None], None],
) -> tuple[Outcomes, float]:
    """How the jobs ended, and the seconds until the first of them began to load. `ended` is called
    once for each, with the outcome where a result was stored.
    """
    heard: dict[str, Heard] = {job.id: Heard() for job in jobs}
    over: set[str] = set()
    begun = time.monotonic()

    def listen(job: Job, event: dict[str, Any]) -> None:
        own = heard.setdefault(job.id, Heard())
        own.hear(event)
        if event["event"] in ("stored", "failed", "diverged") and job.id not in over:
            over.add(job.id)
            stored = event["event"] == "stored"
            ended(job, (own, "", _peak(store, job)) if stored else None)

    outcomes = Dispatcher(LocalExecutor(), listen).run(jobs, store, execution)
    problems = {
        key: f"{one.kind}: {one.message}"
        for one in outcomes if one.kind is not None for key in one.job.keys
    }  # fmt: skip
    whole = {one.job.id for one in outcomes}
    found = {
        job.id: (
            heard[job.id],
            problems.get(job.keys[0], "") or ("" if job.id in whole else PARTS),
            _peak(store, job),
        )
        for job in jobs
    }
    first = min((when for one in heard.values() for when in one.events[:1]), default=begun)
    return found, first - begun


def _peak(store: Store, job: Job) -> int:
    run = store.read(job.keys[0])
    return 0 if run is None else int(parse_json(run.source.read(ENVIRONMENT))["peak_memory_bytes"])


def matrix_peak(device: Any, precision: str = "fp32") -> float:
    """FLOP a second of a large matrix product on this torch.device."""
    import torch

    width = 8192 if device.type == "cuda" else 2048
    if precision == "bf16" and not computes_bf16(device.type):
        width = 512  # it takes 30 times as long
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    matrix = torch.rand(width, width, device=device).to(kind)
    return 2 * width**3 / timed(lambda: matrix @ matrix, device)


def matrix_peaks(execution: Execution) -> dict[str, float]:
    """FLOP a second of a large matrix product on the device, by precision; of bf16 only where there
    is hardware for it.
    """
    from repro.training.environment import prepare_process, prepare_torch

    prepare_process(deterministic=False)
    where = prepare_torch(
        execution.device, threads=execution.threads, deterministic=False, tf32=execution.tf32
    )
    names = ["fp32", *(["bf16"] if computes_bf16(where.type) else [])]
    return {name: matrix_peak(where, name) for name in names}


SECONDS = 2.0
"""How long something is timed."""
BUSY = 0.75
"""Load for each core above which a measured speed says little about the machine."""


def timed(action: Callable[[], Any], device: Any) -> float:
    """Mean seconds of `action` on a torch.device, after one call to warm up."""
    import torch

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    action()
    wait()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        action()
        wait()
        count += 1
    return (time.perf_counter() - begun) / count


def is_busy(device: str) -> bool:
    """Whether a CPU that is to be measured has other work; `device`: cpu or cuda."""
    return device == "cpu" and load() > BUSY * (os.cpu_count() or 1)


def load() -> float:
    """Processes that wanted to run in the last minute, on average; 0 where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def measure_speed(device: Any) -> Speed:
    """Times the frozen encoder and one attention row of ResAdapters on random tokens."""
    import torch

    from repro.backbones.load import load_encoder
    from repro.methods.modules.layout import Layout
    from repro.methods.modules.learner import Inputs
    from repro.papers.request import Request
    from repro.papers.resadapters.tables import ONE, runs_of
    from repro.training.cohort import Cohort
    from repro.training.environment import device_name

    spec = runs_of("attention-resnet", "squad2", Request(ONE.id, "smoke", 1)).run(0)
    encoder = load_encoder(spec.backbone, {}, device)
    batch, length = 8, 128
    ids = torch.randint(1000, 20_000, (batch, length), device=device)
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    encoding = timed(lambda: encoder.states(ids, mask, types), device)
    layout = Layout.of(mask, keep_padding=False)
    states = [layout.pack(state) for state in encoder.states(ids, mask, types)]
    cohort = Cohort([0], [spec], encoder, device, steps=1)
    inputs, targets = Inputs(ids, mask, types, layout, states), torch.ones(1, batch, 2).long()
    training = timed(lambda: cohort.accumulate(inputs, targets.to(device), 1.0), device)
    flops = encoder_flops(spec, length) * batch * length / encoding
    own, moved = method_cost(spec, length)
    rest = max(training - 3 * own * batch * length / flops, 0.2 * training)
    layer, traffic = ASSUMED[device.type].layer, moved * batch * length / rest
    bf16 = matrix_peak(device, "bf16") / matrix_peak(device)
    return Speed(bf16 * flops, traffic, device_name(device), True, layer, fp32=bf16)
