"""Every task by name: what it is called, and which data there is for it here. Torch-free."""

from __future__ import annotations

from repro.errors import MissingData
from repro.spec import Scale
from repro.spec.facts import KNOWN, SETS, Facts
from repro.tasks import rows
from repro.tasks.draws import Pool

SQUAD2 = "squad2"
NAMED = ("glue", "texts", "squad", "tagging", "few-shot")
"""Groups of data sets in the order in which tasks are listed."""
TITLES: dict[str, str] = {
    name: facts.title for group in NAMED for name, facts in SETS[group].items()
}
"""Name -> title."""


def pool(scale: Scale, name: str) -> Pool:
    """Which rows of a task can be drawn from here, where few are divided: those to train on, or
    validation rows where a local folder has no others.

    That is so at scale "reduced" only: the others have made rows, or the published ones.
    """
    facts = KNOWN[name]
    if scale != "reduced" or name not in SETS["glue"]:
        return "train"
    found = rows.here(facts, facts.needed)
    held_out = facts.evaluation[0]
    return "validation" if "train" not in found and held_out in found else "train"


def splits_read(facts: Facts, scale: Scale, pool: Pool = "train") -> tuple[str, ...]:
    """The splits that identify a task's data. Rows that are drawn from the validation set (of MNLI
    the matched one) need nothing else, nor do the questions of the reduced scale.
    """
    reduced = facts.name == SQUAD2 and scale != "paper"
    return facts.evaluation[:1] if reduced or pool == "validation" else facts.needed


def unavailable(scale: Scale, name: str, pool: Pool = "train") -> str | None:
    """Why a task has no data here, in a few words for a table's gap; None where it may have.

    At scale "smoke" every task has. A task of the hub is a gap where a local folder holds only a
    part of it (at "paper" that is an error instead, of `data_revision`); one that comes as local
    files only where they are absent, or at "paper" not the published rows. `pool`: see the function
    of that name; it decides which files are read.
    """
    facts = KNOWN[name]
    if scale == "smoke" or (facts.hub_id and (scale == "paper" or name == SQUAD2)):
        return None
    reason = rows.unavailable(name, splits_read(facts, scale, pool))
    return reason if reason or scale != "paper" else _not_published(name)


def _not_published(name: str) -> str | None:
    """What is said of a local set that has other rows than the published ones."""
    try:
        data_revision("paper", name)
    except MissingData as problem:
        return str(problem).removesuffix(".")
    return None


def data_revision(scale: Scale, name: str, pool: Pool = "train") -> str | None:
    """What identifies a task's data at this scale, as far as this machine knows it.

    None means the published rows. Raises MissingData for a damaged file, and at "paper" for other
    rows than the published ones.
    """
    if scale == "smoke":
        from repro.tasks.generated import WRITTEN, default_revision

        return default_revision(f"{WRITTEN}{name}" if name in SETS["few-shot"] else name)
    splits = splits_read(KNOWN[name], scale, pool)
    return rows.data_revision(name, splits, whole=scale == "paper")
