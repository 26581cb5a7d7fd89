"""What runs that no training made say of the machine, and of the files and rows that they read."""

from __future__ import annotations

import json
from typing import Any

from repro.spec import RunSpec, run_key
from repro.spec.backbones import KNOWN
from repro.spec.contents import Content, Contents
from repro.tasks.catalogue import folders, folders_of

COMMIT = "c" * 40
FROM_HUB = Content(revision=COMMIT, digests={"what": "0" * 64})
LOCK = Contents(models=dict.fromkeys(KNOWN, FROM_HUB), data=dict.fromkeys(folders(), FROM_HUB))
"""A lock file in which every model and data set stands as `as_locked` reads it."""


def as_locked(spec: RunSpec) -> Contents:
    """The weights and rows that a run reads, as the lock file above has them."""
    data = dict.fromkeys(folders_of(spec.task), FROM_HUB)
    return Contents(models={spec.backbone.id: FROM_HUB}, data=data)


def environment(spec: RunSpec, read: Contents | None = None, **more: Any) -> bytes:
    """environment.json of a run, trained on a machine that nobody has; `read` as locked."""
    machine = {
        "seconds": 12.0,
        "members": [run_key(spec)],
        "device": "cpu",
        "device_name": "a made-up CPU",
        "read": (read or as_locked(spec)).model_dump(mode="json"),
    }
    return json.dumps(machine | more).encode()
