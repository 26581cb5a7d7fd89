"""Training with the `adapters` library: the peer of `against_adapters.py`.

    python peer_adapters.py FOLDER CONFIGURATION THREADS [--run ROWS EPOCHS SEED PADDED]

Runs in an environment of its own (adapters 1.3.0, transformers 4.57) and imports nothing of this
project. It reads batches of lengths as JSON lines and answers with the seconds of a step; with
`--run` it trains one run of short rows, scores 120 others after every epoch, and ends; PADDED is
the length to which batches are padded, 0 for their longest row.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

BATCH, SCORED, MEAN, DEVIATION = 32, 120, 16, 4


def prepared(folder: str, configuration: str) -> tuple[Any, list[Any]]:
    """BERT in `folder` with adapters of that configuration, and what trains."""
    import adapters
    from transformers import AutoModelForSequenceClassification

    model: Any = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    adapters.init(model)
    model.add_adapter("task", config=configuration)
    model.train_adapter("task")
    model.train()
    return model, [p for p in model.parameters() if p.requires_grad]


def batch(lengths: list[int], padded: int | None) -> dict[str, Any]:
    """Random rows of these lengths, padded to the longest or to so many tokens."""
    import torch

    every = torch.tensor(lengths)
    mask = (torch.arange(padded or int(every.max())) < every[:, None]).long()
    ids = torch.randint(1000, 20_000, mask.shape)
    labels = torch.randint(0, 2, (len(lengths),))
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def step(model: Any, trained: list[Any], optimizer: Any, given: Any, precision: str) -> None:
    """One step of training."""
    import torch

    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = model(**given).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()


def serve(model: Any, trained: list[Any], optimizer: Any) -> None:
    """Steps until stdin ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        given = batch(asked["lengths"], asked["padded"])
        begun = time.perf_counter()
        step(model, trained, optimizer, given, asked["precision"])
        print(json.dumps(time.perf_counter() - begun), flush=True)


def run(
    model: Any, trained: list[Any], optimizer: Any, rows: int, epochs: int, padded: int | None
) -> None:
    """One whole run."""
    import torch

    def lengths(count: int) -> list[int]:
        drawn = torch.randn(count) * DEVIATION + MEAN
        return [int(length) for length in drawn.clamp(5, 128)]

    for _ in range(epochs):
        model.train()
        for begin in range(0, rows, BATCH):
            given = batch(lengths(min(BATCH, rows - begin)), padded)
            step(model, trained, optimizer, given, "fp32")
        model.eval()
        with torch.no_grad():
            model(**batch(lengths(SCORED), padded))


def main(folder: str, configuration: str, threads: str, *more: str) -> None:
    """See above."""
    import torch

    torch.set_num_threads(int(threads))
    if more:
        torch.manual_seed(int(more[3]))
    model, trained = prepared(folder, configuration)
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    if more:
        run(model, trained, optimizer, int(more[1]), int(more[2]), int(more[4]) or None)
    else:
        serve(model, trained, optimizer)


if __name__ == "__main__":
    main(*sys.argv[1:])
