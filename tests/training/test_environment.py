"""The machine is prepared and described; a device that is not there is refused with the mend."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from repro.errors import ReproError
from repro.training import environment


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)


def test_cuda_that_is_not_there_is_refused_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ReproError, match=r"torch sees no GPU here\. Use --device cpu"):
        environment.prepare_torch("cuda", threads=None, deterministic=False, tf32=False)
    found = environment.prepare_torch("auto", threads=1, deterministic=True, tf32=False)
    assert found == torch.device("cpu")
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()


def test_the_environment_names_versions_and_switches() -> None:
    device = environment.prepare_torch("cpu", threads=1, deterministic=True, tf32=False)
    found = environment.describe_environment(device)
    for package in ("transformers", "tokenizers", "numpy"):
        assert found[package] == importlib.metadata.version(package)
    assert str(found["torch"]).split("+")[0] == importlib.metadata.version("torch").split("+")[0]
    assert (found["device"], found["threads"], found["deterministic"]) == ("cpu", 1, True)
    assert found["tf32"] is False
    assert "1 threads" in environment.device_name(device)
    # this process holds torch: more than 50 MB, and less than any machine of ours has
    assert 50e6 < environment.peak_memory(device) < 1e12


@pytest.mark.usefixtures("strange_name")
def test_the_memory_of_a_process_whose_name_is_no_text_is_measured() -> None:
    assert 50e6 < environment.peak_memory(torch.device("cpu")) < 1e12


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_cublas_workspace_is_set_before_torch_where_asked(
    monkeypatch: pytest.MonkeyPatch, deterministic: bool
) -> None:
    monkeypatch.setattr(os, "environ", {"HF_HUB_DISABLE_TELEMETRY": "0"})
    environment.prepare_process(deterministic=deterministic)
    assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == (":4096:8" if deterministic else None)
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "0"  # the user's own word stands


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to keep memory")
def test_glibc_takes_what_it_is_told_of_freed_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers are those of glibc's malloc.h; it answers 1 to a value that it takes."""
    told: dict[int, tuple[int, int]] = {}
    real = ctypes.CDLL(None).mallopt

    def mallopt(which: int, value: int) -> int:
        told[which] = value, real(which, value)
        return told[which][1]

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    environment.prepare_process(deterministic=False)
    assert told == {-1: (2**30, 1), -3: (32 * 2**20, 1)}


def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def library(name: str | None) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace()  # musl has no mallopt

    monkeypatch.setattr(ctypes, "CDLL", library)
    environment.prepare_process(deterministic=False)
    assert asked == [None] * (sys.platform == "linux")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu avx512_bf16 amx_bf16 amx_tile", "AMX"),
        ("fpu avx512f avx512_bf16", "AVX512_BF16"),
        ("fpu avx2 avx512f avx512bw", None),
    ],
)
def test_a_cpu_has_bf16_if_its_flags_say_so(
    flags: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "processor\t: 0", "model name\t: A: B", f"flags\t\t: {flags}", ""
    (tmp_path / "cpuinfo").write_text("\n".join(lines))
    monkeypatch.setattr(environment, "CPU_INFO", str(tmp_path / "cpuinfo"))
    assert environment.cpu_bf16() == expected
    assert environment.cpu_name() == "A: B"


def test_a_machine_without_nvidia_smi_has_no_driver_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    assert environment.driver_version() is None
