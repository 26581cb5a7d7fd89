"""The papers, as a reader calls them."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

from repro import papers
from repro.errors import ReproError, UnknownName

PAPERS = {
    "resadapters": "ResAdapters (Hsu & Wu)",
    "houlsby": "Houlsby et al. 2019",
    "three_shared": "3-shared (Mohebbi & Rajaee)",
    "peters": "Peters, Ruder & Smith 2019",
    "hyperformer": "HyperFormer (Karimi Mahabadi et al. 2021)",
    "adaptable_adapters": "Adaptable Adapters (Moosavi et al. 2022)",
}
"""Folder of `papers/` -> name; a further paper's name is the TITLE of its `__init__.py`."""

OTHER_NAMES = {"3_shared": "three_shared", "aa": "adaptable_adapters"}
"""As the ids of their tables begin."""


def _further() -> dict[str, str]:
    """The papers of REPRO_PAPERS. Raises ReproError where it names no folder."""
    for folder in papers.FURTHER:
        if not Path(folder).is_dir():
            raise ReproError(f"REPRO_PAPERS names {folder}, which is no folder: mend or unset it.")
        if not any(one.ispkg for one in pkgutil.iter_modules([folder])):
            raise ReproError(
                f"{folder}, which REPRO_PAPERS names, holds no paper: a paper is a folder in it, "
                "whose name Python can import (made_up), with an __init__.py."
            )
    found = [one.name for one in pkgutil.iter_modules(papers.__path__) if one.ispkg]
    own = [one.name for folder in papers.__path__ for one in pkgutil.iter_modules([folder])]
    for name in found:
        if own.count(name) > 1:
            raise ReproError(f"Two papers stand in folders called {name}: rename one of them.")
    new = sorted(set(found) - set(PAPERS))
    return {name: getattr(import_module(f"repro.papers.{name}"), "TITLE", name) for name in new}


PAPERS |= _further()


def find_paper(given: str | None) -> str | None:
    """The folder of the paper called `given`, in any case; an unknown one names the closest."""
    if given is None:
        return None
    wanted = given.lower().replace("-", "_").replace(" ", "_")
    wanted = OTHER_NAMES.get(wanted, wanted)
    if wanted not in PAPERS:
        raise UnknownName("paper", given, PAPERS)
    return wanted
