"""The further text tasks: those of Houlsby et al. (section 3.3), and SICK."""

from __future__ import annotations

from typing import cast

from repro.spec.facts import SETS, Facts
from repro.spec.tasks import TextName

TEXTS = cast(dict[TextName, Facts], SETS["texts"])
HOULSBY: tuple[TextName, ...] = tuple(name for name, facts in TEXTS.items() if facts.joined)
"""The 17 sets of Houlsby et al.'s Table 2, in its order."""
