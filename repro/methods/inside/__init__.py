"""Methods that run the encoder themselves and train inside it: what they have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from repro.spec.fields import identity
from repro.spec.method import Method

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.inside.learner import Added, Inside, Place
    from repro.spec.types import Backbone, RunSpec


@dataclass(frozen=True, slots=True)
class Trained:
    """What of the encoder and its head is trained; everything not named here is frozen.

    A new output layer is always trained.
    """

    dropout: float
    outputs: int
    """Numbers that the output layer gives: for an example, or for a token (start and end)."""
    pooled: bool
    """The head reads each row's first token, not every token."""
    tags: bool = False
    """Every token gets a tag, instead of a score as start and one as end of an answer."""
    embeddings: bool = False
    layers: int = 0
    """Whole layers, counted from the last."""
    norms: Literal["none", "encoder", "all"] = "none"
    """Layer norms: none, the two of each layer, or the embeddings' too."""
    pooler: bool = False
    unpooled: bool = False
    """No pooler stands between the first token and the head, as in RoBERTa's classifier."""
    dense: bool = False
    """A new dense layer before the output layer."""

    @property
    def copies(self) -> bool:
        """Whole parts of the encoder train, so a learner holds one run's copy of them."""
        return self.embeddings or self.layers > 0

    def parameters(self, backbone: Backbone) -> int:
        """How many these are."""
        d, layers = backbone.hidden_size, backbone.layers
        count = self.outputs * (d + 1) + d * (d + 1) * (self.pooler + self.dense)
        count += 2 * d * {"none": 0, "encoder": 2 * layers, "all": 2 * layers + 1}[self.norms]
        if self.embeddings:
            return count + backbone.parameters - backbone.pooler_parameters
        return count + self.layers * backbone.layer_parameters


class InsideEncoder(Method):
    """Base of the methods that train inside the encoder, with a new output layer on top.

    A subclass says which parts of the encoder train (`parts`) and what it adds (`added`, with its
    number of parameters).
    """

    dropout: float = identity(0.1, doc="as in BERT: hidden, attention and head", ge=0, lt=1)

    own_rows: ClassVar[bool] = True

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """Which parts of the encoder train: fields of `Trained`."""
        return {}

    def added(self, place: Place) -> Added | None:
        """The modules that it adds to the copy of the encoder at `place`."""
        return None

    def added_parameters(self, backbone: Backbone) -> int:
        """How many parameters `added` has for one run."""
        return 0

    def trained(self, run: RunSpec) -> Trained:
        """All that is trained but for what is added."""
        base = Trained(self.dropout, run.outputs, run.pooled, run.task.tags)
        return replace(base, **self.parts(run))

    def trained_parameters(self, run: RunSpec) -> int:
        """The parts that train and what is added."""
        return self.trained(run).parameters(run.backbone) + self.added_parameters(run.backbone)

    def total_parameters(self, run: RunSpec) -> int:
        """The encoder, what is added, and the output layer."""
        new = replace(self.trained(run), embeddings=False, layers=0, norms="none", pooler=False)
        added = self.added_parameters(run.backbone)
        unread = run.backbone.pooler_parameters if new.pooled and new.unpooled else 0
        return run.encoder_parameters() - unread + new.parameters(run.backbone) + added

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Inside:
        """See `repro.methods.inside.learner`."""
        from repro.methods.inside.learner import Inside

        name, precision = run.backbone.name, run.recipe.precision
        return Inside(self, self.trained(run), runs, encoder, name, precision)


class PooledEncoder(InsideEncoder):
    """Base of those whose head reads BERT's pooler."""

    pooler: Literal["frozen", "trained"] = identity("frozen", doc="BERT's pooler")

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """The pooler, as set."""
        return {"pooler": run.pooled and self.pooler == "trained"}


class ChosenHead(InsideEncoder):
    """Base of those that may leave the pooler out, and put a dense layer below the output layer."""

    pooler: Literal["frozen", "trained", "none"] = identity(
        "frozen", doc="BERT's pooler; none: the head reads the first token itself"
    )
    head: Literal["linear", "two-layer"] = identity(
        "linear", doc="after the pooler: a new dense layer and tanh before the output layer"
    )

    def parts(self, run: RunSpec) -> dict[str, Any]:
        """Pooler and head, as set."""
        return {
            "pooler": run.pooled and self.pooler == "trained",
            "unpooled": self.pooler == "none",
            "dense": self.head == "two-layer",
        }


def adapter_parameters(size: int, hidden: int) -> int:
    """One bottleneck adapter: 2 m d + m + d (Houlsby et al. 2019, section 2.1)."""
    return 2 * size * hidden + size + hidden


def adapter_flops(size: int, hidden: int) -> float:
    """Of one token forward through one adapter: two matrices, counted twice."""
    return 4.0 * hidden * size
