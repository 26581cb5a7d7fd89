"""What the training loop needs of a task: the seam between tasks and training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from repro.spec import canonical_json

E = TypeVar("E")
K = TypeVar("K")

UNWRITTEN = -100
"""Stands in a batch of answers where one is shorter than the longest."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A text to write. `longest`: how many tokens the task's longest answer has."""

    tokens: NDArray[np.int32]
    """(tokens,), end of text included."""
    longest: int


class Example(Protocol):
    """One input as tokens. `target` is (start, end), a class, a number, an array of each token's
    tag, or an `Answer`: the task's own.
    """

    @property
    def input_ids(self) -> NDArray[np.int32]:
        """(tokens,)."""

    @property
    def type_ids(self) -> NDArray[np.int8]:
        """(tokens,)."""

    @property
    def target(self) -> Any:
        """What the loss compares outputs with."""

    @property
    def task(self) -> int:
        """Which task of a mixture it is of; 0 of any other. A batch holds one task's examples."""


class Collector(Protocol):
    """Takes one run's outputs batch by batch, then scores them."""

    def add(self, indices: list[int], outputs: NDArray[Any]) -> None:
        """The outputs for `TaskData.evaluation[i]`, i in `indices`: start and end logits
        (2, batch, length), (batch, outputs) of a classifier, (batch, length, tags), or the tokens
        of answers (batch, longest), int64.

        Raises FloatingPointError where one is not finite.
        """

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        """Every score of the watched examples, or of all, as `result.json` holds them.

        Raises ValueError where outputs lack.
        """

    def predictions(self) -> dict[str, Any]:
        """What `predictions.json` holds."""


class TaskData(Protocol):
    """Examples cut for one tokenizer, and how their outputs are judged."""

    @property
    def training(self) -> Sequence[Example]:
        """In file order, or as drawn."""

    @property
    def evaluation(self) -> Sequence[Example]:
        """Those of every scored split."""

    @property
    def watched(self) -> int:
        """How many of `evaluation`, from the first on, are scored after every epoch; the others
        once, at the end.
        """

    @property
    def drawn(self) -> dict[str, str] | None:
        """Split -> SHA-256 of the ids of the rows drawn for it (a list of numbers as canonical
        JSON); None of a task that does not divide its training rows.
        """

    @property
    def pad_id(self) -> int:
        """The token that fills a batch."""

    def collector(self) -> Collector:
        """A new one, for one run and one evaluation."""

    def headline(self, scores: list[dict[str, Any]]) -> dict[str, float]:
        """A few of one epoch's scores for progress and history, by name."""

    def monitor(self, scores: list[dict[str, Any]]) -> float | None:
        """The number that picks the best epoch; None where one epoch's scores have none."""

    def collapsed(self, scores: list[dict[str, Any]]) -> bool:
        """Whether one epoch's scores are those of a constant answer."""


class SplitCollector:
    """Keeps what a run gives for every example until all is there to be scored.

    A subclass fills `given` and writes `scored`. `data` has `evaluation`, `watched` and `splits`:
    where each scored split stands in `evaluation`.
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self.given: list[Any] = [None] * len(data.evaluation)

    def scored(
        self, split: Any, examples: Sequence[Any], given: Sequence[Any]
    ) -> Iterable[dict[str, Any]]:
        """Every score of a split, in percent, but for its epoch."""
        raise NotImplementedError

    def scores(self, epoch: int) -> list[dict[str, Any]]:
        """Every split's scores; raises what `parts` raises."""
        return [{**one, "epoch": epoch} for part in self.parts() for one in self.scored(*part)]

    def parts(self) -> Iterator[tuple[Any, list[Any], list[Any]]]:
        """(split, its examples, what was given for them).

        A split that is not watched, and for which nothing was given, is left out; raises ValueError
        where something lacks of another.
        """
        for split, place in self.data.splits.items():
            examples = self.data.evaluation[place]
            given = [one for one in self.given[place] if one is not None]
            if place.start >= self.data.watched and not given:
                continue
            if len(given) < len(examples):
                raise ValueError(f"{len(examples) - len(given)} examples have no outputs yet")
            yield split, examples, given


def score(
    task: str, split: str, protocol: str, metric: str, value: float, n: int, group: str = "ALL"
) -> dict[str, Any]:
    """A score as `result.json` holds it, but for its epoch; `value` is over `n` examples."""
    return {
        "task": task,
        "split": split,
        "protocol": protocol,
        "metric": metric,
        "group": group,
        "value": value,
        "n": n,
    }


def value_of(scores: Iterable[Mapping[str, Any]], split: str, metric: str) -> float | None:
    """One of an epoch's scores over a whole split; None where there is none."""
    wanted = (split, metric, "ALL")
    found = (s["value"] for s in scores if (s["split"], s["metric"], s["group"]) == wanted)
    return next(found, None)


def joined(parts: Mapping[K, Sequence[E]]) -> tuple[list[E], dict[K, slice]]:
    """The examples of all splits in one list, and where each split stands in it."""
    found: list[E] = []
    places = {}
    for split, examples in parts.items():
        places[split] = slice(len(found), len(found) + len(examples))
        found += examples
    return found, places


def digest_of_ids(ids: Iterable[int]) -> str:
    """SHA-256 of the ids of drawn rows, in their order, as canonical JSON."""
    return sha256(canonical_json(list(ids)).encode()).hexdigest()


def check_ids(where: str, stored: Sequence[Any], rows: Sequence[Any]) -> None:
    """Raises ValueError where stored predictions are not of these rows, in their order."""
    if list(stored) != list(rows):
        raise ValueError(f"the predictions of {where} are of other rows than the data here")
