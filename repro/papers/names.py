"""The papers, as a reader calls them."""

from __future__ import annotations

from repro.errors import UnknownName

PAPERS = {
    "resadapters": "ResAdapters (Hsu & Wu)",
    "houlsby": "Houlsby et al. 2019",
    "three_shared": "3-shared (Mohebbi & Rajaee)",
    "peters": "Peters, Ruder & Smith 2019",
    "hyperformer": "HyperFormer (Karimi Mahabadi et al. 2021)",
    "adaptable_adapters": "Adaptable Adapters (Moosavi et al. 2022)",
}
"""Folder of `papers/` -> name."""

OTHER_NAMES = {"3_shared": "three_shared", "aa": "adaptable_adapters"}
"""As the ids of their tables begin."""


def find_paper(given: str | None) -> str | None:
    """The folder of the paper called `given`, in any case; an unknown one names the closest."""
    if given is None:
        return None
    wanted = given.lower().replace("-", "_").replace(" ", "_")
    wanted = OTHER_NAMES.get(wanted, wanted)
    if wanted not in PAPERS:
        raise UnknownName("paper", given, PAPERS)
    return wanted
