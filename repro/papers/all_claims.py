"""Every claim of every paper."""

from __future__ import annotations

from repro.papers.adaptable_adapters.claims import CLAIMS as ADAPTABLE
from repro.papers.claims import Claim
from repro.papers.houlsby.claims import CLAIMS as HOULSBY
from repro.papers.hyperformer.claims import CLAIMS as HYPERFORMER
from repro.papers.peters.claims import CLAIMS as PETERS
from repro.papers.resadapters.claims import CLAIMS as RESADAPTERS
from repro.papers.three_shared.claims import CLAIMS as THREE_SHARED

CLAIMS: tuple[Claim, ...] = (
    *RESADAPTERS, *HOULSBY, *THREE_SHARED, *PETERS, *HYPERFORMER, *ADAPTABLE,
)  # fmt: skip
