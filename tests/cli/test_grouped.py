"""Options declared as the fields of a dataclass: what typer sees, what the verb gets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from repro.cli.options import grouped


@dataclass(frozen=True, slots=True)
class Size:
    """A group."""

    wide: Annotated[int, typer.Option(min=1, help="Columns.")] = 4
    high: Annotated[int | None, typer.Option(help="Rows.")] = None


Got = list[tuple[str, Size, bool]]


@pytest.fixture
def got() -> Got:
    return []


@pytest.fixture
def app(got: Got) -> typer.Typer:
    @grouped
    def command(
        name: Annotated[str, typer.Argument(help="What.")],
        size: Size,
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Says what it got."""
        got.append((name, size, loud))

    found = typer.Typer()
    found.command()(command)
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["box"], ("box", Size(), False)),
        (["box", "--high", "3", "--loud"], ("box", Size(4, 3), True)),
        (["--wide", "2", "box"], ("box", Size(2), False)),
    ],
)
def test_a_verb_gets_its_group(
    app: typer.Typer, got: Got, words: list[str], expected: tuple[str, Size, bool]
) -> None:
    assert CliRunner().invoke(app, words).exit_code == 0
    assert got == [expected]


def test_a_fields_own_limits_hold(app: typer.Typer, got: Got) -> None:
    answer = CliRunner().invoke(app, ["box", "--wide", "0"])
    assert answer.exit_code == 2
    assert got == []


def test_help_names_every_field(app: typer.Typer) -> None:
    out = CliRunner().invoke(app, ["--help"]).output
    for part in ("--wide", "--high", "--loud", "Columns.", "Says what it got."):
        assert part in out


def test_verbs_that_train_have_the_same_options() -> None:
    from repro.cli.main import module_of

    def options(verb: Callable[..., None]) -> set[str]:
        return set(inspect.signature(verb).parameters)

    table, run, figure, plan = (
        options(module_of(verb).command) for verb in ("table", "run", "figure", "plan")
    )
    both = table & run & figure
    asked = {"scale", "seeds", "backbone", "tasks", "train_rows", "bottleneck", "as_released"}
    assert asked | {"device", "threads", "micro_batch", "retry", "store"} <= both
    assert asked <= plan
