"""A run of HyperFormer (Karimi Mahabadi et al. 2021): tasks as text to text, and what is trained
inside T5.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from repro.spec.fields import Spec, identity

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


class T5FineTuning(Spec):
    """Every parameter of T5, or of one without pre-training."""

    kind: Literal["t5-fine-tuning"] = identity("t5-fine-tuning", doc="which method")
    dropout: float = identity(0.1, doc="of T5, everywhere", ge=0, lt=1)


class T5Adapters(Spec):
    """Adapters of each task's own after self-attention and after feed-forward, encoder and decoder.

    A(x) = LN(U g(D x + b_D) + b_U) + x; the tasks of a mixture share the layer norm of a slot. T5's
    own layer norms are trained.
    """

    kind: Literal["t5-adapters"] = identity("t5-adapters", doc="which method")
    reduction: int = identity(doc="r: bottleneck d = hidden size / r", ge=1)
    starts_from: WrittenName | None = identity(
        None, doc="task of the parent 'multi-task' whose adapters a new task starts from"
    )
    dropout: float = identity(0.1, doc="of T5, everywhere", ge=0, lt=1)


class HyperFormer(Spec):
    """The same adapters, generated from an embedding of the task: each tensor is a linear map of
    I_tau, the gain and bias of the norm, too.
    """

    kind: Literal["hyperformer"] = identity("hyperformer", doc="which method")
    generators: Literal["slot", "stack", "kind"] = identity(
        doc="a set of generators for every slot (HyperFormer); for all of the encoder and for all "
        "of the decoder, fed with layer and slot embeddings (HyperFormer++); or for each of the "
        "two kinds of slot of a stack (released configuration, unique_hyper_net)"
    )
    reduction: int = identity(doc="r: bottleneck d = hidden size / r", ge=1)
    task_embedding: int = identity(doc="width of z_tau", ge=1)
    projector: int | None = identity(
        128, doc="hidden width of the MLP from embeddings to I_tau; None: I_tau is z_tau", ge=1
    )
    projected: int = identity(64, doc="t: width of I_tau", ge=1)
    blocks: bool = identity(True, doc="with U g(D x): without, A(x) = LN(x) + x")
    norm: Literal["generated", "shared", "none"] = identity(
        "generated",
        doc="the adapter's layer norm: generated for the task, one of each slot's own for all "
        "tasks, or none",
    )
    t5_norms: bool = identity(True, doc="T5's own layer norms are trained")
    starts_from: WrittenName | None = identity(
        None, doc="task of the parent 'multi-task' whose embedding a new task starts from"
    )
    dropout: float = identity(0.1, doc="of T5, everywhere", ge=0, lt=1)


T5Method = T5FineTuning | T5Adapters | HyperFormer
