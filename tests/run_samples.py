"""Runs for the tests: a small valid one, and strategies that draw any valid spec."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from repro.methods.resadapters import PipelinedCells
from repro.spec import (
    Backbone,
    GlueTask,
    Recipe,
    RunSpec,
    Source,
    SquadTask,
    TaggingTask,
    TextTask,
    TextToText,
)
from repro.spec.fields import Spec
from repro.spec.method import Method, methods

Kind = TypeVar("Kind", bound=Spec)
METHODS: tuple[type[Method], ...] = tuple(methods().values())
TYPES: tuple[type[Spec], ...] = (
    RunSpec,
    Backbone,
    SquadTask,
    GlueTask,
    TextTask,
    TaggingTask,
    TextToText,
    *METHODS,
    Recipe,
    Source,
)

TINY = Backbone(
    id="local",
    revision="sha256:tiny",
    layers=6,
    hidden_size=32,
    intermediate_size=64,
    parameters=1,
    name="tiny",
)
TASK = SquadTask(
    source="generated",
    revision="by hand",
    train="generated",
    evaluation="generated",
    max_length=48,
    stride=8,
)
RECIPE = Recipe(
    epochs=2,
    batch_size=4,
    learning_rate=1e-3,
    schedule="constant",
    bias_correction=False,
    clip_norm=1.0,
)


def cells(wiring: str = "plain", nonlinearity: str = "relu", **changes: Any) -> PipelinedCells:
    """ResAdapters' cells, bottleneck 8."""
    fields = {"wiring": wiring, "nonlinearity": nonlinearity, "bottleneck": 8}
    return PipelinedCells.model_validate(fields | changes)


def run_spec(method: Method | None = None, seed: int = 0, **changes: Any) -> RunSpec:
    """A run of `method`; a change is named by its path ("recipe__epochs") or its field."""
    spec = RunSpec(
        scale="smoke",
        backbone=TINY,
        task=TASK,
        method=method or cells(),
        recipe=RECIPE,
        seed=seed,
    )
    for path, value in changes.items():
        spec = changed(spec, tuple(path.split("__")), value)
    return spec


def changed(spec: Kind, path: tuple[str, ...], value: Any) -> Kind:
    """`spec` with `value` at `path`, checked as any spec is."""
    name, *rest = path
    if rest:
        value = changed(getattr(spec, name), tuple(rest), value)
    fields = {field: getattr(spec, field) for field in type(spec).model_fields}
    return type(spec)(**(fields | {name: value}))


def specs(kind: type[Kind]) -> st.SearchStrategy[Kind]:
    """Draws any valid `kind`, every field drawn, optional ones too."""
    if kind is Method:
        return st.one_of(*map(specs, METHODS))
    fields = {name: values(field) for name, field in kind.model_fields.items()}
    return st.fixed_dictionaries(fields).map(lambda drawn: kind(**drawn))


def values(field: FieldInfo) -> st.SearchStrategy[Any]:
    """Draws any valid value of a field, within its declared bounds."""
    return _of(field.annotation, tuple(field.metadata))


def _of(annotation: Any, bounds: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return specs(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        options = [st.none() if part is NoneType else _of(part, bounds) for part in parts]
        return st.one_of(*options)
    if origin is tuple:
        least = max((getattr(bound, "min_length", 0) for bound in bounds), default=0)
        some = st.lists(_of(parts[0], ()), min_size=least, max_size=3).map(tuple)
        every = [_of(part, ()) for part in parts if part is not Ellipsis]
        return some if parts[-1] is Ellipsis else st.tuples(*every)
    if origin is dict:
        return st.dictionaries(_of(parts[0], ()), _of(parts[1], ()), max_size=2)
    if annotation is float:
        return _finite(bounds)
    bounded: Any = Annotated[annotation, *bounds] if bounds else annotation
    return st.from_type(bounded)


def _finite(bounds: tuple[Any, ...]) -> st.SearchStrategy[float]:
    limits: dict[str, Any] = {"allow_nan": False, "allow_infinity": False}
    for bound in bounds:
        for name in ("ge", "gt", "le", "lt"):
            limit = getattr(bound, name, None)
            if limit is not None:
                limits["min_value" if name[0] == "g" else "max_value"] = float(limit)
                limits["exclude_min" if name[0] == "g" else "exclude_max"] = name[1] == "t"
    return st.floats(**limits)


def written(*tasks: str, **changes: Any) -> TextToText:
    """A generated task of text to text."""
    fields = {"tasks": tasks or ("cola",), "source": "generated"}
    revisions = dict.fromkeys(fields["tasks"], "by hand")
    return TextToText.model_validate(fields | {"revisions": revisions} | changes)
