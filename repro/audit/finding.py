"""One thing that the audit found in published numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "doubt", "note"]
"""A number that cannot be right; one that needs an explanation; a rule that the paper leaves open
or a difference that only a reading of text and code shows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`says` in one sentence, `arithmetic` as a reader can redo it, `source`: where it stands.

    `computed`: found by arithmetic on the published numbers; else a note cited from text or code.
    """

    id: str
    paper: str
    severity: Severity
    says: str
    arithmetic: str
    source: str
    computed: bool = True
