"""The two simplest rows: a linear probe, and the reference that answers nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from run_samples import run_spec
from tiny_models import inputs_of, random_states, real_tokens, tiny_data, tiny_encoder

from repro.methods.linear_probe import LinearProbe
from repro.methods.modules.randomness import Dropout, generator
from repro.methods.untrained import AlwaysNull
from repro.tasks.squad2.decoding import answers, decode_batch


def test_a_probe_is_the_read_layer_times_weights_plus_bias() -> None:
    learner: Any = run_spec(LinearProbe(layer=2)).learner(2, tiny_encoder(3))
    learner.initialise([generator("cpu", "init", seed) for seed in (0, 1)])
    real, states = real_tokens([4, 6], 6), random_states(3, 2, 6)
    scores = learner(inputs_of(real, states), Dropout([])).detach().numpy()
    weight, bias = (p.detach().numpy() for p in (learner.scorer.weight, learner.scorer.bias))
    for run in (0, 1):
        for part in (0, 1):
            expected = states[1].numpy() @ weight[run, part, :, 0] + bias[run, part, 0]
            np.testing.assert_allclose(
                scores[run, part][real], expected[real.numpy()], rtol=1e-5, atol=1e-6
            )
    assert np.isneginf(scores[:, :, ~real.numpy()]).all()


def test_always_null_answers_no_question_under_any_protocol() -> None:
    learner = run_spec(AlwaysNull()).learner(3, tiny_encoder(3))
    assert list(learner.parameters()) == []
    evaluation = tiny_data().scoring
    windows = evaluation.windows
    length = max(len(window.input_ids) for window in windows)
    real = real_tokens([len(window.input_ids) for window in windows], length)
    scores = learner(inputs_of(real, []), Dropout([])).numpy()
    assert scores.shape == (3, 2, len(windows), length)
    for run in scores:
        outcomes = decode_batch(run[0], run[1], windows)
        for indices in evaluation.indices.values():
            for found in answers(outcomes, windows, evaluation.questions, indices).values():
                assert set(found.texts.values()) == {""}
    assert torch.equal(torch.tensor(scores[0]), torch.tensor(scores[2]))
