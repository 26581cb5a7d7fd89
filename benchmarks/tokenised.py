"""Rows tokenised in memory, against those mapped into the cache and read from it again."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import torch
from common import CYCLES, report, seconds

from repro.backbones.load import load_encoder
from repro.papers.request import Request
from repro.papers.resadapters.tables import ONE
from repro.tasks import tokenised
from repro.tasks.sentences.rows import Row, generated_rows
from repro.tasks.sentences.task import make_examples
from repro.training.environment import prepare_process

SIZES = (250, 500, 1_000, 2_000, 8_000)
MAX_LENGTH = 128


def main() -> None:
    """Interleaves the three ways on the same rows and prints the ratios of each size."""
    prepare_process(deterministic=False)
    device = torch.device("cpu")
    spec = next(iter(ONE.matrix(Request(ONE.id, "smoke", 1)).runs.values()))
    tokenizer = load_encoder(spec.backbone, {}, device).tokenizer
    tokenised.KEPT_FROM = 1
    for size in SIZES:
        rows = generated_rows("sst2", f"seed=0,train={size},validation=10")["train"]

        def make(cache: Path | None = None, rows: list[Row] = rows) -> None:
            make_examples(rows, tokenizer, MAX_LENGTH, cache)

        anew, first, again = [], [], []
        for _ in range(CYCLES):
            with tempfile.TemporaryDirectory() as folder:
                anew.append(seconds(make, device))
                first.append(seconds(partial(make, Path(folder)), device))
                again.append(seconds(partial(make, Path(folder)), device))
        report(f"{size} rows: in memory / into a file", anew, first)
        report(f"{size} rows: in memory / from a file", anew, again)


if __name__ == "__main__":
    main()
