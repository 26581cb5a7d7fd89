"""What a killed group continues from: one file, complete or absent, read without executing it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from repro.store.atomic import write_bytes

NAME = "checkpoint.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors of all cohorts, and the progress of the group as JSON."""

    tensors: dict[str, Tensor]
    progress: str

    def write(self, work: Path) -> None:
        """Replaces the checkpoint in `work`."""
        from safetensors.torch import save

        write_bytes(work / NAME, save(self.tensors, metadata={"progress": self.progress}))

    @staticmethod
    def progress_of(work: Path) -> str | None:
        """The progress alone of the checkpoint in `work`, None where none was written."""
        from safetensors import safe_open

        if not (work / NAME).exists():
            return None
        with safe_open(work / NAME, framework="pt") as stored:
            progress: str = stored.metadata()["progress"]
            return progress

    @classmethod
    def read(cls, work: Path) -> Checkpoint | None:
        """The checkpoint in `work`, or None where none was written."""
        from safetensors import safe_open

        if not (work / NAME).exists():
            return None
        with safe_open(work / NAME, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            return cls(tensors, stored.metadata()["progress"])


def write_artefact(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes what one run trained."""
    from safetensors.torch import save

    write_bytes(path, save(tensors))


def read_artefact(path: Path) -> dict[str, Tensor]:
    """Reads what `write_artefact` wrote."""
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = load_file(path)
    return tensors


class HistoryFile:
    """JSON lines that grow with training; a checkpoint remembers how long the file was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pending: list[str] = []

    def append(self, line: dict[str, Any]) -> None:
        """Adds one line, kept in memory until `flush`."""
        self.pending.append(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")

    def flush(self) -> int:
        """Writes what is pending through to the disk; returns the file's length in bytes."""
        with self.path.open("ab") as stream:
            stream.write("".join(self.pending).encode())
            stream.flush()
            os.fsync(stream.fileno())
            self.pending.clear()
            return stream.tell()

    def cut(self, length: int) -> None:
        """Drops what was written after the checkpoint that recorded `length`."""
        self.pending.clear()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as stream:
            stream.truncate(length)

    def read(self) -> bytes:
        """The whole history."""
        self.flush()
        return self.path.read_bytes()
