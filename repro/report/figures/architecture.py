"""A model as it is configured: its boxes with shapes and counts, what joins them, and the words.

`architecture_drawing` draws it. Built without torch. What is joined to what comes from the code
that is trained: its wirings are called with names in place of tensors. Counts are those of
the methods, which a test compares with the modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.wirings import WIRINGS
from repro.papers.figures import Architecture, Sketch
from repro.papers.request import Request
from repro.report.figures.view import FigureView
from repro.report.render import csv_of
from repro.spec import RunSpec
from repro.store.store import Store
from repro.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

STACKS = 2
CSV_COLUMNS = (
    "figure", "scale", "panel", "box", "what", "tokens", "width", "parameters", "trained", "inputs",
)  # fmt: skip

NONLINEAR = {"relu": "ReLU", "gelu": "GELU"}
AXES = {"feature": "per feature", "position": "per position"}


@dataclass(frozen=True, slots=True)
class Signal:
    """What flows along a line: the output of a box, by its name, or the sum of two others."""

    name: str = ""
    parts: tuple[Signal, ...] = ()

    def __add__(self, other: Signal) -> Signal:
        return Signal(parts=(self, other))

    @property
    def addends(self) -> tuple[Signal, ...]:
        """What a chain of additions adds up; a sum that was made before it stays one."""
        if not self.parts:
            return (self,)
        first, last = self.parts
        return (*first.addends, last)

    @property
    def terms(self) -> tuple[str, ...]:
        """The outputs that are summed, however nested."""
        return (self.name,) if self.name else tuple(t for part in self.parts for t in part.terms)


@dataclass(frozen=True, slots=True)
class Wiring:
    """Cell by cell what flows into it, and what flows out of all of them."""

    inputs: tuple[Signal, ...]
    output: Signal


def trace(wiring: str, layers: int, stage: int) -> Wiring:
    """What the code joins: T1 .. are the outputs of frozen layers, C1 .. those of cells."""
    taken: dict[int, Signal] = {}

    def cell(number: int, x: Signal) -> Signal:
        taken[number] = x
        return Signal(f"C{number}")

    numbers = range(1, layers + 1)
    cells: Sequence[Callable[[Signal], Signal]] = [partial(cell, n) for n in numbers]
    wire: Any = WIRINGS[wiring]  # written for tensors
    output: Signal = wire(cells, [Signal(f"T{n}") for n in numbers], stage)
    return Wiring(tuple(taken[n] for n in numbers), output)


@dataclass(frozen=True, slots=True)
class Box:
    """One part: `shape` is what leaves it for one window, (tokens, width); `inputs` are boxes."""

    name: str
    title: str
    what: str
    shape: tuple[int, int]
    parameters: int
    trained: bool
    inputs: tuple[str, ...]

    @property
    def said(self) -> str:
        """Title and what it is, without a formula."""
        title = "" if self.title.startswith("$") else self.title
        return f"{title} {self.what}".strip()


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing. `wiring` is None inside a cell."""

    sketch: Sketch
    method: PipelinedCells
    boxes: tuple[Box, ...]
    wiring: Wiring | None

    @property
    def stack(self) -> int:
        """Parameters of what is drawn and trained: one stack, or one cell of it."""
        return sum(box.parameters for box in self.boxes if box.trained)

    def box(self, name: str) -> Box:
        return next(box for box in self.boxes if box.name == name)

    @property
    def model(self) -> str:
        """The row of the table whose model is drawn."""
        return self.sketch.rows.split(",")[0]

    @property
    def title(self) -> str:
        return f"{self.sketch.title}: {self.sketch.rows}"

    @property
    def sums(self) -> str:
        """How the counts of the boxes add up."""
        if self.wiring is None:
            return f"One cell: {self.stack:,} parameters"
        scorer = self.box("scorer").parameters
        return (
            f"Of {self.model}: {len(self.wiring.inputs)} cells × {self.box('C1').parameters:,} + "
            f"scorer {scorer:,} = {self.stack:,} a stack; two stacks train "
            f"{STACKS * self.stack:,} parameters"
        )

    def __str__(self) -> str:
        if self.wiring is None:
            steps = ", ".join(box.title.lower() if box.what else box.title for box in self.boxes)
            return f"{self.sketch.title}: {steps}."
        layers = len(self.wiring.inputs)
        further = [  # a cell that reads another frozen layer beside its own
            box.name
            for box in self.boxes
            if box.name.startswith("C")
            and any(name.startswith("T") and name[1:] != box.name[1:] for name in box.inputs)
        ]
        later = f"; residual paths also reach {', '.join(further)}" if further else ""
        out = " + ".join(self.wiring.output.terms)
        return f"{self.sketch.title}: {counted(layers, 'cell')}{later}; the scorer reads {out}."


@dataclass(frozen=True)
class ArchitectureView(FigureView):
    """The whole figure; `lead` is the model of the first panel. Nothing is trained for it."""

    panels: tuple[Panel, ...]

    @property
    def layers(self) -> int:
        return self.lead.backbone.layers

    @property
    def headline(self) -> str:
        method = self.panels[0].method
        return (
            f"ResAdapters on {self.lead.backbone.name}: {self.layers} layers of width "
            f"{self.lead.backbone.hidden_size}, cells of bottleneck {method.bottleneck}, stages of "
            f"{method.stage}"
        )

    @property
    def stamp(self) -> str:
        reading = "as released" if self.request.as_released else "repaired"
        return (
            f"{self.request.scale.capitalize()} scale · reading: {reading} · in a box: parameters, "
            "then tokens × width of what leaves it"
        )

    @property
    def caption(self) -> str:
        chains = [panel for panel in self.panels if panel.wiring is not None]
        totals = "; ".join(f"{panel.model} {STACKS * panel.stack:,}" for panel in chains)
        return (
            f"{self.figure.title}. {self.headline}. {self.stamp}. Grey: the frozen encoder; blue: "
            "what is trained, one stack of two; dashed green: a residual path, which adds no "
            f"parameter; ⊕: a sum. Trained in both stacks: {totals}."
        )

    @property
    def alternative(self) -> str:
        return f"Drawings of {self.headline}. {' '.join(map(str, self.panels))}"

    def own_notes(self) -> list[str]:
        return []

    @property
    def csv(self) -> str:
        return csv_of(
            CSV_COLUMNS,
            [
                (
                    self.id, self.request.scale, panel.sketch.name, box.name, box.said,
                    *box.shape, box.parameters, box.trained, " ".join(box.inputs),
                )
                for panel in self.panels
                for box in panel.boxes
            ],
        )  # fmt: skip

    def data(self) -> dict[str, Any]:
        panels = [
            {
                "name": panel.sketch.name,
                "title": panel.title,
                "parameters_trained": panel.stack,
                "boxes": [
                    {
                        "box": box.name,
                        "what": box.said,
                        "shape": list(box.shape),
                        "parameters": box.parameters,
                        "trained": box.trained,
                        "inputs": list(box.inputs),
                    }
                    for box in panel.boxes
                ],
            }
            for panel in self.panels
        ]
        return {"encoder": self.lead.backbone.name, "caption": self.caption, "panels": panels}

    def draw(self) -> Drawing:
        from repro.report.figures.architecture_drawing import draw_architecture

        return draw_architecture(self)


def view_of(figure: Architecture, request: Request, store: Store | None = None) -> ArchitectureView:
    """Reads no store: nothing behind it is trained.

    Raises ReproError where the encoder asked for cannot have the cells.
    """
    matrix = figure.matrix(request)
    panels = tuple(_panel(sketch, *matrix.of(sketch.name)) for sketch in figure.sketches)
    return ArchitectureView(
        matrix=matrix,
        lead=matrix.entries[0].spec,
        runs=(),
        cells=len(panels),
        done=len(panels),
        collapsed="",
        panels=panels,
    )


def _panel(sketch: Sketch, spec: RunSpec) -> Panel:
    method = spec.method
    assert isinstance(method, PipelinedCells)
    if sketch.inside:
        return Panel(sketch, method, cell_boxes(spec, method), None)
    wiring = trace(method.wiring, spec.backbone.layers, method.stage)
    return Panel(sketch, method, (*encoder_boxes(spec), *chain_boxes(spec, method, wiring)), wiring)


def encoder_boxes(spec: RunSpec) -> list[Box]:
    """The frozen encoder: its embeddings and its layers."""
    backbone, shape = spec.backbone, (spec.task.max_length, spec.backbone.hidden_size)
    layer = backbone.layer_parameters
    rest = backbone.parameters - backbone.pooler_parameters - backbone.layers * layer
    boxes = [Box("T0", "Embeddings", "frozen", shape, rest, False, ())]
    return boxes + [
        Box(f"T{n}", f"$T_{{{n}}}$", "frozen layer", shape, layer, False, (f"T{n - 1}",))
        for n in range(1, backbone.layers + 1)
    ]


def chain_boxes(spec: RunSpec, method: PipelinedCells, wiring: Wiring) -> list[Box]:
    """One stack: a cell a layer, and the scorer behind them."""
    length, hidden = spec.task.max_length, spec.backbone.hidden_size
    count = sum(method.cell_parts(hidden, length).values())
    boxes = [
        Box(f"C{n}", f"$C_{{{n}}}$", "cell", (length, hidden), count, True, signal.terms)
        for n, signal in enumerate(wiring.inputs, 1)
    ]
    scorer = Box("scorer", "Scorer", f"{hidden} → 1", (length, 1), hidden + 1, True,
                 wiring.output.terms)  # fmt: skip
    return [*boxes, scorer]


def cell_boxes(spec: RunSpec, method: PipelinedCells) -> tuple[Box, ...]:
    """The steps of one cell, in order; modules have the names that they have in the code."""
    length, d, b = spec.task.max_length, spec.backbone.hidden_size, method.bottleneck
    counts = method.cell_parts(d, length)

    def box(name: str, title: str, what: str, width: int, *inputs: str) -> Box:
        return Box(name, title, what, (length, width), counts.get(name, 0), True, inputs)

    norm = box("batch_norm", "Batch norm", AXES[method.norm_axis], b, "down")
    boxes = [box("down", "Project down", f"{d} → {b}", b, "x"), norm]
    if method.nonlinearity == "attention":
        heads = f"{method.heads} heads of {b // method.heads}"
        masked = "masked" if method.attention_mask else "not masked"
        inner = [f"attention.{name}" for name in ("query", "key", "value")]
        boxes += [
            *(box(name, name.partition(".")[2].title(), f"{b} → {b}", b, norm.name)
              for name in inner),
            box("attention.mix", heads, masked, b, *inner),
            box("attention.output", "Output", f"{b} → {b}", b, "attention.mix"),
            box("attention.norm", "Layer norm", f"of {b}", b, "attention.output", norm.name),
        ]  # fmt: skip
    else:
        name = method.nonlinearity
        boxes.append(box(name, NONLINEAR[name], "", b, norm.name))
    rate = f"rate {method.dropout:g}"
    return (
        *boxes,
        box("dropout", "Dropout", rate, b, boxes[-1].name),
        box("up", "Project up", f"{b} → {d}", d, "dropout"),
        box("norm", "Layer norm", f"ε {method.layer_norm_eps:g}", d, "up"),
    )
