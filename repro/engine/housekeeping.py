"""What a store holds, how much of the disk that takes, and what of it nothing needs any more."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import ValidationError

from repro.engine.jobs import is_stored, make_job, read_job
from repro.errors import ReproError, UnknownName
from repro.papers.request import as_typed
from repro.spec import RunSpec, run_key
from repro.spec.identity import flatten
from repro.store.atomic import remove_tree, store_errors
from repro.store.bundle import SUFFIX
from repro.store.entry import ADAPTER
from repro.store.shelf import SHARD
from repro.store.store import Store
from repro.store.temporary import DAY, is_unfinished, last_change
from repro.words import run_name

RunState = Literal["done", "outdated", "running", "failed", "unreadable"]
"""Outdated: another revision of the code made it, so that no table takes it. Unreadable: of
another version of the project, or damaged.
"""
KINDS = {
    "work": "checkpoints", "cache": "token cache", "server": "server scores",
}  # fmt: skip
"""Folder of a store -> what it holds, where it is not called so."""
Needs = Mapping[str, Sequence[str]]
"""Key of a run -> names of the saved requests that need it, or what is made from it."""


@dataclass(frozen=True)
class Listed:
    """A run as `store ls` shows it.

    Attributes:
        bytes: Of its files; 0 of a run in a bundle and of one without a result.
        changed: When it was stored or failed, in seconds since the epoch; None where nobody knows.
        bundle: The bundle that holds it, where it has no folder of its own.
    """

    key: str
    name: str
    state: RunState
    bytes: int
    changed: float | None
    tables: tuple[str, ...]
    bundle: Path | None
    spec: RunSpec | None


@dataclass(frozen=True)
class Waste:
    """Something that nothing needs. `keys`: the runs whose claims are held while it is removed."""

    kind: str
    path: Path
    bytes: int
    keys: tuple[str, ...] = ()


def listed(store: Store, needs: Needs) -> list[Listed]:
    """Every run that is stored, that failed or that is being trained, by name."""
    specs, held = store.specs(), jobs_held(store)
    found = []
    for key in sorted({*store.keys(), *store.failed(), *held}):
        spec, folder = specs.get(key) or held.get(key), store.folder(key)
        bundle = None if folder is not None else store.bundle_of(key)
        state: RunState
        if folder is not None or bundle is not None:
            if key not in specs:
                state = "unreadable"
            else:
                state = "done" if run_key(specs[key]) == key else "outdated"
        else:
            state = "running" if key in held else "failed"
        if state == "failed":
            spec = _failed(store, key)
        name = run_name(spec) if spec is not None else "unknown"
        changed = None if bundle is not None else last_change(folder or store.failure_path(key))
        tables = tuple(needs.get(key, ()))
        size = bytes_of(folder) if folder is not None else 0
        found.append(Listed(key, name, state, size, changed, tables, bundle, spec))
    return sorted(found, key=lambda run: (run.name, run.key))


def _failed(store: Store, key: str) -> RunSpec | None:
    """The spec that failed; None if another version of the project wrote it."""
    failure = store.failure(key)
    try:
        return RunSpec.model_validate(failure.spec) if failure is not None else None
    except ValidationError:
        return None


def jobs_held(store: Store) -> dict[str, RunSpec | None]:
    """The runs that some process trains now, with their specs as far as their job is known."""
    claimed = store.claimed()
    found: dict[str, RunSpec | None] = dict.fromkeys(claimed)
    for folder in (store.root / "work").glob("*") if claimed else ():
        file = read_job(folder)
        found |= {k: s for s in (file.specs if file else ()) if (k := run_key(s)) in claimed}
    return found


# -- choosing runs by their fields -----------------------------------------------------------


def matching(runs: Sequence[Listed], where: Sequence[str], states: Sequence[str]) -> list[Listed]:
    """The runs of which every condition `FIELD=VALUE` of `where` holds, in any of `states`.

    A field is task, method, backbone, seed, scale, state, table, key, or any field of a run as
    `why` prints them ("recipe.epochs"). Raises ReproError for what is no condition and for a field
    or a state that no run has.
    """
    found = [run for run in runs if not states or run.state in states]
    for given in where:
        name, equals, value = given.partition("=")
        name, value = name.strip(), value.strip().lower()
        if not equals or not name:
            raise ReproError(f"'{given}' is no condition: give FIELD=VALUE, as --where task=rte.")
        if name == "state" and value not in get_args(RunState):
            raise UnknownName("state", value, get_args(RunState))
        values = SHORT.get(name) or _field_of(runs, name)
        found = [run for run in found if value in (str(one).lower() for one in values(run))]
    return found


Values = Callable[[Listed], Iterable[object]]


def _of_spec(values: Callable[[RunSpec], Iterable[object]]) -> Values:
    return lambda run: () if run.spec is None else values(run.spec)


SHORT: dict[str, Values] = {
    "key": lambda run: (run.key,),
    "state": lambda run: (run.state,),
    "table": lambda run: (name for table in run.tables for name in (table, table.split(".")[0])),
    "task": _of_spec(lambda spec: (spec.task.name, *spec.task.names)),
    "method": _of_spec(lambda spec: (spec.method.kind, spec.method.label())),
    "backbone": _of_spec(lambda spec: (spec.backbone.id, spec.backbone.name)),
    "seed": _of_spec(lambda spec: (spec.seed,)),
    "scale": _of_spec(lambda spec: (spec.scale,)),
}
"""Short name of a field -> what a condition on it may name, in any case."""


def _field_of(runs: Sequence[Listed], name: str) -> Values:
    """The values of a field by its whole path. Raises UnknownName for one that no run has."""
    fields = {run.key: dict(flatten(run.spec.model_dump(mode="json"))) for run in runs if run.spec}
    known = {path for own in fields.values() for path in own}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3)
        raise UnknownName("field of a run", name, {*SHORT, *close})
    return lambda run: (as_typed(own[name]),) if name in (own := fields.get(run.key, {})) else ()


# -- how much it takes -----------------------------------------------------------------------


def bytes_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; what vanishes meanwhile counts nothing."""
    return sum(size for _, size in _sizes(path))


def _sizes(path: Path) -> Iterator[tuple[Path, int]]:
    """The files in a folder, or the file itself, with their sizes; links are not followed."""
    for item in (path, *(path.rglob("*") if path.is_dir() and not path.is_symlink() else ())):
        try:
            if item.is_symlink() or item.is_file():
                yield item, item.lstat().st_size
        except OSError:
            continue


def disk_use(store: Store) -> dict[str, tuple[int, int]]:
    """Kind of content -> (bytes, files), the largest first."""
    found: dict[str, tuple[int, int]] = {}
    for path in store.root.iterdir() if store.root.is_dir() else ():
        for file, size in _sizes(path):
            kind = _kind(path, file)
            known = found.get(kind, (0, 0))
            found[kind] = known[0] + size, known[1] + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def _kind(top: Path, file: Path) -> str:
    if is_unfinished(top.name) or is_unfinished(file.name):
        return "unfinished files"
    if SHARD.fullmatch(top.name) and top.is_dir():
        return "weights" if file.name == ADAPTER else "runs"
    if top.name.endswith(SUFFIX):
        return "bundles"
    return KINDS.get(top.name, top.name) if top.is_dir() else "other files"


# -- what nothing needs ----------------------------------------------------------------------


def find_waste(
    store: Store,
    needs: Needs,
    seconds: float,
    *,
    outdated: bool = False,
    quarantine: bool = False,
) -> list[Waste]:
    """What nothing needs: unfinished files and claims of processes that are gone, work folders
    whose results are stored, token cache that was not used for `seconds`, work folders as old of
    runs that no request needs, failures of runs that have a result since. On request also runs of
    other revisions that nothing is made from, and what lies in quarantine for `seconds`.

    What a live process holds is never among it.
    """
    now, held = time.time(), store.claimed()

    def old(path: Path, least: float = 0.0) -> bool:
        changed = last_change(path)
        return changed is not None and now - changed > max(seconds, least)

    found = [Waste("unfinished files", path, bytes_of(path)) for path in store.leftovers()]
    found += [Waste("claims", path, 0) for path in store.idle_claims()]
    for folder in sorted((store.root / "work").glob("[0-9a-f]*")):
        keys = _ended(store, folder, needs, old)
        if keys is not None and held.isdisjoint(keys):
            found.append(Waste("checkpoints", folder, bytes_of(folder), keys))
    found += [
        Waste("token cache", path, bytes_of(path))
        for path in sorted(store.cache.glob("[!.]*.arrow"))
        if old(path)
    ]
    found += [
        Waste("failures of stored runs", store.failure_path(key), 0, (key,))
        for key in sorted(store.failed())
        if key not in held and store.peek(key) is not None
    ]
    if outdated:
        found += _outdated(store, needs, held)
    if quarantine:
        found += [
            Waste("quarantine", path, bytes_of(path))
            for path in sorted((store.root / "quarantine").glob("[!.]*"))
            if path.suffix != ".lock" and old(path)
        ]
    return found


def _ended(
    store: Store, folder: Path, needs: Needs, old: Callable[..., bool]
) -> tuple[str, ...] | None:
    """The runs of a work folder that nobody will continue; None if somebody may.

    What cannot be read or is of another revision may belong to a live process that this one cannot
    name: there, a day without a change is the least.
    """
    file = read_job(folder)
    job = None if file is None else make_job(file.specs)
    if job is None or file is None or job.id != folder.name:
        return () if old(folder, DAY) else None
    if is_stored(store, job, file.execution):
        return job.keys
    return job.keys if old(folder) and not any(key in needs for key in job.keys) else None


def _outdated(store: Store, needs: Needs, held: Collection[str]) -> list[Waste]:
    specs = store.specs()
    stays = [key for key, spec in specs.items() if run_key(spec) == key or key in needs]
    kept = {*needs, *held, *with_parents(stays, specs)}
    found = [key for key in sorted(specs) if key not in kept]
    return [
        Waste("outdated runs", folder, bytes_of(folder), (key,))
        for key in found
        if (folder := store.folder(key)) is not None
    ]


def with_parents(keys: Iterable[str], specs: Mapping[str, RunSpec | None]) -> set[str]:
    """These runs, what they are made from, what that is made from and so on."""
    found: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            spec = specs.get(key)
            waiting += spec.parents.values() if spec is not None else ()
    return found


def remove_waste(store: Store, waste: Waste) -> bool:
    """Removes it; False if a process has begun to use it since it was found. Raises StoreError."""
    if waste.kind == "claims":
        return store.remove_claim(waste.path.stem)
    with store.claim(waste.keys) as held:
        if len(held) < len(waste.keys):
            return False
        if waste.kind == "outdated runs":
            store.remove(waste.keys[0])
        elif waste.kind == "failures of stored runs":
            store.clear_failure(waste.keys[0])
        else:
            with store_errors(waste.path):
                remove_tree(waste.path)
    for key in waste.keys:
        store.remove_claim(key)
    return True
