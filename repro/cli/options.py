"""The options that verbs share, as typer reads them, and what those of a machine resolve to."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from repro.cli import completion, requests
from repro.cli.requests import find_folders
from repro.engine.devices import devices, trains_on
from repro.errors import ReproError, UnknownName
from repro.folders import expanded, named_by
from repro.papers.request import OPTIONS, SHORT_NAMES, Option, option_of
from repro.spec import Backbone
from repro.spec.method import remember

if TYPE_CHECKING:
    from repro.engine.dispatch import Executor
    from repro.engine.jobs import Execution, Job
    from repro.engine.local import LocalExecutor
    from repro.engine.plan import Plan
    from repro.store.store import Store

DEFAULT_STORE = "runs"
LOCAL = "local"
BUDGET = 1.0
"""Hours that --scale auto may spend unless asked."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}


def choice(kind: str, known: Collection[str], help: str, metavar: str | None = None) -> Any:
    """An option that takes one of a few words; another one is refused with the closest."""

    def parsed(given: str) -> str:
        if given not in known:
            raise UnknownName(kind, given, known)
        return given

    complete = completion.one_of([*known])
    return typer.Option(parser=parsed, metavar=metavar, help=help, autocompletion=complete)


def ids(help: str, of: str = "ARTEFACTS") -> Any:
    """The argument, one or several, that names tables or figures; `of`: those that it completes."""
    return typer.Argument(help=help, autocompletion=completion.ids_of(of))


StoreOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder of results, or the URL of a shared one, s3://... or hf://... (default: "
        "$REPRO_STORE, else runs)."
    ),
]
DeviceOption = Annotated[str, choice("device", ("auto", "cpu", "cuda"), "auto, cpu or cuda.")]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, help="CPU threads of each worker (default: all cores, divided)."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Jobs side by side (default: one a GPU; on a CPU one a core for small jobs, else 1).",
    ),
]
BF16_HINT = "--precision bf16 trains 1.3 to 1.6 times faster here, as runs of their own"
"""For a CPU that multiplies bf16; measured with AMX."""
CompiledOption = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="Compile training steps, where the method allows it: minutes first, then fewer "
        "kernels a step.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would do; change nothing.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


COMPLETED: dict[str, Callable[..., list[str]]] = {
    "scale": completion.scales,
    "tasks": completion.tasks,
    "sections": completion.sections,
    "rows": completion.parts_of("rows"),
    "columns": completion.parts_of("columns"),
    "method": completion.methods,
    "backbone": completion.backbones,
    "precision": completion.one_of(["fp32", "bf16"]),
}
"""What a shell completes of the options of a request."""


def _parameter(name: str, option: Option) -> Parameter:
    """An option of a request for typer: None, False or auto where it is not given. A short name of
    --set is collected like --set itself, so that giving it twice is seen.
    """
    several = option.type is list or option.joined or name in SHORT_NAMES
    kind: Any = str if option.type is list else option.type
    hint: Any = (list[kind] if several else kind) | None
    default: Any = None
    if option.type is bool:
        hint, default = bool, False
    elif name == "scale":
        hint, default = str, "auto"
    info = typer.Option(
        *(option.names or (option_of(name),)),
        min=option.least,
        max=option.most,
        metavar=f"<{kind.__name__}>" if several else None,
        help=f"{option.help} Sets {option.path}." if option.path else option.help,
        autocompletion=COMPLETED.get(name),
    )
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info]
    )


def hours(given: object) -> float:
    """2h, 30min, 90s, or a number of hours. Raises ReproError."""
    found = seconds(str(given), "h")
    if found is None:
        raise ReproError(f"--budget {given}: give a time, like 2h or 30min.")
    return found / UNITS["h"]


def seconds(given: str, unit: str) -> float | None:
    """Of 2h, 30min, or a number of the unit; None for what is no time, or above a million hours."""
    found = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?) *(d|h|min|s|)", given.strip().lower())
    with contextlib.suppress(ValueError):
        value = float(found[1]) * UNITS[found[2] or unit] if found else -1.0
        return value if 0 <= value <= 1e6 * UNITS["h"] else None
    return None


ASKED = (
    *(_parameter(name, option) for name, option in OPTIONS.items()),
    Parameter(
        "budget",
        Parameter.KEYWORD_ONLY,
        default=BUDGET,
        annotation=Annotated[
            float, typer.Option(parser=hours, help="Time that --scale auto may spend: 2h, 30min.")
        ],
    ),
)
_SCALE = Annotated[
    str, typer.Option(help="paper, reduced or smoke.", autocompletion=completion.scales)
]


def _but(*left_out: str) -> tuple[Parameter, ...]:
    """What a user can ask of tables and figures, without some of it."""
    return tuple(known for known in ASKED if known.name not in left_out)


Asked = Annotated[requests.Asked, ASKED]
"""For a verb: all that a user can ask of tables and figures."""
AskedOfWhole = Annotated[requests.Asked, _but("rows", "columns")]
"""The same where rows and columns are not chosen."""
AskedOfRuns = Annotated[
    requests.Asked, _but("rows", "columns", "scale", "seeds", "server", "budget")
]
"""The same of one run at a scale that the verb has an option of its own for."""
AskedOfNeeds = Annotated[
    requests.Asked,
    tuple(
        known.replace(default="paper", annotation=_SCALE) if known.name == "scale" else known
        for known in _but("budget")
    ),
]
"""The same where nothing is trained: what runs at a scale, not chosen by a budget, need."""
AskedOfSweep = Annotated[requests.Asked, _but("settings", "server", "budget")]
"""The same without `--set`, which gives a sweep several values."""
AskedBackbone = Annotated[
    requests.Asked, tuple(known for known in ASKED if known.name == "backbone")
]


@dataclass(frozen=True, slots=True)
class How:
    """How runs are trained on this machine."""

    device: DeviceOption = "auto"
    threads: ThreadsOption = None
    workers: WorkersOption = None
    executor: Annotated[
        str,
        choice("executor", (LOCAL, "slurm", "ray"), "Where jobs are trained: local, slurm or ray."),
    ] = LOCAL
    profile: Annotated[
        Path | None,
        typer.Option(help="TOML file: partition, GPUs, ... of --executor (docs/scheduling.md)."),
    ] = None
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Deterministic kernels on a GPU (slower).")
    ] = False
    tf32: Annotated[
        bool, typer.Option("--tf32", help="TF32 matrix products for fp32 on a GPU.")
    ] = False
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="Keep the weights of full fine-tuning.")
    ] = False
    micro_batch: Annotated[
        int | None,
        typer.Option(min=1, help="Windows at once; the rest of a batch is accumulated."),
    ] = None
    compiled: CompiledOption = False

    def execution(self, asked: requests.Asked, found: Backbone | None) -> Execution:
        """For the engine; the backbone that was asked for, a folder perhaps, is of `found`. Raises
        ReproError for a profile without use or that cannot be read, also where nothing will be
        trained.
        """
        from repro.engine.jobs import Execution

        if self.profile is not None:
            from repro.engine.clusters import read_profiles

            if self.executor == LOCAL:
                raise ReproError("--profile is for --executor slurm or ray: give one of them.")
            read_profiles(self.profile)
        values = asdict(self)
        for name in ("workers", "executor", "profile"):
            del values[name]
        return Execution(**values, folders=find_folders(asked.get("backbone"), found))

    def trainer(self, plan: Plan, store: Store) -> Executor:
        """What trains the jobs of a plan. Raises ReproError for options that do not go together."""
        if self.executor == LOCAL:
            return executor_for(plan, self.device, self.workers, self.threads)
        from repro.engine.clusters import cluster

        if self.workers is not None:
            raise ReproError(
                f"--workers is for this machine; how many jobs --executor {self.executor} runs at "
                "once, the cluster decides (and `throttle` in the file that --profile names)."
            )
        return cluster(self.executor, self.profile, store.root)


@dataclass(frozen=True, slots=True)
class Made:
    """How a table or figure is made from the results, and where it goes."""

    no_run: Annotated[
        bool, typer.Option("--no-run", help="Render from stored results; do not train.")
    ] = False
    retry: Annotated[bool, typer.Option("--retry", help="Train diverged runs again, too.")] = False
    json: JsonOption = False
    out: Annotated[Path, typer.Option(help="Folder in which tables/ and figures/ are written.")] = (
        Path()
    )
    store: StoreOption = None


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """`verb` for typer: a parameter that stands for several options becomes these, and gets what
    they are given: `Asked` the fields of a request, a dataclass one value for each field.
    """
    signature = inspect.signature(verb, eval_str=True)
    groups = {p.name: options for p in signature.parameters.values() if (options := _options(p))}

    @wraps(verb)
    def command(**given: Any) -> None:
        if "store" in given:
            store_at(given["store"])  # whose methods have fields that --set may name
        made = {}
        for name, options in groups.items():
            own = {option.name: given.pop(option.name) for option in options}
            group: Callable[..., Any] = signature.parameters[name].annotation
            make = group if is_dataclass(group) else requests.parsed
            made[name] = make(**own)
        verb(**given, **made)

    parameters = [
        option
        for p in signature.parameters.values()
        for option in groups.get(p.name) or [p.replace(kind=Parameter.KEYWORD_ONLY)]
    ]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _options(parameter: Parameter) -> tuple[Parameter, ...]:
    """The options that a parameter stands for; none where it is one itself."""
    group = parameter.annotation
    if is_dataclass(group):
        hints = get_type_hints(group, include_extras=True)
        kind = Parameter.KEYWORD_ONLY
        return tuple(
            Parameter(known.name, kind, default=known.default, annotation=hints[known.name])
            for known in fields(group)
        )
    return next((extra for extra in get_args(group)[1:] if isinstance(extra, tuple)), ())


def open_store(given: Path | None) -> Store:
    """The store asked for, a folder or the copy of a shared one, which gets what waits to be sent
    there. Raises ReproError for what is no folder, for links that lead out of it, for a URL that
    nothing here opens, and for a shared store that cannot be reached and has no copy here yet.
    """
    store = store_at(given)
    if store.remote is not None:
        store.remote.check()
    store.push()
    return store


def store_at(given: Path | None) -> Store:
    """The same; sends nothing."""
    from repro.store.store import Store

    root = local(given or named_by("REPRO_STORE") or Path(DEFAULT_STORE))
    if root.exists() and not root.is_dir():
        raise ReproError(f"{root} is no folder, and so no store: name a folder with --store.")
    store = Store(root)
    store.check_links()
    remember(store.method_files())
    return store


def existing_store(given: Path | None) -> Store:
    """The same. Raises ReproError for a folder or URL that is no store: a mistyped one must not
    pass as sound, nor be cleaned.
    """
    from repro.store.store import holds_store

    store = open_store(given)
    remote = store.remote
    if not holds_store(store.root) or (remote is not None and remote.is_new and not remote.sizes):
        raise ReproError(
            f"{store.called} is no store: nothing was stored there. Name one with --store."
        )
    return store


def local(given: Path) -> Path:
    """The folder that a path or the URL of a shared store names, for a URL its copy here. Raises
    ReproError.
    """
    from repro.store.remote import copy_of, url_of

    url = url_of(given)
    return expanded(given) if url is None else copy_of(url)


def executor_for(
    plan: Plan, device: str, workers: int | None, threads: int | None = None
) -> LocalExecutor:
    """What trains the jobs of a plan: so many workers, or as many as are best, on a device."""
    from repro.engine.cost import estimate
    from repro.engine.local import LocalExecutor, best_workers

    def needs(job: Job) -> float:
        return estimate(job, plan.speed).memory_bytes

    if trains_on(device) == "cuda":
        return LocalExecutor(workers, devices(), needs)
    most = max(1, len(plan.jobs))  # more would only take threads from these
    return LocalExecutor(min(workers or best_workers(plan.jobs, plan.speed, threads), most))
