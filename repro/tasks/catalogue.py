"""Every task by name: what it is called, and which data there is for it here. Torch-free.

A plan asks `pool`, `unavailable` and `data_revision`; `look` and `whole` compare the local files of
a data set with what its owner publishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from repro.errors import MissingData
from repro.spec import Scale, Task
from repro.spec.contents import ALL, Content
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
State = Literal["published rows", "other rows", "in part", "not here", "damaged"]


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
    if reason is None and scale == "paper":
        try:
            data_revision("paper", name)
        except MissingData as problem:  # other rows than the published ones
            return str(problem).removesuffix(".")
    return reason


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


@dataclass(frozen=True, slots=True)
class Found:
    """One data set: what is published, and what is here. `here` counts rows by file, or by split
    where the set was read whole; `joined`: its files are joined before they are cut into splits.
    """

    name: str
    folder: str
    hub: str
    fields: tuple[str, ...]
    labels: tuple[str, ...]
    published: Mapping[str, int]
    joined: bool = False
    here: Mapping[str, int] = field(default_factory=dict)
    state: State = "not here"
    problem: str = ""


def look(name: str) -> Found:
    """Counts the rows of the local files, without checking them.

    Raises MissingData where $REPRO_DATA is set and no folder.
    """
    facts = KNOWN[name]
    known = published(facts)
    rows.local_folder(facts)
    try:
        found = rows.sizes(facts, rows.here(facts, facts.needed))
    except MissingData as problem:
        return replace(known, state="damaged", problem=str(problem))
    here = {split: size.rows for split, size in found.items()}
    return replace(known, here=here, state=_state(known, here))


def published(facts: Facts) -> Found:
    """What is published of a set; local files are not looked for."""
    sizes = {split: facts.rows[split] for split in facts.needed}
    return Found(
        facts.name, facts.folder, facts.hub_id, facts.required, facts.labels, sizes, facts.joined
    )


def whole(name: str) -> Found:
    """Reads and checks every row of the local files; a damaged file is the `problem`."""
    quick, facts = look(name), KNOWN[name]
    if quick.state in ("not here", "damaged"):
        return quick
    try:
        found = rows.usable(facts, rows.read(facts, rows.here(facts, facts.needed)))
        here = {split: len(of) for split, of in found.items()}
        if ALL in here:
            from repro.tasks.sentences.rows import Row, cut

            numbered = [Row(n, (), row[facts.label]) for n, row in enumerate(found[ALL])]
            here = {split: len(of) for split, of in cut(numbered, facts, 0).items()}
    except MissingData as problem:
        return replace(quick, state="damaged", problem=str(problem))
    return replace(quick, here=here)


def folders() -> dict[str, str]:
    """Folder of a data set below $REPRO_DATA -> one of the tasks that read it."""
    return {KNOWN[name].folder: name for name in TITLES}


def folders_of(task: Task) -> list[str]:
    """The folders below $REPRO_DATA of the data sets that a run of this task reads; the name of a
    task whose rows are made from a seed alone, as it has none.
    """
    return [KNOWN[name].folder if name in TITLES else name for name in task.names]


def hub_content(
    name: str, revision: str | None = None, splits: Sequence[str] = ()
) -> Content | None:
    """What the hub holds for a task, by digest; None for a set that is not on the hub.

    `revision`: None is the locked or pinned commit, "main" what the hub holds today. Downloads the
    splits (default: all that runs read) and checks every row; local folders are not read. Raises
    MissingData where it cannot be had.
    """
    if not KNOWN[name].hub_id:
        return None
    with rows.reading() as read:
        rows.hub_rows(name, revision, splits)
    return read[KNOWN[name].folder]


def _state(known: Found, here: Mapping[str, int]) -> State:
    if not here:
        return "not here"
    if known.joined:
        same = sum(here.values()) == sum(known.published.values())
        return "published rows" if same else "other rows"
    if len(here) < len(known.published):
        return "in part"
    return "published rows" if dict(here) == dict(known.published) else "other rows"
