"""What the benchmarks share: the five rows of ResAdapters-1 and batches of SQuAD-like lengths."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from repro.backbones.load import Encoder, load_encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.papers.request import Request
from repro.papers.resadapters.tables import ONE
from repro.training.cohort import Cohort
from repro.training.environment import prepare_process, prepare_torch

BATCH, SHORTEST, LONGEST, CYCLES = 8, 80, 250, 7


def set_up() -> tuple[Encoder, list[Cohort], torch.device]:
    """MiniLM and one cohort a row."""
    prepare_process(deterministic=False)
    device = prepare_torch("auto", threads=None, deterministic=False, tf32=False)
    specs = [
        s
        for s in [*ONE.matrix(Request(ONE.id, "smoke", 1)).runs.values()]
        if s.method.kind != "always-null"
    ]
    encoder = load_encoder(specs[0].backbone, {}, device)
    return encoder, [Cohort([0], [spec], encoder, device, steps=1000) for spec in specs], device


def random_batch(device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask (batch, length) with lengths like those of SQuAD windows."""
    lengths = torch.randint(SHORTEST, LONGEST, (BATCH,))
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).long()
    return torch.randint(1000, 20_000, mask.shape).to(device), mask.to(device)


def encode(encoder: Encoder, ids: Tensor, mask: Tensor) -> Inputs:
    """What a cohort reads of one batch."""
    layout = Layout.of(mask, keep_padding=False)
    states = [layout.pack(state) for state in encoder.states(ids, mask, mask * 0)]
    return Inputs(ids, mask, mask * 0, layout, states)


def step(cohort: Cohort, inputs: Inputs, number: int) -> None:
    """One training step of one row."""
    targets = torch.full((1, BATCH, 2), 1, device=inputs.input_ids.device)
    cohort.accumulate(inputs, targets, 1.0)
    cohort.optimizer.step(number)


def seconds(action: Callable[[], None], device: torch.device) -> float:
    """Wall-clock seconds of one call."""
    begun = time.perf_counter()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begun


def report(name: str, slow: list[float], fast: list[float]) -> None:
    """The ratio's median, lowest and highest over the cycles; the first one only warms up."""
    ratios = [a / b for a, b in zip(slow[1:], fast[1:], strict=True)]
    print(
        f"{name}: {statistics.median(ratios):.2f}x "
        f"({min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} cycles)"
    )
