"""What a user asks of a table or figure: the one type, and how each of its fields is typed.

The command line makes its options and their help from the declarations here, and the command that
is printed for a request is made from them, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from pydantic import (
    ConfigDict,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo

from repro.errors import ReproError, UnknownName
from repro.spec import Backbone, Recipe, Scale
from repro.spec.method import methods
from repro.spec.tasks import KINDS
from repro.strict import is_misread, why_refused

V = TypeVar("V")


class Frozen(dict[str, V]):
    """A mapping that nobody changes, so that a request can be hashed: sorted, lists as tuples."""

    def __init__(self, values: Mapping[str, V]) -> None:
        super().__init__((name, _frozen(value)) for name, value in sorted(values.items()))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How a value is given on the command line.

    Attributes:
        help: What `--help` says of it.
        type: Of what is typed: str, int, float, bool (a flag) or list (may be given again).
        names: Where the option is not called like the field ("--task").
        least, most: The range of a number.
        path: The field of a run that this is a short name for, like "recipe.epochs".
        zero_is_none: 0 sets the field to None.
        joined: Several may be given, separated by commas or with the option again.
    """

    help: str
    type: type = str
    names: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    path: str = ""
    zero_is_none: bool = False
    joined: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """A saved request has to keep within the range, too: it may come from somebody else."""
        found = {"ge": self.least, "le": self.most}
        limits = {name: limit for name, limit in found.items() if limit is not None}
        return {**handler(source), **limits}


SHORT_NAMES: dict[str, Option] = {
    "train_rows": Option(
        path="task.train_rows",
        type=int,
        least=0,
        zero_is_none=True,
        help="Cap on training rows; 0: none.",
    ),
    "evaluation_rows": Option(
        path="task.evaluation_rows",
        type=int,
        least=0,
        zero_is_none=True,
        help="Cap on scored rows; 0: none.",
    ),
    "epochs": Option(
        path="recipe.epochs",
        type=int,
        least=1,
        most=10_000,
        help="Epochs instead of the scale's.",
    ),
    "learning_rate": Option(
        path="recipe.learning_rate", type=float, help="Learning rate instead of the scale's."
    ),
    "bottleneck": Option(
        path="method.bottleneck",
        type=int,
        least=1,
        most=100_000,
        help="Width of cells or adapters (ResAdapters: 80 and 136 are its 3M and 7M).",
    ),
    "precision": Option(path="recipe.precision", help="fp32 or bf16, instead of the scale's."),
}
"""Short name of `--set` -> how it is given, and which field it sets."""
BOTTLENECK = "method.bottleneck"
WIDTHS = (BOTTLENECK, "method.size", "method.reduction")
"""Fields that hold the width of a method's cells or adapters. The first one, set by hand, sets the
width of every method, whichever of these fields it has.
"""
FINITE = ConfigDict(allow_inf_nan=False)
WHAT_IT_IS = {
    "method.kind", "task.name", "task.source", "task.revision", "task.revisions", "task.tasks",
}  # fmt: skip
"""Fields that say which method or which data: no setting of either."""


@dataclass(frozen=True, slots=True)
class Request:
    """One table or figure at one scale, as a user asked for it, and the data found for it.

    What is None is the scale's own. Fields with an `Option` are what a user can ask for.

    Attributes:
        settings: Fields of a run that are set by hand, where a run has them ("method.form" -> "b").
        data_revisions: Task -> the data found for it; None for the published rows.
        unavailable: Task -> why its data cannot be had here: its cells are gaps.
        pools: Task -> the split that its training rows are drawn from, where that is not "train".
    """

    id: str
    scale: Annotated[
        Scale,
        Option(help="paper, reduced, smoke, or auto: the largest that is stored or affordable."),
    ]
    seeds: Annotated[
        int, Option(type=int, least=1, most=1000, help="Runs a row (default: the table's).")
    ]
    backbone: Annotated[
        Backbone | None,
        Option(help="minilm-l6, a hub id (see below), or a folder of a BERT, RoBERTa or T5 v1.0."),
    ] = None
    tasks: Annotated[
        tuple[str, ...] | None,
        Option(
            names=("--tasks", "--task"),
            joined=True,
            help="Only these tasks of a table or figure (cola,sst2; default: all).",
        ),
    ] = None
    method: Annotated[
        str | None,
        Option(
            help="A further row of a table, trained as its rows are: your method as FILE.py:CLASS, "
            "or one by name (lora). Of a figure: the model that it draws (not-shared, houlsby)."
        ),
    ] = None
    settings: Annotated[
        Mapping[str, Any],
        Option(
            type=list,
            names=("--set",),
            help="A field of the runs that have it (method.form=b); repeatable.",
        ),
    ] = field(default_factory=dict)
    sections: Annotated[
        tuple[str, ...] | None,
        Option(
            names=("--section", "--sections"),
            joined=True,
            help="Only this part of a table (Low-data-100); repeatable (default: all).",
        ),
    ] = None
    rows: Annotated[
        tuple[str, ...] | None,
        Option(
            type=list,
            names=("--row", "--rows"),
            help='Only this row of a table ("Ours (3-shared)"); repeatable (default: all).',
        ),
    ] = None
    columns: Annotated[
        tuple[str, ...] | None,
        Option(
            type=list,
            names=("--column", "--columns"),
            help="Only this column of a table (CoLA); repeatable (default: all).",
        ),
    ] = None
    published_layers: Annotated[
        bool, Option(type=bool, help="The printed layers in place of selected ones (AA).")
    ] = False
    as_released: Annotated[
        bool, Option(type=bool, help="The authors' code as it stands, defects included.")
    ] = False
    server: Annotated[
        bool, Option(type=bool, help="Imported scores of the GLUE test server, in GLUE tables.")
    ] = False
    data_revisions: Mapping[str, str | None] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    pools: Mapping[str, Literal["validation"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("settings", "data_revisions", "unavailable", "pools"):
            object.__setattr__(self, name, Frozen(getattr(self, name)))

    def declared(self) -> Request:
        """What the artefact itself declares at paper scale, of the tasks and in the reading that
        are asked for: nothing is set by hand but the number of seeds.
        """
        return Request(
            self.id,
            "paper",
            self.seeds,
            tasks=self.tasks,
            sections=self.sections,
            rows=self.rows,
            columns=self.columns,
            as_released=self.as_released,
            published_layers=self.published_layers,
        )


def option_of(name: str) -> str:
    """--learning-rate: how the option of a field or short name is typed."""
    option = OPTIONS[name]
    return option.names[0] if option.names else f"--{name.replace('_', '-')}"


def short_name(path: str) -> str | None:
    """The short name of `--set` for a field of a run, None where it has none."""
    return next((name for name, option in SHORT_NAMES.items() if option.path == path), None)


def _options() -> dict[str, Option]:
    """Every option of a request in order; the short names of `--set` stand before it."""
    found: dict[str, Option] = {}
    for name, hint in get_type_hints(Request, include_extras=True).items():
        declared = [extra for extra in get_args(hint)[1:] if isinstance(extra, Option)]
        if declared:
            found |= (SHORT_NAMES if name == "settings" else {}) | {name: declared[0]}
    return found


OPTIONS = _options()
"""Field of a request, or short name of `--set` -> how a user gives it."""


def declared_fields() -> dict[str, list[FieldInfo]]:
    """Path of every field of a run's parts ("recipe.epochs") -> the field in each kind of backbone,
    task, method or recipe that has it.
    """
    return _declared_fields(tuple(methods().values()))


@cache
def _declared_fields(known: tuple[Any, ...]) -> dict[str, list[FieldInfo]]:
    parts: dict[str, Iterable[Any]]
    parts = {"backbone": [Backbone], "task": KINDS, "method": known, "recipe": [Recipe]}
    found: dict[str, list[FieldInfo]] = {}
    for part, kinds in parts.items():
        for kind in kinds:
            for name, info in kind.model_fields.items():
                found.setdefault(f"{part}.{name}", []).append(info)
    return found


def run_fields() -> dict[str, list[FieldInfo]]:
    """Those of them that can be set by hand, sorted."""
    fields = sorted(declared_fields().items())
    return {
        path: infos
        for path, infos in fields
        if path not in WHAT_IT_IS and not path.startswith("backbone.")
    }


def settings_of(texts: Sequence[str] = (), **short: Any) -> dict[str, Any]:
    """The fields that `--set PATH=VALUE` (`texts`) and its short names set; a short name has one
    value or a list of those that were typed.

    Raises ReproError for a field that does not exist, that is set twice, or that cannot have the
    value.
    """
    given: list[tuple[str, str, Any]] = []
    for name, option in SHORT_NAMES.items():
        values = short.get(name)
        for value in values if isinstance(values, list) else [values] * (values is not None):
            given.append((f"{option_of(name)} {value}", option.path, value))
    given += [(f"--set {text}", *_path_and_value(text)) for text in texts]
    found, said_of = {}, dict[str, str]()
    for said, path, value in given:
        of = BOTTLENECK if path in WIDTHS else path
        if of in said_of:
            raise ReproError(f"{said_of[of]} and {said} set the same field: leave one of them out.")
        said_of[of] = said
        found[path] = _checked(said, path, value)
    return found


def _path_and_value(text: str) -> tuple[str, Any]:
    """The field and the value of "method.form=b"; the value is read as JSON where it is that (0.1,
    true, null; None is null, as `show` prints it).
    """
    path, equals, value = text.partition("=")
    path = path.strip()
    if not equals or not value:
        raise ReproError(f"--set wants a field and its value, like method.form=b, not '{text}'.")
    if path in WHAT_IT_IS or path.partition(".")[0] in ("backbone", "parents"):
        raise ReproError(
            f"{path} says what a run is of, and is no setting: choose by table and row, by "
            "--tasks, or by --backbone."
        )
    if path not in run_fields():
        raise UnknownName("field", path, run_fields())
    try:
        return path, json.loads("null" if value == "None" else value)
    except ValueError:
        if is_misread(value):
            raise ReproError(
                f"--set {text}: write a number with the digits 0 to 9, like 0.001."
            ) from None
        return path, value


def as_typed(value: Any) -> str:
    """A value of `--set` as a user types it: a text as it is, unless it would be read as JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads("null" if value == "None" else value)
    except ValueError:
        return value
    return json.dumps(value)


def _checked(said: str, path: str, value: Any) -> Any:
    """The value as the field holds it. Raises ReproError where no kind of run can have it."""
    option = SHORT_NAMES.get(short_name(path) or "")
    if option is not None and option.zero_is_none and value == 0:
        value = None
    problems = []
    for info in run_fields()[path]:
        hint: Any = Annotated[info.annotation, info]
        try:
            fitting = TypeAdapter(hint, config=FINITE).validate_python(value)
            break
        except ValidationError as error:
            problems.append(why_refused(error.errors(include_url=False)[0]))
    else:
        raise ReproError(
            f"{said}: {'; or: '.join(dict.fromkeys(problems))}. See `python -m repro show` for the "
            "fields of a table's runs."
        )
    if option is not None and option.most is not None and fitting > option.most:
        raise ReproError(f"{said}: expected at most {option.most}.")
    return fitting
