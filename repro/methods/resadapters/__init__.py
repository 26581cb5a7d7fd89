"""ResAdapters: pipelined adapter cells beside a frozen encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from repro.errors import ReproError
from repro.spec.fields import identity
from repro.spec.method import Method, method
from repro.spec.tasks import check_spans

if TYPE_CHECKING:
    from repro.backbones.load import Encoder
    from repro.methods.resadapters.module import Pipelined
    from repro.spec.types import RunSpec


@method("pipelined-cells")
class PipelinedCells(Method):
    """ResAdapters: one cell a layer beside a frozen encoder, one stack for start, one for end."""

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

    reads_states: ClassVar[bool] = True
    splits_batches: ClassVar[bool] = False  # batch norm

    def label(self) -> str:
        """attention-resnext b100."""
        kind = "attention" if self.nonlinearity == "attention" else "adapter"
        wiring = "" if self.wiring == "plain" else f"-{self.wiring}"
        return f"{kind}{wiring} b{self.bottleneck}"

    def check(self, run: RunSpec) -> None:
        """Spans; layers in whole stages; heads that divide the bottleneck; one length of window
        where padding is read.
        """
        check_spans(run.task, self.kind)
        layers, stage = run.backbone.layers, self.stage
        if layers % stage:
            below, above = layers // stage * stage, (layers // stage + 1) * stage
            choices = f"{below} or {above}" if below else str(above)
            raise ReproError(
                f"ResAdapters joins layers in stages of {stage}, and this encoder has {layers} "
                f"layers, which is no multiple of {stage}. Choose an encoder of {choices} layers "
                "(--backbone)."
            )
        if self.nonlinearity == "attention" and self.bottleneck % self.heads:
            raise ReproError(
                f"A bottleneck of {self.bottleneck} cannot be split into {self.heads} attention "
                f"heads; choose a multiple of {self.heads}."
            )
        reads_padding = self.norm_axis == "position" or not self.attention_mask
        if reads_padding and run.recipe.padding != "max":
            raise ReproError(
                "Cells that normalise positions or attend to padding need windows of one length, "
                "or their numbers depend on the batch: set the recipe's padding to 'max', as the "
                "released code does."
            )

    def cell_parts(self, hidden: int, length: int) -> dict[str, int]:
        """Module of a cell, by its name there -> its parameters, in the order of use.

        `length` is that of a window: the channels of a norm over positions.
        """
        b = self.bottleneck
        channels = b if self.norm_axis == "feature" else length
        parts = {"down": hidden * b + b, "batch_norm": 2 * channels}
        if self.nonlinearity == "attention":
            maps = ("query", "key", "value", "output")
            parts |= {f"attention.{name}": b * b + b for name in maps}
            parts["attention.norm"] = 2 * b
        return parts | {"up": b * hidden + hidden, "norm": 2 * hidden}

    def stack_parameters(self, layers: int, hidden: int, length: int) -> int:
        """One stack (start or end): a cell a layer and a scorer; two stacks are trained."""
        return layers * sum(self.cell_parts(hidden, length).values()) + hidden + 1

    def trained_parameters(self, run: RunSpec) -> int:
        """Two stacks."""
        shape = run.backbone.layers, run.backbone.hidden_size, run.task.max_length
        return 2 * self.stack_parameters(*shape)

    def cost(self, run: RunSpec, length: float) -> tuple[float, float]:
        """The matrices of two stacks; what is moved is more than what is computed."""
        d, b, layers = run.backbone.hidden_size, self.bottleneck, run.backbone.layers
        attends = self.nonlinearity == "attention"
        flops = 4 * d * b + (8 * b * b + 4 * length * b if attends else 0)
        return 2 * layers * flops, 2 * layers * 4.0 * (6 * d + (22 if attends else 8) * b)

    def learner(self, run: RunSpec, runs: int, encoder: Encoder) -> Pipelined:
        """Both stacks."""
        from repro.methods.resadapters.module import Pipelined

        shape = run.backbone.layers, run.backbone.hidden_size, run.task.max_length
        return Pipelined(self, runs, *shape)
