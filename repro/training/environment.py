"""Device handling in one place, and what is recorded of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from repro.errors import ReproError

CPU_INFO = "/proc/cpuinfo"
BF16_FLAGS = {"amx_bf16": "AMX", "avx512_bf16": "AVX512_BF16"}
CUBLAS = ":4096:8"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers of glibc's settings, from its malloc.h."""
KEPT_FREE, LARGEST_KEPT = 1 << 30, 32 << 20
"""Bytes; the second is as much as glibc allows."""


def prepare_process(*, deterministic: bool) -> None:
    """Sets what must stand in the environment before torch is imported."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    if deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = CUBLAS
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Lets glibc reuse the memory of freed tensors. By default it returns that of large ones to the
    system, and each page of a new tensor is a page fault again; see docs/performance.md.
    """
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another libc
            libc = ctypes.CDLL(None)
            libc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
            libc.mallopt(M_TRIM_THRESHOLD, KEPT_FREE)


def prepare_torch(device: str, *, threads: int | None, deterministic: bool, tf32: bool) -> Any:
    """Configures torch for one job; returns the torch.device. Without `threads` they are those that
    torch had when this process began.

    `device` is auto, cpu or cuda. Raises ReproError when CUDA is asked for and absent.
    """
    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ReproError(
            "CUDA was asked for, and torch sees no GPU here. Use --device cpu, or install a CUDA "
            "build of torch and check `nvidia-smi`."
        )
    first = _first_threads()
    torch.set_num_threads(threads or first)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.use_deterministic_algorithms(deterministic)
    return torch.device(device)


def matrix_products(precision: str, device: Any) -> Any:
    """The context in which a run's passes compute, the frozen encoder's among them.

    fp32, or bf16: torch's autocast. Matrix products then take inputs that are rounded to bf16, and
    weights, sums of residuals, layer norms, softmax, losses and the optimizer stay fp32. The
    frozen encoder gives the same states to runs that share them and to a run inside it.
    """
    import torch

    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@cache
def _first_threads() -> int:
    import torch

    return torch.get_num_threads()


def describe_environment(device: Any) -> dict[str, Any]:
    """Versions, hardware and switches that may change the last digits of a result."""
    import numpy
    import tokenizers
    import torch
    import transformers

    import repro

    found: dict[str, Any] = {
        "repro": repro.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "numpy": numpy.__version__,
        "device": device.type,
        "cpu": cpu_name(),
        "threads": torch.get_num_threads(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
    if "peft" in sys.modules:  # whose modules a run may have trained
        found["peft"] = importlib.metadata.version("peft")
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found |= {
            "gpu": properties.name,
            "gpu_memory": properties.total_memory,
            "driver": driver_version(),
            "cuda": torch.version.cuda,
        }
    return found


def device_name(device: Any) -> str:
    """For a person: the GPU's name, or the CPU's and its threads."""
    import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{cpu_name()}, {torch.get_num_threads()} threads"


def forget_memory(device: Any) -> None:
    """Frees what the last job of this process held; `peak_memory` begins anew where it can."""
    import torch

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        with contextlib.suppress(OSError):  # Linux's, and no other's
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory(device: Any) -> int:
    """Peak bytes since `forget_memory`: of the GPU's allocator, or of the process."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        lines = Path("/proc/self/status").read_bytes().splitlines()  # one holds the process's name
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def cpu_name() -> str:
    """As /proc/cpuinfo names it, else the platform's word."""
    return _cpu_field("model name") or platform.processor() or platform.machine()


def cpu_bf16() -> str | None:
    """What this CPU multiplies matrices of bf16 with; None where it has nothing for it."""
    flags = _cpu_field("flags").split()
    return next((name for flag, name in BF16_FLAGS.items() if flag in flags), None)


def _cpu_field(name: str) -> str:
    """A field of the first core in /proc/cpuinfo, "" where there is none."""
    try:
        with open(CPU_INFO, encoding="utf-8", errors="replace") as stream:
            lines = (line.partition(":") for line in stream)
            return next((value.strip() for key, _, value in lines if key.strip() == name), "")
    except OSError:
        return ""


def driver_version() -> str | None:
    """The NVIDIA driver's version, None where nvidia-smi does not tell."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.splitlines()[0].strip() if answer.stdout else None
