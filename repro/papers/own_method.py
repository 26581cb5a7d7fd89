"""A method of the user's in a published table: a further row, trained as one of the table's is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from repro.errors import ReproError
from repro.spec import RunSpec, Source, run_key
from repro.spec.method import Method, method_called, methods
from repro.spec.types import START
from repro.strict import why_refused

if TYPE_CHECKING:
    from repro.papers.matrix import Chain
    from repro.papers.request import Request
    from repro.papers.tables import Column, Row, Table

BY_HAND = Source(origin="assumed", citation="asked for")
FAMILIES = {"bert": "an encoder", "t5": "T5"}
YOURS = "yours"
"""What `--row` calls the row."""
OWN = Source(origin="assumed", citation="a method of yours")


def with_method(table: Table, request: Request, kind: str) -> Table:
    """The table with a row for the method in every part of it.

    The row has the data, seeds, recipe and selection of the first row that trains no weights of the
    encoder; the method's settings are its defaults, changed by `--set method.…`. Raises ReproError
    where no row can lend its recipe, or the settings do not fit.
    """
    lenders = _lenders(table, request)
    if not lenders:
        raise ReproError(
            f"--method takes the recipe from a row of {table.id}, and none of its rows trains "
            "added modules on a frozen encoder (the tables of HyperFormer train T5; others only "
            "count parameters or rows). Leave out --method, or choose another table, such as "
            "3-shared-2."
        )
    for lender in lenders.values():
        _check_fits(table, lender, request, kind)
    shown = {section: _row(lender, request, kind) for section, lender in lenders.items()}
    rows: list[Row] = []
    for place, row in enumerate(table.rows):
        rows.append(row)
        after = table.rows[place + 1].section if place + 1 < len(table.rows) else None
        if row.section != after and row.section in shown:
            rows.append(shown[row.section])

    def chains(row: Row, column: Column, request: Request) -> Sequence[Chain]:
        if not row.added:
            return table.chains(row, column, request)
        found = table.chains(lenders[row.section], column, request)
        return [_changed_chain(chain, request, kind) for chain in found]

    return replace(table, rows=tuple(rows), chains=chains)


def _lenders(table: Table, request: Request) -> dict[str, Row]:
    """Section -> the row that lends its recipe: one in every part of the table that repeats its
    rows (AA-2's numbers of training rows); where sections only group the rows, one in all.
    """
    found: dict[str, Row] = {}
    for row in table.rows:
        asked = request.sections is None or row.section in request.sections
        new = row.part not in {other.part for other in found.values()}
        if asked and new and _lends(table, row, request):
            found[row.section] = row
    return found


def _lends(table: Table, row: Row, request: Request) -> bool:
    """Whether it is scored on runs that keep the weights of the encoder and need no others but
    those that they start from.
    """
    if not row.scored or not table.scores:
        return False
    column = (table.reproduced(request) or table.scores)[0]
    try:
        chains = table.chains(row, column, replace(request, seeds=1))
    except ReproError:
        return False
    methods = [chain[-1].method for chain in chains if set(chain[-1].parents) <= {START}]
    return bool(methods) and not any(m.trains_encoder or not m.trains for m in methods)


def _check_fits(table: Table, lender: Row, request: Request, kind: str) -> None:
    """Raises ReproError for what no setting mends, before a setting is asked for."""
    cls = method_called(kind)
    if cls.evaluates:
        raise ReproError(
            f"The method '{kind}' trains nothing: it scores a run of another method, and so cannot "
            "be a row of its own. Choose another with --method."
        )
    lent = table.chains(lender, table.scores[0], replace(request, seeds=1))[0][-1]
    if cls.family != lent.method.family:
        raise ReproError(
            f"The method '{kind}' trains inside {FAMILIES[cls.family]}, and the rows of {table.id} "
            f"inside {FAMILIES[lent.method.family]}. Choose another with --method."
        )
    needed = {f"method.{name}": field.examples for name, field in _required(cls).items()}
    examples = {path: examples[0] for path, examples in needed.items() if examples}
    lacking = needed.keys() - request.settings.keys()
    if lacking and lacking <= examples.keys():  # refuses a task that no value fits
        _changed(lent, replace(request, settings={**examples, **request.settings}), kind)


def _row(lender: Row, request: Request, kind: str) -> Row:
    part = f"{lender.part} / " if lender.part else ""
    return replace(
        lender,
        name=f"{part}{named(kind, request.settings)}",
        variant=f"{kind} as {lender.variant}",
        published=None,
        note=f"not of the paper: the method '{kind}', trained with the recipe of {lender.name}",
        added=True,
        epoch=None,  # the lender may show one epoch of its run
    )


def named(kind: str, settings: Mapping[str, Any]) -> str:
    """What the row is called in every part of a table: "lora r8 (yours)"."""
    return f"{_made(kind, settings).label()} (yours)"


def needed_settings(request: Request) -> dict[str, Any]:
    """Of what is set by hand, that without which the further row's method cannot be made."""
    cls = methods().get(request.method or "")
    needed = {f"method.{name}" for name in _required(cls)} if cls is not None else set()
    return {path: value for path, value in request.settings.items() if path in needed}


def _required(cls: type[Method]) -> dict[str, FieldInfo]:
    """The settings without a default."""
    return {name: field for name, field in cls.model_fields.items() if field.is_required()}


def _made(kind: str, settings: Mapping[str, Any]) -> Any:
    """The method with those of the settings that it has."""
    cls = method_called(kind)
    paths = {f"method.{name}": name for name in cls.model_fields}
    given = {paths[path]: value for path, value in settings.items() if path in paths}
    try:
        return cls(**given)
    except ValidationError as error:
        name, problem = _first(error)
        if name not in _required(cls) or f"method.{name}" in settings:
            raise ReproError(
                f"The method '{kind}' cannot be made: method.{name}: {problem}. Give another value "
                f"with --set method.{name}=VALUE."
            ) from error
        field, of_file = cls.model_fields[name], cls.settings_from.__func__  # type: ignore[attr-defined]
        value = field.examples[0] if field.examples else "VALUE"
        mend = f"--set method.{name}={value}" + ", for example" * bool(field.examples)
        if of_file is not Method.settings_from.__func__:  # type: ignore[attr-defined]
            mend = f"its file: --method {kind}:FILE"
        raise ReproError(
            f"The method '{kind}' needs a setting, {name} ({field.description}). Give {mend}."
        ) from error


def _changed_chain(chain: Chain, request: Request, kind: str) -> Chain:
    """The runs with this method in place of their own; what a run starts from is changed, too."""
    keys: dict[str, str] = {}
    found: list[RunSpec] = []
    for spec in chain:
        parents = {role: keys[key] for role, key in spec.parents.items()}
        made = _changed(spec.model_copy(update={"parents": parents}), request, kind)
        keys[run_key(spec)] = run_key(made)
        found.append(made)
    return tuple(found)


def _first(error: ValidationError) -> tuple[str, str]:
    """The field that is wrong first, and what is."""
    problem = error.errors(include_url=False)[0]
    return ".".join(map(str, problem["loc"])), why_refused(problem)


def _changed(spec: RunSpec, request: Request, kind: str) -> RunSpec:
    """The run with this method in place of its own."""
    made = _made(kind, request.settings)
    wanted = {
        name: value for name, value in made.recipe.items()
        if f"recipe.{name}" not in request.settings
    }  # fmt: skip
    try:
        recipe = type(spec.recipe)(**(dict(spec.recipe) | wanted))
    except ValidationError as error:
        name, problem = _first(error)
        raise ReproError(
            f"The method '{kind}' has a field in its `recipe` that no run can have: {name}: "
            f"{problem}. The fields are {', '.join(type(spec.recipe).model_fields)}."
        ) from error
    sources = {
        path: source for path, source in spec.sources.items() if not path.startswith("method.")
    }
    sources |= {f"recipe.{name}": OWN for name in wanted}
    for name in type(made).model_fields:
        by_hand = f"method.{name}" in request.settings
        sources[f"method.{name}"] = BY_HAND if by_hand else OWN
    fields = {name: getattr(spec, name) for name in type(spec).model_fields}
    found = RunSpec(**(fields | {"method": made, "recipe": recipe, "sources": sources}))
    found.check()
    return found
