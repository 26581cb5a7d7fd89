"""What a run is: `RunSpec` = `Backbone` x `Task` x `Method` x `Recipe` x `seed` (x parents).

Everything here is plain data. No value is a path, a device or a worker count: those belong to the
machine that executes a run, not to the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from repro.errors import ReproError
from repro.spec.fields import Spec, detail, identity
from repro.spec.method import AnyMethod, methods
from repro.spec.tasks import AnyTask

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.modules.learner import Learner

Scale = Literal["smoke", "reduced", "paper"]
Origin = Literal["paper", "code", "assumed"]
PRETRAINED, MULTI_TASK, TRAINED = "pretrained", "multi-task", "trained"
"""Roles of parents: whose weights a run's model has; which run it starts from; which it scores."""
START = "start"
"""The role of a run on another task from which this one starts, but for its head."""
ARCHITECTURE = "architecture"
"""The role of the parent that selects layers."""
WITH_WEIGHTS = (PRETRAINED, MULTI_TASK, START, TRAINED)
"""The roles of which a child needs more than the result."""


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

    @property
    def pooler_parameters(self) -> int:
        """BERT's pooler, which question answering neither uses nor trains."""
        return self.hidden_size * (self.hidden_size + 1)

    @property
    def layer_parameters(self) -> int:
        """One layer of BERT: four maps of the attention, two of the feed-forward, two norms."""
        d, f = self.hidden_size, self.intermediate_size
        return 4 * d * (d + 1) + 2 * d * f + f + d + 4 * d

    def check_layers(self, layers: Sequence[int]) -> None:
        """Raises ReproError unless these are layers of it, from 0, each once and in order."""
        if sorted(set(layers)) != list(layers) or not set(layers) <= set(range(self.layers)):
            raise ReproError(
                f"{', '.join(map(str, layers))} are no layers of {self.name}: name each once, in "
                f"order, from 0 to {self.layers - 1}."
            )


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
        doc="of matrix products, those of a frozen encoder too; weights, layer norms, losses and "
        "the optimizer stay fp32",
    )


class RunSpec(Spec):
    """One training run and everything that can change its numbers."""

    scale: Scale = identity(doc="a result is comparable with a published one only at 'paper'")
    backbone: Backbone = identity(doc="the pretrained encoder")
    task: AnyTask = identity(doc="the data, the windows, the evaluation set")
    method: AnyMethod = identity(doc="what is trained")
    recipe: Recipe = identity(doc="how it is trained")
    seed: int = identity(doc="draws order, initialisation and dropout", ge=0)
    parents: dict[str, str] = identity({}, doc="role -> key of a run that this one needs")
    sources: dict[str, Source] = detail(
        {}, doc="field path ('recipe.learning_rate') -> where its value comes from"
    )

    @property
    def outputs(self) -> int:
        """Numbers that an output layer gives for an example, or for a token (start and end)."""
        return self.task.outputs

    @property
    def pooled(self) -> bool:
        """An output layer inside the encoder reads BERT's pooler, not every token."""
        return self.task.pooled

    def encoder_parameters(self) -> int:
        """Those of the backbone that give the outputs: with the pooler where it is read."""
        unread = 0 if self.pooled else self.backbone.pooler_parameters
        return self.backbone.parameters - unread

    def trained_parameters(self) -> int:
        """How many parameters the run trains; none of its own where it only evaluates a parent's.

        In closed form, so that a plan or a table needs no module; a test counts the modules.
        """
        return self.method.trained_parameters(self)

    def total_parameters(self) -> int:
        """Parameters of the whole model that gives the outputs, frozen ones included."""
        return self.method.total_parameters(self)

    def learner(self, runs: int, encoder: Encoder) -> Learner:
        """The untrained modules of `runs` runs that share this one's method and backbone."""
        self.check()
        made = self.method.learner(self, runs, encoder)
        if self.method.foreign:
            count = sum(p.numel() for p in made.parameters() if p.requires_grad) // runs
            if count != self.trained_parameters():
                raise ReproError(
                    f"The method '{self.method.kind}' says that a run trains "
                    f"{self.trained_parameters():,} parameters, and its modules have {count:,}. "
                    "Mend added_parameters, or trained_parameters."
                )
        return made

    def with_layers(self, selected: Sequence[int]) -> RunSpec:
        """The run as it is built, once the parent "architecture" has selected layers (from 0)."""
        if not self.method.awaits_layers:
            return self
        return self.model_copy(update={"method": self.method.with_layers(selected)})

    def check(self) -> None:
        """Raises ReproError, with the choices that can be, where the parts do not fit each other.

        Called when a run is planned, so that nothing is trained in vain.
        """
        _check_family(self)
        _check_looks(self)
        self.method.check(self)
        _check_positions(self)
        _check_parents(self)
        if self.recipe.loss_parts > 1 and self.recipe.over_tokens != "sum":
            raise ReproError(
                f"recipe.loss_parts={self.recipe.loss_parts} divides a summed loss, and the loss "
                "here is a mean: set recipe.over_tokens=sum too, or leave recipe.loss_parts at 1."
            )
        self.task.check()


def _check_family(spec: RunSpec) -> None:
    """A T5 writes answers to tasks of text to text; an encoder does every other task."""
    method, backbone = spec.method, spec.backbone
    if method.family == backbone.family == spec.task.family:
        return
    writers = ", ".join(f"'{kind}'" for kind, cls in methods().items() if cls.family == "t5")
    if method.family == "t5" and backbone.family != "t5":
        raise ReproError(
            f"The method '{method.kind}' trains inside T5, and {backbone.name} is none. "
            "Choose a T5 (--backbone google-t5/t5-small), or a method for an encoder."
        )
    if backbone.family == "t5" and method.family != "t5":
        raise ReproError(
            f"{backbone.name} is a T5, which the method '{method.kind}' does not know. "
            f"Choose one that trains inside it ({writers}), or another --backbone."
        )
    if method.family != spec.task.family:
        raise ReproError(
            f"The task '{spec.task.name}' and the method '{method.kind}' do not fit: the "
            f"methods inside T5 ({writers}), and no others, answer 'text-to-text' tasks."
        )


def _check_looks(spec: RunSpec) -> None:
    """A run that draws rows counts steps and has no order of them, any other counts epochs."""
    recipe = spec.recipe
    if not spec.task.draws:
        if recipe.look_steps is not None or recipe.steps is not None:
            raise ReproError(
                f"A run on '{spec.task.name}' counts epochs: leave out recipe.look_steps and "
                "recipe.steps, which belong to 'text-to-text' tasks."
            )
        return
    if recipe.look_steps is None:
        raise ReproError(
            "A run on 'text-to-text' draws its rows, so it has no epochs: give the steps from one "
            "look at the validation rows to the next (recipe.look_steps)."
        )
    if recipe.order != "shuffled":
        raise ReproError(
            "A run on 'text-to-text' draws its rows one by one, so they have no other order: leave "
            f"recipe.order at 'shuffled', not '{recipe.order}'."
        )
    least, most = (recipe.epochs - 1) * recipe.look_steps + 1, recipe.epochs * recipe.look_steps
    if recipe.steps is not None and not least <= recipe.steps <= most:
        raise ReproError(
            f"{recipe.epochs} looks with {recipe.look_steps} steps before each are {least} to "
            f"{most} steps, not {recipe.steps}. Change recipe.epochs or recipe.steps."
        )


def _check_positions(spec: RunSpec) -> None:
    """An encoder has one embedding for each position, so no window may be longer."""
    longest, positions = spec.task.max_length, spec.backbone.positions
    if positions is not None and longest > positions:
        raise ReproError(
            f"Inputs of up to {longest} tokens are asked for (task.max_length), and "
            f"{spec.backbone.name} has {positions} positions. Shorten them (--set "
            f"task.max_length={positions}), or choose another --backbone."
        )


def _check_parents(spec: RunSpec) -> None:
    """What only evaluates, or is built from, another run names it."""
    needed = {TRAINED} if spec.method.evaluates else set()
    needed |= {ARCHITECTURE} if spec.method.awaits_layers else set()
    for role in sorted(needed - set(spec.parents)):
        raise ReproError(
            f"The method '{spec.method.kind}' needs another run: name its key as the parent "
            f"'{role}'."
        )
