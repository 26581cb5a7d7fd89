"""What a shell completes: verbs and options by typer, and here the values that options take.

The shell starts the console script `repro` with the words so far in its environment. Nothing here
imports torch or reads data, and nothing is printed but the answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from repro.spec.backbones import KNOWN

VARIABLE = "_REPRO_COMPLETE"
"""Set by the shell's function, to complete_bash, complete_zsh and so on."""
PROGRAM = "repro"
_UNSAFE = re.compile(r"([^\w@%+:,./=^-])")
"""What a shell would not take as a part of one word."""


def is_asked() -> bool:
    """Whether a shell asks for completions."""
    return VARIABLE in os.environ


def verb_typed() -> str:
    """The verb among the words before the one that is completed; "" where it is not typed yet."""
    if "COMP_WORDS" in os.environ:
        _join_values()
    return next((word for word in _words() if not word.startswith("-")), "")


def _words() -> list[str]:
    """The words between the program and the one that is completed, with quotes as typed."""
    if "COMP_WORDS" in os.environ:
        return os.environ["COMP_WORDS"].split("\n")[1 : int(os.environ["COMP_CWORD"])]
    typed = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return typed.split()[1 : None if typed.endswith(" ") else -1]


def _join_values() -> None:
    """Bash takes `--row=Ad` for three words, typer's completion two of these for one."""
    words, at = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    if words[at : at + 1] == ["="]:
        words[at] = ""
    elif words[at - 1 : at] == ["="] and at > 1:
        del words[at - 1]
        at -= 1
    os.environ |= {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(at)}


def ids_of(kind: str) -> Any:
    """The completion of the ids of "TABLES", "FIGURES" or "ARTEFACTS", which are both."""

    def complete(incomplete: str) -> list[str]:
        from repro.papers import registry

        return _fitting(getattr(registry, kind), incomplete, but=_asked())

    return complete


def needed(incomplete: str) -> list[str]:
    """What `prepare` fetches: tables and figures, models, data sets."""
    from repro.papers.registry import ARTEFACTS
    from repro.spec.facts import KNOWN as DATA_SETS

    return _fitting([*ARTEFACTS, *KNOWN, *DATA_SETS], incomplete)


def papers(incomplete: str) -> list[str]:
    """The papers, as `audit` and `claims` call them."""
    from repro.papers.names import PAPERS

    return _fitting(PAPERS, incomplete)


def scales(incomplete: str) -> list[str]:
    """The scales, and auto."""
    from repro.cli.requests import SCALES

    return _fitting([*SCALES, "auto"], incomplete)


def backbones(incomplete: str) -> list[str]:
    """The backbones that have an id, and the model folders in $REPRO_MODELS."""
    from repro.folders import named_by

    folder = named_by("REPRO_MODELS")
    found = folder.iterdir() if folder is not None and folder.is_dir() else ()
    local = sorted(path.name for path in found if (path / "config.json").is_file())
    return _fitting(dict.fromkeys([*KNOWN, *local]), incomplete)


def methods(incomplete: str) -> list[str]:
    """A figure's methods, or all that can be a further row of a table."""
    from repro.papers.registry import FIGURES
    from repro.spec.method import methods as registered

    asked = [FIGURES[id] for id in _asked() if id in FIGURES]
    return _fitting(asked[0].methods if asked else registered(), incomplete)


def parts_of(kind: str) -> Any:
    """The completion of the "rows" or "columns" of the table that is typed."""

    def complete(incomplete: str) -> list[str]:
        from repro.papers.registry import TABLES

        asked = [TABLES[id] for id in _asked() if id in TABLES]
        names = dict.fromkeys(part.name for table in asked for part in getattr(table, kind))
        return _fitting(names, incomplete)

    return complete


def sections(incomplete: str) -> list[str]:
    """The parts of the table that is typed, further ones after a comma."""
    from repro.papers.registry import ARTEFACTS

    known = [name for id in _asked() for name in getattr(ARTEFACTS[id], "sections", ())]
    return _joined(known, incomplete)


def tasks(incomplete: str) -> list[str]:
    """The tasks of the tables and figures that are typed, else all; further ones after a comma."""
    from repro.papers.registry import ARTEFACTS
    from repro.tasks.catalogue import TITLES

    own = [name for id in _asked() for name in ARTEFACTS[id].tasks]
    return _joined(dict.fromkeys(own or TITLES), incomplete)


def requests(incomplete: str) -> list[str]:
    """The saved requests of the default store."""
    from repro.cli.options import open_store

    return _fitting(open_store(None).requests(), incomplete)


def one_of(values: Sequence[str]) -> Any:
    """The completion of an option that takes one of a few words."""

    def complete(incomplete: str) -> list[str]:
        return _fitting(values, incomplete)

    return complete


def _asked() -> list[str]:
    """The tables and figures that are typed, as they are spelt here."""
    from repro.papers.registry import ARTEFACTS

    lowered = {id.lower(): id for id in ARTEFACTS}
    return [lowered[word.lower()] for word in _words() if word.lower() in lowered]


def _joined(known: Iterable[str], incomplete: str) -> list[str]:
    """The names that may stand after the last comma, each with what is before it."""
    before, comma, last = incomplete.rpartition(",")
    used = before.lower().split(",")
    fitting = [n for n in known if n.lower().startswith(last.lower()) and n.lower() not in used]
    return [_as_typed(f"{before}{comma}{name}") for name in fitting]


def _fitting(known: Iterable[str], incomplete: str, but: Sequence[str] = ()) -> list[str]:
    """The names that begin so, in any case, as the shell can insert them."""
    begun, used = incomplete.lower(), [name.lower() for name in but]
    found = (name for name in known if name.lower().startswith(begun))
    return [_as_typed(name) for name in found if name.lower() not in used]


class _Fitting(str):
    """A value that was chosen here: typer drops what does not begin with the typed letters, and
    these may be in another case, or have a backslash before them.
    """

    def startswith(self, *_: object) -> bool:
        return True


def _as_typed(value: str) -> str:
    """The value for bash, which inserts it as it stands: within quotes if the user opened some,
    else with a backslash before what would end the word. Other shells do that themselves.
    """
    if "COMP_WORDS" not in os.environ:
        return _Fitting(value)
    words, at = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    quoted = at < len(words) and words[at][:1] in ("'", '"')
    return _Fitting(value if quoted else _UNSAFE.sub(r"\\\1", value))
