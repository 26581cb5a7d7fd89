"""Whether the weights, tokenizers and rows behind runs are known to be the published ones."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from repro.spec.contents import Contents, locked, unknown
from repro.store.entry import StoredRun
from repro.tasks.state import folders_of

READ = "read"
"""Where a run's environment.json says what it read."""
MODEL, DATA = "weights and tokenizer of", "rows of"


def unverified(runs: Mapping[str, StoredRun | None]) -> str:
    """What these runs read that is not known by digest, and what to do; "" where all is known.

    `runs`: key -> the run; None where one that another was made from is not stored here.
    """
    found: dict[str, str] = {}
    for key, run in runs.items():
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
    read, lock = _read(run), locked()
    backbone = run.spec.backbone.id
    found = {
        f"{MODEL} {backbone}": unknown(
            read.models.get(backbone), lock.models.get(backbone), whole=True
        )
    }
    for name in dict.fromkeys([*folders_of(run.spec.task), *read.data]):
        found[f"{DATA} {name}"] = unknown(read.data.get(name), lock.data.get(name), whole=False)
    return {what: why for what, why in found.items() if why}


def _read(run: StoredRun) -> Contents:
    """What the run stored of it; nothing where it is of an earlier version."""
    try:
        return Contents.model_validate(run.environment().get(READ, {}))
    except ValidationError:
        return Contents()
