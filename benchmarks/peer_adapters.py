"""One training step a line, with the `adapters` library: the peer of `inside_encoder.py`.

Runs in an environment of its own (adapters 1.3.0, transformers 4.57): it reads batches of lengths
as JSON lines and answers with the seconds of a step. It imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main(folder: str, configuration: str) -> None:
    """Serves steps of BERT in `folder` with adapters of that configuration until stdin ends."""
    import adapters
    import torch
    from transformers import AutoModelForSequenceClassification

    torch.set_num_threads(int(sys.argv[3]))
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    adapters.init(model)
    model.add_adapter("task", config=configuration)
    model.train_adapter("task")
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    for line in sys.stdin:
        asked = json.loads(line)
        lengths = torch.tensor(asked["lengths"])
        width = asked["padded"] or int(lengths.max())
        mask = (torch.arange(width) < lengths[:, None]).long()
        ids = torch.randint(1000, 20_000, mask.shape)
        labels = torch.randint(0, 2, (len(lengths),))
        begun = time.perf_counter()
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(json.dumps(time.perf_counter() - begun), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
