"""The GPUs of this machine: which ones torch can use, their free memory, which command has them."""

from __future__ import annotations

import contextlib
import errno
import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError


@dataclass(frozen=True, slots=True)
class Device:
    """`id` is what CUDA_VISIBLE_DEVICES takes."""

    id: str
    index: str
    free_bytes: float | None = None
    """None where nvidia-smi does not tell."""


def trains_on(device: str) -> str:
    """cpu or cuda: what `--device` means here."""
    if device == "auto":
        return "cuda" if has_gpu() else "cpu"
    return device


def has_gpu() -> bool:
    """Whether torch would find an NVIDIA GPU here; imports no library."""
    return has_card() and is_visible(os.environ.get("CUDA_VISIBLE_DEVICES")) and torch_has_cuda()


def has_card() -> bool:
    """Whether an NVIDIA driver is at work here."""
    return Path("/dev/nvidiactl").exists() and shutil.which("nvidia-smi") is not None


def is_visible(devices: str | None) -> bool:
    """Whether CUDA_VISIBLE_DEVICES leaves a device: CUDA stops at the first that is none."""
    if devices is None:
        return True
    first = devices.split(",")[0].strip()
    return first.isdecimal() or first.startswith(("GPU-", "MIG-"))


def torch_has_cuda() -> bool:
    """Whether the installed torch is a CUDA build, as its version.py says."""
    try:
        found = importlib.metadata.distribution("torch")
        text = Path(str(found.locate_file("torch/version.py"))).read_text(encoding="utf-8")
    except (importlib.metadata.PackageNotFoundError, OSError):
        return False
    return re.search(r"^cuda\b[^=]*=\s*['\"]", text, re.MULTILINE) is not None


def devices() -> list[Device]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, in its order."""
    found = _listed()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return found
    names = [name.strip() for name in visible.split(",") if name.strip()]
    known = {key: device for device in found for key in (device.index, device.id)}
    return [known.get(name, Device(name, name)) for name in names]


def _listed() -> list[Device]:
    """What nvidia-smi lists; one GPU of unknown memory where it does not answer."""
    command = ["nvidia-smi", "--query-gpu=uuid,index,memory.free", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return [Device("0", "0")]
    fields = [[part.strip() for part in line.split(",")] for line in answer.stdout.splitlines()]
    return [
        Device(uuid, index, float(free) * 2**20 if free.isdecimal() else None)
        for uuid, index, free in (line for line in fields if len(line) == 3)
    ]


def lease(found: Sequence[Device], held: contextlib.ExitStack) -> list[Device]:
    """Those of the GPUs that no other command of this project has, taken until `held` closes or
    this process dies, however it dies.

    A lease is a name in Linux's abstract namespace of sockets, which is the machine's: one process
    at a time can have it, and it goes with the process. Raises ReproError where all are taken.
    """
    free = []
    for device in found:
        own = socket.socket(socket.AF_UNIX)
        try:
            own.bind(f"\0repro-device-{device.id}")
        except OSError as error:
            own.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        held.enter_context(own)
        free.append(device)
    if found and not free:
        raise ReproError(
            f"Other commands of repro have all GPUs here ({len(found)}). Give this one when one of "
            "them has ended; one command takes several jobs a GPU with --workers."
        )
    return free
