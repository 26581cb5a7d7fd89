"""Start and end logits become an answer, in the two ways that papers use.

"argmax-pair" (ResAdapters): each window answers from its most probable start to its most probable
end, or not at all when that is no span of the context; the window with the highest score speaks.
"best-span" (transformers' question-answering example): the best of the 20 x 20 most probable starts
and ends, unless the null score beats it.

`decode_batch` reduces a batch to a few numbers a window, so that no logits have to be kept;
`answers` then takes one convention's windows and answers every question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from repro.tasks.squad2.features import NULL, Window, window_text
from repro.tasks.squad2.questions import Question

Decoding = Literal["argmax-pair", "best-span"]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CANDIDATES = 20
LONGEST = 30
THRESHOLD = 0.0
NO_SPAN_MARGIN = 1e9
"""The margin of a question for which no window has a span: above any threshold, and finite."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What decoding needs to know of each window; every array is (windows,).

    Scores are sums of a start and an end logit. Positions are those of the window; a window without
    a span has the position `NULL` twice, and its `span_score` is minus infinity.
    """

    null_score: Floats
    pair_score: Floats
    pair_start: Ints
    pair_end: Ints
    span_score: Floats
    span_start: Ints
    span_end: Ints


@dataclass(frozen=True, slots=True)
class Answers:
    """One decoding's answers, each by question id.

    `texts`: the answer, "" for none. `spans`: the best text that is not null, "" where no window
    has a span. `margins`: the null score minus that span's score, `NO_SPAN_MARGIN` where there is
    none; an answer is given when it is small.
    """

    texts: dict[str, str]
    margins: dict[str, float]
    spans: dict[str, str]


def decode_batch(start: Floats, end: Floats, windows: Sequence[Window]) -> Outcomes:
    """The outcomes of a padded batch.

    `start` and `end` are float32 logits (batch, tokens) with `tokens` at least the longest window's
    length; what stands behind a window's own tokens is not read. Of equal candidates the one that
    starts first, then the one that ends first, wins. Raises FloatingPointError when a logit is not
    finite: a diverged model answers nothing, and that is not an answer.
    """
    lengths = np.array([len(window.input_ids) for window in windows])
    position = np.arange(start.shape[1])
    real: Bools = position < lengths[:, None]  # (batch, tokens)
    if not (np.isfinite(start[real]).all() and np.isfinite(end[real]).all()):
        raise FloatingPointError("The model gave start or end logits that are not finite.")
    start, end = np.where(real, start, -np.inf), np.where(real, end, -np.inf)
    first = np.array([window.first for window in windows])
    last = np.array([window.last for window in windows])
    return Outcomes(
        start[:, NULL] + end[:, NULL],
        *_argmax_pair(start, end, first, last),
        *_best_span(start, end, first, last),
    )


def join(parts: Sequence[Outcomes], order: Sequence[int] | None = None) -> Outcomes:
    """The outcomes of all batches as one; `order[i]` is the window that the i-th outcome is of."""
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Outcomes)
    }
    if order is not None:
        columns = {name: column[np.argsort(order)] for name, column in columns.items()}
    return Outcomes(**columns)


def answers(
    outcomes: Outcomes,
    windows: Sequence[Window],
    questions: Sequence[Question],
    indices: Sequence[int],
) -> dict[Decoding, Answers]:
    """Every question's answer by both decodings, from one convention's windows.

    `indices` picks that convention's windows (and their outcomes), a question's ones side by side.
    Raises ValueError when they are not.
    """
    taken = np.asarray(indices, dtype=np.int64)
    owner = np.array([windows[index].question for index in indices])
    heads = np.flatnonzero(np.diff(owner, prepend=-1))  # (questions,): each one's first window
    if len(np.unique(owner)) != len(heads):
        raise ValueError("The windows of a question have to stand side by side.")
    groups = _Groups(outcomes, windows, questions, taken, owner, heads)
    return {"argmax-pair": _answer_pairs(groups), "best-span": _answer_spans(groups)}


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    outcomes: Outcomes
    windows: Sequence[Window]
    questions: Sequence[Question]
    taken: Ints  # (convention's windows,): index among all windows
    owner: Ints  # (convention's windows,): index of the question
    heads: Ints  # (answered questions,): where each question's windows begin


def _argmax_pair(start: Floats, end: Floats, first: Ints, last: Ints) -> tuple[Floats, Ints, Ints]:
    rows = np.arange(len(start))
    begin, stop = start.argmax(axis=1), end.argmax(axis=1)
    score = start[rows, begin] + end[rows, stop]
    span = (first <= begin) & (begin <= stop) & (stop < last)
    return score, np.where(span, begin, NULL), np.where(span, stop, NULL)


def _best_span(start: Floats, end: Floats, first: Ints, last: Ints) -> tuple[Floats, Ints, Ints]:
    rows = np.arange(len(start))
    begins, stops = _highest(start, CANDIDATES), _highest(end, CANDIDATES)  # (batch, candidates)
    score = np.take_along_axis(start, begins, 1)[:, :, None]
    score = score + np.take_along_axis(end, stops, 1)[:, None, :]
    begin, stop = begins[:, :, None], stops[:, None, :]
    valid = (begin >= first[:, None, None]) & (stop < last[:, None, None])
    valid &= (stop >= begin) & (stop - begin < LONGEST)
    flat = np.where(valid, score, -np.inf).reshape(len(start), -1)
    best = flat.argmax(axis=1)
    value = flat[rows, best]
    found = value > -np.inf
    at_start, at_end = np.divmod(best, stops.shape[1])
    return (
        value,
        np.where(found, begins[rows, at_start], NULL),
        np.where(found, stops[rows, at_end], NULL),
    )


def _highest(logits: Floats, count: int) -> Ints:
    """Positions of the `count` highest logits in ascending order; of equal ones the first count."""
    count = min(count, logits.shape[1])
    bound = np.partition(logits, -count, axis=1)[:, -count, None]
    above, level = logits > bound, logits == bound
    chosen = above | (level & (level.cumsum(axis=1) <= count - above.sum(axis=1, keepdims=True)))
    return np.nonzero(chosen)[1].reshape(len(logits), count)


def _answer_pairs(groups: _Groups) -> Answers:
    """A window that decodes to null counts with its pair's score as a null candidate, any other
    with the score of its null position; the margin's sign then says which window won."""
    outcomes, taken, heads = groups.outcomes, groups.taken, groups.heads
    score, null = outcomes.pair_score[taken], outcomes.null_score[taken]
    is_span = outcomes.pair_end[taken] != NULL
    best_span, at = _best(np.where(is_span, score, -np.inf), heads)
    best_null = np.maximum.reduceat(np.where(is_span, null, score), heads)
    _, winner = _best(score, heads)
    positions = (outcomes.pair_start, outcomes.pair_end)
    return _collect(groups, best_null - best_span, at, positions, is_span[winner])


def _answer_spans(groups: _Groups) -> Answers:
    """The null score of a question is the lowest of its windows'."""
    outcomes, taken, heads = groups.outcomes, groups.taken, groups.heads
    best, at = _best(outcomes.span_score[taken], heads)
    margin = np.minimum.reduceat(outcomes.null_score[taken], heads) - best
    positions = (outcomes.span_start, outcomes.span_end)
    return _collect(groups, margin, at, positions, margin <= THRESHOLD)


def _best(scores: Floats, heads: Ints) -> tuple[Floats, Ints]:
    """Each question's highest score and the first of its windows that has it."""
    best = np.maximum.reduceat(scores, heads)
    sizes = np.diff(heads, append=len(scores))
    places = np.arange(len(scores))
    hits = np.where(scores == np.repeat(best, sizes), places, len(scores))
    return best, np.minimum.reduceat(hits, heads)


def _collect(
    groups: _Groups, margin: Floats, at: Ints, positions: tuple[Ints, Ints], answered: Bools
) -> Answers:
    result = Answers({}, {}, {})
    found = np.isfinite(margin)
    for row, place in enumerate(at.tolist()):
        index = groups.taken[place]
        question = groups.questions[groups.owner[place]]
        span = ""
        if found[row]:
            start, end = (int(column[index]) for column in positions)
            span = window_text(groups.windows[index], start, end, question)
        result.spans[question.id] = span
        result.texts[question.id] = span if answered[row] else ""
        result.margins[question.id] = float(margin[row]) if found[row] else NO_SPAN_MARGIN
    return result
