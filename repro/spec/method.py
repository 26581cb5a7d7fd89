"""What a method is to the rest of the project, and the registry that finds it by name.

A method is one class: its settings are the fields, and everything that is particular to it stands
in its methods. `repro/methods/` holds those of the papers, one file or folder each; nothing else
lists them. Others come from files (`load_method`, $REPRO_METHODS) and from installed packages with
an entry point "repro.methods". Importing one loads no torch: its modules are imported by `learner`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, SerializeAsAny

from repro.errors import ReproError, UnknownName
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

    model_config = ConfigDict(validate_default=True)

    kind: str = identity("", doc="which method")

    revision: ClassVar[int | str] = 1
    """Bumped by hand when a change in its code changes numbers: its runs get other keys. Of a
    method in a file of the user's, the digest of the file."""
    recipe: ClassVar[Mapping[str, Any]] = {}
    """Fields of the recipe that it needs in place of a table's ("learning_rate"), where it is added
    to a table as a further row."""
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
    foreign: ClassVar[bool] = False
    """Its modules are not the project's: a run counts their parameters, watches that frozen weights
    stay as they are, and shares its job with no other method."""
    package: ClassVar[str] = ""
    """A package that it needs beside the project's own; the extra that installs it is called so."""
    trains: ClassVar[bool] = True
    """False: it takes no step."""
    evaluates: ClassVar[bool] = False
    """It trains nothing and scores the run that is its parent "trained"."""
    splits_batches: ClassVar[bool] = True
    """A batch may be split into micro-batches: no number depends on the whole batch."""

    @classmethod
    def settings_from(cls, path: Path) -> dict[str, Any]:
        """Its settings from the file that is named after it: --method NAME:FILE."""
        kind = cls.__pydantic_fields__["kind"].default
        raise ReproError(f"The method '{kind}' takes no file: leave out :{path}.")

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
VARIABLE = "REPRO_METHODS"
"""Files with methods, joined as in PATH."""
FROM_A_FILE = (
    "A method of your own comes from its file: --method FILE.py:CLASS, or "
    f"export {VARIABLE}=/path/to/FILE.py."
)
ENTRY_POINTS = "repro.methods"
OF_A_FILE = "repro_method_of_"
"""Begins the name of a module that was loaded from a file."""
_REMEMBERED: dict[str, Path] = {}
"""Name -> file of the methods that a store has rows of; loaded when one is first asked for."""


def method(kind: str) -> Callable[[M], M]:
    """Registers a class of settings under the name that `method.kind` gives in a run.

    Raises ReproError for a name that another class has.
    """

    def register(cls: M) -> M:
        other = _FOUND.get(kind, cls)
        same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
        if not same and not _is_edited(other, cls):
            raise ReproError(
                f"Two methods are called '{kind}': {other.__qualname__} in {_place(other)} and "
                f"{cls.__qualname__} in {_place(cls)}. Rename one."
            )
        _FOUND[kind] = cls
        field: Any = cls.__pydantic_fields__["kind"]
        field.default, field.annotation = kind, Literal[kind]
        cls.model_rebuild(force=True)
        return cls

    return register


def methods() -> Mapping[str, type[Method]]:
    """Name -> class of every method: the project's own, those of $REPRO_METHODS and of installed
    packages, and those that were registered since.

    Raises ReproError for a file that cannot be loaded.
    """
    _load_own()
    return _FOUND


def method_called(kind: str) -> type[Method]:
    """The class of a method; raises ValueError for an unknown name."""
    problem = why_unknown(kind)
    if problem:
        raise ValueError(problem)
    return methods()[kind]


def remember(files: Mapping[str, Path]) -> None:
    """Files that methods of these names came from before; none is loaded until it is needed."""
    _REMEMBERED.update(files)


def why_unknown(kind: str) -> str:
    """Why no method of this name can be had, with the mend; "" where one can."""
    if kind in methods():
        package = methods()[kind].package
        if not package or util.find_spec(package) is not None:
            return ""
        return f"the method '{kind}' needs the package {package}: pip install 'repro[{package}]'."
    path = _REMEMBERED.get(kind)
    if path is None:
        return f"there is no method '{kind}'; known are {', '.join(methods())}. {FROM_A_FILE}"
    try:
        _load_file(path)
    except ReproError as problem:
        return f"the method '{kind}' cannot be had from the file that it came from. {problem}"
    if kind not in methods():
        return f"{path} has no method '{kind}' any more. {FROM_A_FILE}"
    _name_to_processes(path)
    return ""


@cache
def _load_own() -> None:
    import repro.methods as own

    for found in iter_modules(own.__path__):
        import_module(f"{own.__name__}.{found.name}")
    for given in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        _load_file(Path(given).expanduser().resolve())
    for point in metadata.entry_points(group=ENTRY_POINTS):
        point.load()


def load_method(given: str) -> str:
    """The name of a method that is given by name, or as FILE.py or FILE.py:CLASS.

    A file is remembered in $REPRO_METHODS, so that the processes that train find it. Raises
    ReproError for an unknown name and, with file and line, for a file that cannot be loaded, that
    loads torch, or that defines no such method.
    """
    text, extension, name = given.partition(".py")
    if not extension:
        known = {name.lower(): name for name in (*methods(), *_REMEMBERED)}
        if given.lower() not in known:
            unknown = UnknownName("method", given, methods())
            raise ReproError(f"{unknown} {FROM_A_FILE}") from unknown
        problem = why_unknown(known[given.lower()])
        if problem:
            raise ReproError(problem[:1].upper() + problem[1:])
        return known[given.lower()]
    methods()
    path = Path(f"{text}.py").expanduser().resolve()
    found, wanted = _load_file(path), name.removeprefix(":")
    if wanted not in found and (wanted or len(found) != 1):
        if not found:
            lacks = f"no method {wanted}" if wanted else "no method"
            raise ReproError(f'{path} has {lacks}: decorate a class with @method("name").')
        has = ", ".join(found)
        raise ReproError(
            f"{path} has no method {wanted}: it has {has}."
            if wanted
            else f"{path} has several methods: name one, as {path.name}:{next(iter(found))} "
            f"(it has {has})."
        )
    _name_to_processes(path)
    cls = found[wanted] if wanted else next(iter(found.values()))
    return str(cls.__pydantic_fields__["kind"].default)


def method_and_settings(given: str) -> tuple[str, dict[str, Any]]:
    """The method that is given, and what a file named after it sets: "peft:lora.json"; a file of
    the user's is loaded. Raises ReproError as `load_method` does.
    """
    name, colon, file = given.partition(":")
    if not colon or name.endswith(".py"):
        return (load_method(given) if ".py" in given else given), {}
    kind = load_method(name)
    found = methods()[kind].settings_from(Path(file).expanduser())
    return kind, {f"method.{field}": value for field, value in found.items()}


def _name_to_processes(path: Path) -> None:
    """Names the file in $REPRO_METHODS, where the processes that train find it."""
    kept = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*kept, str(path)]))


def _load_file(path: Path) -> dict[str, type[Method]]:
    """The methods that a file defines, by the name of the class."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ReproError(
            f"{path} cannot be read ({error.strerror}). Correct --method or {VARIABLE}: write the "
            "path from this folder, or a full one."
        ) from error
    module = sys.modules.get(f"{OF_A_FILE}{digest[:16]}") or _run_file(path, digest)
    found = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Method)
        if value.__module__ == module.__name__ and value in _FOUND.values()
    }
    for cls in found.values():
        cls.revision, cls.foreign = f"sha256:{digest[:16]}", True
    return found


def is_of_a_file(cls: type[Method]) -> bool:
    """Whether it comes from a file of the user's."""
    return cls.__module__.startswith(OF_A_FILE)


def file_of(kind: str) -> Path | None:
    """The file of a method of the user's; None for a method of the project's or of a package."""
    cls = methods().get(kind)
    return Path(_place(cls)) if cls is not None and is_of_a_file(cls) else None


def _place(cls: type[Method]) -> str:
    """The file of a method of the user's, else its module."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return str(file) if is_of_a_file(cls) and file else cls.__module__


def _is_edited(old: type[Method], new: type[Method]) -> bool:
    """Whether a file of the user's was loaded before it was edited, or before it was moved."""
    if not is_of_a_file(old) or not is_of_a_file(new):
        return False
    return _place(old) == _place(new) or not Path(_place(old)).exists()


def place_in_file(problem: BaseException) -> str:
    """ "my_adapters.py, line 33: " where an error arose in the file of a method; else ""."""
    frames = traceback.walk_tb(problem.__traceback__)
    found = [
        f"{Path(frame.f_code.co_filename).name}, line {line}: "
        for frame, line in frames
        if str(frame.f_globals.get("__name__")).startswith(OF_A_FILE)
    ]
    return found[-1] if found else ""


def _run_file(path: Path, digest: str) -> Any:
    """The module of a file; nothing of it stays where it fails."""
    spec = util.spec_from_file_location(f"{OF_A_FILE}{digest[:16]}", path)
    assert spec is not None
    assert spec.loader is not None
    module, had_torch = util.module_from_spec(spec), "torch" in sys.modules
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        if not had_torch and "torch" in sys.modules:
            raise ReproError(
                f"{path} imports torch when it is loaded, and a plan needs none: import it inside "
                "the method that builds the modules (added, learner)."
            )
    except BaseException as error:
        del sys.modules[spec.name]
        if isinstance(error, ReproError) or not isinstance(error, Exception):
            raise
        lines = [one.lineno for one in traceback.extract_tb(error.__traceback__)
                 if one.filename == str(path)]  # fmt: skip
        line = lines[-1] if lines else getattr(error, "lineno", None)
        at = f"{path}, line {line}" if line else str(path)
        said = error.msg if isinstance(error, SyntaxError) else error  # it says its place again
        raise ReproError(f"{at}: {type(error).__name__}: {said}") from error
    return module


def _made(value: Any) -> Any:
    """A method of its kind from plain data, as a stored run holds it."""
    if isinstance(value, Mapping):
        return method_called(str(value.get("kind"))).model_validate(value)
    if isinstance(value, Method) and method_called(value.kind) is not type(value):
        raise ValueError(f"'{value.kind}' is the name of another method")
    return value


AnyMethod = Annotated[SerializeAsAny[Method], BeforeValidator(_made)]
"""The field of a run: plain data becomes the class that its "kind" names."""
