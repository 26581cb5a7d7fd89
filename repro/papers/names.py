"""The papers, as a reader calls them."""

from __future__ import annotations

PAPERS = {
    "resadapters": "ResAdapters (Hsu & Wu)",
    "houlsby": "Houlsby et al. 2019",
    "three_shared": "3-shared (Mohebbi & Rajaee)",
    "peters": "Peters, Ruder & Smith 2019",
    "hyperformer": "HyperFormer (Karimi Mahabadi et al. 2021)",
    "adaptable_adapters": "Adaptable Adapters (Moosavi et al. 2022)",
}
"""Folder of `papers/` -> name."""
