"""What a command says and checks while jobs are trained."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from run_samples import run_spec

from repro.cli import execute
from repro.cli.execute import JobProgress, tell_failures
from repro.engine.cost import ASSUMED, Estimate
from repro.engine.dispatch import Outcome
from repro.engine.jobs import Job, make_job
from repro.engine.plan import Plan


def plan_of(*jobs: Job) -> Plan:
    return Plan((), jobs, ASSUMED["cpu"])


def test_jobs_that_were_not_started_are_one_line_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    jobs = [make_job([run_spec(seed=seed)]) for seed in range(3)]
    tell_failures([Outcome(jobs[0], "error", "It broke.")])
    tell_failures([Outcome(job, "stopped", "3 jobs like these ended alike") for job in jobs])
    assert capsys.readouterr().err.splitlines() == [
        f"repro: job {jobs[0].id}: error: It broke.",
        "repro: `python -m repro status` names the logs.",
        "repro: 3 runs not started: 3 jobs like these ended alike",
    ]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed where stderr is no terminal, a line for every step."""
    text = io.StringIO()
    monkeypatch.setattr(execute, "Console", lambda **_: Console(file=text, width=200))
    monkeypatch.setattr(execute, "PLAIN_SECONDS", 0.0)
    return text


def test_the_time_left_counts_what_all_workers_have_done(
    screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: of 40 s of work, 10 are done after 50 s and 10 more after 100 s of two workers."""
    jobs = [make_job([run_spec(recipe__learning_rate=rate)]) for rate in (10.0, 10.0001, 20.0)]
    monkeypatch.setattr(
        "repro.engine.cost.estimate",
        lambda job, speed: Estimate(round(job.lead.recipe.learning_rate), 1.0, 0.0, 0.0),
    )
    monkeypatch.setattr(execute, "estimate", lambda job, speed: Estimate(
        round(job.lead.recipe.learning_rate), 1.0, 0.0, 0.0))  # fmt: skip
    shown = JobProgress(plan_of(*jobs))
    now = [0.0]
    shown.bars.update(shown.whole, total=40.0)
    monkeypatch.setattr(shown.bars, "get_time", lambda: now[0])
    step: dict[str, Any] = {"event": "step", "epoch": 1, "step": 1, "steps": 2, "losses": {}}
    shown.hear(jobs[2], step | {"step": 0})
    assert "left" not in screen.getvalue()  # no pace is known yet
    now[0] = 50.0
    shown.hear(jobs[0], {"event": "outcome", "kind": None})
    now[0] = 100.0
    shown.hear(jobs[2], step)
    line = screen.getvalue().splitlines()[-1]
    assert line == (f"  1 of 3 jobs ended, about 1.7 min left; job {jobs[2].id}: epoch 1, step 1/2")


@pytest.mark.parametrize(
    ("losses", "told"),
    [((0.5,), "loss 0.500"), ((0.5, 0.25), "loss 0.250 to 0.500"), ((0.5, 0.5), "loss 0.500")],
)
def test_equal_losses_are_told_once(
    screen: io.StringIO, losses: tuple[float, ...], told: str
) -> None:
    job = make_job([run_spec()])
    by_run = {str(number): loss for number, loss in enumerate(losses)}
    step = {"event": "step", "epoch": 1, "step": 1, "steps": 2, "losses": by_run}
    JobProgress(plan_of(job)).hear(job, step)
    assert screen.getvalue().splitlines()[-1].endswith(f"epoch 1, step 1/2, {told}")
