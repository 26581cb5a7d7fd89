"""A few-shot run starts from a multi-task run: what is shared, and the part of one task."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from writer_samples import (
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
from repro.methods.t5.learner import Writer
from repro.spec import RunSpec
from repro.spec.method import Method

PARENT = {"multi-task": "0" * 64}
METHODS: list[Method] = [
    T5FineTuning(), plain(), hyperformer("slot"), hyperformer("stack"), hyperformer("kind"),
    hyperformer("slot", projector=None), hyperformer(t5_norms=False), hyperformer(norm="shared"),
]  # fmt: skip
MODEL = small_t5()


def trained(method: Method) -> tuple[RunSpec, dict[str, Tensor], Writer]:
    """A multi-task run of cola, rte and mnli, all of its tensors moved."""
    spec = written_run(method)
    writer = writer_of(spec, MODEL, scale=0.3)
    with torch.no_grad():
        for name, parameter in writer.named_parameters():
            if not name.startswith("adapters."):
                parameter.mul_(1.1)
    return spec, {name: p.detach().clone() for name, p in writer.named_parameters()}, writer


def few_shot(method: Method, start: str | None = "mnli", task: str = "cb") -> Writer:
    if not isinstance(method, T5FineTuning):
        method = method.model_copy(update={"starts_from": start})
    return writer_of(written_run(method, (task,), parents=PARENT, seed=9), MODEL)


@pytest.mark.parametrize("method", METHODS)
def test_a_new_task_starts_as_the_task_it_is_like(method: Method) -> None:
    spec, tensors, parent = trained(method)
    child = few_shot(method)
    with torch.no_grad():
        before = child(written_batch(0), no_dropout())
        child.start_from(spec, tensors)
        found = child(written_batch(0), no_dropout())
        assert torch.equal(found, parent(written_batch(task=2), no_dropout()))
    assert not torch.allclose(found, before, atol=1e-2)
    assert all(parameter.requires_grad for parameter in child.parameters())
    with torch.no_grad():  # the parent's tensors are taken as copies
        next(child.parameters()).add_(1.0)
    assert all(torch.equal(p, tensors[name]) for name, p in parent.named_parameters())


def test_a_task_that_the_multi_task_run_knew_may_start_from_another() -> None:
    spec, tensors, parent = trained(hyperformer())
    child = few_shot(hyperformer(), "cola", task="rte")
    child.start_from(spec, tensors)
    assert child.embeddings() == {"rte": parent.embeddings()["cola"]}


def refusal(child: Writer, spec: RunSpec, tensors: dict[str, Tensor]) -> str:
    with pytest.raises(ReproError) as caught:
        child.start_from(spec, tensors)
    return str(caught.value)


def test_another_method_is_refused() -> None:
    spec, tensors, _ = trained(plain())
    said = refusal(few_shot(hyperformer()), spec, tensors)
    assert "A run of 'hyperformer' cannot start from one of 't5-adapters'" in said


def test_a_task_that_the_multi_task_run_lacks_is_refused() -> None:
    spec, tensors, _ = trained(hyperformer())
    said = refusal(few_shot(hyperformer(), "sst2"), spec, tensors)
    assert "not trained on 'sst2'; its tasks are cola, rte, mnli" in said


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [({"t5_norms": False}, {}), ({}, {"t5_norms": False}), ({}, {"generators": "kind"})],
)
def test_other_parts_are_refused(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    spec, tensors, _ = trained(hyperformer(**theirs))
    said = refusal(few_shot(hyperformer(**ours)), spec, tensors)
    assert "do not train the same parts" in said


def test_other_sizes_are_refused_with_both_shapes() -> None:
    spec, tensors, _ = trained(hyperformer())
    said = refusal(few_shot(hyperformer(task_embedding=5)), spec, tensors)
    assert "adapters.embeddings.mnli" in said
    assert "(6,)" in said
    assert "(5,)" in said
