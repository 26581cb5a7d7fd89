"""What a kind of task is to the rest of the project: one class that says all that differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from repro.spec.facts import KNOWN, Facts
from repro.spec.fields import Spec

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from repro.spec.types import Recipe
    from repro.tasks.data import TaskData


class Task(Spec):
    """Base of every kind of task.

    A subclass declares its settings as fields by `identity`, among them `name`, `source`,
    `train_rows`, `evaluation_rows` and `max_length`; sets the class attributes below where they
    differ; and writes the methods that raise here. It joins `AnyTask` in `repro.spec.tasks`.
    Importing one loads no torch: `load` and `loss` import what they need.
    """

    if TYPE_CHECKING:
        name: str
        source: str
        train_rows: int | None
        evaluation_rows: int | None
        max_length: int

    code: ClassVar[dict[str, int]]
    """The part of the code that reads it, then the part that makes its rows from a seed, each with
    its revision: bumped by hand when a change there changes numbers, whose runs get other keys."""
    family: ClassVar[Literal["bert", "t5"]] = "bert"
    """Which backbones answer it: encoders, or T5, which writes its answers."""
    pooled: ClassVar[bool] = False
    """An output layer inside the encoder reads BERT's pooler, not every token."""
    tags: ClassVar[bool] = False
    """Every word has a class of its own."""
    draws: ClassVar[bool] = False
    """Rows are drawn with replacement, so that a run counts steps and not epochs."""
    protocol: ClassVar[str] = ""
    """What its scores are called, where that is one name."""
    noun: ClassVar[str] = "rows"
    """What its rows are called."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks that a run trains on: one, or those of a mixture."""
        return (self.name,)

    @property
    def facts(self) -> Facts:
        """What is known of its data set."""
        return KNOWN[self.name]

    @property
    def outputs(self) -> int:
        """Numbers that an output layer gives for an example, or for a token."""
        raise NotImplementedError

    @property
    def development_share(self) -> float | None:
        """The share of the drawn rows that is set aside to select the epoch; None: other rows do.
        The rows that are scored are then scored once, at the end.
        """
        return None

    @property
    def drawn(self) -> str:
        """How many rows are drawn anew for every seed: "100 rows"; "" where none are."""
        return ""

    def check(self) -> None:
        """Raises ReproError where its settings do not fit each other."""

    def code_revision(self) -> int:
        """The revision of the part that reads it: a later one may hold for some runs only."""
        return next(iter(self.code.values()))

    def splits(self, name: str) -> tuple[str, ...]:
        """The published splits of one of its data sets that a run reads."""
        return KNOWN[name].needed

    def rows(self) -> tuple[int, int]:
        """Training and scored rows, as far as the spec alone tells."""
        train, scored = self._all_rows()
        if self.source == "generated" and (revision := getattr(self, "revision", None)):
            sizes = dict(part.split("=") for part in revision.split(",") if "=" in part)
            train = int(sizes.get("train", train))
            scored = int(sizes.get("validation", scored))
        train = self._kept(train)
        return min(train, self.train_rows or train), min(scored, self.evaluation_rows or scored)

    def _all_rows(self) -> tuple[int, int]:
        """Training and scored rows of the published set."""
        facts = self.facts
        return facts.rows["train"], sum(facts.rows[split] for split in facts.evaluation)

    def _kept(self, rows: int) -> int:
        """How many of the training rows are left before a cap."""
        return rows

    def passed(self, epochs: int, drawn: int) -> tuple[float, float]:
        """Rows that a whole run trains on and scores, each as often as it is passed. `drawn`: those
        that it draws, where it counts steps.
        """
        rows, scored = self.rows()
        return rows * epochs, scored * epochs

    def tokens(self) -> float:
        """Mean tokens of an input that are no padding."""
        return self.facts.tokens if self.source != "generated" else self.facts.generated_tokens

    def load(self, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None) -> TaskData:
        """Its rows, read, drawn and cut for one tokenizer.

        Tokenised rows are kept in the folder `cache` and read from there; without one they are made
        anew. Raises MissingData where they cannot be had, are damaged, or are not those of its
        revision.
        """
        raise NotImplementedError

    def rescored(self, predictions: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        """The scores of stored predictions, but for their epoch, as `result.json` holds them: made
        from the rows' right answers, without a model. A score that does not follow from predictions
        alone is left out.

        `predictions`: what `predictions.json` holds. Raises MissingData where the rows cannot be
        had; ValueError, KeyError, TypeError or AttributeError where these are no predictions of
        these rows.
        """
        raise NotImplementedError

    def loss(self, recipes: Sequence[Recipe], device: torch.device) -> Callable[[Any, Any], Any]:
        """The loss of runs with these recipes: outputs and targets -> (runs,)."""
        raise NotImplementedError
