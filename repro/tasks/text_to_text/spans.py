"""Span corruption: T5's pre-training (Raffel et al. 2020, section 3.1.4).

15 % of the tokens are dropped, in spans of 3 on average. A sentinel stands for each span; what is
to be written is every sentinel and the tokens that it stands for. T5's own code lets every text end
in a span; short texts have one span only, so here the first and the last tokens may stay, too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from repro.errors import ReproError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SHARE, MEAN = 0.15, 3
MOST_SENTINELS = 100
"""What T5 has; a smaller tokenizer has fewer."""


def sentinels(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """<extra_id_0>, <extra_id_1>, ... as the tokenizer numbers them (T5: downwards).

    Raises ReproError where it has none.
    """
    known = tokenizer.get_vocab()
    names = (f"<extra_id_{number}>" for number in range(MOST_SENTINELS))
    found = [known[name] for name in names if name in known]
    if not found:
        raise ReproError("Span corruption needs T5's sentinels, and this tokenizer has none.")
    return found


def corrupted(
    tokens: Sequence[int], marks: Sequence[int], draw: random.Random
) -> tuple[list[int], list[int]]:
    """What is read and what is to be written, without the end of text.

    Raises ReproError for a text of fewer than two tokens.
    """
    if len(tokens) < 2:
        raise ReproError("A text of fewer than two tokens has no span that can be dropped.")
    dropped = min(max(round(len(tokens) * SHARE), 1), len(tokens) - 1)
    kept = len(tokens) - dropped
    spans = min(max(round(dropped / MEAN), 1), kept + 1, len(marks))
    lengths = _parts(dropped, spans, draw)
    # one token at least between two spans, and any number before the first and after the last
    gaps = _parts(kept + 2, spans + 1, draw)
    read, written, place = list(tokens[: gaps[0] - 1]), [], gaps[0] - 1
    for mark, length, gap in zip(marks, lengths, gaps[1:], strict=False):
        written += [mark, *tokens[place : place + length]]
        place += length
        read += [mark, *tokens[place : place + gap]]
        place += gap
    return read, written


def _parts(whole: int, count: int, draw: random.Random) -> list[int]:
    """`whole` as a sum of `count` positive numbers, every such sum as likely."""
    cuts = sorted(draw.sample(range(1, whole), count - 1))
    return [end - begin for begin, end in pairwise([0, *cuts, whole])]
