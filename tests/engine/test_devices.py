"""Whether this machine has a GPU that torch can use."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro.engine import devices


def test_a_gpu_counts_only_where_torch_can_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro.engine.devices.has_card", lambda: True)
    monkeypatch.setattr("repro.engine.devices.torch_has_cuda", lambda: True)
    for visible, seen in (
        (None, True), ("0", True), ("1,0", True), ("GPU-8932f937", True), ("", False),
        ("-1", False), ("-1,0", False), ("none", False),
    ):  # fmt: skip
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert devices.has_gpu() is seen, visible
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr("repro.engine.devices.torch_has_cuda", lambda: False)
    assert not devices.has_gpu()


@pytest.mark.parametrize(
    ("line", "built"),
    [
        ("cuda: Optional[str] = None", False),
        ("cuda: Optional[str] = '12.8'", True),
        ("cuda = '11.7'", True),
        ("cuda = None", False),
    ],
)
def test_torchs_version_file_says_whether_it_has_cuda(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, built: bool
) -> None:
    """The lines are those that torch's own builds write."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text(f"__version__ = '2.0'\n{line}\nhip = None\n")
    (tmp_path / "torch-2.0.dist-info").mkdir()
    (tmp_path / "torch-2.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert devices.torch_has_cuda() is built


def test_the_installed_torch_is_judged_as_it_judges_itself() -> None:
    torch = pytest.importorskip("torch")
    assert devices.torch_has_cuda() is (torch.version.cuda is not None)
