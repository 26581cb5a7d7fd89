"""The drawings of ResAdapters: Figure 1 (the chain), Figure 2 (the sectors), Figure 3 (a cell)."""

from __future__ import annotations

from repro.papers.architecture import Architecture, Sketch
from repro.papers.request import Request
from repro.papers.resadapters.tables import run_one
from repro.spec import RunSpec


def model(variant: str, request: Request) -> RunSpec:
    """The model of a row of ResAdapters-1."""
    return run_one(variant, request, 0)


ARCHITECTURE = Architecture(
    id="architecture-resadapters",
    paper="resadapters",
    title="The cells beside the frozen encoder, their wirings and their inside (ResAdapters, "
    "Figures 1 to 3)",
    sketches=(
        Sketch("plain", "The chain without residual paths", "adapter", "Adapter, Attention"),
        Sketch(
            "resnet",
            "The chain with residual paths (Figure 1)",
            "adapter-resnet",
            "Adapter ResNet, Attention ResNet",
        ),
        Sketch(
            "resnext",
            "Sectors side by side (Figure 2)",
            "attention-resnext",
            "Attention ResNeXt",
        ),
        Sketch(
            "cell",
            "Inside a cell without attention (Figure 3)",
            "adapter",
            "Adapter, Adapter ResNet",
            inside=True,
        ),
        Sketch(
            "attention-cell",
            "Inside a cell with attention (Figure 3)",
            "attention",
            "Attention, Attention ResNet, Attention ResNeXt",
            inside=True,
        ),
    ),
    default_seeds={"paper": 1, "reduced": 1, "smoke": 1},
    model=model,
    notes=(
        "Lines follow the code that is trained: its wirings are called with names in place of "
        "tensors. Counts are those of its modules, one stack of two: one stack gives the start "
        "scores, one the end scores, and they share nothing.",
        "Figure 2 of the paper is a drawing of sectors; the one notebook that its authors released "
        "chains its blocks as Figure 1 does, whatever its file is called.",
    ),
)
