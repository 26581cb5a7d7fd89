"""Tasks as plain data: which rows, from where, how many, cut to which length."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from repro.errors import ReproError
from repro.spec.fields import Spec, identity


class SquadTask(Spec):
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


GlueName = Literal["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"]


class GlueTask(Spec):
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


TextName = Literal[
    "20-newsgroups", "airline", "corporate-messaging", "disasters", "economic-news", "emotion",
    "global-warming", "political-audience", "political-bias", "political-message",
    "primary-emotions", "progressive-opinion", "progressive-stance", "us-economic",
    "customer-complaints", "news-aggregator", "sms-spam", "sick-e", "sick-r",
]  # fmt: skip


class TextTask(Spec):
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


class TaggingTask(Spec):
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


WrittenName = Literal[
    "cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte",
    "scitail", "cb", "imdb", "yelp-polarity", "span-corruption",
]  # fmt: skip


class TextToText(Spec):
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


def check_spans(task: Spec, method: str) -> None:
    """Raises ReproError, for a method that answers questions, on any other task."""
    if not isinstance(task, SquadTask):
        name = getattr(task, "name", "the task")
        raise ReproError(
            f"The method '{method}' answers questions with spans, and {name} wants a class or a "
            "number. Choose a method inside the encoder, such as 'bottleneck-adapters'."
        )
