"""What runs that no training made say of the machine, and of the files and rows that they read."""

from __future__ import annotations

import json
from typing import Any

from repro.spec import RunSpec, run_key
from repro.spec.contents import Content, Contents

COMMIT = "c" * 40
FROM_HUB = Content(revision=COMMIT, digests={"what": "0" * 64})


def read_from_hub(spec: RunSpec) -> Contents:
    """Weights and rows that were downloaded from the hub at a commit."""
    name = spec.task.name
    return Contents(models={spec.backbone.id: FROM_HUB}, data={f"rows-of-{name}": FROM_HUB})


def environment(spec: RunSpec, read: Contents | None = None, **more: Any) -> bytes:
    """environment.json of a run, trained on a machine that nobody has; `read` from the hub."""
    machine = {
        "seconds": 12.0,
        "members": [run_key(spec)],
        "device": "cpu",
        "device_name": "a made-up CPU",
        "read": (read or read_from_hub(spec)).model_dump(mode="json"),
    }
    return json.dumps(machine | more).encode()
