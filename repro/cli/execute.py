"""Trains what a plan misses, with progress on stderr."""

from __future__ import annotations

import math
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from repro.backbones.describe import LOCAL, check_mirrors
from repro.cli.options import LOCAL as ON_THIS_MACHINE
from repro.cli.options import How
from repro.engine.cost import calibrated, estimate, estimate_all, store_speed, stored_speed
from repro.engine.devices import trains_on
from repro.engine.dispatch import Dispatcher, Outcome, write_jobs
from repro.engine.jobs import Execution, Job
from repro.engine.plan import Plan, disk_needed, make_plan, with_times
from repro.errors import MissingModel, ReproError
from repro.papers.request import Request
from repro.store.store import Store
from repro.words import counted, duration, run_name, share, size

PLAIN_SECONDS = 30.0
"""Without a terminal, one line of progress at most this often."""
STATES = {
    "evaluation": "scoring epoch {epoch}, {batch}/{batches}",
    "encoding": "encoding {batch}/{batches}",
    "loading": "loading {what} ({device})",
}
"""Event of a worker -> what its bar then says."""
LINES = {"resumed": "continues at step {step}/{steps}", "notice": "{message}"}
"""Event of a worker -> a line of its own."""


class Stopped(ReproError):
    """Ctrl-C while runs were trained; `kept` is a sentence on what is stored of them."""

    exit_code = 130

    def __init__(self, kept: str = "") -> None:
        said = " ".join(filter(None, ("stopped.", kept)))
        super().__init__(f"{said} Give the same command again to continue where it was.")


def train_missing(
    requests: Sequence[Request], store: Store, execution: Execution, how: How, *, retry: bool
) -> list[Outcome]:
    """Trains every missing run of `requests`; returns how each job ended.

    A parent that is trained anew may have another result than the one that stored children were
    made from: these are missing then, and trained in turn.
    """
    kind = trains_on(execution.device)
    outcomes: list[Outcome] = []
    tried: set[str] = set()
    while True:
        plan = make_plan(requests, store, stored_speed(store.root, kind), retry_failed=retry)
        plan = with_times(plan, store, kind)
        jobs = tuple(job for job in plan.jobs if not tried.issuperset(job.keys))
        if not jobs:
            return outcomes
        tried.update(key for job in jobs for key in job.keys)
        found = _execute(replace(plan, jobs=jobs), store, execution, how)
        if how.executor == ON_THIS_MACHINE:
            learn_speed(found, store, kind)
        tell_failures(found)
        outcomes += found


def _execute(plan: Plan, store: Store, execution: Execution, how: How) -> list[Outcome]:
    """Trains the plan's jobs. Raises Stopped at Ctrl-C, and at SIGTERM as if it were one."""
    executor = how.trainer(plan, store)
    workers = executor.slots if how.executor == ON_THIS_MACHINE else None
    check_before(plan, store, execution, workers or len(plan.jobs))
    announce(plan, workers)
    if how.executor == ON_THIS_MACHINE:  # a cluster's may be this command's of before
        tell_running(plan, store)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with JobProgress(plan) as progress:
            return Dispatcher(executor, progress.hear).run(plan.jobs, store, execution)
    except KeyboardInterrupt:
        raise Stopped from None
    finally:
        signal.signal(signal.SIGTERM, before)


def hand_over(plan: Plan, store: Store, execution: Execution) -> list[str]:
    """Writes the plan's jobs for `worker`; returns their ids, those of parents first."""
    check_before(plan, store, execution, len(plan.jobs))
    write_jobs(plan.jobs, store, execution)
    return [job.id for job in plan.jobs]


def check_before(plan: Plan, store: Store, execution: Execution, workers: int) -> None:
    """Raises ReproError where the plan's jobs cannot be trained or stored; removes what ended
    processes left.
    """
    check_folders(plan, execution)
    check_mirrors(job.lead.backbone for job in plan.jobs)
    store.check_writable(needed_bytes=disk_needed(plan, execution, workers))
    store.check_replaceable(key for job in plan.jobs for key in job.keys)
    store.sweep()


def check_folders(plan: Plan, execution: Execution) -> None:
    """Raises MissingModel where the model folder of a run to be trained is not here."""
    for job in plan.jobs:
        backbone = job.lead.backbone
        if backbone.id == LOCAL and (backbone.revision or "") not in execution.folders:
            raise MissingModel(
                f"The model folder {backbone.name} ({backbone.revision}) is not here, and runs of "
                "it are to be trained. Put it below the folder that REPRO_MODELS names, or give "
                "its path with --backbone; --no-run shows what is stored."
            )


def tell_failures(outcomes: Sequence[Outcome]) -> None:
    """One line a job that did not end well, one a reason for which jobs were not started, and who
    names logs.
    """
    not_started = {"blocked": "blocked", "stopped": "not started"}
    failed = [one for one in outcomes if one.kind is not None and one.kind not in not_started]
    for outcome in failed:
        print(f"repro: job {outcome.job.id}: {outcome.kind}: {outcome.message}", file=sys.stderr)
    reasons = Counter[tuple[str, str]]()
    for outcome in outcomes:
        if outcome.kind in not_started:
            reasons[not_started[outcome.kind], outcome.message] += len(outcome.job.specs)
    for (what, reason), count in reasons.items():
        print(f"repro: {counted(count, 'run')} {what}: {reason}", file=sys.stderr)
    if any(outcome.kind != "running" for outcome in failed):
        print("repro: `python -m repro status` names the logs.", file=sys.stderr)


def announce(plan: Plan, workers: int | None) -> None:
    """One line: how many runs, how many jobs, how long; `workers`: None where nobody knows yet."""
    expected = plan.estimate(workers or 1)
    beside = f" by {workers} workers" if workers and workers > 1 else ""
    beside = beside if workers else " for one worker after the other"
    how = "measured here" if plan.speed.measured else f"assuming {plan.speed.device}"
    print(
        f"{share(len(plan.missing), len(plan.runs), 'run')} missing: "
        f"{counted(len(plan.jobs), 'job')}{beside}, about "
        f"{duration(expected.seconds)} and {size(expected.memory_bytes)} of memory ({how}).",
        file=sys.stderr,
    )


def tell_running(plan: Plan, store: Store) -> None:
    """One line a process that trains some of the runs already."""
    running = (store.holder(run.key) for run in plan.runs if run.state == "running")
    for holder, count in Counter(filter(None, running)).items():
        print(
            f"{counted(count, 'run')} left to {holder}, which trains in this store now. Give the "
            "same command again when it has ended.",
            file=sys.stderr,
        )


def learn_speed(outcomes: Sequence[Outcome], store: Store, kind: str) -> None:
    """Calibrates the estimate by the jobs that were trained here from start to end."""
    taken = []
    for outcome in outcomes:
        run = store.read(outcome.job.keys[0]) if outcome.kind is None else None
        machine = run.environment() if run is not None else {}
        if machine.get("device") == kind and not machine.get("resumes"):
            taken.append((outcome.job, float(machine["seconds"]), str(machine["device_name"])))
    if taken:
        jobs = [(job, seconds) for job, seconds, _ in taken]
        speed = calibrated(jobs, stored_speed(store.root, kind), taken[0][2])
        store_speed(store.root, kind, speed)


class JobProgress:
    """One bar a running job on a terminal, an occasional line elsewhere: epoch, step, loss, time
    left. A job counts as much towards the whole as it is estimated to take.
    """

    def __init__(self, plan: Plan) -> None:
        self.console = Console(stderr=True)
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            speed_estimate_period=math.inf,  # the pace since the first step
        )
        self.speed = plan.speed
        seconds = estimate_all(plan.jobs, plan.speed).seconds
        self.whole = self.bars.add_task("all jobs", total=seconds, state="")
        self.tasks: dict[str, TaskID] = {}
        self.shares: dict[str, float] = {}
        """Job -> the seconds of its estimate that it has done."""
        self.ended, self.stopping = 0, False
        self.diverged: set[str] = set()
        self.said = -PLAIN_SECONDS
        self.count = len(plan.jobs)
        self.names = {
            key: run_name(spec)
            for job in plan.jobs
            for key, spec in zip(job.keys, job.specs, strict=True)
        }

    def __enter__(self) -> JobProgress:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def hear(self, job: Job, event: dict[str, Any]) -> None:
        """Shows one event of a worker or of the dispatcher."""
        kind = event["event"]
        if kind == "stopping":
            if not self.stopping:
                self._say(event["message"])
            self.stopping = True
            return
        if kind == "outcome":
            self.ended += 1
            self._count(job, 1.0)
            if job.id in self.tasks:
                self.bars.update(self.tasks[job.id], visible=False)
            return
        task = self.tasks.get(job.id)
        if task is None:
            title = f"job {len(self.tasks) + 1} ({counted(len(job.specs), 'run')})"
            task = self.tasks[job.id] = self.bars.add_task(title, total=None, state="starting")
        if kind == "step":
            state = f"epoch {event['epoch']}, step {event['step']}/{event['steps']}"
            losses = event["losses"].values()
            if losses:
                ends = dict.fromkeys(f"{loss:.3f}" for loss in (min(losses), max(losses)))
                state += f", loss {' to '.join(ends)}"
            self.bars.update(task, total=event["steps"], completed=event["step"], state=state)
            self._count(job, event["step"] / event["steps"])
            self._occasionally(job, state)
        elif kind in STATES:
            self.bars.update(task, state=STATES[kind].format(**event))
        elif kind in LINES:
            self._say(LINES[kind].format(**event))
        elif kind == "scored":
            values = ", ".join(f"{name} {value:.1f}" for name, value in event["scores"].items())
            kept = "kept " if event.get("kept") else ""
            self._say(f"{kept}epoch {event['epoch']}: {self._name(event)}: {values}")
        elif kind == "diverged" and event["run"] not in self.diverged:
            self.diverged.add(event["run"])  # told when it happens and when it is recorded
            self._say(f"{self._name(event)} diverged at step {event['step']}")

    def _name(self, event: dict[str, Any]) -> str:
        """Of the run that an event is about."""
        key = str(event["run"])
        return self.names.get(key, key[:12])

    def _count(self, job: Job, share: float) -> None:
        self.shares[job.id] = share * estimate(job, self.speed).seconds
        done = math.fsum(self.shares.values())
        state = f"{self.ended} of {self.count} ended"
        self.bars.update(self.whole, completed=done, state=state)

    def _occasionally(self, job: Job, state: str) -> None:
        if self.console.is_terminal:
            return
        now = self.bars.get_time()
        if now - self.said >= PLAIN_SECONDS:
            self.said = now
            seconds = self.bars.tasks[0].time_remaining
            left = f", about {duration(seconds)} left" if seconds else ""
            self._say(f"{self.ended} of {self.count} jobs ended{left}; job {job.id}: {state}")

    def _say(self, line: str) -> None:
        """One line, whole: a log has no width, and a name may look like markup."""
        self.console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
