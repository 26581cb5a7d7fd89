"""Options that several verbs share, declared once as the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """`verb` for typer: a parameter that is a dataclass becomes one option for each of its fields.

    Two groups of a verb must not have a field of the same name.
    """
    signature = inspect.signature(verb, eval_str=True)
    groups = {p.name: p.annotation for p in signature.parameters.values() if _is_group(p)}

    @wraps(verb)
    def command(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        verb(**given, **made)

    parameters = [option for p in signature.parameters.values() for option in _options(p)]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _is_group(parameter: Parameter) -> bool:
    return isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)


def _options(parameter: Parameter) -> Iterator[Parameter]:
    """The parameter itself, or one for each field of its group; all by name, in order."""
    if not _is_group(parameter):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(parameter.annotation, include_extras=True)
    for field in fields(parameter.annotation):
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
