"""The drawing against the modules: counts, shapes, the order of a cell's steps, and the wirings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from request_samples import made
from tiny_models import HIDDEN, inputs_of, random_states, real_tokens
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.modules.randomness import Dropout, generator
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.module import Cell, Pipelined
from repro.methods.resadapters.wirings import WIRINGS
from repro.papers.request import Request
from repro.papers.resadapters.tables import ARCHITECTURE
from repro.report.figures.architecture import (
    ArchitectureView,
    Panel,
    Signal,
    cell_boxes,
    trace,
    view_of,
)
from repro.report.figures.architecture_drawing import columns
from repro.report.figures.style import LEAST, styled
from repro.report.figures.view import write_figure
from repro.report.reproduce import picture
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, MINILM, bert

READINGS = (False, True)


def asked(backbone: str = BERT_BASE, **more: Any) -> Request:
    return made(id=ARCHITECTURE.id, scale="paper", seeds=1, backbone=KNOWN[backbone], **more)


def view(backbone: str = BERT_BASE, **more: Any) -> ArchitectureView:
    return view_of(ARCHITECTURE, asked(backbone, **more))


def on_meta(panel: Panel, found: ArchitectureView) -> Pipelined:
    """The learner that is trained, without memory for its numbers."""
    (spec,) = ARCHITECTURE.matrix(found.request).of(panel.sketch.name)
    with torch.device("meta"):
        learner = spec.learner(1, Encoder(nn.Identity(), None))
    assert isinstance(learner, Pipelined)
    return learner


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("as_released", READINGS)
@pytest.mark.parametrize("backbone", [MINILM, BERT_BASE])
def test_the_counts_on_the_boxes_are_the_modules(backbone: str, as_released: bool) -> None:
    found = view(backbone, as_released=as_released)
    for panel in found.panels:
        learner = on_meta(panel, found)
        cell = learner.cells[0]
        assert isinstance(cell, Cell)
        counted = {box.name: 2 * box.parameters for box in panel.boxes if box.trained}
        if panel.wiring is None:
            leaves = {name: parameters(part) for name, part in cell.named_modules()
                      if not list(part.children())}  # fmt: skip
            assert {name: n for name, n in counted.items() if n} == leaves
            assert 2 * panel.stack == parameters(cell)
        else:
            modules = {f"C{n}": parameters(part) for n, part in enumerate(learner.cells, 1)}
            assert counted == modules | {"scorer": parameters(learner.scorer)}
            assert 2 * panel.stack == parameters(learner)


@pytest.mark.parametrize("backbone", [MINILM, BERT_BASE, BERT_LARGE])
def test_all_boxes_of_a_chain_are_the_whole_model(backbone: str) -> None:
    found = view(backbone)
    models = {one.row: one.spec for one in ARCHITECTURE.matrix(found.request).entries}
    for panel in found.panels[:3]:
        spec, frozen = models[panel.sketch.name], [b for b in panel.boxes if not b.trained]
        assert 2 * panel.stack == spec.trained_parameters()
        total = sum(box.parameters for box in frozen) + 2 * panel.stack
        assert total == spec.total_parameters()
        assert len(frozen) == found.layers + 1


def test_the_numbers_of_the_released_configuration() -> None:
    """resadapters.md, section 5: 12 cells and 769; 310,472 and 471,672 are the cells alone."""
    plain, _, resnext, cell, attention = view(as_released=True).panels
    assert [panel.stack for panel in (plain, resnext)] == [3_726_433, 5_660_833]
    assert [cell.stack, attention.stack] == [310_472, 471_672]
    assert plain.box("scorer").shape == (384, 1)


# What flows into the cells of 6 layers in stages of 3, from the equations of resadapters.md.
BY_HAND = {
    "plain": (["T1", "T2 C1", "T3 C2", "T4 C3", "T5 C4", "T6 C5"], "C6"),
    "resnet": (["T1", "T2 C1", "T3 C2", "T4 C3 T1", "T5 C4", "T6 C5"], "C6 T4"),
    "resnext": (["T1", "T2 C1", "T3 C2", "T4", "T5 C4", "T6 C5"], "T1 C3 T1 C6 T4"),
}


@pytest.mark.parametrize("wiring", WIRINGS)
def test_the_lines_of_six_layers_are_those_of_the_equations(wiring: str) -> None:
    found = trace(wiring, 6, 3)
    inputs, output = BY_HAND[wiring]
    assert [sorted(signal.terms) for signal in found.inputs] == [sorted(i.split()) for i in inputs]
    assert sorted(found.output.terms) == sorted(output.split())


def test_the_sectors_of_twelve_layers_are_four_sums() -> None:
    addends = trace("resnext", 12, 3).output.addends
    assert addends[0] == Signal("T1")
    sectors = [sorted(addend.terms) for addend in addends[1:]]
    assert sectors == [["C3", "T1"], ["C6", "T4"], ["C9", "T7"], ["C12", "T10"]]
    assert len(trace("resnet", 12, 3).output.addends) == 2


@pytest.mark.parametrize("wiring", WIRINGS)
def test_the_lines_drawn_compute_the_scores_of_the_real_learner(wiring: str) -> None:
    """Cells that are fed one by one with what the drawing says give what the scorer reads."""
    layers = 6
    method = PipelinedCells(wiring=wiring, nonlinearity="relu", bottleneck=8)
    learner = Pipelined(method, 1, layers, HIDDEN, 48)
    learner.initialise([generator("cpu", "init", 0)])
    learner.eval()
    inputs, off = inputs_of(real_tokens([7, 4], 7), random_states(layers, 2, 7)), Dropout([])
    off.active = False
    values = {f"T{n}": state.unsqueeze(0) for n, state in enumerate(inputs.states, 1)}
    found, read = trace(wiring, layers, method.stage), list[Tensor]()

    def added(signal: Signal) -> Tensor:
        return sum((values[term] for term in signal.terms), torch.zeros(()))

    learner.scorer.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    with torch.no_grad():
        for n, (cell, signal) in enumerate(zip(learner.cells, found.inputs, strict=True), 1):
            values[f"C{n}"] = cell(added(signal), inputs.layout)
        learner(inputs, off)
    torch.testing.assert_close(read[0], added(found.output))


class Watch(TorchFunctionMode):
    """Notes the functions that a cell calls beside its modules."""

    def __init__(self, steps: list[tuple[str, tuple[int, ...]]]) -> None:
        super().__init__()
        self.steps = steps

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in ("relu", "gelu"):
            self.steps.append((name, tuple(out.shape[-2:])))
        if name == "scaled_dot_product_attention":
            heads, tokens, width = out.shape[-3:]
            self.steps.append(("attention.mix", (tokens, heads * width)))
        return out


@pytest.mark.parametrize("nonlinearity", ["relu", "gelu", "attention"])
def test_the_steps_of_a_cell_are_those_that_it_takes(
    nonlinearity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = view_of(ARCHITECTURE, asked(MINILM))
    (spec,) = ARCHITECTURE.matrix(found.request).of("cell")
    method = PipelinedCells(wiring="plain", nonlinearity=nonlinearity, bottleneck=8)
    tiny = spec.model_copy(update={
        "method": method,
        "backbone": bert("local", "tiny", None, layers=3, hidden=32),
        "task": spec.task.model_copy(update={"max_length": 7}),
    })  # fmt: skip
    cell = Cell(method, 1, 1, 32, 7)
    steps: list[tuple[str, tuple[int, ...]]] = []

    def note(name: str, _: nn.Module, __: object, out: Tensor) -> None:
        steps.append((name, tuple(out.shape[-2:])))

    for name, part in cell.named_modules():
        if name and not list(part.children()):
            part.register_forward_hook(partial(note, name))

    def dropped(h: Tensor, keep: Tensor, rate: float) -> Tensor:
        steps.append(("dropout", tuple(h.shape[-2:])))
        return h

    monkeypatch.setattr("repro.methods.resadapters.module.dropped", dropped)
    layout = inputs_of(real_tokens([7], 7), random_states(1, 1, 7)).layout
    with Watch(steps):
        cell(torch.zeros(1, 7, 32), layout, torch.ones(()))
    boxes = cell_boxes(tiny, method)
    joined = {f"attention.{name}" for name in ("query", "key", "value")}  # one product in the code
    assert steps == [(box.name, box.shape) for box in boxes if box.name not in joined]


def test_deep_encoders_leave_out_their_middle_and_count_it() -> None:
    shown = columns(24, 3)
    assert shown.shown == (1, 2, 3, 4, 5, 6, 22, 23, 24)
    assert list(shown.hidden) == list(range(7, 22))
    assert shown.middle[9] == shown.middle[20]
    assert columns(12, 3).shown == tuple(range(1, 13))
    found = view(BERT_LARGE)
    words = " ".join(text for text, *_ in texts(found))
    assert f"{15 * found.panels[0].box('C7').parameters:,}" in words
    assert "$C_{7}$ to $C_{21}$" in words
    named = {line["box"] for line in csv.DictReader(io.StringIO(found.csv))}
    assert {f"{letter}{n}" for letter in "TC" for n in range(1, 25)} <= named


def texts(found: ArchitectureView) -> list[tuple[str, float, Any]]:
    """Every text that is drawn, its size in points, and where it stands."""
    from matplotlib.text import Text

    with styled():
        drawing = found.draw()
        drawing.draw_without_rendering()
        return [
            (text.get_text(), float(text.get_fontsize()), text.get_window_extent())
            for text in drawing.axes[0].texts
            if isinstance(text, Text) and text.get_text()
        ]


@pytest.mark.parametrize(
    ("backbone", "as_released"), [(MINILM, False), (BERT_BASE, True), (BERT_LARGE, False)]
)
def test_words_can_be_read_lie_on_the_page_and_never_on_each_other(
    backbone: str, as_released: bool
) -> None:
    drawn = texts(view(backbone, as_released=as_released))
    assert min(size for _, size, _ in drawn) >= LEAST
    for n, (text, _, here) in enumerate(drawn):
        assert here.x0 >= 0, text
        assert here.x1 <= 1000, text  # ten inches of 100 dots
        for other, _, there in drawn[:n]:
            across = min(here.x1, there.x1) - max(here.x0, there.x0)
            down = min(here.y1, there.y1) - max(here.y0, there.y0)
            assert across <= 0 or down <= 2.5, (text, other)  # room above and below letters


def test_words_stay_in_their_boxes() -> None:
    from matplotlib.patches import FancyBboxPatch

    with styled():
        drawing = view(BERT_BASE).draw()
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
        for text in axes.texts:
            x, y = axes.transData.transform(text.get_position())
            for box in boxes:
                if text.get_text() and box.x0 < x < box.x1 and box.y0 < y < box.y1:
                    extent = text.get_window_extent()
                    assert box.x0 <= extent.x0, text.get_text()
                    assert extent.x1 <= box.x1, text.get_text()


def test_an_encoder_that_cannot_be_cut_into_stages_is_refused() -> None:
    odd = bert("local", "odd", None, layers=4, hidden=64)
    with pytest.raises(ReproError, match="no multiple of 3"):
        view_of(ARCHITECTURE, Request(ARCHITECTURE.id, "paper", 1, odd))


def test_a_bottleneck_asked_for_is_drawn() -> None:
    assert view(bottleneck=136).panels[4].box("down").shape == (384, 136)


def test_the_csv_and_the_json_name_every_box_with_shape_count_and_inputs() -> None:
    found = view(MINILM)
    lines = list(csv.DictReader(io.StringIO(found.csv)))
    assert len(lines) == sum(len(panel.boxes) for panel in found.panels)
    line = next(x for x in lines if x["panel"] == "resnet" and x["box"] == "C4")
    assert (line["tokens"], line["width"], line["trained"]) == ("384", "384", "True")
    assert sorted(line["inputs"].split()) == ["C3", "T1", "T4"]
    document = json.loads(json.dumps(found.document, allow_nan=False))
    assert document["complete"] == "5/5"
    boxes = {box["box"]: box for box in document["panels"][1]["boxes"]}
    assert boxes["C4"]["parameters"] == int(line["parameters"])
    assert document["files"][0].endswith("architecture-resadapters.paper.MiniLM-L6.png")


def test_the_same_model_gives_the_same_bytes_with_alternative_text(tmp_path: Path) -> None:
    found = view(MINILM)
    one, two = (write_figure(found, tmp_path / name) for name in ("one", "two"))
    assert [path.suffix for path in one] == [".png", ".svg", ".pdf", ".csv", ".json"]
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    assert picture(found).startswith("![Drawings of ResAdapters on MiniLM-L6")
    assert "residual paths also reach C4; the scorer reads C6 + T4" in found.alternative
