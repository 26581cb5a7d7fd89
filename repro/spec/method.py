"""What a method is to the rest of the project, and the registry that finds it by name.

A method is one class: its settings are the fields, and everything that is particular to it stands
in its methods. `repro/methods/` holds those of the papers, one file or folder each; nothing else
lists them. Importing one loads no torch: its modules are imported by `learner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, SerializeAsAny

from repro.errors import ReproError
from repro.spec.fields import Spec, identity

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner
    from repro.spec.types import RunSpec


class Method(Spec):
    """Base of every method's settings.

    A subclass is decorated with `@method("its-name")`, declares its settings as fields by
    `identity`, sets the class attributes below where they differ, and writes the methods that
    raise here.
    """

    kind: str = identity("", doc="which method")

    revision: ClassVar[int] = 1
    """Bumped by hand when a change in its code changes numbers: its runs get other keys."""
    family: ClassVar[Literal["bert", "t5"]] = "bert"
    """Which backbones it knows: encoders, or T5."""
    reads_states: ClassVar[bool] = False
    """It reads the frozen encoder's states, which all runs of one seed share."""
    own_rows: ClassVar[bool] = False
    """It trains inside the backbone: each run has states, and so may have rows, of its own."""
    trains_encoder: ClassVar[bool] = False
    """It trains the backbone's own matrices, of which each run then needs a copy."""
    trains_alone: ClassVar[bool] = False
    """Its modules have no run axis, so a learner holds one run."""
    trains: ClassVar[bool] = True
    """False: it takes no step."""
    evaluates: ClassVar[bool] = False
    """It trains nothing and scores the run that is its parent "trained"."""
    splits_batches: ClassVar[bool] = True
    """A batch may be split into micro-batches: no number depends on the whole batch."""

    def check(self, run: RunSpec) -> None:
        """Raises ReproError, with the choices, where the method does not fit the rest of a run."""

    def label(self) -> str:
        """The method in a word or two, with its size: "houlsby m64"."""
        return self.kind.replace("-", " ")

    def trained_parameters(self, run: RunSpec) -> int:
        """How many parameters the run trains, in closed form; a test counts the modules."""
        raise NotImplementedError(f"{type(self).__name__} does not say how many parameters it has")

    def total_parameters(self, run: RunSpec) -> int:
        """Parameters of the whole model that gives the outputs, frozen ones included.

        Of a run that only evaluates its parent: the encoder; what was added is the parent's.
        """
        return run.encoder_parameters() + self.trained_parameters(run)

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """Of what it adds to the backbone, for one token of an input of `length` tokens: FLOP
        forward, and bytes moved forward and backward.
        """
        return 0.0, 0.0

    def evaluations(self, run: RunSpec) -> float:
        """How often a method that evaluates passes the rows that are scored."""
        return 1

    def passes(self, run: RunSpec) -> float:
        """What a token costs in training, in forward passes."""
        return 2 if self.own_rows and not self.trains_encoder else 3

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Learner:
        """The untrained modules of `runs` runs whose method and backbone are those of `run`."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it trains")

    def count_modules(self, run: RunSpec) -> dict[str, int]:
        """Part of the model -> trained parameters, counted on modules without weights."""
        raise NotImplementedError(f"{type(self).__name__} does not count its parts")

    def starts_others(self, run: RunSpec) -> bool:
        """Whether other runs start from its weights, which are then kept."""
        return False

    @property
    def selects_layers(self) -> bool:
        """It learns which layers keep their adapter."""
        return False

    @property
    def awaits_layers(self) -> bool:
        """Its layers are known only once the run's parent "architecture" has selected them."""
        return False

    def with_layers(self, selected: Sequence[int]) -> Method:
        """The method as it is built, once layers (from 0) were selected for it."""
        return self


M = TypeVar("M", bound=type[Method])

_FOUND: dict[str, type[Method]] = {}


def method(kind: str) -> Callable[[M], M]:
    """Registers a class of settings under the name that `method.kind` gives in a run.

    Raises ReproError for a name that another class has.
    """

    def register(cls: M) -> M:
        other = _FOUND.setdefault(kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ReproError(
                f"Two methods are called '{kind}': {other.__qualname__} in {other.__module__} and "
                f"{cls.__qualname__} in {cls.__module__}. Rename one."
            )
        _FOUND[kind] = cls
        field: Any = cls.__pydantic_fields__["kind"]
        field.default, field.annotation = kind, Literal[kind]
        cls.model_rebuild(force=True)
        return cls

    return register


def methods() -> Mapping[str, type[Method]]:
    """Name -> class of every method: the project's own, and those that were registered since."""
    _load_own()
    return _FOUND


def method_called(kind: str) -> type[Method]:
    """The class of a method; raises ValueError for an unknown name."""
    if kind not in methods():
        raise ValueError(f"there is no method '{kind}'; known are {', '.join(methods())}")
    return methods()[kind]


@cache
def _load_own() -> None:
    import repro.methods as own

    for found in iter_modules(own.__path__):
        import_module(f"{own.__name__}.{found.name}")


def _made(value: Any) -> Any:
    """A method of its kind from plain data, as a stored run holds it."""
    if isinstance(value, Mapping):
        return method_called(str(value.get("kind"))).model_validate(value)
    if isinstance(value, Method) and method_called(value.kind) is not type(value):
        raise ValueError(f"'{value.kind}' is the name of another method")
    return value


AnyMethod = Annotated[SerializeAsAny[Method], BeforeValidator(_made)]
"""The field of a run: plain data becomes the class that its "kind" names."""
