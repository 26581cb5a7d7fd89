"""Adapters inside MiniLM against the `adapters` library: steps, and a whole block of small runs.

    python benchmarks/against_adapters.py PEER [--cycles 9] [--blocks 3] [--threads 1]

PEER is the Python of an environment with adapters 1.3.0, transformers 4.57 and torch of this one's
version. Steps of both alternate, each in a process of its own, of which one always waits: batches
of 32, dropout on. A block is 8 runs of 100 rows and 20 epochs, scored after each: one command here,
one script start a run there, of which one is measured and taken eight times. Prints Markdown:
medians, and the lowest and highest of the cycles.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from common import seconds

from repro.backbones.describe import package_folder
from repro.backbones.load import load_encoder
from repro.engine.made_up import computes_bf16
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.papers.request import Request
from repro.papers.three_shared.setting import runs_of
from repro.report.layout import markdown_table
from repro.training.cohort import Cohort
from repro.training.environment import prepare_process, prepare_torch

LENGTHS = {"CoLA": (11, 4), "MRPC": (53, 14), "RTE": (68, 40)}
"""Mean and deviation of tokens an example."""
PEERS = {"pfeiffer": "seq_bn", "houlsby": "double_seq_bn"}
BATCH = 32
TASKS, SEEDS, ROWS, EPOCHS = "cola,sst2,mrpc,rte", 2, 100, 20
"""Of a block."""
PADDINGS = {"padded to the batch": 0, "padded to 128, its scripts' default": 128}
NAMES = [
    "method, rows like", "fp32, padded to the batch", "fp32, padded to 128",
    "bf16 against its fp32", "bf16 against its bf16",
]  # fmt: skip


def draw_lengths(mean: float, deviation: float) -> list[int]:
    """Lengths of one batch, at least 5 tokens and at most 128."""
    drawn = torch.randn(BATCH) * deviation + mean
    return [int(length) for length in drawn.clamp(5, 128)]


def our_step(cohort: Cohort, lengths: list[int], number: int) -> None:
    """One training step of this project on random tokens."""
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(1000, 20_000, mask.shape)
    inputs = Inputs(ids, mask, mask * 0, Layout.of(mask, keep_padding=False), [])
    cohort.prepare(number)
    cohort.accumulate(inputs, torch.randint(0, 2, (1, BATCH)), 1.0)
    cohort.optimizer.step(number)


def peer_command(python: str, configuration: str, threads: int, *more: str) -> list[str]:
    """What starts the other library's script."""
    script = str(Path(__file__).with_name("peer_adapters.py"))
    return [python, script, str(package_folder()), configuration, str(threads), *more]


class Peer:
    """The other library in a process of its own."""

    def __init__(self, python: str, configuration: str, threads: int) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = peer_command(python, configuration, threads)
        self.process = subprocess.Popen(command, text=True, env=apart(), **pipes)

    def step(self, lengths: list[int], padded: int | None, precision: str = "fp32") -> float:
        """Seconds of one step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"lengths": lengths, "padded": padded, "precision": precision}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def apart() -> dict[str, str]:
    """The environment of the other library's processes, which must not find this project."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def ratio(slow: list[float], fast: list[float]) -> str:
    """How many times as long: median, lowest and highest of the cycles."""
    found = [a / b for a, b in zip(slow, fast, strict=True)]
    return f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"


def steps(python: str, method: str, cycles: int, threads: int) -> list[list[str]]:
    """The lines of one method on every kind of lengths; each cycle takes other lengths, and the
    first one, which warms up, does not count.
    """
    request = Request("3-shared-2", "smoke", 1, settings={"method.bottleneck": 24})
    cpu, ours = torch.device("cpu"), {}
    has_bf16 = computes_bf16("cpu")
    for precision in ("fp32", *(["bf16"] if has_bf16 else [])):
        spec = runs_of(method, "cola", request).run(0)
        recipe = spec.recipe.model_copy(update={"precision": precision})
        encoder = load_encoder(spec.backbone, {}, cpu)
        ours[precision] = Cohort(
            [0], [spec.model_copy(update={"recipe": recipe})], encoder, cpu, 100_000
        )
    peer, rows = Peer(python, PEERS[method], threads), []
    for name, kind in LENGTHS.items():
        took: dict[str, list[float]] = {}
        for number in range(1, cycles + 2):
            lengths = draw_lengths(*kind)
            one = {
                "dynamic": peer.step(lengths, None),
                "fp32": seconds(partial(our_step, ours["fp32"], lengths, number), cpu),
                "fixed": peer.step(lengths, 128),
            }
            if has_bf16:
                one["bf16"] = seconds(partial(our_step, ours["bf16"], lengths, number), cpu)
                one["its bf16"] = peer.step(lengths, None, "bf16")
            for what, value in one.items():
                took.setdefault(what, []).extend([value] if number > 1 else [])
        pairs = [
            ("dynamic", "fp32"), ("fixed", "fp32"), ("dynamic", "bf16"), ("its bf16", "bf16"),
        ]  # fmt: skip
        told = (ratio(took[a], took[b]) if b in took else "no bf16 here" for a, b in pairs)
        rows.append([f"{method}, {name}", *told])
    peer.process.terminate()
    return rows


def wall(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of a process from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


def peer_run(python: str, threads: int, seed: int, padded: int) -> float:
    """Seconds of one run of the other library's, its start included."""
    more = ("--run", str(ROWS), str(EPOCHS), str(seed), str(padded))
    return wall(peer_command(python, "seq_bn", threads, *more), apart())


def our_block(threads: int) -> float:
    """Seconds of a block of ours."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "run", "3-shared-2", "--scale", "smoke", "--row", "Ours (not shared)",
            "--tasks", TASKS, "--seeds", str(SEEDS), "--train-rows", str(ROWS), "--epochs",
            str(EPOCHS), "--threads", str(threads), "--workers", "1", "--store", folder,
        ]  # fmt: skip
        return wall([sys.executable, "-m", "repro", *words], dict(os.environ))


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer")
    parser.add_argument("--cycles", type=int, default=9)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    prepare_process(deterministic=False)
    prepare_torch("cpu", threads=asked.threads, deterministic=False, tf32=False)
    print(f"Load before: {os.getloadavg()[0]:.1f}; {asked.threads} threads\n")
    lines = [row for name in PEERS for row in steps(asked.peer, name, asked.cycles, asked.threads)]
    print("\n".join(markdown_table(NAMES, lines, left=1)))
    runs = len(TASKS.split(",")) * SEEDS
    if asked.blocks:
        print(f"\nA block of {runs} runs of {ROWS} rows and {EPOCHS} epochs, whole processes:\n")
    took: dict[str, list[float]] = {}
    for number in range(asked.blocks):
        took.setdefault("ours", []).append(our_block(asked.threads))
        for name, padded in PADDINGS.items():
            one = peer_run(asked.peer, asked.threads, number, padded)
            took.setdefault(name, []).append(runs * one)
    for name in PADDINGS if took else ():
        theirs, ours = (statistics.median(took[side]) for side in (name, "ours"))
        times = ratio(took[name], took["ours"])
        print(f"- {name}: {theirs:.0f} s against {ours:.0f} s, {times}")
    print(f"\nLoad after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
