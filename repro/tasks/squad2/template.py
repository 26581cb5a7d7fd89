"""Where a tokenizer puts its special tokens around a question and a context.

BERT writes `[CLS] question [SEP] context [SEP]` with token types 0 and 1, XLM-R `<s> question
</s></s> context </s>` without types. Both are read off the tokenizer's own encoding of a pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from repro.errors import ReproError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Pieces = tuple[tuple[int, int], ...]
"""(token id, type id) of special tokens."""


@dataclass(frozen=True, slots=True)
class Template:
    """The special tokens before, between and after a pair, and the types of its two texts."""

    before: Pieces
    between: Pieces
    after: Pieces
    question_type: int
    context_type: int

    @property
    def specials(self) -> int:
        """How many tokens of a window are special ones."""
        return len(self.before) + len(self.between) + len(self.after)

    def filled(
        self, question: NDArray[np.int32], context: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Token ids and types of a pair, each (tokens,)."""
        before, between, after = (
            [token for token, _ in pieces] for pieces in (self.before, self.between, self.after)
        )
        types = [kind for _, kind in (*self.before, (0, self.question_type), *self.between)]
        types += [kind for _, kind in ((0, self.context_type), *self.after)]
        counts = np.ones(len(types), dtype=np.int64)
        counts[len(before)], counts[len(before) + 1 + len(between)] = len(question), len(context)
        ids = np.concatenate((before, question, between, context, after), dtype=np.int32)
        return ids, np.repeat(np.array(types, dtype=np.int8), counts)


def template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """The template of any fast tokenizer that puts a special token first.

    Raises ReproError for a slow tokenizer (it has no offsets) and for one whose windows start with
    the question itself: position 0 has to be free to mean "no answer".
    """
    if not tokenizer.is_fast:
        raise ReproError(
            f"{type(tokenizer).__name__} cannot say where its tokens lie in the text. Use a "
            "backbone with a fast tokenizer (a tokenizer.json)."
        )
    encoding = tokenizer("question", "context", truncation=False)
    ids: list[int] = encoding["input_ids"]
    types: list[int] = encoding.get("token_type_ids") or [0] * len(ids)
    parts: list[int | None] = encoding.sequence_ids(0)
    pieces = tuple(zip(ids, types, strict=True))
    question, context = _extent(parts, 0), _extent(parts, 1)
    if not 0 < question[0] < question[1] <= context[0] < context[1]:
        raise ReproError(
            f"{type(tokenizer).__name__} does not write a special token, the question, then the "
            "context. Use an encoder's tokenizer (BERT, RoBERTa, XLM-R)."
        )
    return Template(
        before=pieces[: question[0]],
        between=pieces[question[1] : context[0]],
        after=pieces[context[1] :],
        question_type=types[question[0]],
        context_type=types[context[0]],
    )


def _extent(parts: list[int | None], part: int) -> tuple[int, int]:
    """First and last + 1 position of a text; (0, 0) where it has none."""
    positions = [position for position, found in enumerate(parts) if found == part]
    return (positions[0], positions[-1] + 1) if positions else (0, 0)
