"""Numbers and runs in words for a person."""

from __future__ import annotations

from repro.spec import FullFineTuning, LinearProbe, PipelinedCells, RunSpec


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """1.2 GB, 340 MB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def counted(number: int, noun: str) -> str:
    """1 job, 2 jobs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def run_name(spec: RunSpec) -> str:
    """attention-resnext b100 on MiniLM-L6, seed 0."""
    method = spec.method
    if isinstance(method, PipelinedCells):
        kind = "attention" if method.nonlinearity == "attention" else "adapter"
        wiring = "" if method.wiring == "plain" else f"-{method.wiring}"
        name = f"{kind}{wiring} b{method.bottleneck}"
    elif isinstance(method, LinearProbe):
        name = f"linear probe of layer {method.layer}"
    elif isinstance(method, FullFineTuning):
        name = "full fine-tuning"
    else:
        name = "always null"
    return f"{name} on {spec.backbone.name}, seed {spec.seed}"
