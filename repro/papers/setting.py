"""A paper's setting, value by value with its source, and the run that it makes.

Origins: "paper" is the paper's text, "code" the authors' released code, "assumed" is ours. Where
the code has a defect that changes results, the headline reading repairs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, lru_cache, partial
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from repro.errors import ReproError
from repro.papers.matrix import Chain
from repro.papers.request import BOTTLENECK, Request
from repro.spec import Backbone, Recipe, RunSpec, Source, Task, run_key
from repro.spec.identity import remembered
from repro.spec.method import AnyMethod, method_called
from repro.spec.tasks import AnyTask
from repro.strict import why_refused

Setting = dict[str, tuple[Any, Source]]
"""Field path -> value and where it comes from."""


class Own(Enum):
    """A value of a setting that every run has of its own."""

    SEED = "the run's seed"


@cache
def _source(origin: Literal["paper", "code", "assumed"], citation: str) -> Source:
    return Source(origin=origin, citation=citation)


paper = partial(_source, "paper")
"""The source of a value that the paper states, by where it does."""
code = partial(_source, "code")
"""The same of a value of the authors' released code that the paper leaves open."""
assumed = partial(_source, "assumed")
"""The same of a value of ours, by why it is that."""


def lines(part: str, source: Source, /, **values: Any) -> Setting:
    """Lines of a setting that have one source: fields of the "task", "method" or "recipe"."""
    return {f"{part}.{name}": (value, source) for name, value in values.items()}


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


@dataclass(frozen=True, slots=True)
class Template:
    """A run but for its seed, checked once: the runs of its seeds are copies that share its parts.

    Attributes:
        spec: The run with seed 0.
        drawn: Whether the seed of a run also draws its rows (`task.subset_seed`).
    """

    spec: RunSpec
    drawn: bool
    _made: dict[int, RunSpec] = field(default_factory=dict, init=False, repr=False)

    def run(self, seed: int, parents: Mapping[str, RunSpec] | None = None) -> RunSpec:
        """The run of a seed; `parents`: where every seed needs runs of its own, these, by role."""
        if parents is None and seed in self._made:
            return self._made[seed]
        own: dict[str, Any] = {"seed": seed}
        if self.drawn:
            drawn = _drawn(self.spec.task)
            if seed not in drawn:
                drawn[seed] = self.spec.task.model_copy(update={"subset_seed": seed})
            own["task"] = drawn[seed]
        if parents is not None:
            own["parents"] = {role: run_key(parent) for role, parent in parents.items()}
            return self.spec.model_copy(update=own)
        return self._made.setdefault(seed, self.spec.model_copy(update=own))

    def chains(self, request: Request) -> list[Chain]:
        """One run for each seed that is asked for, from 0 on, which needs no other."""
        return [(self.run(seed),) for seed in range(request.seeds)]

    def scored_by(self, method: Any, source: Source, roles: Sequence[str], why: Source) -> Template:
        """Runs of a method that trains nothing and scores what these runs trained: each needs
        parents of its own with these roles, `why`. Raises ReproError where it does not fit.
        """
        kept = {path: s for path, s in self.spec.sources.items() if not path.startswith("method.")}
        changed = {
            "method": method,
            "parents": dict.fromkeys(roles, ""),
            "sources": kept | {"method": source, "parents": why},
        }
        spec = self.spec.model_copy(update=changed)
        spec.check()
        return Template(spec, self.drawn)


@remembered
def _drawn(task: Task) -> dict[int, Task]:
    """Seed -> the one task of all its runs whose rows are those of `task`, drawn by the seed."""
    return {}


def template(
    request: Request,
    backbone: tuple[Backbone, Source],
    setting: Setting,
    parents: Mapping[str, RunSpec] | None = None,
    why: Source | None = None,
) -> Template:
    """The run of this setting, but for its seed. Lines on a method that lack a field of its kind
    are left out, so that one setting can serve all rows of a table. `parents` are the runs that all
    seeds need, by role, and `why` says where it is from that they do.

    Raises ReproError for parts that do not fit each other.
    """
    drawn = False
    values: dict[str, Any] = {"task": {}, "method": {}, "recipe": {}}
    sources: dict[str, Source] = {}
    method = method_called(setting["method.kind"][0])
    for path, (value, source) in setting.items():
        part, name = path.split(".")
        drawn = drawn or value is Own.SEED
        if part != "method" or name in method.model_fields:
            values[part][name] = 0 if value is Own.SEED else value
            sources[path] = source
    encoder, sources["backbone"] = backbone
    if why is not None:
        sources["parents"] = why
    spec = _checked(
        scale=request.scale,
        backbone=encoder,
        seed=0,
        parents={role: run_key(parent) for role, parent in (parents or {}).items()},
        sources=sources,
        task=_shared(AnyTask, values["task"]),
        method=_shared(AnyMethod, values["method"], method),
        recipe=_shared(Recipe, values["recipe"]),
    )
    spec.check()
    return Template(spec, drawn)


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
            f"--set {part}.{name}={problem['input']}: {why_refused(problem)}. See `python -m repro "
            "show` for the fields of a table's runs."
        ) from error
