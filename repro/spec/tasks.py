"""The kinds of tasks: which rows, from where, how many, cut to which length; how they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, field_validator

from repro.errors import ReproError
from repro.spec.facts import KNOWN
from repro.spec.fields import identity
from repro.spec.task import Task

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from repro.spec.types import Recipe
    from repro.tasks.data import TaskData

Loss = Callable[[Any, Any], Any]
CS224N = {"dev-minus-cs224n": (5_795, 3_018), "cs224n": (6_078, 2_910)}
"""Questions of the parts of SQuAD 2.0's development set, and those of them that have an answer."""
GENERATED_INPUT = 26
"""Tokens of a generated input as text to text."""


class SquadTask(Task):
    """SQuAD 2.0 or 1.1 (or the generated set in their schema): which rows, cut into which windows.

    The evaluation set and its cap are identity because a run is scored after every epoch, and an
    earlier epoch cannot be scored again once its weights are gone. Decoding and the evaluation's
    feature convention are not: all of them are scored from the same outputs.
    """

    name: Literal["squad2", "squad1"] = identity(
        "squad2", doc="which task; squad1 is SQuAD 1.1, whose questions all have an answer"
    )
    source: Literal["squad_v2", "squad", "generated"] = identity(
        doc="real questions, or made from a seed"
    )
    revision: str | None = identity(
        doc="hub revision, sha256 of a local file's content, or the generator's seed and sizes"
    )
    train: Literal["train", "dev-minus-cs224n", "generated"] = identity(
        doc="training rows: official train, or the 19 dev articles outside the CS224N split"
    )
    evaluation: Literal["official-dev", "cs224n", "generated"] = identity(
        doc="rows scored after each epoch; official-dev holds the CS224N split, scored beside it"
    )
    train_rows: int | None = identity(None, doc="cap on training questions", ge=1)
    evaluation_rows: int | None = identity(None, doc="cap on evaluated questions", ge=1)
    subset: Literal["file-order", "shuffled"] = identity(
        "shuffled", doc="a cap keeps the first rows, or rows drawn by subset_seed"
    )
    subset_seed: int = identity(0, doc="draws the rows that a cap or a share keeps", ge=0)
    answerable_share: float | None = identity(
        None,
        doc="share of answerable questions kept in training; None leaves the set's own",
        gt=0,
        le=1,
    )
    features: Literal["legacy", "overlap"] = identity(
        "legacy", doc="training windows: step 128 and 64 question pieces, or overlap 128"
    )
    max_length: int = identity(384, doc="tokens of a window, special tokens included", ge=32)
    stride: int = identity(128, doc="step (legacy) or overlap between windows, in tokens", ge=1)
    max_query: int = identity(
        64,
        doc="question pieces kept by the legacy convention; by the other only of a question that "
        "leaves no room to move on through its context",
        ge=1,
    )

    code: ClassVar[dict[str, int]] = {"task/squad2": 1, "task/generated": 1}
    noun: ClassVar[str] = "questions"

    @property
    def outputs(self) -> int:
        """Start and end."""
        return 2

    def splits(self, name: str) -> tuple[str, ...]:
        """That of the training rows, and the development set."""
        return tuple(sorted({SPLIT_OF_TRAIN[self.train], "validation"}))

    def _all_rows(self) -> tuple[int, int]:
        if self.source == "generated":
            return 1_200, 200
        return self._questions(self.train)[0], self._questions(self.evaluation)[0]

    def _questions(self, part: str) -> tuple[int, int]:
        """All questions of a part, and those that have an answer."""
        split = "train" if part == "train" else "validation"
        whole = self.facts.rows[split]
        return CS224N.get(part, (whole, whole - self.facts.unanswerable.get(split, 0)))

    def _kept(self, rows: int) -> int:
        if not self.answerable_share:
            return rows
        half = self.source == "generated"
        answerable = rows // 2 if half else self._questions(self.train)[1]
        return min(rows, round(answerable / self.answerable_share))

    def load(self, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None) -> TaskData:
        """See `repro.tasks.squad2`."""
        from repro.tasks.squad2.task import load_squad

        return load_squad(self, tokenizer, cache)

    def rescored(self, predictions: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        """See `repro.tasks.squad2.task`."""
        from repro.tasks.squad2.task import rescored

        return rescored(self, predictions)

    def loss(self, recipes: Sequence[Recipe], device: torch.device) -> Loss:
        """Cross-entropies of start and end."""
        from repro.training.losses import SpanLoss

        return SpanLoss(list(recipes), device)


SPLIT_OF_TRAIN = {"train": "train", "dev-minus-cs224n": "validation", "generated": "train"}


class SentenceTask(Task):
    """Base of the tasks of one or two texts with a class or a number each."""

    if TYPE_CHECKING:
        revision: str | None
        subset_seed: int

    pooled: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """One a class; of a regression one."""
        return self.facts.outputs

    @property
    def pool(self) -> Literal["train", "validation"]:
        """Where its training rows come from."""
        return "train"

    def splits(self, name: str) -> tuple[str, ...]:
        """Where rows are drawn from the validation set (of MNLI the matched one), that alone."""
        return self.facts.needed if self.pool == "train" else self.facts.evaluation[:1]

    def load(self, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None) -> TaskData:
        """See `repro.tasks.sentences`."""
        from repro.tasks.sentences.task import load_sentences

        return load_sentences(self, tokenizer, cache)

    def rescored(self, predictions: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        """See `repro.tasks.sentences.task`."""
        from repro.tasks.sentences.task import rescored

        return rescored(self, predictions)

    def loss(self, recipes: Sequence[Recipe], device: torch.device) -> Loss:
        """Cross-entropy of the classes, or squared error."""
        from repro.training.losses import class_loss, squared_error

        return class_loss if self.facts.labels else squared_error


GlueName = Literal["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"]


class GlueTask(SentenceTask):
    """A task of GLUE (Wang et al. 2018), or rows made from a seed in its schema.

    Trained on its training rows and scored on its validation rows after every epoch, MNLI on
    matched and mismatched ones. What each task is: `repro.spec.glue`.
    """

    name: GlueName = identity(doc="which task")
    source: Literal["glue", "generated"] = identity(doc="real rows, or made from a seed")
    revision: str | None = identity(
        doc="hub revision, sha256 of a local folder's content, or the generator's seed and sizes"
    )
    train_rows: int | None = identity(None, doc="cap on training rows", ge=1)
    evaluation_rows: int | None = identity(None, doc="cap on the rows of each scored split", ge=1)
    subset_seed: int = identity(0, doc="draws the rows that a cap keeps", ge=0)
    max_length: int = identity(128, doc="tokens of an example, special tokens included", ge=8)
    development: float | None = identity(
        None,
        later=True,
        doc="share of the training rows that is set aside as development rows, which select the "
        "epoch; the validation rows (MNLI's matched ones) are then scored once, at the end",
        gt=0,
        lt=1,
    )
    drawn_from: Literal["train", "validation"] = identity(
        "train",
        later=True,
        doc="where training and development rows come from; of validation rows the rest is scored",
    )

    code: ClassVar[dict[str, int]] = {"task/glue": 1, "task/generated-glue": 1}
    protocol: ClassVar[str] = "glue"

    @property
    def development_share(self) -> float | None:
        """See the field."""
        return self.development

    @property
    def pool(self) -> Literal["train", "validation"]:
        """See the field."""
        return self.drawn_from

    @property
    def drawn(self) -> str:
        """Only rows that are divided are drawn anew for every seed."""
        if self.development is None:
            return ""
        return _rows(self.train_rows) if self.train_rows else "all rows"

    def check(self) -> None:
        """Rows of the validation set have a number and a share."""
        if self.drawn_from == "validation" and None in (self.development, self.train_rows):
            raise ReproError(
                "Rows drawn from the validation set need their number (task.train_rows) and the "
                "share of development rows (task.development): the rest is scored."
            )

    def code_revision(self) -> int:
        """Divided rows are drawn as the released code of Adaptable Adapters draws them, from 2."""
        return super().code_revision() if self.development is None else 2

    def passed(self, epochs: int, drawn: int) -> tuple[float, float]:
        """Development rows after every epoch, the others once."""
        if self.development is None:
            return super().passed(epochs, drawn)
        rows, scored = self.rows()
        trained = trained_of(rows, self.development)
        return trained * epochs, (rows - trained) * epochs + scored


TextName = Literal[
    "20-newsgroups", "airline", "corporate-messaging", "disasters", "economic-news", "emotion",
    "global-warming", "political-audience", "political-bias", "political-message",
    "primary-emotions", "progressive-opinion", "progressive-stance", "us-economic",
    "customer-complaints", "news-aggregator", "sms-spam", "sick-e", "sick-r",
]  # fmt: skip


class TextTask(SentenceTask):
    """A further task of one or two texts, which comes as local files, or rows made from a seed.

    A set without official splits is pooled and cut 80/10/10 by `split_seed`, to the published sizes
    where it has the published rows. Scored on validation and on test rows after every epoch. What
    each task is: `repro.spec.texts`.
    """

    name: TextName = identity(doc="which task")
    source: Literal["local", "generated"] = identity(doc="real rows, or made from a seed")
    revision: str | None = identity(
        doc="sha256 of a local folder's content (None: the published rows), or the generator's "
        "seed and sizes"
    )
    split_seed: int = identity(0, doc="draws the validation and the test rows", ge=0)
    train_rows: int | None = identity(None, doc="cap on training rows", ge=1)
    evaluation_rows: int | None = identity(None, doc="cap on the rows of each scored split", ge=1)
    subset_seed: int = identity(0, doc="draws the rows that a cap keeps", ge=0)
    max_length: int = identity(128, doc="tokens of an example, special tokens included", ge=8)

    code: ClassVar[dict[str, int]] = {"task/texts": 1, "task/generated-texts": 1}
    protocol: ClassVar[str] = "texts"


class TaggingTask(Task):
    """CoNLL-2003 named entities: a tag for every word. Comes as local files, or made from a seed.

    Scored by entity F1 on validation and on test rows after every epoch.
    """

    name: Literal["conll2003"] = identity("conll2003", doc="which task")
    source: Literal["local", "generated"] = identity(doc="real rows, or made from a seed")
    revision: str | None = identity(
        doc="sha256 of a local folder's content (None: the published rows), or the generator's "
        "seed and sizes"
    )
    train_rows: int | None = identity(None, doc="cap on training sentences", ge=1)
    evaluation_rows: int | None = identity(
        None, doc="cap on the sentences of each scored split", ge=1
    )
    subset_seed: int = identity(0, doc="draws the rows that a cap keeps", ge=0)
    max_length: int = identity(128, doc="tokens of a sentence, special tokens included", ge=8)

    code: ClassVar[dict[str, int]] = {"task/conll2003": 1, "task/generated-conll2003": 1}
    tags: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """One a tag."""
        return self.facts.outputs

    def load(self, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None) -> TaskData:
        """See `repro.tasks.tagging`."""
        from repro.tasks.tagging import load_tagging

        return load_tagging(self, tokenizer, cache)

    def rescored(self, predictions: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        """See `repro.tasks.tagging`."""
        from repro.tasks.tagging import rescored

        return rescored(self, predictions)

    def loss(self, recipes: Sequence[Recipe], device: torch.device) -> Loss:
        """Cross-entropy of the tags of words."""
        from repro.training.losses import tag_loss

        return tag_loss


WrittenName = Literal[
    "cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte",
    "scitail", "cb", "imdb", "yelp-polarity", "span-corruption",
]  # fmt: skip


class TextToText(Task):
    """One or several tasks whose inputs and answers are texts (Raffel et al. 2020).

    A batch holds rows of one task. Tasks are drawn with p ~ (rows / all rows)^(1 / temperature),
    rows of a task with replacement. What each task is, and how its rows are divided into training,
    validation and test rows: `repro.spec.text_to_text`. "span-corruption" is T5's pre-training on
    generated text.
    """

    name: Literal["text-to-text"] = identity("text-to-text", doc="which kind of task")
    tasks: tuple[WrittenName, ...] = identity(doc="which tasks, in order", min_length=1)
    source: Literal["published", "generated"] = identity(doc="real rows, or made from a seed")
    revisions: dict[str, str | None] = identity(
        doc="task -> hub revision, sha256 of a local folder's content, None for the published "
        "rows, or the generator's seed and sizes"
    )
    temperature: float = identity(10.0, doc="of the draw of tasks; 1 draws by size", gt=0)
    prefix: bool = identity(False, doc="an input begins with the name of its task")
    set_aside: Literal["left-out", "trained-on"] = identity(
        "left-out",
        doc="a large set's 1,000 validation rows come from its training rows: left out of "
        "training, or trained on too, as the released code does",
    )
    grid: Literal["0.2", "0.1"] = identity(
        "0.2", doc="STS-B's scores are rounded to it: as intended, or as the released code does"
    )
    colon: bool = identity(
        True, doc="MNLI's second text is 'hypothesis: ...'; the released code has no colon there"
    )
    last_rows: Literal["kept", "left-out"] = identity(
        "kept",
        doc="the last row of every part: the released code leaves it out (n_obs = -1 ends a slice)",
    )
    split_seed: int = identity(42, doc="draws which rows are validation rows", ge=0)
    train_rows: int | None = identity(None, doc="cap on the training rows of each task", ge=1)
    evaluation_rows: int | None = identity(None, doc="cap on the rows of each scored split", ge=1)
    subset_seed: int = identity(0, doc="draws the rows that a cap keeps", ge=0)
    max_length: int = identity(128, doc="tokens of an input, end of text included", ge=8)
    max_target: int = identity(128, doc="tokens of an answer, end of text included", ge=2)

    @field_validator("grid", mode="before")
    @classmethod
    def _as_written(cls, grid: Any) -> Any:
        """0.1 is the number that stands for "0.1", as `--set task.grid=0.1` gives it."""
        return str(grid) if isinstance(grid, float) else grid

    code: ClassVar[dict[str, int]] = {"task/text-to-text": 1, "task/generated-text-to-text": 1}
    family: ClassVar[Literal["bert", "t5"]] = "t5"
    draws: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """None: an answer is written."""
        return 0

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the mixture."""
        return self.tasks

    @property
    def drawn(self) -> str:
        """A cap draws other rows for every seed."""
        return _rows(self.train_rows) if self.train_rows else ""

    def code_revision(self) -> int:
        """Capped rows are drawn as the released code of HyperFormer draws them, from 2."""
        return super().code_revision() if self.train_rows is None else 2

    def rows(self) -> tuple[int, int]:
        """Of all its tasks."""
        from repro.tasks.text_to_text.rows import scored_rows, training_rows

        return sum(training_rows(self).values()), sum(scored_rows(self))

    def passed(self, epochs: int, drawn: int) -> tuple[float, float]:
        """Validation rows at every look, test rows once."""
        from repro.tasks.text_to_text.rows import scored_rows

        validation, test = scored_rows(self)
        return drawn, epochs * validation + test

    def tokens(self) -> float:
        """Of an input, each task as often as it is drawn."""
        from repro.spec.text_to_text import probabilities
        from repro.tasks.text_to_text.rows import training_rows

        if self.source == "generated":
            return GENERATED_INPUT
        lengths = [min(self.max_length, KNOWN[name].tokens) for name in self.tasks]
        shares = probabilities(tuple(training_rows(self).values()), self.temperature)
        return math.fsum(share * length for share, length in zip(shares, lengths, strict=True))

    def load(self, tokenizer: PreTrainedTokenizerBase, cache: Path | None = None) -> TaskData:
        """See `repro.tasks.text_to_text`."""
        from repro.tasks.text_to_text.task import load_text_to_text

        return load_text_to_text(self, tokenizer, cache)

    def rescored(self, predictions: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
        """See `repro.tasks.text_to_text.task`."""
        from repro.tasks.text_to_text.task import rescored

        return rescored(self, predictions)

    def loss(self, recipes: Sequence[Recipe], device: torch.device) -> Loss:
        """Cross-entropy of the written tokens."""
        from repro.training.losses import WrittenLoss

        return WrittenLoss(recipes[0])


AnyTask = Annotated[
    SquadTask | GlueTask | TextTask | TaggingTask | TextToText, Field(discriminator="name")
]
"""The field of a run: plain data becomes the kind of task that its name is one of."""
KINDS: tuple[type[Task], ...] = get_args(get_args(AnyTask)[0])


def trained_of(drawn: int, development: float) -> int:
    """How many of the drawn rows are trained on: int((1 - share) * n), of the share as written."""
    return int((1 - Fraction(str(development))) * drawn)


def _rows(number: int) -> str:
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def check_spans(task: Task, method: str) -> None:
    """Raises ReproError, for a method that answers questions, on any other task."""
    if not isinstance(task, SquadTask):
        raise ReproError(
            f"The method '{method}' answers questions with spans, and {task.name} wants a class or "
            "a number. Choose a method inside the encoder, such as 'bottleneck-adapters'."
        )
