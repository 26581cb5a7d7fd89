"""Batches of examples: their order is a function of task and seed only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from repro.methods.layout import Layout
from repro.methods.learner import Inputs
from repro.methods.randomness import stream_seed
from repro.spec.identity import canonical_json, identity_fields
from repro.spec.tagging import UNTAGGED
from repro.spec.types import RunSpec
from repro.tasks.data import Example

BUCKET_BATCHES = 50
"""With length buckets, examples are sorted within pools of this many batches."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded examples on the CPU."""

    input_ids: Tensor  # (batch, length), int64
    attention_mask: Tensor  # (batch, length), int64
    type_ids: Tensor  # (batch, length), int64
    targets: Tensor  # (batch, ...): int64 positions (start, end) or classes, or fp32 numbers


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
    targets = torch.as_tensor(np.array([_target(example, length) for example in examples]))
    if targets.is_floating_point():
        targets = targets.float()
    return Batch(ids, mask, types, targets)


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
    return Inputs(ids, mask, types, layout, [])


def length_sorted(examples: Sequence[Example], tokens: int) -> list[list[int]]:
    """Indices of examples in batches of like length, each at most `tokens` padded tokens."""
    order = sorted(range(len(examples)), key=lambda i: -len(examples[i].input_ids))
    batches: list[list[int]] = []
    for index in order:
        longest = len(examples[batches[-1][0]].input_ids) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
