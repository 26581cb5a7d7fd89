"""One task's generated adapters as plain ones: the same bits, in an ordinary artefact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from writer_samples import (
    TASKS,
    hyperformer,
    no_dropout,
    plain,
    small_t5,
    writer_of,
    written_batch,
    written_run,
)

from repro.errors import ReproError
from repro.methods.t5 import T5FineTuning
from repro.methods.t5.freeze import plain_adapters, plain_run
from repro.methods.t5.learner import Writer
from repro.spec import TextToText

VARIANTS: list[dict[str, Any]] = [
    {"generators": "slot"},
    {"generators": "stack"},
    {"generators": "kind"},
    {"generators": "stack", "norm": "shared"},
    {"generators": "slot", "projector": None},
    {"generators": "stack", "t5_norms": False},
]


def trained_writer(model: nn.Module, **changes: Any) -> Writer:
    """Every trained tensor is away from its first value, T5's norms too."""
    writer = writer_of(written_run(hyperformer(**changes)), model, scale=0.3)
    with torch.no_grad():
        for name, parameter in writer.named_parameters():
            if name.startswith("norms."):
                parameter.mul_(1.25)
    return writer


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("task", TASKS)
def test_frozen_in_adapters_give_the_same_bits(
    changes: dict[str, Any], task: str, tmp_path: Path
) -> None:
    model = small_t5()
    writer = trained_writer(model, **changes)
    path = tmp_path / "adapter.safetensors"
    save_file(plain_adapters(writer, task), path)

    spec = plain_run(writer.spec, task)
    spec.check()
    assert isinstance(spec.task, TextToText)
    assert spec.task.tasks == (task,)
    ordinary = writer_of(spec, model)
    tensors = load_file(path)
    parameters = dict(ordinary.named_parameters())
    assert {n: t.shape for n, t in tensors.items()} == {n: p.shape for n, p in parameters.items()}
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])

        place = TASKS.index(task)
        theirs, ours = written_batch(place, rows=16), written_batch(0, rows=16)
        scores = writer(theirs, no_dropout())
        assert torch.equal(ordinary(ours, no_dropout()), scores)
        answers = writer.answer(theirs, no_dropout())
        assert torch.equal(ordinary.answer(ours, no_dropout()), answers)
    elsewhere = writer(written_batch((place + 1) % 3, rows=16), no_dropout())
    assert not torch.allclose(elsewhere, scores, atol=1e-2)


def test_what_has_no_plain_form_is_refused() -> None:
    for changes in ({"blocks": False}, {"norm": "none"}):
        writer = writer_of(written_run(hyperformer(**changes)))
        with pytest.raises(ReproError, match="the adapters of this ablation lack one of them"):
            plain_adapters(writer, "cola")
    with pytest.raises(ReproError, match=r"no task 'qqp'\. Choose one of cola, rte, mnli"):
        plain_adapters(writer_of(written_run(hyperformer())), "qqp")
    for method in (plain(), T5FineTuning()):
        with pytest.raises(ReproError, match="are not generated, so there is nothing to freeze"):
            plain_adapters(writer_of(written_run(method)), "cola")
