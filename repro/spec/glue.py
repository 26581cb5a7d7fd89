"""The tasks of GLUE (Wang et al. 2018)."""

from __future__ import annotations

from typing import cast

from repro.spec.facts import SETS, Facts
from repro.spec.tasks import GlueName

GLUE = cast(dict[GlueName, Facts], SETS["glue"])
DIAGNOSTIC = SETS["diagnostic"]["ax"]
"""MNLI's labels, never trained on, labels withheld."""
