"""A cell against torch's own modules with the same weights, one run and stack at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from run_samples import cells
from tiny_models import real_tokens
from torch import Tensor, nn

from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Linear
from repro.methods.modules.randomness import generator
from repro.methods.resadapters import PipelinedCells
from repro.methods.resadapters.module import Cell

RUNS, STACKS, HIDDEN, BATCH, LENGTH = 2, 2, 12, 3, 7
REAL = real_tokens([7, 4, 2], LENGTH)


class Reference(nn.Module):
    """One run's cell of one stack on padded states, in torch's words."""

    def __init__(self, spec: PipelinedCells) -> None:
        super().__init__()
        b = spec.bottleneck
        self.spec = spec
        self.down, self.up = nn.Linear(HIDDEN, b), nn.Linear(b, HIDDEN)
        self.batch_norm = nn.BatchNorm1d(b if spec.norm_axis == "feature" else LENGTH)
        self.attention = nn.MultiheadAttention(b, spec.heads, batch_first=True)
        self.inner_norm = nn.LayerNorm(b)
        self.norm = nn.LayerNorm(HIDDEN, eps=spec.layer_norm_eps)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """(batch, length, hidden); what stands on padding means nothing in the repaired reading."""
        h = self.down(x)
        if self.spec.norm_axis == "feature":
            normed = torch.zeros_like(h)
            normed[real] = self.batch_norm(h[real])
            if not self.spec.attention_mask:  # then padding is normalised, too, by the same numbers
                normed[~real] = self.normalise_others(h, real)
            h = normed
        else:
            h = self.batch_norm(h)
        if self.spec.nonlinearity == "attention":
            ignored = ~real if self.spec.attention_mask else None
            mixed, _ = self.attention(h, h, h, key_padding_mask=ignored)
            h = self.inner_norm(mixed + h)
        else:
            h = {"relu": nn.ReLU(), "gelu": nn.GELU()}[self.spec.nonlinearity](h)
        out: Tensor = self.norm(self.up(h))
        return out

    def normalise_others(self, h: Tensor, real: Tensor) -> Tensor:
        norm = self.batch_norm
        mean, variance = norm.running_mean, norm.running_var
        if self.training:
            mean, variance = h[real].mean(0), h[real].var(0, correction=0)
        assert mean is not None
        assert variance is not None
        return (h[~real] - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias


PAIRS = {
    "down": "down",
    "up": "up",
    "attention.out_proj": "attention.output",
    "inner_norm": "attention.norm",
    "norm": "norm",
    "batch_norm": "batch_norm",
}


def copies(reference: Reference, cell: Cell, run: int, stack: int) -> list[tuple[Any, Any, Any]]:
    """(torch's parameter, our parameter, ours in torch's shape) for all parameters."""
    attends = reference.spec.nonlinearity == "attention"
    found: list[tuple[Any, Any, Any]] = []
    for theirs, ours in PAIRS.items():
        if not attends and "attention" in ours:
            continue
        module, own = reference.get_submodule(theirs), cell.get_submodule(ours)
        for name in ("weight", "bias"):
            turned = isinstance(own, Linear) and name == "weight"
            turn = partial(_one, run=run, stack=stack, turned=turned)
            found.append((module.get_parameter(name), own.get_parameter(name), turn))
    return found


def _one(x: Tensor, run: int, stack: int, turned: bool) -> Tensor:
    return x[run, stack].t() if turned else x[run, stack]


def projections(cell: Cell, run: int, stack: int, *, gradient: bool) -> tuple[Tensor, Tensor]:
    """Query, key and value as torch's attention holds them: one matrix (3 b, b), one bias."""
    parts = [cell.attention.query, cell.attention.key, cell.attention.value]
    weights = [part.weight.grad if gradient else part.weight for part in parts]
    biases = [part.bias.grad if gradient else part.bias for part in parts]
    return (
        torch.cat([_one(w, run, stack, True) for w in weights if w is not None]),
        torch.cat([_one(b, run, stack, False) for b in biases if b is not None]),
    )


def reference_of(cell: Cell, run: int, stack: int) -> Reference:
    """torch's modules with the cell's weights."""
    reference = Reference(cell.spec)
    with torch.no_grad():
        for theirs, ours, turn in copies(reference, cell, run, stack):
            theirs.copy_(turn(ours))
        if cell.spec.nonlinearity == "attention":
            weight, bias = projections(cell, run, stack, gradient=False)
            reference.attention.in_proj_weight.copy_(weight)
            reference.attention.in_proj_bias.copy_(bias)
    return reference


def make_cell(spec: PipelinedCells) -> Cell:
    """All parameters drawn, norms too: their starting values 1 and 0 would hide mistakes."""
    cell = Cell(spec, RUNS, STACKS, HIDDEN, LENGTH)
    draw = generator("cpu", "cell")
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.5)
    return cell


SPECS = [
    pytest.param(
        cells(
            "plain",
            nonlinearity,
            norm_axis=axis,
            attention_mask=mask,
            layer_norm_eps=eps,
            dropout=0.0,
        ),
        id=f"{nonlinearity}-{axis}-mask-{mask}-eps-{eps:g}",
    )
    for nonlinearity in ("relu", "gelu", "attention")
    for axis in ("feature", "position")
    for mask in (True, False)
    for eps in (1e-12, 384.0)
    if nonlinearity == "attention" or eps == 1e-12
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_cell_equals_torchs_own_modules(spec: PipelinedCells) -> None:
    cell = make_cell(spec)
    references = [reference_of(cell, run, stack) for run in range(RUNS) for stack in range(STACKS)]
    keep = spec.norm_axis == "position" or not spec.attention_mask
    compared = torch.ones_like(REAL) if keep else REAL
    layout = Layout.of(REAL, keep_padding=keep)
    draw = generator("cpu", "inputs")
    for step in range(5):
        training = step < 3
        cell.train(training)
        x = torch.randn(RUNS * STACKS, BATCH, LENGTH, HIDDEN, generator=draw)
        aim = torch.randn(x.shape, generator=draw) * compared[..., None]
        ours = x.clone().requires_grad_()
        out = cell(layout.pack(ours), layout)
        torch.autograd.backward((layout.unpack(out) * aim).sum())
        assert ours.grad is not None
        for copy, reference in enumerate(references):
            reference.train(training)
            theirs = x[copy].clone().requires_grad_()
            expected = reference(theirs, REAL)
            torch.autograd.backward((expected * aim[copy]).sum())
            found = layout.unpack(out)[copy]
            close(found[compared], expected[compared])
            close(ours.grad[copy], theirs.grad)
    for copy, reference in enumerate(references):
        compare_parameters(reference, cell, *divmod(copy, STACKS))


def compare_parameters(reference: Reference, cell: Cell, run: int, stack: int) -> None:
    """Gradients summed over all steps, and the running statistics."""
    for theirs, ours, turn in copies(reference, cell, run, stack):
        close(turn(ours.grad), theirs.grad)
    if cell.spec.nonlinearity == "attention":
        weight, bias = projections(cell, run, stack, gradient=True)
        close(weight, reference.attention.in_proj_weight.grad)
        close(bias, reference.attention.in_proj_bias.grad)
    close(cell.batch_norm.mean[run, stack], reference.batch_norm.running_mean)
    close(cell.batch_norm.variance[run, stack], reference.batch_norm.running_var)


def close(found: Tensor, expected: Tensor | None) -> None:
    """Within fp32's last digits of the largest number compared."""
    assert expected is not None
    scale = float(expected.detach().abs().max())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * max(scale, 1e-3))


def test_one_state_feeds_all_runs_and_stacks() -> None:
    cell = make_cell(cells(nonlinearity="attention", dropout=0.0)).eval()
    layout = Layout.of(REAL, keep_padding=False)
    x = torch.randn(1, int(REAL.sum()), HIDDEN, generator=generator("cpu", "one"))
    whole = cell(x.expand(RUNS * STACKS, -1, -1), layout)
    torch.testing.assert_close(cell(x, layout), whole, rtol=0, atol=0)


def test_the_misplaced_eps_shrinks_what_a_cell_says() -> None:
    # resadapters.md: an input of standard deviation 0.6 leaves with 0.6 / sqrt(0.36 + 384) = 0.03
    norm = make_cell(cells(layer_norm_eps=384.0)).norm
    with torch.no_grad():
        norm.weight.fill_(1.0)
        norm.bias.zero_()
    x = torch.randn(RUNS * STACKS, 50, HIDDEN, generator=generator("cpu", "eps"))
    x = (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True) * 0.6
    spread = norm(x).std(-1, correction=0)
    torch.testing.assert_close(spread, torch.full_like(spread, 0.0306), rtol=1e-3, atol=0)


def test_a_single_token_does_not_divide_by_zero() -> None:
    cell = make_cell(cells(dropout=0.0)).train()
    layout = Layout.of(torch.ones(1, 1, dtype=torch.bool), keep_padding=False)
    out = cell(torch.ones(1, 1, HIDDEN), layout)
    assert torch.isfinite(out).all()
    assert torch.isfinite(cell.batch_norm.variance).all()
