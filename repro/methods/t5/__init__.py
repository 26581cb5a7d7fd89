"""Methods that train inside T5, which writes the answer of a task as text (HyperFormer's paper).

Counts. h: hidden size; d = h / r: bottleneck; L: layers a stack; t: width of I_tau. An adapter
stands in two slots of every layer of both stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from repro.errors import ReproError
from repro.methods.inside import adapter_flops, adapter_parameters
from repro.spec.fields import identity
from repro.spec.method import Method, method
from repro.spec.tasks import TextToText, WrittenName
from repro.spec.types import MULTI_TASK

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.t5.adapters import PlainAdapters
    from repro.methods.t5.generators import GeneratedAdapters
    from repro.methods.t5.learner import Writer
    from repro.spec.types import Backbone, RunSpec


class InsideT5(Method):
    """Base of the methods inside T5. A subclass says how many parameters it adds."""

    dropout: float = identity(0.1, doc="of T5, everywhere", ge=0, lt=1)

    family: ClassVar[Literal["bert", "t5"]] = "t5"
    own_rows: ClassVar[bool] = True
    trains_alone: ClassVar[bool] = True

    @property
    def trains_norms(self) -> bool:
        """T5's own layer norms are trained beside what is added."""
        return False

    def added_parameters(self, backbone: Backbone, tasks: int) -> int:
        """Adapters, or all that generates them, of `tasks` tasks."""
        return 0

    def adapters(
        self, tasks: Sequence[str], layers: int, hidden: int
    ) -> PlainAdapters | GeneratedAdapters | None:
        """The modules that are added, of some tasks."""
        return None

    def trained_parameters(self, run: RunSpec) -> int:
        """What is added, and T5's own layer norms."""
        norms = t5_norms(run.backbone) * self.trains_norms
        return self.added_parameters(run.backbone, _tasks(run)) + norms

    def total_parameters(self, run: RunSpec) -> int:
        """T5 and what is added."""
        return run.backbone.parameters + self.added_parameters(run.backbone, _tasks(run))

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Writer:
        """See `repro.methods.t5.learner`."""
        from repro.methods.t5.learner import Writer

        return Writer(run, encoder)


@method("t5-fine-tuning")
class T5FineTuning(InsideT5):
    """Every parameter of T5, or of one without pre-training."""

    trains_encoder: ClassVar[bool] = True

    def label(self) -> str:
        """Without its dropout."""
        return "T5 fine-tuning"

    def trained_parameters(self, run: RunSpec) -> int:
        """All of T5."""
        return run.backbone.parameters

    def starts_others(self, run: RunSpec) -> bool:
        """Pre-training, and T5 fine-tuned on a mixture, but for what draws a few rows of it anew
        for every seed.
        """
        task = run.task
        if not isinstance(task, TextToText):
            return False
        whole = len(task.tasks) > 1 and task.subset_seed == 0
        return whole or task.tasks == ("span-corruption",)


class T5WithAdapters(InsideT5):
    """Base of the methods that put adapters into T5: bottleneck d = hidden size / `reduction`."""

    reduction: int = identity(doc="r: bottleneck d = hidden size / r", ge=1)

    starts_from: WrittenName | None

    def bottleneck(self, backbone: Backbone) -> int:
        """D, b_D, U, b_U of one adapter."""
        hidden = backbone.hidden_size
        return adapter_parameters(hidden // self.reduction, hidden)

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """Two adapters in each of the encoder's layers; the decoder reads few tokens."""
        hidden = run.backbone.hidden_size
        each = adapter_flops(hidden // self.reduction, hidden)
        return 2 * run.backbone.layers * each, 0.0

    def check(self, run: RunSpec) -> None:
        """A bottleneck that divides the width; a parent where it starts from one; no decay that
        would have to tell biases from matrices.
        """
        hidden, task = run.backbone.hidden_size, run.task
        assert isinstance(task, TextToText)
        if hidden % self.reduction:
            choices = ", ".join(str(r) for r in (8, 16, 32, 64) if hidden % r == 0)
            raise ReproError(
                f"The hidden size {hidden} of {run.backbone.name} is no multiple of the reduction "
                f"{self.reduction}. Choose another, such as {choices or 1}."
            )
        if (self.starts_from is None) is (MULTI_TASK in run.parents):
            raise ReproError(
                "A run that starts from a multi-task run names both it (the parent "
                f"'{MULTI_TASK}') and the task whose part it takes (method.starts_from)."
            )
        if self.starts_from is not None and len(task.tasks) != 1:
            raise ReproError(
                f"What starts from one task's part (method.starts_from) trains one task, not "
                f"{len(task.tasks)}: {', '.join(task.tasks)}. Make a run of each."
            )
        if run.recipe.weight_decay and run.recipe.decayed == "matrices":
            raise ReproError(
                "Adapters inside T5 keep the biases of all slots in one tensor, so they cannot be "
                "told from matrices: set recipe.decayed to 'all', or recipe.weight_decay to 0."
            )


@method("t5-adapters")
class T5Adapters(T5WithAdapters):
    """Adapters of each task's own after self-attention and after feed-forward, encoder and decoder.

    A(x) = LN(U g(D x + b_D) + b_U) + x; the tasks of a mixture share the layer norm of a slot. T5's
    own layer norms are trained.
    """

    starts_from: WrittenName | None = identity(
        None, doc="task of the parent 'multi-task' whose adapters a new task starts from"
    )

    def label(self) -> str:
        """T5 adapters r32."""
        return f"T5 adapters r{self.reduction}"

    @property
    def trains_norms(self) -> bool:
        """Always."""
        return True

    def adapters(self, tasks: Sequence[str], layers: int, hidden: int) -> PlainAdapters:
        """A bottleneck for each task in every slot."""
        from repro.methods.t5.adapters import PlainAdapters

        return PlainAdapters(self, tasks, layers, hidden)

    def added_parameters(self, backbone: Backbone, tasks: int) -> int:
        """The tasks share the norm of a slot."""
        norm = 2 * backbone.hidden_size
        return 4 * backbone.layers * (tasks * self.bottleneck(backbone) + norm)


@method("hyperformer")
class HyperFormer(T5WithAdapters):
    """The same adapters, generated from an embedding of the task: each tensor is a linear map of
    I_tau, the gain and bias of the norm, too.
    """

    generators: Literal["slot", "stack", "kind"] = identity(
        doc="a set of generators for every slot (HyperFormer); for all of the encoder and for all "
        "of the decoder, fed with layer and slot embeddings (HyperFormer++); or for each of the "
        "two kinds of slot of a stack (released configuration, unique_hyper_net)"
    )
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

    def label(self) -> str:
        """As the paper calls it, with its reduction and what it lacks."""
        name = {"slot": "HyperFormer", "stack": "HyperFormer++", "kind": "HyperFormer as released"}
        lacks = {
            "blocks": not self.blocks,
            "generated norm": self.norm == "shared",
            "norm": self.norm == "none",
            "projector": self.projector is None,
            "T5's norms": not self.t5_norms,
        }
        absent = [part for part, lacking in lacks.items() if lacking]
        without = f" without {' and '.join(absent)}" if absent else ""
        return f"{name[self.generators]} r{self.reduction}{without}"

    @property
    def trains_norms(self) -> bool:
        """As set."""
        return self.t5_norms

    def adapters(self, tasks: Sequence[str], layers: int, hidden: int) -> GeneratedAdapters:
        """Embeddings of the tasks, and what generates adapters from them."""
        from repro.methods.t5.generators import GeneratedAdapters

        return GeneratedAdapters(self, tasks, layers, hidden)

    def added_parameters(self, backbone: Backbone, tasks: int) -> int:
        """Generators, embeddings and the projector; a norm of each slot where tasks share it."""
        hidden, slots = backbone.hidden_size, 4 * backbone.layers
        outputs = self.bottleneck(backbone) * self.blocks
        outputs += 2 * hidden * (self.norm == "generated")
        sets = {"slot": slots, "stack": 2, "kind": 4}[self.generators]
        count = sets * (self.projected + 1) * outputs
        count += tasks * self.task_embedding + self._projecting(backbone.layers)
        return count + slots * 2 * hidden * (self.norm == "shared")

    def _projecting(self, layers: int) -> int:
        """From embeddings to I: the MLP, and the layer and slot embeddings that go into it."""
        width, hidden, t = self.task_embedding, self.projector, self.projected
        if hidden is None:
            return 0
        if self.generators == "slot":
            return _mlp(width, hidden, t)
        slots = 2 * (self.generators == "stack")
        joined = 3 if slots else 2
        return 2 * ((layers + slots) * width + _mlp(joined * width, hidden, t) + 2 * t)

    def check(self, run: RunSpec) -> None:
        """Something is generated, from embeddings of the right width."""
        super().check(run)
        if not self.blocks and self.norm != "generated":
            left = "leaves no adapter" if self.norm == "none" else "generates nothing"
            raise ReproError(
                f"An adapter without its bottleneck (method.blocks) whose norm is '{self.norm}' "
                f"(method.norm) {left}. Keep the bottleneck, or a 'generated' norm."
            )
        if self.projector is not None:
            return
        if self.generators != "slot":
            raise ReproError(
                f"Generators for each '{self.generators}' read embeddings that the projector "
                "joins. Give its width (method.projector), or a set of generators to every 'slot'."
            )
        if self.task_embedding != self.projected:
            raise ReproError(
                f"Without the projector I_tau is z_tau, but their widths are {self.projected} "
                f"(method.projected) and {self.task_embedding} (method.task_embedding). Make them "
                "equal."
            )


def t5_norms(backbone: Backbone) -> int:
    """T5's own layer norms: 16,384 in T5-small, 47,616 in T5-base.

    Two a layer of the encoder, three of the decoder, one after each stack; gains only.
    """
    return backbone.hidden_size * (5 * backbone.layers + 2)


def _mlp(width: int, hidden: int, outputs: int) -> int:
    return (width + 1) * hidden + (hidden + 1) * outputs


def _tasks(run: RunSpec) -> int:
    assert isinstance(run.task, TextToText)
    return len(run.task.tasks)
