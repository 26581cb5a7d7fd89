"""How far a reproduced number may lie from the printed one without changing a conclusion.

Declared with the tables, before any result exists: at most one point, or two where a score is of
fewer than 1,500 rows, or half of the smallest gap between two rows from which the paper concludes
something. Half a unit of the last printed digit is added in the comparison itself.
"""

from __future__ import annotations

WIDEST = 1.0
OF_FEW_ROWS = 2.0
FEW = 1_500
"""Rows below which the noise of the rows themselves is about a point."""


LAYER = 1.0
"""Of how many layers have an adapter: one more or less."""


def for_rows(scored: int) -> float:
    """The margin of a score of so many rows."""
    return OF_FEW_ROWS if scored < FEW else WIDEST


def with_rounding(margin: float, decimals: int) -> float:
    """With half a unit of the last of so many printed digits."""
    return margin + 10.0**-decimals / 2


def half_of(gap: float) -> float:
    """Half of a gap from which the paper concludes something, at most `WIDEST`."""
    return min(WIDEST, gap / 2)
