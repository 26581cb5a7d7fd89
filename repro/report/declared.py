"""Whether runs are those that an artefact declares for the paper: what a comparison rests on.

A number can be compared with a printed one only if every run behind it equals, field by field but
for the seed, a run that the artefact declares at paper scale, and if the weights, tokenizer and
rows that it read are known by digest. The word "paper" in a request says neither. No other field
may differ, not even the precision: nothing here shows that bf16 and fp32 give equal scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from repro.papers.matrix import Artefact, Behind, Matrix, Where
from repro.report.runs_found import Lookup
from repro.spec import RunSpec, Scale, canonical_json, run_key
from repro.spec.contents import Contents, locked, unknown
from repro.spec.identity import flatten, identity_fields
from repro.store.entry import StoredRun
from repro.tasks.catalogue import folders_of
from repro.words import either

MOST_NAMED = 3
"""Differing fields that a reason names; the others are counted."""
MOST_VALUES = 4
"""Values of one field that a reason names."""
NAMES = {"backbone": "id", "method": "kind", "task": "name"}
"""Part of a spec -> the field that says what it is; where that differs, the rest of it does."""
READ = "read"
"""Where a run's environment.json says what it read."""
MODEL, DATA = "weights and tokenizer of", "rows of"
OF_A_COUNT = ("backbone", "method", "task.name", "task.tasks")
"""What a number of parameters, or a word about a model, depends on."""


def runs_differ(matrix: Matrix[Artefact], lookup: Lookup, *cells: Where) -> str:
    """Why the runs of these cells are not the paper's; "" where they are, as far as is known."""
    if matrix.request.scale != "paper":
        return f"{matrix.request.scale} scale"
    ours, declared = matrix.behind(*cells), matrix.declared.behind(*cells)
    return settings_differ(ours, declared) or _unverified(ours, lookup)


def not_comparable(scale: Scale, differs: str, what: str = "numbers") -> list[str]:
    """What a caption says of runs that are not the paper's; nothing where they are."""
    said = f"not comparable with the published {what}"
    if scale != "paper":
        return [said]
    return [f"{said}: {differs}"] if differs else []


def _unverified(ours: Behind, lookup: Lookup) -> str:
    """What the stored runs, and those that they were made from, read that is not known by digest,
    and what to do; "" where all is known.
    """
    stored = [one.run for one in lookup.find(ours.runs) if one.run is not None]
    known: dict[str, StoredRun | None] = {run.key: run for run in stored}
    todo = [key for run in stored for key in run.spec.parents.values()]
    while todo:
        key = todo.pop()
        if key not in known:
            known[key] = parent = lookup.store.read(key)
            todo += parent.spec.parents.values() if parent is not None else ()
    found: dict[str, str] = {}
    for key, run in known.items():
        if run is None:
            return f"unverified: the run {key[:12]}, which it was made from, is not stored here"
        found |= _unknown(run)
    if not found:
        return ""
    (what, why), *others = found.items()
    more = f", and {len(others)} more" if others else ""
    name = what.rpartition(" ")[2]
    return (
        f"unverified: {what} ({why}){more}; run `python -m repro prepare --lock {name}` on a "
        "machine with the hub"
    )


def _unknown(run: StoredRun) -> dict[str, str]:
    """What one run reads, by its spec and by its own record -> why it is not known."""
    backbone, lock, read = run.spec.backbone.id, locked(), Contents()
    with suppress(ValidationError):  # a record of an earlier version says nothing of it
        read = Contents.model_validate(run.environment().get(READ, {}))
    model = unknown(read.models.get(backbone), lock.models.get(backbone), whole=True)
    found = {f"{MODEL} {backbone}": model}
    for name in dict.fromkeys([*folders_of(run.spec.task), *read.data]):
        found[f"{DATA} {name}"] = unknown(read.data.get(name), lock.data.get(name), whole=False)
    return {what: why for what, why in found.items() if why}


def settings_differ(ours: Behind, declared: Behind, only: Sequence[str] = ()) -> str:
    """Which fields of the runs are not as declared: "recipe.epochs 1, declared 3"; "" for none.

    Runs may be of other seeds. A sweep must be the declared one whole. `only`: the fields, or parts
    of a spec, that count.
    """
    sides = ({canonical_json(_fields(run, only)) for run in one.runs} for one in (ours, declared))
    if len({frozenset(side) for side in sides}) == 1:  # the same settings, whatever the seeds
        return ""
    found = _differing(ours.runs, declared.runs, only)
    if all(name.startswith("parents.") for name in found):
        found = _of_parents(ours, declared) or found
    if not found:
        return "other combinations of settings than declared"
    said = [f"{name} {one}, declared {other}" for name, (one, other) in found.items()]
    more = len(said) - MOST_NAMED
    return "; ".join(said[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _fields(run: RunSpec, only: Sequence[str]) -> dict[str, Any]:
    """Field path -> value of everything that can change a number, but for the seed."""
    return {
        name: value
        for name, value in flatten(identity_fields(run))
        if name != "seed"
        and (not only or any(name == part or name.startswith(f"{part}.") for part in only))
    }


def _differing(
    ours: Sequence[RunSpec], declared: Sequence[RunSpec], only: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Field path -> its values in both, of the fields whose values are not the same."""
    names = sorted({name for run in (*ours, *declared) for name in _fields(run, only)})
    sides = [[dict(flatten(run.model_dump())) for run in runs] for runs in (ours, declared)]
    found = {}
    for name in names:  # a field that was left out has its default; None where a part has none
        one, other = (
            list(dict.fromkeys(_shown(held.get(name)) for held in side)) for side in sides
        )
        if set(one) != set(other):
            found[name] = _listed(one), _listed(other)
    for part, named in NAMES.items():
        if f"{part}.{named}" in found:
            found = {
                name: values
                for name, values in found.items()
                if not name.startswith(f"{part}.") or name == f"{part}.{named}"
            }
    return found


def _of_parents(ours: Behind, declared: Behind) -> dict[str, tuple[str, str]]:
    """The same of the runs that these are made from, as fields of the role that they have."""
    known = [{run_key(run): run for run in side.needed} for side in (ours, declared)]
    roles = dict.fromkeys(role for run in ours.runs for role in run.parents)
    found = {}
    for role in roles:
        one, other = (
            [runs[key] for run in side.runs if (key := run.parents.get(role)) in runs]
            for side, runs in zip((ours, declared), known, strict=True)
        )
        for name, values in _differing(one, other, ()).items():
            found[f"parents.{role}.{name}"] = values
    return found


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _listed(values: Sequence[str]) -> str:
    """1e-05, 3e-05 or 0.0001; of many the first and a count."""
    more = len(values) - MOST_VALUES
    return either([*values[:MOST_VALUES], *[f"{more} others"] * (more > 0)] or ["unset"])
