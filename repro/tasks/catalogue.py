"""Every task by name: what it is called, and which data there is for it here. Torch-free."""

from __future__ import annotations

from repro.errors import MissingData
from repro.spec import Scale
from repro.spec.glue import GLUE
from repro.spec.sentences import SENTENCES
from repro.spec.text_to_text import FEW_SHOT, TEXT_TO_TEXT
from repro.spec.texts import TEXTS
from repro.tasks.draws import Pool

SQUAD2, SQUAD1, CONLL = "squad2", "squad1", "conll2003"
TITLES: dict[str, str] = {
    **{name: facts.title for name, facts in SENTENCES.items()},
    SQUAD1: "SQuAD 1.1",
    SQUAD2: "SQuAD 2.0",
    CONLL: "CoNLL-2003",
    **{name: TEXT_TO_TEXT[name].facts.title for name in FEW_SHOT},
}
"""Name -> title, in the order in which tasks are listed."""


def pool(scale: Scale, name: str) -> Pool:
    """Which rows of a task can be drawn from here, where few are divided: those to train on, or
    validation rows where a local folder has no others.
    """
    if name not in GLUE:
        return "train"
    from repro.tasks.glue import sources as glue

    return glue.pool(scale, name)


def unavailable(scale: Scale, name: str, pool: Pool = "train") -> str | None:
    """Why a task has no data here, in a few words for a table's gap; None where it may have.

    At scale "smoke" every task has. A task of the hub is a gap where a local folder holds only a
    part of it (at "paper" that is an error instead, of `data_revision`); one that comes as local
    files only where they are absent, or at "paper" not the published rows. `pool`: see the function
    of that name; it decides which files are read.
    """
    if scale == "smoke" or name == SQUAD2:
        return None
    if name in GLUE or name in FEW_SHOT or name == SQUAD1:
        return None if scale == "paper" else _in_part(scale, name, pool)
    if name in TEXTS:
        from repro.tasks.texts import sources as texts

        reason = texts.unavailable(name)
    else:
        from repro.tasks.tagging import sources as tagging

        reason = tagging.unavailable()
    return reason if reason or scale != "paper" else _not_published(name)


def _in_part(scale: Scale, name: str, pool: Pool) -> str | None:
    """What a local folder lacks of a task of the hub."""
    if name == SQUAD1:
        from repro.tasks.squad2 import sources as squad

        return squad.unavailable(name)
    if name in FEW_SHOT:
        from repro.tasks.text_to_text import sources as written

        return written.unavailable(scale, name)
    from repro.tasks.glue import sources as glue

    return glue.unavailable(scale, name, pool)


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
    if name in FEW_SHOT:
        from repro.tasks.text_to_text import sources as written

        return written.data_revision(scale, name)
    if scale == "smoke":
        from repro.tasks.generated import default_revision

        return default_revision(name)
    if name in GLUE:
        from repro.tasks.glue import sources as glue

        return glue.data_revision(scale, name, pool)
    if name in TEXTS:
        from repro.tasks.texts import sources as texts

        return texts.data_revision(scale, name)
    if name == CONLL:
        from repro.tasks.tagging import sources as tagging

        return tagging.data_revision(scale)
    from repro.tasks.squad2 import sources as squad

    whole = scale == "paper" or name == SQUAD1
    return squad.data_revision(scale, ("train", "validation") if whole else ("validation",), name)
