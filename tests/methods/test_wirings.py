"""The three wirings against the equations of resadapters.md, sections 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from run_samples import cells, run_spec
from tiny_models import inputs_of, random_states, real_tokens, tiny_encoder
from torch import Tensor

from repro.methods.modules.randomness import Dropout, generator
from repro.methods.resadapters.module import Pipelined
from repro.methods.resadapters.wirings import WIRINGS

Cell = Callable[[Tensor], Tensor]


def number_cells(layers: int) -> list[Cell]:
    """C_k(x) = 2 x + k: every expected value is a plain number."""
    return [partial(_double_and_add, k) for k in range(1, layers + 1)]


def _double_and_add(k: int, x: Tensor) -> Tensor:
    return 2 * x + k


def number_states(layers: int) -> list[Tensor]:
    """T_i = i."""
    return [torch.tensor(float(i)) for i in range(1, layers + 1)]


@pytest.mark.parametrize(
    ("wiring", "expected"),
    [
        # h_1 = 2*1+1 = 3, h_2 = 2*(2+3)+2 = 12, h_3 = 2*(3+12)+3 = 33,
        # h_4 = 2*(4+33)+4 = 78, h_5 = 2*(5+78)+5 = 171, h_6 = 2*(6+171)+6 = 360
        ("plain", 360.0),
        # C_1(1)+2 = 5, C_2(5)+3 = 15, p = C_3(15)+1 = 34;
        # C_4(4+34)+5 = 85, C_5(85)+6 = 181, C_6(181)+4 = 372
        ("resnet", 372.0),
        # S_1 = 34 as above; C_4(4)+5 = 17, C_5(17)+6 = 45, S_2 = C_6(45)+4 = 100; 34 + 100 + T_1
        ("resnext", 135.0),
    ],
)
def test_six_layers_give_the_number_worked_out_by_hand(wiring: str, expected: float) -> None:
    assert WIRINGS[wiring](number_cells(6), number_states(6), 3).item() == expected


@pytest.mark.parametrize(
    ("wiring", "expected"),
    [
        ("plain", 33.0),  # the first three steps above
        ("resnet", 34.0),
        ("resnext", 35.0),  # one sector, S_1 = 34, and T_1
    ],
)
def test_three_layers_are_one_stage(wiring: str, expected: float) -> None:
    assert WIRINGS[wiring](number_cells(3), number_states(3), 3).item() == expected


def test_a_stage_of_another_size_keeps_the_equations() -> None:
    # stages of 2: C_1(1)+2 = 5, p = C_2(5)+1 = 13; C_3(3+13)+4 = 39, C_4(39)+3 = 85
    assert WIRINGS["resnet"](number_cells(4), number_states(4), 2).item() == 85.0
    # S_1 = 13; C_3(3)+4 = 13, S_2 = C_4(13)+3 = 33; 13 + 33 + 1
    assert WIRINGS["resnext"](number_cells(4), number_states(4), 2).item() == 47.0


def plain_by_hand(c: Sequence[Cell], t: Sequence[Tensor]) -> Tensor:
    """The notebook's blocks without the residual path: out = Cell_3(u)."""
    p = torch.zeros_like(t[1])
    for i in (1, 4, 7, 10):
        u = c[i](t[i] + p) + t[i + 1]
        u = c[i + 1](u) + t[i + 2]
        p = c[i + 2](u)
    return p


def resnet_by_hand(c: Sequence[Cell], t: Sequence[Tensor]) -> Tensor:
    """The notebook's block, chained."""
    p = torch.zeros_like(t[1])
    for i in (1, 4, 7, 10):
        u = c[i](t[i] + p) + t[i + 1]
        u = c[i + 1](u) + t[i + 2]
        p = c[i + 2](u) + t[i]
    return p


def resnext_by_hand(c: Sequence[Cell], t: Sequence[Tensor]) -> Tensor:
    """Figure 2: four sectors side by side and the first transformer's residual path."""
    s = [c[i + 2](c[i + 1](c[i](t[i]) + t[i + 1]) + t[i + 2]) + t[i] for i in (1, 4, 7, 10)]
    return s[0] + s[1] + s[2] + s[3] + t[1]


BY_HAND = {"plain": plain_by_hand, "resnet": resnet_by_hand, "resnext": resnext_by_hand}


@pytest.mark.parametrize("wiring", WIRINGS)
def test_twelve_number_cells_follow_the_equations(wiring: str) -> None:
    c, t = number_cells(12), number_states(12)
    expected = BY_HAND[wiring]([c[0], *c], [t[0], *t])  # from 1, as the equations count
    assert WIRINGS[wiring](c, t, 3).item() == expected.item()


@pytest.mark.parametrize("nonlinearity", ["relu", "attention"])
@pytest.mark.parametrize("wiring", WIRINGS)
def test_twelve_real_cells_one_by_one_give_the_learners_scores(
    wiring: str, nonlinearity: str
) -> None:
    spec = run_spec(cells(wiring, nonlinearity), backbone__layers=12)
    learner = spec.learner(2, tiny_encoder(3))
    assert isinstance(learner, Pipelined)
    learner.initialise([generator("cpu", "init", seed) for seed in (0, 1)])
    learner.eval()
    real = real_tokens([7, 4], 7)
    inputs, off = inputs_of(real, random_states(12, 2, 7)), Dropout([])
    off.active = False
    one_by_one = [partial(cell, layout=inputs.layout) for cell in learner.cells]
    states = [state.unsqueeze(0) for state in inputs.states]
    with torch.no_grad():
        out = BY_HAND[wiring]([one_by_one[0], *one_by_one], [states[0], *states])
        scores = learner(inputs, off)
        weight, bias = learner.scorer.weight, learner.scorer.bias
    for copy in range(4):
        run, stack = divmod(copy, 2)
        expected = out[copy] @ weight[run, stack] + bias[run, stack]  # (tokens, 1)
        torch.testing.assert_close(scores[run, stack][real], expected.squeeze(1))
        assert torch.isneginf(scores[run, stack][~real]).all()
