"""What runs that no training made say of the files and rows that they read."""

from __future__ import annotations

import json
from typing import Any

from repro.spec import RunSpec, run_key
from repro.spec.contents import Content, Contents

COMMIT = "c" * 40
FROM_HUB = Content(revision=COMMIT, digests={"what": "0" * 64})


def read_from_hub(spec: RunSpec) -> dict[str, Any]:
    """The line of environment.json of a run that took weights and rows from the hub."""
    name = spec.task.name
    found = Contents(models={spec.backbone.id: FROM_HUB}, data={f"rows-of-{name}": FROM_HUB})
    return {"read": found.model_dump(mode="json", exclude_defaults=True)}


def environment(spec: RunSpec, **more: Any) -> bytes:
    """environment.json of such a run, trained on a machine that nobody has."""
    machine = {
        "seconds": 12.0,
        "members": [run_key(spec)],
        "device": "cpu",
        "device_name": "a made-up CPU",
    }
    return json.dumps(machine | read_from_hub(spec) | more).encode()
