"""What a killed group continues from: files that say themselves whether they are undamaged.

Tensors are safetensors with a checksum of their content; a checkpoint remembers how long each
history was, and its checksum. All are read without executing anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from repro.errors import ReproError
from repro.store.atomic import write_parts

NAME = "checkpoint.safetensors"
CHECKSUM = "checksum"
TYPES = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16",
    torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.float32: "F32",
    torch.float64: "F64", torch.int64: "I64",
}  # fmt: skip
"""The names of types in safetensors, in its order."""


class Damaged(ReproError):
    """A file that training cannot continue from: says which one, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Tensors of all cohorts, and the progress of the group as JSON."""

    tensors: dict[str, Tensor]
    progress: str

    def write(self, work: Path) -> None:
        """Replaces the checkpoint in `work`."""
        _write(work / NAME, self.tensors, {"progress": self.progress})

    @classmethod
    def read(cls, work: Path) -> Checkpoint | None:
        """The checkpoint in `work`, or None where none was written. Raises Damaged."""
        path = work / NAME
        if not path.exists():
            return None
        tensors, notes = _read(path)
        if CHECKSUM not in notes:
            raise Damaged(f"{path} was written by another version of this program.")
        return cls(tensors, notes["progress"])


def write_artefact(path: Path, tensors: dict[str, Tensor]) -> None:
    """Writes what one run trained."""
    _write(path, tensors, {})


def read_artefact(path: Path) -> dict[str, Tensor]:
    """Reads what `write_artefact` wrote. Raises Damaged."""
    return _read(path)[0]


def _write(path: Path, tensors: dict[str, Tensor], notes: dict[str, str]) -> None:
    """What `safetensors.torch.save` makes, byte for byte, without a copy of the tensors: those of
    BERT-large and its optimizer take 4 GB.
    """
    header: dict[str, Any] = {"__metadata__": notes | {CHECKSUM: _checksum(tensors, notes)}}
    parts, place = [], 0
    for name, tensor in sorted(tensors.items(), key=_place):
        part = _bytes(tensor)
        offsets = [place, place := place + len(part)]
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape)}
        header[name]["data_offsets"] = offsets
        parts.append(part)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    write_parts(path, [struct.pack("<Q", len(text)), text, *parts])


def _place(named: tuple[str, Tensor]) -> tuple[int, str]:
    """Sorts tensors as the library does: by type, then by name."""
    return -list(TYPES).index(named[1].dtype), named[0]


def _bytes(tensor: Tensor) -> memoryview:
    """The content of a tensor on the CPU."""
    flat = tensor.detach().contiguous().flatten()
    return flat.view(torch.uint8).numpy().data


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the notes beside them; files of older versions have no checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            notes: dict[str, str] = stored.metadata() or {}
    except (OSError, ValueError, SafetensorError) as error:
        raise Damaged(f"{path} cannot be read ({error}).") from error
    if notes.get(CHECKSUM, (found := _checksum(tensors, notes))) != found:
        raise Damaged(f"{path} does not match its checksum.")
    return tensors, notes


def _checksum(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    """SHA-256 of the notes (but for an old checksum), and of every tensor's name and content."""
    rest = {name: note for name, note in notes.items() if name != CHECKSUM}
    found = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(_bytes(tensor))
    return found.hexdigest()


class HistoryFile:
    """JSON lines that grow with training; a checkpoint remembers what the file held then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pending: list[str] = []
        self._written = hashlib.sha256()

    def append(self, line: dict[str, Any]) -> None:
        """Adds one line, kept in memory until `flush`."""
        self.pending.append(json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n")

    def flush(self) -> tuple[int, str]:
        """Writes what is pending through to the disk; the file's length and SHA-256 then."""
        data = "".join(self.pending).encode()
        with self.path.open("ab") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            length = stream.tell()
        self.pending.clear()
        self._written.update(data)
        return length, self._written.hexdigest()

    def restart(self) -> None:
        """Makes it empty."""
        self.pending.clear()
        self._written = hashlib.sha256()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")

    def cut(self, length: int, digest: str) -> None:
        """Drops what was written after the `flush` that returned these.

        Raises Damaged where the file does not begin with what it held then.
        """
        self.pending.clear()
        held = self.path.read_bytes()[:length] if self.path.exists() else b""
        self._written = hashlib.sha256(held)
        if self._written.hexdigest() != digest:
            raise Damaged(f"{self.path} does not hold what its checkpoint says.")
        os.truncate(self.path, length)

    def read(self) -> bytes:
        """The whole history."""
        self.flush()
        return self.path.read_bytes()
