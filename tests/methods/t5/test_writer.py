"""The learner inside T5 against the library's own model, decoding and loss."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from run_samples import RECIPE
from torch import Tensor
from torch.nn import functional as F
from writer_samples import (
    SMALL,
    hyperformer,
    no_dropout,
    plain,
    small_t5,
    writer_of,
    written_batch,
    written_run,
)

from repro.backbones.load import Encoder
from repro.methods.t5 import T5FineTuning
from repro.methods.t5.learner import Writer
from repro.spec.method import Method
from repro.training.cohort import Cohort

METHODS: list[Method] = [
    T5FineTuning(), plain(), hyperformer("slot"), hyperformer("stack"), hyperformer("kind"),
]  # fmt: skip
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.kind)


def logits(writer: Writer, **changes: Any) -> Tensor:
    with torch.no_grad():
        found: Tensor = writer(written_batch(**changes), no_dropout())
    return found


def test_an_untrained_fine_tuning_run_gives_what_the_librarys_model_gives() -> None:
    model: Any = small_t5()
    writer = writer_of(written_run(T5FineTuning()), model)
    batch = written_batch()
    with torch.no_grad():
        expected = model(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=batch.written
        )
        found = writer(batch, no_dropout())
    assert found.shape == (1, 5, batch.written.shape[1], 50)  # type: ignore[union-attr]
    assert torch.equal(found[0], expected.logits)
    loss = F.cross_entropy(found.flatten(0, 2), batch.written.flatten())  # type: ignore[union-attr]
    assert torch.equal(loss, expected.loss)


@every_method
@pytest.mark.parametrize("longest", [1, 3, 8])
def test_answers_are_those_of_the_librarys_greedy_search(method: Method, longest: int) -> None:
    """The library runs the same hooked model, with its own decoding loop."""
    writer = writer_of(written_run(method), scale=0.3)
    batch = written_batch(task=2, rows=24, longest=longest)
    model: Any = writer.model_inside
    with torch.no_grad(), writer._adapters_of(2):
        expected = model.generate(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask,
            max_new_tokens=longest, num_beams=1, do_sample=False,
        )[:, 1:]  # fmt: skip
        found = writer.answer(batch, no_dropout())
    assert found.shape == (1, 24, longest)
    assert found.dtype == torch.int64
    expected = F.pad(expected, (0, longest - expected.shape[1]))
    assert torch.equal(found[0], expected)


def test_padding_stands_after_the_end_of_a_text() -> None:
    writer = writer_of(written_run(T5FineTuning()))
    with torch.no_grad():
        found = writer.answer(written_batch(rows=100, longest=8), no_dropout())[0]
    ends = [row.tolist().index(1) if 1 in row else 8 for row in found]
    assert set(ends) > {0, 8}
    for row, end in zip(found, ends, strict=True):
        assert not row[end + 1 :].any()


@every_method
def test_a_row_has_the_same_scores_alone_and_in_a_padded_batch(method: Method) -> None:
    writer = writer_of(written_run(method), scale=0.3)
    batch = written_batch()
    whole = logits(writer)
    for row in range(5):
        length = int(batch.attention_mask[row].sum())
        alone = copy.copy(batch)
        object.__setattr__(alone, "input_ids", batch.input_ids[row : row + 1, :length])
        object.__setattr__(alone, "attention_mask", batch.attention_mask[row : row + 1, :length])
        object.__setattr__(alone, "written", batch.written[row : row + 1])  # type: ignore[index]
        with torch.no_grad():
            found = writer(alone, no_dropout())
        torch.testing.assert_close(found[0, 0], whole[0, row], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", METHODS[1:], ids=lambda m: m.kind)
def test_tasks_are_scored_with_adapters_of_their_own(method: Method) -> None:
    writer = writer_of(written_run(method), scale=0.3)
    found = [logits(writer, task=task) for task in range(3)]
    assert not torch.allclose(found[0], found[1], atol=1e-2)
    assert not torch.allclose(found[1], found[2], atol=1e-2)
    assert torch.equal(found[1], logits(writer, task=1))


# -- what is shared, and what is trained ------------------------------------------------------


@every_method
def test_runs_of_one_model_do_not_meet(method: Method) -> None:
    model = small_t5()
    before = copy.deepcopy(model.state_dict())
    one, other = (writer_of(written_run(method), model, scale=0.3) for _ in range(2))
    expected = logits(other)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(1.0)
    assert torch.equal(logits(other), expected)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("method", METHODS[1:], ids=lambda m: m.kind)
def test_frozen_weights_are_the_models_own_and_no_part_of_the_learner(method: Method) -> None:
    model = small_t5()
    writer = writer_of(written_run(method), model)
    theirs = {parameter.data_ptr() for parameter in model.parameters()}
    inside = dict(writer.model_inside.named_parameters())
    assert {n for n, p in inside.items() if p.data_ptr() not in theirs} == {
        name for name in inside if "norm" in name
    }
    assert not theirs & {parameter.data_ptr() for parameter in writer.parameters()}
    assert not dict(writer.named_buffers())
    assert all(name.startswith(("adapters.", "norms.")) for name, _ in writer.named_parameters())


def test_t5s_norms_stay_frozen_where_the_method_says_so() -> None:
    writer = writer_of(written_run(hyperformer(t5_norms=False)))
    assert not [name for name, _ in writer.named_parameters() if name.startswith("norms.")]
    assert not any(parameter.requires_grad for parameter in writer.model_inside.parameters())


def test_full_fine_tuning_trains_every_parameter_the_shared_embedding_once() -> None:
    model: Any = small_t5()
    writer = writer_of(written_run(T5FineTuning()), model)
    names = [name for name, _ in writer.named_parameters()]
    assert names == [f"model.{name}" for name, _ in model.named_parameters()]
    assert sum(parameter.numel() for parameter in writer.parameters()) == SMALL.parameters
    inside: Any = writer.model_inside
    assert inside.lm_head.weight is inside.shared.weight
    assert inside.encoder.embed_tokens.weight is inside.shared.weight


@every_method
def test_a_run_learns_and_its_artefact_gives_the_same_answers(method: Method) -> None:
    """Through the training loop's own cohort: ten steps of Adam on one batch."""
    recipe = RECIPE.model_copy(
        update={"look_steps": 5, "learning_rate": 3e-3, "label_smoothing": 0.1}
    )
    spec = written_run(method, recipe=recipe)
    encoder = Encoder(small_t5(), None)
    cohorts = [Cohort([0], [spec], encoder, torch.device("cpu"), steps=10) for _ in range(2)]
    batch = written_batch(task=1, rows=8)
    assert batch.written is not None
    losses = []
    for step in range(1, 11):
        cohorts[0].prepare(step)
        losses.append(float(cohorts[0].accumulate(batch, batch.written[None], 1.0)))
        cohorts[0].optimizer.step(step)
    assert losses[-1] < losses[0]
    artefact = cohorts[0].artefact(0)
    assert set(artefact) == {name for name, _ in cohorts[0].learner.named_parameters()}
    cohorts[1].load_artefact(0, artefact)
    assert torch.equal(cohorts[0].evaluate(batch), cohorts[1].evaluate(batch))
    with torch.no_grad():
        learners = [cohort.learner.eval()(batch, no_dropout()) for cohort in cohorts]
    assert torch.equal(*learners)


# -- dropout ----------------------------------------------------------------------------------


@every_method
def test_dropout_is_the_steps_and_the_seeds_and_absent_in_evaluation(method: Method) -> None:
    writer = writer_of(written_run(method), scale=0.3)
    clean = logits(writer)
    writer.train()

    def at(step: int, seed: int) -> Tensor:
        writer.prepare(step, [seed])
        return logits(writer)

    first = at(7, 0)
    torch.rand(13)  # what is drawn elsewhere between steps plays no part
    assert torch.equal(at(7, 0), first)
    assert not torch.equal(at(8, 0), first)
    assert not torch.equal(at(7, 1), first)
    assert not torch.equal(first, clean)
    assert torch.equal(logits(writer.eval()), clean)


@every_method
def test_without_dropout_training_scores_as_evaluation_does(method: Method) -> None:
    """The small model's own rate is 0.1, in attention too."""
    still = method.model_copy(update={"dropout": 0.0})
    writer = writer_of(written_run(still), scale=0.3)
    clean = logits(writer)
    assert torch.equal(logits(writer.train()), clean)


def test_the_methods_rate_stands_everywhere_in_place_of_the_checkpoints() -> None:
    model = small_t5()
    writer = writer_of(written_run(hyperformer(dropout=0.25)), model)
    rates = [m.p for m in writer.model_inside.modules() if isinstance(m, torch.nn.Dropout)]
    attention = [
        m.dropout for name, m in writer.model_inside.named_modules() if name.endswith("Attention")
    ]
    assert set(rates) == set(attention) == {0.25}
    assert len(attention) == 2 + 2 * 2
    own = [m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)]
    assert set(own) == {0.1}


# -- precision, and how a learner is made -----------------------------------------------------


@every_method
def test_in_bf16_generated_tensors_and_trained_norms_stay_fp32(method: Method) -> None:
    spec = written_run(method, recipe=RECIPE.model_copy(update={"look_steps": 5}))
    writer = writer_of(spec, small_t5().bfloat16(), scale=0.3)
    assert all(parameter.dtype == torch.float32 for parameter in writer.parameters())
    with torch.autocast("cpu", torch.bfloat16):
        if writer.adapters is not None:
            for adapters in writer.adapters("rte").values():
                assert all(t is None or t.dtype == torch.float32 for t in adapters)
        scores, written = logits(writer), writer.answer(written_batch(), no_dropout())
    assert torch.isfinite(scores).all()
    assert written.shape == (1, 5, 6)


@every_method
def test_build_gives_the_learner_inside_t5(method: Method) -> None:
    learner = written_run(method).learner(1, Encoder(small_t5(), None))
    assert isinstance(learner, Writer)
    assert (learner.runs, learner.stacks, learner.stacked, learner.reads_states) == (
        1, 1, False, False,
    )  # fmt: skip


def test_embeddings_of_tasks_are_told_in_their_order() -> None:
    writer = writer_of(written_run(hyperformer(), ("rte", "cola", "yelp-polarity")))
    found = writer.embeddings()
    assert list(found) == ["rte", "cola", "yelp-polarity"]
    parameters = dict(writer.named_parameters())
    for task, z in found.items():
        assert z == parameters[f"adapters.embeddings.{task}"].tolist()
        assert len(z) == 6
    assert writer_of(written_run(plain())).embeddings() == {}
    assert writer_of(written_run(T5FineTuning())).embeddings() == {}
