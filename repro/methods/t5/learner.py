"""A run that trains inside T5: all of it, plain adapters, or generated ones.

The learner has a copy of the model's modules that shares every frozen weight with the loaded model.
Adapters are hooks on the copy's modules. T5's own dropout draws from torch's global generators,
which `prepare` seeds at every step from the run's seed and the step: so a resumed run draws what an
unbroken one does, and a run trains alone in its group.

A run of one new task (Karimi Mahabadi et al. 2021: few-shot) takes from a multi-task run everything
that the tasks of that run share as it is, and what is of the task `starts_from` alone, its
embedding or its bottlenecks, for the new task.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.errors import ReproError
from repro.methods.modules.learner import Inputs, Learner
from repro.methods.modules.randomness import Dropout, stream_seed
from repro.methods.t5 import InsideT5
from repro.methods.t5.adapters import Adapters, insert, norms_of, set_dropout
from repro.methods.t5.generators import GeneratedAdapters
from repro.spec import RunSpec, TextToText

CACHE = ("cache", "past_key_values")
"""What the library calls a decoder's kept keys and values: from 5.24 on, and before."""

OF_A_TASK = ("embeddings", "tasks")
"""What stands in a parameter's name before the name of its task."""


class Writer(Learner):
    """One run of a method inside T5; its parameters are what is trained, without leading axes.

    "model." of full fine-tuning; else "adapters." and, of T5's own layer norms, "norms.".
    """

    reads_states = False
    stacked = False
    runs = stacks = 1

    def __init__(self, spec: RunSpec, encoder: Encoder) -> None:
        super().__init__()
        assert isinstance(spec.task, TextToText)
        self.spec, self.tasks = spec, spec.task.tasks
        method = spec.method
        assert isinstance(method, InsideT5)
        whole, train_norms = method.trains_encoder, method.trains_norms
        norms = [n for part in norms_of(encoder.model).values() for n in part.values()]
        model = encoder.shared_copy([encoder.model] if whole else norms * train_norms)
        set_dropout(model, method.dropout)
        self._model = (model,)  # in a tuple: what is frozen is no part of the learner
        self._now: dict[str, list[Adapters]] = {}
        if whole:
            self.model = model
        if not whole:
            insert(model, self._adapter)
        self.adapters = method.adapters(self.tasks, spec.backbone.layers, spec.backbone.hidden_size)
        if train_norms:
            self.norms = nn.ModuleDict(
                {stack: nn.ModuleDict(part) for stack, part in norms_of(model).items()}
            )
        self.idles = not whole and len(self.tasks) > 1  # a step is of one task

    @property
    def model_inside(self) -> nn.Module:
        """The library's model with what this run puts into it, frozen parts included."""
        return self._model[0]

    # -- a pass -------------------------------------------------------------------------------

    def _adapter(self, stack: str, slot: int) -> Adapters | None:
        return self._now[stack][slot] if self._now else None

    @contextmanager
    def _adapters_of(self, task: int) -> Iterator[Any]:
        """The model, with the adapters of a task: they are made once, whatever is then run."""
        if self.adapters is not None:
            made = self.adapters(self.tasks[task])
            self._now = {stack: adapters.each() for stack, adapters in made.items()}
        try:
            yield self._model[0]
        finally:
            self._now = {}

    def train(self, mode: bool = True) -> Writer:
        """The frozen part's dropout follows."""
        super().train(mode)
        self._model[0].train(mode)
        return self

    def prepare(self, step: int, seeds: Sequence[int]) -> None:
        """Seeds torch's generators, of every device, for the dropout of this step."""
        torch.manual_seed(stream_seed("dropout", seeds[0], step))

    def forward(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """(1, batch, target length, vocabulary): each token given those written before it."""
        assert inputs.written is not None
        with self._adapters_of(inputs.task) as model:
            found: Tensor = model(
                input_ids=inputs.input_ids,
                attention_mask=inputs.attention_mask,
                decoder_input_ids=model.prepare_decoder_input_ids_from_labels(inputs.written),
                use_cache=False,
            ).logits
        return found.unsqueeze(0)

    def answer(self, inputs: Inputs, dropout: Dropout) -> Tensor:
        """What is written greedily: tokens (1, batch, inputs.longest), int64."""
        with self._adapters_of(inputs.task) as model:
            written = greedy(model, inputs.input_ids, inputs.attention_mask, inputs.longest)
        return written.unsqueeze(0)

    # -- before and after training ------------------------------------------------------------

    def initialise(self, streams: list[torch.Generator]) -> None:
        """Draws what is new from the one run's stream; T5's weights stay those of the model."""
        if self.adapters is not None:
            self.adapters.initialise(streams[0])

    def start_from(self, spec: RunSpec, tensors: Mapping[str, Tensor]) -> None:
        """Takes what a multi-task run trained; this run's one task starts as `starts_from`.

        Raises ReproError where that run's method is another one.
        """
        own = dict(self.named_parameters())
        found = taken_from(spec, tensors, self.spec, own)
        with torch.no_grad():
            for name, parameter in own.items():
                parameter.copy_(found[name])

    def embeddings(self) -> dict[str, list[float]]:
        """Task -> z_tau, where the adapters are generated."""
        if not isinstance(self.adapters, GeneratedAdapters):
            return {}
        found = [(task, self.adapters.embeddings[task]) for task in self.tasks]
        return {task: z.tolist() for task, z in found}


def taken_from(
    parent: RunSpec, tensors: Mapping[str, Tensor], child: RunSpec, own: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The child's parameters -> the parent's tensors, all of them of the same shapes.

    `tensors`: the parent's artefact. Raises ReproError where the two do not fit.
    """
    start = _start_of(parent, child)
    assert isinstance(child.task, TextToText)
    found = {name: _renamed(name, child.task.tasks[0], start) for name in own}
    expected = {n for n in tensors if start is None or _task_in(n) in (None, start)}
    unknown = sorted(set(found.values()) ^ expected)
    if unknown:
        raise ReproError(
            f"The run to start from and this one do not train the same parts: {unknown[0]} and "
            f"{len(unknown) - 1} others are in one of them only. Give both the same method."
        )
    for name, theirs in found.items():
        if tensors[theirs].shape != own[name].shape:
            raise ReproError(
                f"{theirs} of the run to start from has the shape {tuple(tensors[theirs].shape)}, "
                f"and this run's {tuple(own[name].shape)}. Give both the same backbone and the "
                "same sizes of the method."
            )
    return {name: tensors[theirs] for name, theirs in found.items()}


def _start_of(parent: RunSpec, child: RunSpec) -> str | None:
    """The parent's task whose part is taken; None where all is shared."""
    if parent.method.kind != child.method.kind:
        raise ReproError(
            f"A run of '{child.method.kind}' cannot start from one of '{parent.method.kind}'. "
            "Name a run of the same method as the parent 'multi-task'."
        )
    start: str | None = getattr(child.method, "starts_from", None)
    known = parent.task.tasks if isinstance(parent.task, TextToText) else ()
    if start is not None and start not in known:
        raise ReproError(
            f"The run to start from was not trained on '{start}'; its tasks are "
            f"{', '.join(known)}. Choose one of them (method.starts_from)."
        )
    return start


def _task_in(name: str) -> str | None:
    """The task that a parameter is of; None where tasks share it."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts[:-1]) if part in OF_A_TASK]
    return parts[places[0] + 1] if parts[0] == "adapters" and places else None


def _renamed(name: str, task: str, start: str | None) -> str:
    """The parent's name of the parameter `name` of a run of `task`."""
    if start is None or _task_in(name) != task:
        return name
    parts = name.split(".")
    parts[parts.index(task)] = start
    return ".".join(parts)


def greedy(model: Any, input_ids: Tensor, attention_mask: Tensor, longest: int) -> Tensor:
    """The most likely next token, one after another: (batch, longest), int64.

    One beam and no sampling, as in the released code.
    After the end of text, and where the rest of the batch writes longer, stands the padding token.
    The encoder runs once; keys and values of what was written are kept.
    """
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    config, batch = model.config, len(input_ids)
    states = model.get_encoder()(input_ids=input_ids, attention_mask=attention_mask)[0]
    kept = {_cache_name(model): EncoderDecoderCache(DynamicCache(), DynamicCache())}
    written = input_ids.new_full((batch, longest), config.pad_token_id)
    last = input_ids.new_full((batch, 1), config.decoder_start_token_id)
    ended = torch.zeros(batch, dtype=torch.bool, device=input_ids.device)
    for place in range(longest):
        scores = model(
            encoder_outputs=(states,), attention_mask=attention_mask, decoder_input_ids=last,
            use_cache=True, **kept,
        ).logits[:, -1]  # fmt: skip
        found = scores.argmax(-1).masked_fill(ended, config.pad_token_id)
        written[:, place] = found
        ended |= found == config.eos_token_id
        if bool(ended.all()):
            break
        last = found.unsqueeze(1)
    return written


def _cache_name(model: Any) -> str:
    """The name of the argument that holds the cache, in the installed library."""
    known = inspect.signature(type(model).forward).parameters
    return next(name for name in CACHE if name in known)
