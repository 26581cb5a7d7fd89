"""A paper's setting, value by value with its source, and the run that it makes.

Origins: "paper" is the paper's text, "code" the authors' released code, "assumed" is ours. Where
the code has a defect that changes results, the headline reading repairs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repro.errors import ReproError
from repro.papers.request import BOTTLENECK, Request
from repro.spec import Backbone, Recipe, RunSpec, Source, run_key
from repro.spec.method import AnyMethod, method_called

Setting = dict[str, tuple[Any, Source]]
"""Field path -> value and where it comes from."""


@cache
def paper(where: str) -> Source:
    """A value that the paper states."""
    return Source(origin="paper", citation=where)


@cache
def code(where: str) -> Source:
    """A value of the authors' released code that the paper leaves open."""
    return Source(origin="code", citation=where)


@cache
def assumed(why: str) -> Source:
    """A value of ours."""
    return Source(origin="assumed", citation=why)


def borrowed(setting: Setting, why: str, origins: tuple[str, ...] = ("paper", "code")) -> Setting:
    """The same values for a model that their source does not speak of: assumed, with `why`."""
    return {
        path: (value, assumed(f"{why}: {source.citation}") if source.origin in origins else source)
        for path, (value, source) in setting.items()
    }


def asked_for(request: Request) -> Setting:
    """What the user set by hand, whatever the scale says; a bottleneck is the adapters' size."""
    by_hand = assumed("asked for")
    found: Setting = {path: (value, by_hand) for path, value in request.settings.items()}
    if BOTTLENECK in found:
        found["method.size"] = found[BOTTLENECK]
    return found


def width_of(request: Request) -> int | None:
    """The width of cells or adapters that the user set by hand, if any."""
    width: int | None = request.settings.get(BOTTLENECK, request.settings.get("method.size"))
    return width


def make_run(
    request: Request,
    backbone: tuple[Backbone, Source],
    setting: Setting,
    seed: int,
    parents: Mapping[str, RunSpec] | None = None,
) -> RunSpec:
    """The run of this setting. Lines on a method that lack a field of its kind are left out, so
    that one setting can serve all rows of a table. `parents` are the runs that it needs, by role.

    Raises ReproError for parts that do not fit each other.
    """
    values: dict[str, Any] = {"task": {}, "method": {}, "recipe": {}}
    sources: dict[str, Source] = {}
    known = method_fields(setting["method.kind"][0])
    for path, (value, source) in setting.items():
        part, name = path.split(".")
        if part != "method" or name in known:
            values[part][name] = value
            sources[path] = source
    encoder, origin = backbone
    spec = _checked(
        scale=request.scale,
        backbone=encoder,
        seed=seed,
        parents={role: run_key(parent) for role, parent in (parents or {}).items()},
        sources=sources | {"backbone": origin},
        task=values["task"],
        method=_shared(AnyMethod, values["method"], method_called(values["method"]["kind"])),
        recipe=_shared(Recipe, values["recipe"]),
    )
    spec.check()
    return spec


def _shared(kind: Any, values: dict[str, Any], *of: Any) -> Any:
    """The one object that all runs with these values have: a plan holds very many. `of` is what
    else it depends on. What cannot be one is left to `RunSpec`, which says what is wrong.
    """
    try:
        return _one(kind, tuple((name, type(v), v) for name, v in values.items()), of)
    except (TypeError, ValueError):
        return values


@lru_cache(maxsize=4096)
def _one(kind: Any, values: tuple[tuple[str, type, Any], ...], of: tuple[Any, ...]) -> Any:
    return _adapter(kind).validate_python({name: value for name, _, value in values})


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(**fields: Any) -> RunSpec:
    """Raises ReproError for a value that a field cannot have: it was set by hand."""
    try:
        return RunSpec(**fields)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        part, *_, name = map(str, problem["loc"])
        raise ReproError(
            f"--set {part}.{name}={problem['input']}: {problem['msg']}. See `python -m repro show` "
            "for the fields of a table's runs."
        ) from error


def method_fields(kind: str) -> set[str]:
    """The fields of a kind of method."""
    return set(method_called(kind).model_fields)
