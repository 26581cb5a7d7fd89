"""What a run is: `RunSpec` = `Backbone` x `Task` x `Method` x `Recipe` x `seed` (x parents).

Everything here is plain data. No value is a path, a device or a worker count: those belong to the
machine that executes a run, not to the run.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from repro.spec.fields import Spec, detail, identity
from repro.spec.t5 import HyperFormer, T5Adapters, T5FineTuning, TextToText
from repro.spec.tasks import GlueTask, SquadTask, TaggingTask, TextTask

Scale = Literal["smoke", "reduced", "paper"]
Origin = Literal["paper", "code", "assumed"]


class Source(Spec):
    """Where a value of a spec comes from."""

    origin: Origin = detail(doc="the paper, the authors' released code, or our assumption")
    citation: str = detail(doc="section, file or reason, in a few words")


class Backbone(Spec):
    """A pretrained encoder, named so that two machines mean the same weights."""

    id: str = identity(doc="hub id, name of an installed package's model, or 'local'")
    revision: str | None = identity(
        doc="hub revision, package version, or sha256 of a local folder's weights and tokenizer"
    )
    layers: int = identity(doc="number of transformer layers", ge=1)
    hidden_size: int = identity(doc="width of a hidden state", ge=1)
    intermediate_size: int = detail(doc="width of the feed-forward layer", ge=1)
    parameters: int = detail(doc="number of parameters, pooler included", ge=1)
    family: Literal["bert", "t5"] = detail(
        "bert", doc="an encoder, or an encoder and a decoder of `layers` layers each"
    )
    positions: int | None = detail(
        None, doc="tokens of the longest input; None of a T5, whose positions are relative", ge=1
    )
    name: str = detail(doc="short name for captions")


Task = Annotated[
    SquadTask | GlueTask | TextTask | TaggingTask | TextToText, Field(discriminator="name")
]


class PipelinedCells(Spec):
    """ResAdapters: one cell a layer beside a frozen encoder, one stack for start, one for end."""

    kind: Literal["pipelined-cells"] = identity("pipelined-cells", doc="which method")
    wiring: Literal["plain", "resnet", "resnext"] = identity(doc="how the cells are joined")
    nonlinearity: Literal["relu", "gelu", "attention"] = identity(doc="the cell's middle step")
    bottleneck: int = identity(doc="width b of a cell", ge=1)
    heads: int = identity(4, doc="attention heads in the bottleneck", ge=1)
    stage: int = identity(3, doc="layers of a residual stage", ge=1)
    dropout: float = identity(0.3, doc="after the nonlinearity", ge=0, lt=1)
    layer_norm_eps: float = identity(1e-12, doc="of the cell's last layer norm", gt=0)
    norm_axis: Literal["feature", "position"] = identity(
        "feature", doc="channel of the batch norm: bottleneck features, or sequence positions"
    )
    attention_mask: bool = identity(True, doc="the cell's attention leaves padding out")


class LinearProbe(Spec):
    """Two linear scorers, start and end, on one frozen layer (McGuire and Bhardwaj)."""

    kind: Literal["linear-probe"] = identity("linear-probe", doc="which method")
    layer: int = identity(doc="the layer read, 1 is the first", ge=1)


class FullFineTuning(Spec):
    """Every parameter of the encoder and a new head: scorers of spans, or BERT's classifier.

    A classifier reads BERT's pooler, which is trained with the rest.
    """

    kind: Literal["full-fine-tuning"] = identity("full-fine-tuning", doc="which method")
    dropout: float = identity(0.1, doc="hidden and attention dropout of the encoder", ge=0, lt=1)


class TopLayers(Spec):
    """The top `layers` layers of the encoder, its pooler and a classifier (Houlsby et al., 3.4)."""

    kind: Literal["top-layers"] = identity("top-layers", doc="which method")
    layers: int = identity(doc="how many layers are trained, counted from the last", ge=1)
    dropout: float = identity(0.1, doc="as in BERT: hidden, attention and head", ge=0, lt=1)


class LayerNorms(Spec):
    """Every layer norm of the encoder and a classifier (Houlsby et al., section 3.4)."""

    kind: Literal["layer-norms"] = identity("layer-norms", doc="which method")
    pooler: Literal["frozen", "trained"] = identity("frozen", doc="BERT's pooler")
    dropout: float = identity(0.1, doc="as in BERT: hidden, attention and head", ge=0, lt=1)


class BottleneckAdapters(Spec):
    """Adapters in every layer of a frozen encoder, and a classifier.

    Houlsby et al. 2019 (`placement` houlsby, `span` 0), the variants of the 3-shared report
    (`span` 0, 1, 3), and AdapterHub's Pfeiffer configuration.
    """

    kind: Literal["bottleneck-adapters"] = identity("bottleneck-adapters", doc="which method")
    placement: Literal["houlsby", "pfeiffer"] = identity(
        doc="after attention and after feed-forward, before the residual; or after feed-forward "
        "only, fed by the layer norm and added before it"
    )
    size: int = identity(doc="bottleneck m", ge=1)
    span: int = identity(
        0, doc="0: each slot has a module of its own; n: one module for n consecutive layers", ge=0
    )
    nonlinearity: Literal["gelu", "gelu-tanh", "relu"] = identity(doc="the adapter's middle step")
    init: Literal["normal", "truncated-normal"] = identity(
        "truncated-normal", doc="of both matrices; truncated at two deviations; biases are 0"
    )
    init_std: float = identity(doc="standard deviation of the initial matrices", gt=0)
    norms: Literal["none", "encoder", "all"] = identity(
        doc="layer norms that train: none, the two of each layer, or the embeddings' too"
    )
    pooler: Literal["frozen", "trained"] = identity("frozen", doc="BERT's pooler")
    head: Literal["linear", "two-layer"] = identity(
        "linear", doc="after the pooler: a classifier, or a dense layer with tanh before it"
    )
    dropout: float = identity(0.1, doc="as in BERT: hidden, attention and head", ge=0, lt=1)


class AdaptableAdapters(Spec):
    """Pfeiffer adapters with what Moosavi et al. 2022 compare, and a classifier.

    A learned activation, a switch in every layer, adapters in some layers only, and AdapterDrop
    (Rueckle et al. 2021): each may be absent, and without all of them these are plain adapters.
    """

    kind: Literal["adaptable-adapters"] = identity("adaptable-adapters", doc="which method")
    size: int = identity(doc="bottleneck m", ge=1)
    activation: Literal["relu", "rational"] = identity(doc="the adapter's middle step")
    form: Literal["a", "b"] = identity(
        "a", doc="a rational's denominator: 1 + sum |b x^k| as released, or 1 + |sum b x^k|"
    )
    start: Literal["one", "relu", "gelu", "tanh"] = identity("one", doc="what a rational begins as")
    switch: Literal["none", "as-run", "paper-no-skip", "released"] = identity(
        "none",
        doc="between adapter and identity; in both the residual is kept (as-run), in identity only "
        "(paper-no-skip), or identity adds the normalised input as well (released)",
    )
    temperature: float = identity(0.1, doc="of the Gumbel-softmax", gt=0)
    restored: Literal["best", "last"] = identity(
        "best", doc="epoch whose switches go with the kept epoch's adapters: the same, or the last"
    )
    layers: tuple[int, ...] | Literal["selected"] | None = identity(
        None, doc="layers (from 0) with an adapter; those that the parent 'architecture' selected"
    )
    drops: int = identity(
        0, doc="in training the first n layers have none, n uniform in 0..drops, drawn a step", ge=0
    )
    init_std: float = identity(0.02, doc="standard deviation of the initial matrices", gt=0)
    pooler: Literal["frozen", "trained"] = identity("frozen", doc="BERT's pooler")
    dropout: float = identity(0.1, doc="as in BERT: hidden, attention and head", ge=0, lt=1)


class LastLayers(Spec):
    """No training: a trained run scored with the adapters of its last layers only (AdapterDrop).

    The run is the parent in the role "trained"; it keeps as many layers as are given, or as the
    parent "architecture" selected.
    """

    kind: Literal["last-layers"] = identity("last-layers", doc="which method")
    kept: int | Literal["selected"] = identity(doc="how many of the last layers keep theirs")


class AblatedSpans(Spec):
    """No training: the adapters of layers i..j of a trained run are switched off, for all i <= j.

    The run is the parent in the role "trained" (Houlsby et al., section 3.6, Figure 6).
    """

    kind: Literal["ablated-spans"] = identity("ablated-spans", doc="which method")


class FrozenFeatures(Spec):
    """Feature extraction (Peters, Ruder and Smith 2019): a learned mix of the frozen encoder's
    layers, a bidirectional LSTM over it, and an output layer.

    A class or a number is read from the maximum over the tokens, a tag from each token.
    """

    kind: Literal["frozen-features"] = identity("frozen-features", doc="which method")
    units: int = identity(doc="hidden units of the LSTM in each direction", ge=1)
    dropout: float = identity(0.5, doc="on the mixed states and before the output", ge=0, lt=1)


class AlwaysNull(Spec):
    """The reference: answers no question."""

    kind: Literal["always-null"] = identity("always-null", doc="which method")


Method = Annotated[
    PipelinedCells
    | LinearProbe
    | FullFineTuning
    | AlwaysNull
    | TopLayers
    | LayerNorms
    | BottleneckAdapters
    | AdaptableAdapters
    | LastLayers
    | AblatedSpans
    | FrozenFeatures
    | T5FineTuning
    | T5Adapters
    | HyperFormer,
    Field(discriminator="kind"),
]


class Recipe(Spec):
    """How a run is trained."""

    epochs: int = identity(
        doc="passes over the training examples, or looks of a run that counts steps", ge=1
    )
    look_steps: int | None = identity(
        None,
        later=True,
        doc="steps from one look at the validation rows to the next, of a run that draws rows with "
        "replacement; it counts as an epoch",
        ge=1,
    )
    steps: int | None = identity(
        None, later=True, doc="all steps, where that is not epochs x look_steps", ge=1
    )
    batch_size: int = identity(doc="examples a step", ge=1)
    keep: Literal["last", "best", "first-best"] = identity(
        "last",
        doc="the epoch whose weights are kept; best by validation, ties to the later one, or to "
        "the first",
        later=True,
    )
    learning_rate: float = identity(doc="constant, or the schedule's peak", gt=0)
    switch_rate: float | None = identity(
        None, later=True, doc="the same of switches; None: the learning rate", gt=0
    )
    rational_rate: float | None = identity(
        None, later=True, doc="the same of rational activations; None: the learning rate", gt=0
    )
    schedule: Literal["constant", "linear", "bert"] = identity(
        doc="after the warm-up: constant; linear decay to 0, as transformers' "
        "get_linear_schedule_with_warmup; or BERT's optimization.py, whose decay starts at step 0, "
        "so that the rate drops where the warm-up ends"
    )
    warmup: float = identity(
        0.0, doc="share of the steps in which the rate rises linearly from 0", ge=0, lt=1
    )
    adam_beta1: float = identity(0.9, doc="AdamW", ge=0, lt=1)
    adam_beta2: float = identity(0.999, doc="AdamW", ge=0, lt=1)
    adam_eps: float = identity(1e-8, doc="AdamW", gt=0)
    bias_correction: bool = identity(doc="AdamW's bias correction")
    weight_decay: float = identity(0.0, doc="decoupled, on what `decayed` names", ge=0)
    decayed: Literal["all", "matrices"] = identity(
        "all", doc="every trained parameter, or all but biases and layer norms", later=True
    )
    clip_norm: float | None = identity(doc="gradient norm kept per stack; None clips nothing", gt=0)
    start_weight: float = identity(1.0, doc="weight of the start cross-entropy", ge=0)
    end_weight: float = identity(1.0, doc="weight of the end cross-entropy", ge=0)
    label_smoothing: float = identity(
        0.0, later=True, doc="share of a target that is spread over all tokens", ge=0, lt=1
    )
    over_tokens: Literal["mean", "sum"] = identity(
        "mean", later=True, doc="how the losses of a batch's written tokens are joined"
    )
    loss_parts: int = identity(
        1,
        later=True,
        doc="number the summed loss is divided by: of a data-parallel original, whose cards each "
        "sum over their rows and whose gradients are averaged, the number of cards",
        ge=1,
    )
    logit_clamp: tuple[float, float] | None = identity(
        None, doc="range that logits are clamped to before the loss"
    )
    padding: Literal["dynamic", "max"] = identity(
        "dynamic", doc="to the batch's longest window, or to max_length as the authors did"
    )
    order: Literal["shuffled", "length-buckets"] = identity(
        "shuffled", doc="batches in random order, or of windows of like length"
    )
    precision: Literal["fp32", "bf16"] = identity(
        "fp32",
        doc="bf16: a frozen encoder's weights are bf16 and matrix products are computed in it; "
        "trained parameters, losses and the optimizer stay fp32",
    )


class RunSpec(Spec):
    """One training run and everything that can change its numbers."""

    scale: Scale = identity(doc="a result is comparable with a published one only at 'paper'")
    backbone: Backbone = identity(doc="the pretrained encoder")
    task: Task = identity(doc="the data, the windows, the evaluation set")
    method: Method = identity(doc="what is trained")
    recipe: Recipe = identity(doc="how it is trained")
    seed: int = identity(doc="draws order, initialisation and dropout", ge=0)
    parents: dict[str, str] = identity({}, doc="role -> key of a run that this one needs")
    sources: dict[str, Source] = detail(
        {}, doc="field path ('recipe.learning_rate') -> where its value comes from"
    )
