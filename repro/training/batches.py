"""Batches of examples: their order is a function of task and seed only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import stream_seed
from repro.spec import TextToText
from repro.spec.identity import canonical_json, identity_fields
from repro.spec.tagging import UNTAGGED
from repro.spec.text_to_text import probabilities
from repro.spec.types import RunSpec
from repro.tasks.data import UNWRITTEN, Answer, Example

BUCKET_BATCHES = 50
"""With length buckets, examples are sorted within pools of this many batches."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded examples on the CPU."""

    input_ids: Tensor  # (batch, length), int64
    attention_mask: Tensor  # (batch, length), int64
    type_ids: Tensor  # (batch, length), int64
    targets: Tensor  # (batch, ...): int64 positions (start, end), classes, or tokens of answers
    # (UNWRITTEN on padding), or fp32 numbers
    longest: int = 0
    task: int = 0
    full: bool = False
    """No token is padding."""


def epoch_order(spec: RunSpec, epoch: int, lengths: Sequence[int]) -> list[NDArray[np.int64]]:
    """The batches of `epoch` (from 1) as indices of examples; the last one may be short."""
    task = canonical_json(identity_fields(spec.task))
    draw = np.random.Generator(np.random.PCG64(stream_seed("order", task, spec.seed, epoch)))
    order = draw.permutation(len(lengths))
    size = spec.recipe.batch_size
    if spec.recipe.order == "length-buckets":
        sizes = np.asarray(lengths)
        pool = BUCKET_BATCHES * size
        pools = [order[i : i + pool] for i in range(0, len(order), pool)]
        order = np.concatenate([p[np.argsort(sizes[p], kind="stable")] for p in pools])
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    if spec.recipe.order == "length-buckets":
        batches = [batches[i] for i in draw.permutation(len(batches))]
    return batches


def drawn_order(spec: RunSpec, look: int, tasks: Sequence[int]) -> list[NDArray[np.int64]]:
    """The batches before look `look` (from 1) of a run that draws rows with replacement.

    `tasks` says of which task each training row is. A batch is of one task, drawn by its rows and
    the mixture's temperature. Any look's batches can be had without those before it.
    """
    assert isinstance(spec.task, TextToText)
    assert spec.recipe.look_steps is not None
    unnamed = spec.task.model_copy(update={"prefix": False})  # all methods read the same rows
    task = canonical_json(identity_fields(unnamed))
    draw = np.random.Generator(np.random.PCG64(stream_seed("order", task, spec.seed, look)))
    of = np.asarray(tasks)
    rows = [np.flatnonzero(of == number) for number in range(len(spec.task.tasks))]
    share = probabilities(tuple(map(len, rows)), spec.task.temperature)
    drawn = draw.choice(len(rows), size=spec.recipe.look_steps, p=share)
    return [draw.choice(rows[number], size=spec.recipe.batch_size) for number in drawn]


def collate(examples: Sequence[Example], pad_id: int, length: int | None = None) -> Batch:
    """Pads to the longest example, or to `length`."""
    length = length or max(len(example.input_ids) for example in examples)
    ids = torch.full((len(examples), length), pad_id, dtype=torch.int64)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, example in enumerate(examples):
        size = len(example.input_ids)
        ids[row, :size] = torch.tensor(example.input_ids)
        types[row, :size] = torch.tensor(example.type_ids)
        mask[row, :size] = 1
    full = min(len(example.input_ids) for example in examples) == length
    first = examples[0].target
    if isinstance(first, Answer):
        return Batch(ids, mask, types, _answers(examples), first.longest, examples[0].task, full)
    targets = torch.as_tensor(np.array([_target(example, length) for example in examples]))
    if targets.is_floating_point():
        targets = targets.float()
    return Batch(ids, mask, types, targets, full=full)


def _answers(examples: Sequence[Example]) -> Tensor:
    """(batch, longest of them), int64, padded with UNWRITTEN."""
    rows = [torch.tensor(example.target.tokens, dtype=torch.int64) for example in examples]
    return pad_sequence(rows, batch_first=True, padding_value=UNWRITTEN)


def _target(example: Example, length: int) -> Any:
    """The target as it is; tags, one a token, are padded like the tokens."""
    target = example.target
    if not isinstance(target, np.ndarray):
        return target
    return np.pad(target, (0, length - len(target)), constant_values=UNTAGGED)


def placed(batch: Batch, device: torch.device, *, keep_padding: bool = False) -> Inputs:
    """The batch on `device` as a learner reads it, without states."""
    layout = Layout.of(batch.attention_mask, keep_padding=keep_padding).to(device)
    ids, mask, types = (
        tensor.to(device, non_blocking=True)
        for tensor in (batch.input_ids, batch.attention_mask, batch.type_ids)
    )
    written = batch.targets.to(device, non_blocking=True) if batch.longest else None
    return Inputs(ids, mask, types, layout, [], written, batch.longest, batch.task)


def length_sorted(examples: Sequence[Example], tokens: int) -> list[list[int]]:
    """Indices of examples in batches of one task and of like length, each at most `tokens` padded
    tokens.
    """
    order = sorted(
        range(len(examples)), key=lambda i: (examples[i].task, -len(examples[i].input_ids))
    )
    batches: list[list[int]] = []
    for index in order:
        first = examples[batches[-1][0]] if batches else examples[index]
        fits = batches and (len(batches[-1]) + 1) * len(first.input_ids) <= tokens
        if fits and first.task == examples[index].task:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
