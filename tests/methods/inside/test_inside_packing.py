"""Tokens of several runs in one line, and the ways to rows and to runs and back."""

from __future__ import annotations

import pytest
import torch
from inside_samples import split
from tiny_models import real_tokens
from torch import Tensor

from repro.methods.inside.layer import attend, beside
from repro.methods.inside.packing import Packing, Shares, pick, spread
from repro.methods.modules.layout import Layout
from repro.methods.modules.randomness import generator

CPU = torch.device("cpu")


def packing(lengths: list[int], runs: int, length: int | None = None, heads: int = 1) -> Packing:
    real = real_tokens(lengths, length or max(lengths))
    return Packing(Layout.of(real, keep_padding=False), runs, heads)


@pytest.mark.parametrize("length", [3, 5])
def test_a_batch_of_two_runs_is_where_it_should_be(length: int) -> None:
    made = packing([2, 1, 3, 2], 2, length)
    ids = torch.arange(4 * length).view(4, length)
    by_row = [ids[0, :2], ids[1, :1], ids[2, :3], ids[3, :2]]
    assert made.ids(ids).tolist() == [torch.cat(by_row).tolist()]
    assert made.places.tolist() == [[0, 1, 0, 0, 1, 2, 0, 1]]
    assert made.first.index.tolist() == [0, 2, 3, 6]
    assert made.tokens.sizes == (3, 5)
    assert made.firsts.sizes == (2, 2)
    assert made.lengths == [2, 3]
    assert made.longest == 3
    assert made.mask is not None
    assert (made.mask[:, 0, 0] == 0).tolist() == real_tokens([2, 1, 3, 2], 3).tolist()


def test_rows_without_padding_need_no_mask() -> None:
    assert packing([3, 3], 1).mask is None


def by_hand(x: Tensor, lengths: list[int], heads: int, narrow: bool) -> list[Tensor]:
    """q, k and v of every head, padding cut off: by part, row and head in turn."""
    rows = split(x[0], *lengths)
    parts = [[row.chunk(3, 1)[part].chunk(heads, 1) for row in rows] for part in range(3)]
    cut = [1 if narrow and part == 0 else 9 for part in range(3)]
    return [head[: cut[p]] for p in range(3) for row in parts[p] for head in row]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("lengths", [[2, 4, 1], [3, 3]])
def test_heads_are_parted_row_by_row_and_joined_again(lengths: list[int], narrow: bool) -> None:
    made = packing(lengths, 1, 5, heads=2)
    heads = made.narrow_heads if narrow else made.heads
    x = torch.randn(1, sum(lengths), 12)
    found = heads.part(x)
    expected = by_hand(x, lengths, 2, narrow)
    cut = [
        part[row, head, : len(expected[number])]
        for number, (part, row, head) in enumerate(
            (part, row, head) for part in found for row in range(len(lengths)) for head in range(2)
        )
    ]
    assert all(map(torch.equal, cut, expected))
    back = heads.join(found[0])
    q = torch.stack([row[0] for row in split(x[0], *lengths)]) if narrow else x[0]
    assert torch.equal(back[0], q[:, :4])


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("lengths", [[2, 4, 1], [3, 3]])
def test_attention_has_the_gradients_of_its_formula(lengths: list[int], narrow: bool) -> None:
    """With dropout: numerically, for packed queries, keys and values and all ways to heads."""
    made = packing(lengths, 1, heads=2)
    heads = made.narrow_heads if narrow else made.heads
    rows, _, queries, longest = heads.shape
    keep = torch.rand(rows, 2, queries, longest, generator=generator("cpu", "keep")) > 0.3
    mask = None if made.mask is None else made.mask.double()

    def attended(x: Tensor) -> Tensor:
        q, k, v = heads.part(x)
        return heads.join(attend(q, k, v, mask, 0.7, keep, 0.3))

    x = torch.randn(1, sum(lengths), 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(attended, (x,))
    # row by row, head by head, as it is written
    parts = by_hand(x, lengths, 2, narrow)
    count = 2 * len(lengths)
    thirds = (parts[:count], parts[count : 2 * count], parts[2 * count :])
    for number, (q, k, v) in enumerate(zip(*thirds, strict=True)):
        kept = keep[number // 2, number % 2, : len(q), : len(k)]
        expected = ((0.7 * q @ k.t()).softmax(1) * kept / 0.7) @ v
        sizes = [1] * len(lengths) if narrow else lengths
        row = split(attended(x)[0], *sizes)[number // 2].chunk(2, 1)[number % 2]
        torch.testing.assert_close(row, expected)


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


def test_what_stands_beside_a_frozen_map_adds_its_gradient() -> None:
    linear = torch.nn.Linear(3, 2).double().requires_grad_(False)
    x = torch.randn(1, 4, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(1, 4, 3, dtype=torch.float64)

    def both(x: Tensor) -> Tensor:
        mapped, same = beside(x, linear, frozen=True)
        return mapped.square().sum() + (same * weights).sum()

    assert torch.autograd.gradcheck(both, (x,))
    assert torch.autograd.gradcheck(lambda x: beside(x, linear, frozen=True), (x,))


def test_first_tokens_give_their_gradients_back() -> None:
    first = packing([2, 4, 1], 1).first
    x = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert torch.equal(first(x), x[[0, 2, 6]])
    assert torch.autograd.gradcheck(first, (x,))
