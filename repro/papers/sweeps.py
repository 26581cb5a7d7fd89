"""A sweep: a row of a table with several values of some settings, each an ordinary request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

from pydantic import Field

from repro.errors import ReproError
from repro.papers.matrix import Matrix
from repro.papers.own_method import YOURS
from repro.papers.request import (
    BOTTLENECK,
    WIDTHS,
    Request,
    as_typed,
    settings_of,
)
from repro.papers.tables import Row, Table

MOST = 200
"""Settings of a sweep at most."""
SEEDS = ("seed", "recipe.seed", "method.seed", "task.seed")
ROWS_SCORED = {
    "task.evaluation", "task.evaluation_rows", "task.subset_seed", "task.split_seed",
    "task.development", "task.drawn_from",
}  # fmt: skip
"""Fields that say which rows are scored: scores of different rows choose no setting."""
EPOCHS = "recipe.epochs"
TO = ".."
POWERS = 8.0
"""From this ratio of the largest to the smallest value on, a field is logarithmic."""
DRAWS = 50
"""Draws for each setting: a small grid repeats itself."""
OPENING, CLOSING = "[{", "]}"


@dataclass(frozen=True, slots=True)
class Sweep:
    """One row of a table, and the settings that it is trained with.

    Attributes:
        request: Table, row, scale, seeds, data, and what all settings share.
        points: The settings in order, each a mapping from the swept fields to their values.
        epochs: The full length of a run where a search by halving also tries shorter ones; only
            settings of this length can be chosen.
    """

    request: Request
    points: Annotated[tuple[Mapping[str, Any], ...], Field(min_length=1)]
    epochs: int | None = None

    def is_whole(self, point: Mapping[str, Any]) -> bool:
        """Whether a setting has the full length."""
        return self.epochs is None or point[EPOCHS] == self.epochs

    @property
    def fields(self) -> tuple[str, ...]:
        """The swept fields."""
        return tuple(self.points[0])

    @property
    def requests(self) -> tuple[Request, ...]:
        """A request for each setting: the same as `table --row NAME --set ...` makes."""
        return tuple(
            replace(self.request, settings={**self.request.settings, **point})
            for point in self.points
        )


@dataclass(frozen=True, slots=True)
class Range:
    """Every value from `low` to `high`, whole numbers if both are; for a random search."""

    low: float
    high: float


Grid = Mapping[str, Sequence[Any] | Range]
"""Field -> its values."""


def grid_of(texts: Sequence[str]) -> dict[str, tuple[Any, ...] | Range]:
    """Field -> its values, of `--set method.size=8,64 --set recipe.learning_rate=1e-5..1e-3`.

    Raises ReproError for an unknown field, a value that the field cannot have, a value or a field
    given twice, and a field by which no setting can be chosen.
    """
    given = {text: _values(text) for text in texts}
    firsts = [f"{_path(text)}={values[0].split(TO)[0]}" for text, values in given.items()]
    settings_of(firsts)  # no unknown field, none twice
    found: dict[str, tuple[Any, ...] | Range] = {}
    for text, values in given.items():
        path = _path(text)
        whole_range = len(values) == 1 and TO in values[0]
        if path in ROWS_SCORED and (whole_range or len(values) > 1):
            raise ReproError(
                f"{path} changes which rows are scored, so that its values cannot be compared by "
                "their scores: give it one value."
            )
        if whole_range:
            found[path] = _range(path, values[0])
            continue
        fitting: list[Any] = []
        for value in values:
            one = settings_of([f"{path}={value}"])[path]
            if one in fitting:
                raise ReproError(f"--set {text}: {value} is given twice. Leave one of them out.")
            fitting.append(one)
        found[path] = tuple(fitting)
    return found


def _range(path: str, text: str) -> Range:
    low, _, high = text.partition(TO)
    ends = [settings_of([f"{path}={end}"])[path] for end in (low, high)]
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        raise ReproError(f"--set {path}={text}: a range is of numbers, like 1e-5..1e-3.")
    if ends[0] >= ends[1]:
        raise ReproError(f"--set {path}={text}: the first end of a range is below the second.")
    return Range(*ends)


def _path(text: str) -> str:
    path = text.partition("=")[0].strip()
    if path in SEEDS:
        raise ReproError(
            "A seed is no setting to be chosen by its score: --seeds N trains every setting with "
            "N seeds."
        )
    return path


def _values(text: str) -> list[str]:
    """The values of "method.size=8,64"; commas within brackets or quotes separate none."""
    if "=" not in text:
        settings_of([text])  # says what a setting looks like
    values, depth, quoted = [""], 0, False
    for letter in text.partition("=")[2]:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in OPENING) - (letter in CLOSING)
        if letter == "," and depth == 0 and not quoted:
            values.append("")
        else:
            values[-1] += letter
    values = [value.strip() for value in values]
    if len(values) > 1 and not all(values):
        raise ReproError(f"--set {text}: there is no value before or after one of the commas.")
    return values


def points_of(grid: Grid) -> tuple[dict[str, Any], ...]:
    """Every combination of the values. Raises ReproError for none to choose from, too many, or a
    range.
    """
    lists = {path: values for path, values in grid.items() if not isinstance(values, Range)}
    for path in grid.keys() - lists.keys():
        raise ReproError(f"{path} has a range of values: --search random --trials N draws from it.")
    if _number(grid) > MOST:
        raise ReproError(
            f"The grid has {_number(grid):,.0f} settings, and a sweep at most {MOST}: give fewer "
            "values, or draw some of them with --search random --trials N."
        )
    return tuple(dict(zip(lists, values, strict=True)) for values in product(*lists.values()))


def _number(grid: Grid) -> float:
    """How many settings a grid has. Raises ReproError where there is none to choose."""
    sizes = (math.inf if isinstance(own, Range) else len(own) for own in grid.values())
    number = math.prod(sizes)
    if number < 2:
        raise ReproError(
            "A sweep needs a field with several values: --set method.size=8,64,256. For one "
            "setting, use `table`."
        )
    return number


def drawn(grid: Grid, trials: int) -> tuple[dict[str, Any], ...]:
    """`trials` different settings of the grid, drawn at random; the same ones each time, and the
    first of them where more are asked for. A range that spans powers is drawn by its logarithm.

    Raises ReproError where there are fewer, or optuna is not installed.
    """
    if trials > min(_number(grid), MOST):
        raise ReproError(
            f"--trials {trials}: the grid has {_number(grid):,.0f} settings, and a sweep at most "
            f"{MOST}. Give a smaller number, or leave out --search."
        )
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ReproError(
            "--search needs the package optuna: pip install 'repro[search]'. A grid needs none."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    found: dict[str, dict[str, Any]] = {}
    for _ in range(DRAWS * trials):
        trial = study.ask()
        values = {path: _suggested(trial, path, grid[path]) for path in sorted(grid)}
        point = {path: values[path] for path in grid}  # in any order of --set the same draws
        found.setdefault(repr(point), point)
        if len(found) == trials:
            return tuple(found.values())
    raise ReproError(f"--trials {trials}: only {len(found)} different settings were drawn.")


def _suggested(trial: Any, path: str, values: Sequence[Any] | Range) -> Any:
    if not isinstance(values, Range):
        return values[trial.suggest_categorical(path, range(len(values)))]
    low, high, log = values.low, values.high, spans_powers(values.low, values.high)
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(path, low, high, log=log)
    return float(f"{trial.suggest_float(path, low, high, log=log):.3g}")  # short in a command


def spans_powers(low: float, high: float) -> bool:
    """Whether values are compared by their ratio: positive, and far apart."""
    return low > 0 and high / low >= POWERS


def rungs(epochs: int, number: int) -> list[tuple[int, int]]:
    """Epochs and settings of each stage of successive halving (Jamieson and Talwalkar 2016): half
    of the settings go on to twice the epochs, until few are left with all epochs.
    """
    last = min(epochs.bit_length(), number.bit_length()) - 1
    return [(epochs >> (last - stage), -(-number // 2**stage)) for stage in range(last + 1)]


def full_length(table: Table, sweep: Sweep) -> int:
    """The epochs of all runs of a sweep. Raises ReproError where these differ, or are too few or
    not counted, so that none can be left out.
    """
    if EPOCHS in sweep.fields:
        raise ReproError(f"--search halving sets {EPOCHS} by itself: leave out its values.")
    specs = [spec for matrix in matrices(table, sweep) for spec in matrix.wanted.values()]
    if any(spec.recipe.steps is not None or spec.recipe.look_steps is not None for spec in specs):
        raise ReproError("--search halving shortens epochs, and these runs count steps.")
    found = {spec.recipe.epochs for spec in specs}
    if len(found) > 1 or min(found) < 2:
        raise ReproError(
            "--search halving needs runs of one length, of 2 epochs at least, and these have "
            f"{' or '.join(map(str, sorted(found)))}. Give it with --epochs."
        )
    return found.pop()


def setting_in_words(point: Mapping[str, Any]) -> str:
    """method.size=64, recipe.learning_rate=0.0003."""
    return ", ".join(f"{path}={as_typed(value)}" for path, value in point.items())


def check_apart(points: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> None:
    """Raises ReproError where a swept field is set by another option, too."""
    own = {BOTTLENECK if path in WIDTHS else path for path in settings}
    for path in points[0]:
        if (BOTTLENECK if path in WIDTHS else path) in own:
            raise ReproError(f"{path} is swept and set by another option: leave one of them out.")


def matrices(table: Table, sweep: Sweep) -> list[Matrix[Table]]:
    """The runs of each setting.

    Raises ReproError where a setting cannot be trained, two settings train the same runs, or a
    setting has several runs of one seed.
    """
    found: list[Matrix[Table]] = []
    seen: dict[frozenset[str], Mapping[str, Any]] = {}
    for point, request in zip(sweep.points, sweep.requests, strict=True):
        try:
            matrix = table.matrix(request)
        except ReproError as problem:
            raise type(problem)(f"{setting_in_words(point)}: {problem}") from problem
        keys = frozenset(matrix.wanted)
        if keys in seen:
            raise ReproError(
                f"{setting_in_words(seen[keys])} and {setting_in_words(point)} train the same "
                f"runs of {row_name(matrix)}: sweep only fields that change them."
            )
        seen[keys] = point
        _check_seeds(matrix)
        found.append(matrix)
    return found


def _check_seeds(matrix: Matrix[Table]) -> None:
    row = swept_row(matrix)
    for column in matrix.artefact.reproduced(matrix.request):
        specs = matrix.of(row.name, column.name)
        if len({spec.seed for spec in specs}) < len(specs):
            raise ReproError(
                f"{row.name} is itself the best of several settings in {matrix.request.id} "
                f"({len(specs)} runs in {column.name}): set the fields that it chooses among, or "
                f"sweep another row. `python -m repro plan {matrix.request.id}` lists its runs."
            )


def swept_row(matrix: Matrix[Table]) -> Row:
    """The row that is swept: the user's own where the request has a method, else the one asked for.

    Raises ReproError where there is not exactly one with scores.
    """
    rows = [row for row in matrix.artefact.rows if row.added or not matrix.request.method]
    gaps = [row.gap.reason for row in rows if row.gap is not None]
    if gaps:
        raise ReproError(f"{rows[0].name} cannot be trained: {gaps[0]}.")
    if len(rows) != 1:
        names = ", ".join(row.name for row in rows)
        raise ReproError(
            f"A sweep is of one row with runs of its own, and this names {len(rows)} ({names}). "
            "Choose one with --row, and the part of the table with --section."
        )
    if not rows[0].scored or not matrix.artefact.reproduced(matrix.request):
        raise ReproError(
            f"{rows[0].name} has no scores of a model that is trained for {matrix.request.id}: "
            "sweep another row."
        )
    return rows[0]


def row_name(matrix: Matrix[Table]) -> str:
    """What the swept row is called; the user's own by its method, as its name holds settings."""
    row = swept_row(matrix)
    return f"{matrix.request.method} ({YOURS})" if row.added else row.name


def fields_in_short(fields: Sequence[str]) -> Iterator[str]:
    """size, learning_rate: without the part of a run that they are of, where that is clear."""
    names = [path.partition(".")[2] for path in fields]
    for path, name in zip(fields, names, strict=True):
        yield name if names.count(name) == 1 else path
