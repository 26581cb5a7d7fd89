"""What cannot be trained inside T5 is refused when it is planned, with the choices that can."""

from __future__ import annotations

from repro.errors import ReproError
from repro.spec.kinds import MULTI_TASK, WRITING
from repro.spec.t5 import HyperFormer, T5Adapters, TextToText
from repro.spec.types import RunSpec

INSIDE_T5 = ", ".join(f"'{kind.model_fields['kind'].default}'" for kind in WRITING)


def check_writing(spec: RunSpec) -> None:
    """Raises ReproError where a task of text to text, a T5 and a method inside it do not meet."""
    writes, is_t5 = isinstance(spec.method, WRITING), spec.backbone.family == "t5"
    if writes and not is_t5:
        raise ReproError(
            f"The method '{spec.method.kind}' trains inside T5, and {spec.backbone.name} is none. "
            "Choose a T5 (--backbone google-t5/t5-small), or a method for an encoder."
        )
    if is_t5 and not writes:
        raise ReproError(
            f"{spec.backbone.name} is a T5, which the method '{spec.method.kind}' does not know. "
            f"Choose one that trains inside it ({INSIDE_T5}), or another --backbone."
        )
    if writes is not isinstance(spec.task, TextToText):
        raise ReproError(
            f"The task '{spec.task.name}' and the method '{spec.method.kind}' do not fit: the "
            f"methods inside T5 ({INSIDE_T5}), and no others, answer 'text-to-text' tasks."
        )
    _check_looks(spec)
    if not writes:
        return
    method = spec.method
    if isinstance(method, (T5Adapters, HyperFormer)):
        _check_adapters(method, spec)
    if isinstance(method, HyperFormer):
        _check_generators(method)


def _check_looks(spec: RunSpec) -> None:
    """A run that draws rows counts steps and has no order of them, any other counts epochs."""
    recipe = spec.recipe
    if not isinstance(spec.task, TextToText):
        if recipe.look_steps is not None or recipe.steps is not None:
            raise ReproError(
                f"A run on '{spec.task.name}' counts epochs: leave out recipe.look_steps and "
                "recipe.steps, which belong to 'text-to-text' tasks."
            )
        return
    if recipe.look_steps is None:
        raise ReproError(
            "A run on 'text-to-text' draws its rows, so it has no epochs: give the steps from one "
            "look at the validation rows to the next (recipe.look_steps)."
        )
    if recipe.order != "shuffled":
        raise ReproError(
            "A run on 'text-to-text' draws its rows one by one, so they have no other order: leave "
            f"recipe.order at 'shuffled', not '{recipe.order}'."
        )
    least, most = (recipe.epochs - 1) * recipe.look_steps + 1, recipe.epochs * recipe.look_steps
    if recipe.steps is not None and not least <= recipe.steps <= most:
        raise ReproError(
            f"{recipe.epochs} looks with {recipe.look_steps} steps before each are {least} to "
            f"{most} steps, not {recipe.steps}. Change recipe.epochs or recipe.steps."
        )


def _check_adapters(method: T5Adapters | HyperFormer, spec: RunSpec) -> None:
    hidden, task = spec.backbone.hidden_size, spec.task
    assert isinstance(task, TextToText)
    if hidden % method.reduction:
        choices = ", ".join(str(r) for r in (8, 16, 32, 64) if hidden % r == 0)
        raise ReproError(
            f"The hidden size {hidden} of {spec.backbone.name} is no multiple of the reduction "
            f"{method.reduction}. Choose another, such as {choices or 1}."
        )
    if (method.starts_from is None) is (MULTI_TASK in spec.parents):
        raise ReproError(
            "A run that starts from a multi-task run names both it (the parent "
            f"'{MULTI_TASK}') and the task whose part it takes (method.starts_from)."
        )
    if method.starts_from is not None and len(task.tasks) != 1:
        raise ReproError(
            f"What starts from one task's part (method.starts_from) trains one task, not "
            f"{len(task.tasks)}: {', '.join(task.tasks)}. Make a run of each."
        )
    if spec.recipe.weight_decay and spec.recipe.decayed == "matrices":
        raise ReproError(
            "Adapters inside T5 keep the biases of all slots in one tensor, so they cannot be told "
            "from matrices: set recipe.decayed to 'all', or recipe.weight_decay to 0."
        )


def _check_generators(method: HyperFormer) -> None:
    if not method.blocks and method.norm != "generated":
        left = "leaves no adapter" if method.norm == "none" else "generates nothing"
        raise ReproError(
            f"An adapter without its bottleneck (method.blocks) whose norm is '{method.norm}' "
            f"(method.norm) {left}. Keep the bottleneck, or a 'generated' norm."
        )
    if method.projector is not None:
        return
    if method.generators != "slot":
        raise ReproError(
            f"Generators for each '{method.generators}' read embeddings that the projector joins. "
            "Give its width (method.projector), or a set of generators to every 'slot'."
        )
    if method.task_embedding != method.projected:
        raise ReproError(
            f"Without the projector I_tau is z_tau, but their widths are {method.projected} "
            f"(method.projected) and {method.task_embedding} (method.task_embedding). Make them "
            "equal."
        )
