"""Tokens of several runs in one line, and the ways to rows and to runs and back."""

from __future__ import annotations

import pytest
import torch
from inside_samples import split
from tiny_models import real_tokens

from repro.methods.inside.packing import Packing, Shares, pick, spread
from repro.methods.modules.layout import Layout

CPU = torch.device("cpu")


def packing(lengths: list[int], runs: int, length: int | None = None) -> Packing:
    real = real_tokens(lengths, length or max(lengths))
    return Packing(Layout.of(real, keep_padding=False), runs)


@pytest.mark.parametrize("length", [3, 5])
def test_a_batch_of_two_runs_is_where_it_should_be(length: int) -> None:
    made = packing([2, 1, 3, 2], 2, length)
    ids = torch.arange(4 * length).view(4, length)
    by_row = [ids[0, :2], ids[1, :1], ids[2, :3], ids[3, :2]]
    assert made.ids(ids).tolist() == [torch.cat(by_row).tolist()]
    assert made.places.tolist() == [[0, 1, 0, 0, 1, 2, 0, 1]]
    assert made.first.tolist() == [0, 2, 3, 6]
    assert made.tokens.sizes == (3, 5)
    assert made.firsts.sizes == (2, 2)
    assert made.lengths == [2, 3]
    assert made.longest == 3
    assert made.mask is not None
    assert (made.mask[:, 0, 0] == 0).tolist() == real_tokens([2, 1, 3, 2], 3).tolist()


def test_rows_without_padding_need_no_mask() -> None:
    made = packing([3, 3], 1)
    assert made.mask is None
    x = torch.arange(12.0).view(6, 2)
    assert torch.equal(made.unpack(x), x.view(2, 3, 2))
    assert torch.equal(made.pack(made.unpack(x)), x)


@pytest.mark.parametrize("length", [4, 6])
def test_unpacking_pads_with_zeros_and_packing_undoes_it(length: int) -> None:
    made = packing([2, 4, 1], 1, length)
    x = torch.arange(1.0, 15.0).view(7, 2)
    rows = made.unpack(x)
    assert rows.shape == (3, 4, 2)
    real = real_tokens([2, 4, 1], 4)
    assert torch.equal(rows[real], x)
    assert not rows[~real].any()
    assert torch.equal(made.pack(rows), x)


@pytest.mark.parametrize("sizes", [(2, 5, 1), (3, 3)])
def test_runs_are_stacked_and_unstacked(sizes: tuple[int, ...]) -> None:
    shares = Shares(sizes, CPU)
    x = torch.randn(1, sum(sizes), 3)
    stacked = shares.stack(x)
    assert stacked.shape == (len(sizes), max(sizes), 3)
    for run, part in enumerate(split(x[0], *sizes)):
        assert torch.equal(stacked[run, : len(part)], part)
        assert not stacked[run, len(part) :].any()
    assert torch.equal(shares.unstack(stacked), x)


def test_gradients_of_spreading_and_picking_are_exact() -> None:
    places = torch.tensor([4, 0, 2])
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    whole = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: spread(t, places, 5), (x,))
    assert torch.autograd.gradcheck(lambda t: pick(t, places), (whole,))
