"""Packing tokens and putting them back, and statistics that never see padding."""

from __future__ import annotations

import pytest
import torch
from tiny_models import real_tokens

from repro.methods.modules.layout import Layout, mean_over_real

REAL = real_tokens([3, 1], 4)
X = torch.arange(16.0).view(2, 4, 2)  # (batch, length, width)


def test_packed_tokens_are_the_real_ones_row_by_row() -> None:
    packed = Layout.of(REAL, keep_padding=False).pack(X)
    assert packed.tolist() == [[0, 1], [2, 3], [4, 5], [8, 9]]


def test_unpacking_fills_padding_and_keeps_the_rest() -> None:
    layout = Layout.of(REAL, keep_padding=False)
    back = layout.unpack(layout.pack(X)[None], fill=-1.0)
    assert back.shape == (1, 2, 4, 2)
    assert torch.equal(back[0][REAL], X[REAL])
    assert (back[0][~REAL] == -1).all()


@pytest.mark.parametrize("real", [REAL, torch.ones_like(REAL)])
def test_nothing_is_dropped_where_padding_is_kept_or_absent(real: torch.Tensor) -> None:
    layout = Layout.of(real, keep_padding=True)
    assert torch.equal(layout.pack(X), X.view(8, 2))
    assert torch.equal(layout.unpack(layout.pack(X)[None])[0], X)
    assert torch.equal(layout.packed_real(), real.flatten())
    assert layout.full == bool(real.all())


@pytest.mark.parametrize("keep_padding", [True, False])
def test_statistics_are_those_of_real_tokens(keep_padding: bool) -> None:
    layout = Layout.of(REAL, keep_padding=keep_padding)
    x = torch.stack([layout.pack(X), layout.pack(X) * 3])  # two copies
    mean, variance, count = mean_over_real(x, layout)
    # the first feature of the real tokens: 0, 2, 4, 8; mean 3.5, squared distances 35
    assert count == 4
    assert mean[:, 0].tolist() == [[3.5, 4.5], [10.5, 13.5]]
    assert variance[:, 0].tolist() == [[35 / 4, 35 / 4], [9 * 35 / 4, 9 * 35 / 4]]
