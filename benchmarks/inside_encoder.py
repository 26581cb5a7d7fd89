"""A training step of adapters inside MiniLM, against the `adapters` library, on equal lengths.

    python benchmarks/inside_encoder.py PYTHON_OF_AN_ENVIRONMENT_WITH_ADAPTERS [THREADS]

Steps alternate between two processes, one of which always waits; dropout is on, batches of 32.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from common import report, seconds

from repro.backbones.describe import package_folder
from repro.backbones.load import Encoder, load_encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.papers.request import Request
from repro.papers.three_shared.runs import run_of
from repro.training.cohort import Cohort
from repro.training.environment import prepare_process, prepare_torch

LENGTHS = {"CoLA": (11, 4), "MRPC": (53, 14), "RTE": (68, 40)}
"""Mean and deviation of tokens an example."""
PEERS = {"pfeiffer": "seq_bn", "houlsby": "double_seq_bn"}
BATCH, CYCLES = 32, 9


def draw_lengths(mean: float, deviation: float) -> list[int]:
    """Lengths of one batch, at least 5 tokens and at most 128."""
    drawn = torch.randn(BATCH) * deviation + mean
    return [int(length) for length in drawn.clamp(5, 128)]


def our_step(cohort: Cohort, lengths: list[int], number: int) -> None:
    """One training step of this project on random tokens."""
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(1000, 20_000, mask.shape)
    inputs = Inputs(ids, mask, mask * 0, Layout.of(mask, keep_padding=False), [])
    cohort.accumulate(inputs, torch.randint(0, 2, (1, BATCH)), 1.0)
    cohort.optimizer.step(number)


class Peer:
    """The other library in a process of its own."""

    def __init__(self, python: str, configuration: str, threads: int) -> None:
        script = str(Path(__file__).with_name("peer_adapters.py"))
        command = [python, script, str(package_folder()), configuration, str(threads)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, stderr=subprocess.DEVNULL, **pipes)

    def step(self, lengths: list[int], padded: int | None) -> float:
        """Seconds of one step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"lengths": lengths, "padded": padded}) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def compare(python: str, encoder: Encoder, method: str, threads: int) -> None:
    """Prints the ratios of one method on every kind of lengths."""
    request = Request("3-shared-2", "smoke", 1, settings={"method.bottleneck": 24})
    cohort = Cohort([0], [run_of(method, "cola", request, 0)], encoder, torch.device("cpu"), 1000)
    peer = Peer(python, PEERS[method], threads)
    for name, (mean, deviation) in LENGTHS.items():
        ours, dynamic, fixed = [], [], []
        for number in range(1, CYCLES + 1):
            lengths = draw_lengths(mean, deviation)
            dynamic.append(peer.step(lengths, None))
            step = partial(our_step, cohort, lengths, number)
            ours.append(seconds(step, torch.device("cpu")))
            fixed.append(peer.step(lengths, 128))
        report(f"{method}, {name}-like, padded to the batch / ours", dynamic, ours)
        report(f"{method}, {name}-like, padded to 128 / ours", fixed, ours)


def main() -> None:
    """Compares both configurations."""
    python, threads = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    prepare_process(deterministic=False)
    prepare_torch("cpu", threads=threads, deterministic=False, tf32=False)
    spec = run_of("pfeiffer", "cola", Request("3-shared-2", "smoke", 1), 0)
    encoder = load_encoder(spec.backbone, {}, torch.device("cpu"))
    for method in PEERS:
        compare(python, encoder, method, threads)


if __name__ == "__main__":
    main()
