"""Runs inside T5 that cannot be trained are refused when they are planned, with what can be."""

from __future__ import annotations

from typing import Any

import pytest
from run_samples import TASK, run_spec, written
from writer_samples import hyperformer, plain, written_run

from repro.errors import ReproError
from repro.methods.fine_tuning import FullFineTuning, LayerNorms
from repro.methods.linear_probe import LinearProbe
from repro.methods.t5 import T5FineTuning
from repro.spec import RunSpec
from repro.spec.method import Method, methods

PARENT = {"multi-task": "0" * 64}


def refusal(spec: RunSpec) -> str:
    with pytest.raises(ReproError) as caught:
        spec.check()
    return str(caught.value)


def with_recipe(**changes: Any) -> RunSpec:
    spec = written_run()
    return spec.model_copy(update={"recipe": spec.recipe.model_copy(update=changes)})


ACCEPTED: list[Method] = [
    T5FineTuning(), plain(), hyperformer("slot"), hyperformer("stack"), hyperformer("kind"),
    hyperformer("slot", projector=None), hyperformer(blocks=False), hyperformer(norm="none"),
]  # fmt: skip


@pytest.mark.parametrize("method", ACCEPTED)
def test_what_fits_is_accepted(method: Method) -> None:
    written_run(method).check()
    written_run(method, ("span-corruption",)).check()
    written_run(method, parents={"pretrained": "0" * 64}).check()


@pytest.mark.parametrize("method", [T5FineTuning(), plain(), hyperformer()])
def test_a_method_inside_t5_wants_a_t5(method: Method) -> None:
    said = refusal(run_spec(method, task=written()))
    assert f"'{method.kind}' trains inside T5, and tiny is none" in said
    assert "--backbone google-t5/t5-small" in said


@pytest.mark.parametrize("method", [LinearProbe(layer=1), FullFineTuning(), LayerNorms()])
def test_a_method_for_an_encoder_refuses_a_t5(method: Method) -> None:
    said = refusal(written_run(method))
    assert f"which the method '{method.kind}' does not know" in said
    assert "'t5-fine-tuning', 't5-adapters', 'hyperformer'" in said


def test_a_task_of_text_to_text_and_the_methods_inside_t5_go_together() -> None:
    assert "'squad2' and the method 'hyperformer' do not fit" in refusal(written_run(task=TASK))
    said = refusal(run_spec(FullFineTuning(), task=written()))
    assert "'text-to-text' and the method 'full-fine-tuning' do not fit" in said


def test_every_method_is_either_inside_t5_or_refuses_one() -> None:
    assert {kind for kind, cls in methods().items() if cls.family == "t5"} == {
        "t5-fine-tuning", "t5-adapters", "hyperformer",
    }  # fmt: skip


def test_a_reduction_that_does_not_divide_the_hidden_size_is_refused() -> None:
    for method in (plain(reduction=3), hyperformer(reduction=3)):
        said = refusal(written_run(method))
        assert "hidden size 16" in said
        assert "no multiple of the reduction 3. Choose another, such as 8, 16." in said


def test_without_the_projector_both_widths_are_one_and_every_slot_has_generators() -> None:
    said = refusal(written_run(hyperformer("slot", projector=None, task_embedding=5)))
    assert "their widths are 6 (method.projected) and 5 (method.task_embedding)" in said
    for kind in ("stack", "kind"):
        said = refusal(written_run(hyperformer(kind, projector=None)))
        assert f"Generators for each '{kind}' read embeddings that the projector joins" in said


def test_an_adapter_of_which_nothing_is_left_is_refused() -> None:
    said = refusal(written_run(hyperformer(blocks=False, norm="none")))
    assert "norm is 'none' (method.norm) leaves no adapter" in said
    said = refusal(written_run(hyperformer(blocks=False, norm="shared")))
    assert "norm is 'shared' (method.norm) generates nothing" in said


@pytest.mark.parametrize("method", [plain, hyperformer])
def test_a_start_names_a_run_a_task_and_has_one_task(method: Any) -> None:
    start = method(starts_from="mnli")
    written_run(start, ("cb",), parents=PARENT).check()
    assert "(the parent 'multi-task') and the task" in refusal(written_run(start, ("cb",)))
    said = refusal(written_run(method(), ("cb",), parents=PARENT))
    assert "(method.starts_from)" in said
    said = refusal(written_run(start, ("cb", "imdb"), parents=PARENT))
    assert "trains one task, not 2: cb, imdb" in said


def test_full_fine_tuning_starts_from_a_run_as_a_whole() -> None:
    written_run(T5FineTuning(), ("cb",), parents=PARENT).check()


@pytest.mark.parametrize(("steps", "fits"), [(10, False), (11, True), (15, True), (16, False)])
def test_the_last_look_is_after_the_last_step(steps: int, fits: bool) -> None:
    spec = with_recipe(epochs=3, look_steps=5, steps=steps)
    if fits:
        spec.check()
    else:
        said = refusal(spec)
        assert f"3 looks with 5 steps before each are 11 to 15 steps, not {steps}" in said


def test_steps_are_of_tasks_whose_rows_are_drawn_and_of_no_others() -> None:
    assert "(recipe.look_steps)" in refusal(with_recipe(look_steps=None))
    for spec in (run_spec(recipe__look_steps=5), run_spec(recipe__steps=5)):
        assert "A run on 'squad2' counts epochs" in refusal(spec)


def test_decay_of_matrices_alone_is_refused_where_vectors_cannot_be_told_from_them() -> None:
    said = refusal(with_recipe(weight_decay=0.1, decayed="matrices"))
    assert "set recipe.decayed to 'all'" in said
    with_recipe(weight_decay=0.1).check()


def test_rows_that_are_drawn_have_no_order() -> None:
    """It would be another key for the same numbers."""
    assert "leave recipe.order at 'shuffled'" in refusal(with_recipe(order="length-buckets"))
