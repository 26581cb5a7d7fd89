"""AdamW against torch's own and against its recursion by hand; clips and schedules by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from run_samples import RECIPE, changed, run_spec
from tiny_models import tiny_encoder
from torch import Tensor

from repro.methods.linear_probe import LinearProbe
from repro.methods.modules.learner import Learner
from repro.methods.modules.randomness import generator
from repro.spec import Recipe
from repro.training.optimizer import AdamW, FlatParameters, scheduled

HIDDEN, STEPS = 5, 20


def recipe(**changes: Any) -> Recipe:
    made = RECIPE
    for name, value in changes.items():
        made = changed(made, (name,), value)
    return made


def probe(runs: int, hidden: int = HIDDEN) -> Learner:
    spec = run_spec(LinearProbe(layer=1), backbone__hidden_size=hidden)
    return spec.learner(runs, tiny_encoder(1))


def start(runs: int) -> tuple[Any, FlatParameters]:
    learner = probe(runs)
    learner.initialise([generator("cpu", "init", seed) for seed in range(runs)])
    return learner, FlatParameters(learner)


def gradients(runs: int) -> list[Tensor]:
    """A gradient (runs, stacks, size) for every step; sizes vary so that some steps are clipped."""
    draw = generator("cpu", "gradients")
    shape = (runs, 2, HIDDEN + 1)
    return [torch.randn(shape, generator=draw) * 10 ** (step % 4 - 2) for step in range(STEPS)]


def train(recipes: list[Recipe], found: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Flat values after all steps, and the norms that each step returned."""
    _, flat = start(len(recipes))
    optimizer = AdamW(flat, recipes, STEPS)
    norms = []
    for number, gradient in enumerate(found, 1):
        flat.gradients.copy_(gradient)
        norms.append(optimizer.step(number))
    return flat.values, norms


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_with_bias_correction_it_is_torchs_adamw(decay: float, clip: float | None) -> None:
    one = recipe(
        bias_correction=True,
        weight_decay=decay,
        clip_norm=clip,
        learning_rate=0.01,
        schedule="linear",
        adam_beta1=0.8,
        adam_beta2=0.97,
        adam_eps=1e-6,
    )
    found = gradients(1)
    values, norms = train([one], found)
    _, flat = start(1)
    for stack in (0, 1):  # a stack has its own optimizer and its own clip
        parameter = torch.nn.Parameter(flat.values[0, stack].clone())
        library = torch.optim.AdamW(
            [parameter], lr=0.01, betas=(0.8, 0.97), eps=1e-6, weight_decay=decay
        )
        for step in range(STEPS):
            parameter.grad = found[step][0, stack].clone()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_([parameter], clip)
            library.param_groups[0]["lr"] = 0.01 * (STEPS - step) / STEPS
            library.step()
            assert float(norms[step][0, stack]) == pytest.approx(
                float(found[step][0, stack].norm())
            )
        torch.testing.assert_close(values[0, stack], parameter.detach(), rtol=2e-5, atol=1e-6)


def recursion(
    value: np.ndarray[Any, Any], found: list[np.ndarray[Any, Any]], one: Recipe
) -> np.ndarray[Any, Any]:
    """Adam without bias correction, as transformers 2.5 wrote it (correct_bias=False), in fp64."""
    m, v = np.zeros_like(value), np.zeros_like(value)
    for g in found:
        if one.clip_norm is not None:
            g = g * min(1.0, one.clip_norm / (math.sqrt((g**2).sum()) + 1e-6))  # noqa: PLW2901
        m = one.adam_beta1 * m + (1 - one.adam_beta1) * g
        v = one.adam_beta2 * v + (1 - one.adam_beta2) * g * g
        value = value - one.learning_rate * m / (np.sqrt(v) + one.adam_eps)
    return value


def test_without_bias_correction_each_run_and_stack_follows_its_own_recursion() -> None:
    recipes = [
        recipe(learning_rate=rate, clip_norm=clip)
        for rate, clip in ((3e-5, 0.1), (1e-3, None), (0.02, 1.0), (0.5, 30.0))
    ]
    found = gradients(4)
    values, _ = train(recipes, found)
    _, flat = start(4)
    for run, one in enumerate(recipes):
        for stack in (0, 1):
            own = [gradient[run, stack].double().numpy() for gradient in found]
            expected = recursion(flat.values[run, stack].double().numpy(), own, one)
            np.testing.assert_allclose(values[run, stack].numpy(), expected, rtol=2e-5, atol=2e-6)


def test_rates_and_clips_of_a_stacked_cohort_equal_separate_runs() -> None:
    recipes = [
        recipe(learning_rate=rate, clip_norm=clip, weight_decay=0.1, bias_correction=True)
        for rate, clip in ((1e-4, 0.1), (3e-2, None), (1e-1, 2.0))
    ]
    found = gradients(3)
    together, _ = train(recipes, found)
    for run, one in enumerate(recipes):
        _, flat = start(3)
        alone = FlatParameters(probe(1))
        alone.values.copy_(flat.values[run : run + 1])
        optimizer = AdamW(alone, [one], STEPS)
        for number, gradient in enumerate(found, 1):
            alone.gradients.copy_(gradient[run : run + 1])
            optimizer.step(number)
        torch.testing.assert_close(together[run], alone.values[0], rtol=1e-6, atol=1e-7)


def test_a_clip_shrinks_only_the_stack_that_is_too_long() -> None:
    # one step without bias correction from m = v = 0: the step is rate * 0.1 g / (sqrt(0.001) |g|),
    # whatever g's length, so the clip shows in Adam's first moment: 0.1 g clipped
    _, flat = start(1)
    optimizer = AdamW(flat, [recipe(clip_norm=2.0)], STEPS)
    flat.gradients[0, 0] = torch.tensor([3.0, 0, 4.0, 0, 0, 0])  # norm 5, clipped to 2
    flat.gradients[0, 1] = torch.tensor([0, 1.0, 0, 0, 0, 0])  # norm 1, kept
    norms = optimizer.step(1)
    assert norms.tolist() == [[5.0, 1.0]]
    expected = torch.tensor([[[0.12, 0, 0.16, 0, 0, 0], [0, 0.1, 0, 0, 0, 0]]])
    torch.testing.assert_close(optimizer.first, expected)


@pytest.mark.parametrize(
    ("warmup", "schedule", "steps", "expected"),
    [
        (0.0, "constant", 4, [1, 1, 1, 1]),
        (0.5, "constant", 4, [0, 0.5, 1, 1]),
        (0.0, "linear", 4, [1, 0.75, 0.5, 0.25]),
        (0.0, "bert", 4, [1, 0.75, 0.5, 0.25]),
        # two rising steps of ten, then eight falling from 8/8 to 1/8
        (0.2, "linear", 10, [0, 0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]),
        # the same decay without rescaling: 1 - g/N from the third step
        (0.2, "bert", 10, [0, 0.5, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
        # 1.5 rising steps: the Trainer takes two, BERT's code one
        (0.3, "linear", 5, [0, 0.5, 1, 2 / 3, 1 / 3]),
        (0.3, "bert", 5, [0, 0.8, 0.6, 0.4, 0.2]),
        # 0.07 * 100 is 7.000000000000001 in floating point: seven steps
        (0.07, "linear", 100, [g / 7 for g in range(7)] + [(100 - g) / 93 for g in range(7, 100)]),
    ],
)
def test_the_schedule_has_the_values_worked_out_by_hand(
    warmup: float, schedule: str, steps: int, expected: list[float]
) -> None:
    one = recipe(warmup=warmup, schedule=schedule)
    found = [scheduled(one, number, steps) for number in range(1, steps + 1)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("steps", [1, 2, 7, 33, 100])
@pytest.mark.parametrize("warmup", [0.0, 0.06, 0.1, 0.99])
@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_the_schedule_is_that_of_transformers_step_by_step(
    steps: int, warmup: float, schedule: str
) -> None:
    """Its Trainer rounds the steps of a warm-up up (`TrainingArguments.get_warmup_steps`)."""
    from transformers import get_scheduler

    name = schedule if schedule == "linear" else "constant_with_warmup"
    rising = math.ceil(steps * warmup)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    library = get_scheduler(name, optimizer, rising, steps)
    one = recipe(warmup=warmup, schedule=schedule)
    for number in range(1, steps + 1):
        assert scheduled(one, number, steps) == pytest.approx(library.get_last_lr()[0])
        optimizer.step()
        library.step()


@pytest.mark.parametrize("steps", [1, 2, 7, 33, 100])
@pytest.mark.parametrize("warmup", [0.0, 0.06, 0.1, 0.99])
def test_berts_schedule_is_its_formula(steps: int, warmup: float) -> None:
    """google-research/bert, optimization.py: polynomial decay of power 1 to 0 over all steps,
    replaced by g / W while g < W = int(N * warmup).
    """
    one, rising = recipe(warmup=warmup, schedule="bert"), int(steps * warmup)
    for g in range(steps):
        decayed = (1.0 - 0.0) * (1 - min(g, steps) / steps) ** 1 + 0.0
        expected = g / rising if g < rising else decayed
        assert scheduled(one, g + 1, steps) == pytest.approx(expected)


def test_the_norm_of_many_parameters_is_that_of_double_precision() -> None:
    """24 million parameters, as many as MiniLM has: in single precision the sum is 0.1 % off."""
    one = recipe(clip_norm=None)
    learner = probe(1, 12_000_000)
    flat = FlatParameters(learner)
    flat.gradients.normal_(generator=generator("cpu", "gradients")).mul_(1e-3)
    expected = np.linalg.norm(flat.gradients.double().numpy(), axis=2)
    norms = AdamW(flat, [one], 10).step(1)
    np.testing.assert_allclose(norms.numpy(), expected, rtol=1e-6)


def test_flat_parameters_share_memory_with_the_learners() -> None:
    learner, flat = start(2)
    assert flat.values.shape == (2, 2, HIDDEN + 1)
    flat.values.fill_(0.5)
    assert all(torch.equal(p, torch.full_like(p, 0.5)) for p in learner.parameters())
    for _ in range(2):
        flat.accumulate(learner.scorer.weight.sum() + 2 * learner.scorer.bias.sum())
    # twice the gradient: 2 for every weight, 4 for the bias
    assert flat.gradients[1, 0].tolist() == [2.0] * HIDDEN + [4.0]
