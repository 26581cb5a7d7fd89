"""`sweep TABLE`: trains a row with every combination of some settings, and compares them."""

from __future__ import annotations

import math
import sys
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.requests import Asked
from repro.cli.run import exit_code, train
from repro.cli.scales import choose
from repro.engine.cost import stored_speed
from repro.engine.devices import trains_on
from repro.engine.plan import Plan, make_plan
from repro.errors import ReproError
from repro.papers.own_method import YOURS
from repro.papers.registry import find_table
from repro.papers.request import Request
from repro.papers.sweeps import (
    EPOCHS,
    Sweep,
    check_apart,
    drawn,
    full_length,
    grid_of,
    matrices,
    points_of,
    rungs,
)
from repro.papers.tables import Table
from repro.report.files import FIGURES_FOLDER, check_writable
from repro.report.render import json_text
from repro.report.sweep import as_json, as_text, by_size, view_sweep, write_sweep
from repro.store.store import Store
from repro.words import counted, duration

RANDOM, HALVING = "random", "halving"
YOURS_ENDS = (YOURS, f"({YOURS})")


@o.grouped
def command(
    id: Annotated[str, o.ids("Table, for example 3-shared-2.", "TABLES")],
    asked: o.AskedOfSweep,
    how: o.How,
    made: o.Made,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="A field of the runs and its values (method.size=8,64,256); repeatable: every "
            "combination is trained.",
        ),
    ],
    search: Annotated[
        str | None,
        o.choice(
            "search",
            (RANDOM, HALVING),
            "random: only --trials settings, drawn at random; halving: all or so many of them "
            "with few epochs first, the better half again with twice as many (default: all whole).",
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=2, help="Settings that --search draws.")] = None,
    budget: Annotated[
        float | None,
        typer.Option(parser=o.hours, help="Refuse a sweep that takes longer: 2h, 30min."),
    ] = None,
) -> None:
    """Trains one row of a table with every combination of some settings; chooses by validation.

    Example: python -m repro sweep 3-shared-2 --row "Ours (3-shared)" --tasks rte --scale smoke
    --set method.size=8,64 --set recipe.learning_rate=1e-4,1e-3 --seeds 2
    """
    results, table = o.open_store(made.store), find_table(id)
    points = points_asked(settings, search, trials)
    sweep = find_sweep(table, asked, points, results, budget=budget, device=how.device)
    speed = stored_speed(results.root, trains_on(how.device))
    whole = sweep if search != HALVING else all_rungs(sweep, full_length(table, sweep), results)
    plan = make_plan(whole.requests, results, speed, retry_failed=made.retry)
    announce(whole, plan)
    if not made.no_run:
        check_within(whole, plan, budget, results)
        check_writable(made.out / FIGURES_FOLDER)
    execution = how.execution(asked, sweep.request.backbone)

    def train_sweep(some: Sweep) -> None:
        if not made.no_run:
            train(some.requests, results, execution, how, retry=made.retry, sweep=some)

    if whole.epochs is not None:
        sweep = halved(sweep, whole.epochs, results, train_sweep)
    else:
        train_sweep(sweep)
    view = view_sweep(sweep, results)
    paths = write_sweep(view, made.out)
    if made.json:
        sys.stdout.write(json_text(as_json(view)))
    else:
        sys.stdout.write(as_text(view) + "\n" + "".join(f"Wrote {path}\n" for path in paths))
    plan = make_plan(sweep.requests, results)
    ended = (run for run in plan.runs if run.failure is None or run.failure.kind != "diverged")
    raise typer.Exit(exit_code(replace(plan, runs=tuple(ended))))


def points_asked(
    settings: Sequence[str], search: str | None, trials: int | None
) -> tuple[dict[str, Any], ...]:
    """The settings to train: the whole grid, or those that a search draws. Raises ReproError."""
    if (trials is None and search == RANDOM) or (trials is not None and search is None):
        raise ReproError("--search random and --trials N go together: give both or none.")
    grid = grid_of(settings)
    return points_of(grid) if trials is None else drawn(grid, trials)


def find_sweep(
    table: Table,
    asked: Asked,
    points: tuple[dict[str, Any], ...],
    store: Store,
    *,
    budget: float | None = None,
    device: str = "auto",
) -> Sweep:
    """The sweep at the scale asked for, or at the largest that is stored or that fits the budget.

    Raises ReproError for settings that the row cannot be trained with.
    """
    check_apart(points, asked.get("settings", {}))
    if "method" in asked:
        asked = asked | {"rows": own_row(asked.get("rows", [YOURS]))}
    first = asked | {"settings": asked.get("settings", {}) | points[0]}
    first |= {"budget": o.BUDGET if budget is None else budget}

    def spread(request: Request) -> tuple[Request, ...]:
        return sweep_of(request, points).requests

    found = choose([table], first, store, device=device, spread=spread)
    sweep = sweep_of(found[0], points)
    matrices(table, sweep)
    return sweep


def own_row(given: Sequence[str]) -> list[str]:
    """The row of `--method`, whose whole name holds its settings. Raises ReproError for another."""
    names = [given] if isinstance(given, str) else given
    if any(not name.strip().lower().endswith(YOURS_ENDS) for name in names):
        raise ReproError(
            "With --method its own row is swept: leave out --row, or leave out --method to sweep a "
            "row of the table."
        )
    return [YOURS]


def sweep_of(request: Request, points: tuple[dict[str, Any], ...]) -> Sweep:
    """The sweep that the request for one of its settings is of."""
    shared = {path: v for path, v in request.settings.items() if path not in points[0]}
    fixed = {path: v for path, v in points[0].items() if all(p[path] == v for p in points)}
    swept = tuple({path: v for path, v in point.items() if path not in fixed} for point in points)
    return Sweep(replace(request, settings={**shared, **fixed}), swept)


def announce(sweep: Sweep, plan: Plan) -> None:
    """The plan in one line, before anything is trained."""
    request = sweep.request
    how = "measured here" if plan.speed.measured else f"assuming {plan.speed.device}"
    many = f"{counted(len(sweep.points), 'setting')} of {' x '.join(sweep.fields)}"
    print(
        f"Sweep of {request.id} at {request.scale} scale: {many}, "
        f"{counted(request.seeds, 'seed')}. {counted(len(plan.runs), 'run')}, "
        f"{len(plan.runs) - len(plan.missing)} stored; the rest: "
        f"about {duration(plan.estimate().seconds)} ({how}).",
        file=sys.stderr,
    )


def check_within(sweep: Sweep, plan: Plan, budget: float | None, store: Store) -> None:
    """Raises ReproError for a sweep over the budget; says how many of its settings fit."""
    allowed = math.inf if budget is None else budget * 3600
    if plan.estimate().seconds <= allowed:
        return

    def is_over(number: int) -> bool:
        some = make_plan(sweep.requests[:number], store, plan.speed, retry_failed=False)
        return some.estimate().seconds > allowed

    fits = bisect(range(len(sweep.points)), False, key=is_over) - 1
    fitting = f"the first {fits} of {len(sweep.points)} settings" if fits else "no two settings"
    raise ReproError(
        f"The sweep takes about {duration(plan.estimate().seconds)}, and --budget allows "
        f"{duration(allowed)}: {fitting} fit. Nothing was trained. Give fewer values, fewer "
        "--seeds or --tasks, or a larger --budget."
    )


def all_rungs(sweep: Sweep, epochs: int, store: Store) -> Sweep:
    """A search by halving as far as its stages are decided by what is stored, then as it would be
    if the first settings were the better ones: as long as any other.
    """
    known = halved(sweep, epochs, store)
    last = known.points[-1][EPOCHS]
    alive = [point for point in known.points if point[EPOCHS] == last]
    ahead = [
        {**point, EPOCHS: length}
        for length, number in rungs(epochs, len(sweep.points)) if length > last
        for point in alive[:number]
    ]  # fmt: skip
    return replace(known, points=(*known.points, *ahead))


def halved(
    sweep: Sweep, epochs: int, store: Store, train: Callable[[Sweep], None] | None = None
) -> Sweep:
    """All settings with few epochs, the better half with twice as many, and so on, as far as they
    are trained; without `train`, as far as they are stored. What is diverged goes no further.
    """
    found = Sweep(sweep.request, (), epochs)
    alive: Sequence[Mapping[str, Any]] = sweep.points
    for length, number in rungs(epochs, len(alive)):
        alive = alive[:number]
        found = replace(found, points=(*found.points, *({**p, EPOCHS: length} for p in alive)))
        if train is not None:
            train(found)
        view = view_sweep(found, store)
        own = list(zip(view.of(view.objective)[-len(alive) :], alive, strict=True))
        if any(not one.whole and not diverged(one.runs, store) for one, _ in own):
            break  # which half is better is not known yet
        means = [(one.summary.mean, p) for one, p in own if one.whole and one.summary]
        alive = [p for _, p in sorted(means, key=lambda pair: (-pair[0], by_size(pair[1])))]
        if not alive:
            break
        if train is not None:
            told = f"{counted(len(own), 'setting')} with {counted(length, 'epoch')}."
            print(told, file=sys.stderr)
    return found


def diverged(keys: Sequence[str], store: Store) -> bool:
    """Whether a run has no result because its loss was not finite."""
    return any((failure := store.failure(k)) and failure.kind == "diverged" for k in keys)
