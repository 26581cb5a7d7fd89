"""A job's rehearsal: a few steps of the real code on a made-up model and made-up inputs.

The model has the exact shape of the backbone, its weights are drawn at random. Inputs are rows of
the generated sets, stretched with random tokens to the lengths of the published rows. So neither
data nor weights are needed, and every line of a real run is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.engine.cost import kind_of, typical_tokens
from repro.engine.jobs import Job, Rehearsal, make_job
from repro.engine.loaded import Loaded
from repro.spec import RunSpec, SquadTask, Task, TextToText
from repro.spec.backbones import BERT_POSITIONS, HEAD, bert_parameters
from repro.tasks.generated import WRITTEN, default_revision

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from repro.backbones.load import Encoder
    from repro.spec import Backbone
    from repro.tasks.data import Collector, Example, TaskData

SPREAD = 0.4
"""Of the logarithms of typical lengths (assumed)."""
SCORED = 8
"""Rows of every scored split."""
FIRST_TOKEN = 1_000
"""The ids below are special, or unused."""


def kinds(jobs: Sequence[Job], steps: int, batch_size: int | None) -> list[tuple[Job, list[Job]]]:
    """For each kind among `jobs`, parents first: the job that rehearses it, and those that it
    stands for. It has the members of the first of these, for so many steps; parents are the runs
    that rehearse theirs.
    """
    found: dict[str, tuple[Job, list[Job]]] = {}
    stands_for: dict[str, str] = {}
    for job in jobs:
        kind = kind_of(job)
        if kind not in found:
            specs = [_short(spec, steps, batch_size, stands_for) for spec in job.specs]
            found[kind] = make_job(specs), []
        found[kind][1].append(job)
        stands_for |= zip(job.keys, found[kind][0].keys, strict=True)
    return list(found.values())


def _short(
    spec: RunSpec, steps: int, batch_size: int | None, stands_for: Mapping[str, str]
) -> RunSpec:
    recipe = spec.recipe
    size = min(recipe.batch_size, batch_size or recipe.batch_size)
    changed = {"epochs": 1, "steps": None, "batch_size": size}
    changed |= {"look_steps": steps} if recipe.look_steps is not None else {}
    rows = {"train_rows": steps * size, "evaluation_rows": SCORED}
    return spec.model_copy(
        update={
            "recipe": recipe.model_copy(update=changed),
            "task": spec.task.model_copy(update=rows),
            "parents": {role: stands_for[key] for role, key in spec.parents.items()},
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class Stretched:
    """An example of another length; see `repro.tasks.data.Example`."""

    input_ids: NDArray[np.int32]
    type_ids: NDArray[np.int8]
    target: Any
    task: int


class Cut:
    """A collector that gets a stretched batch's outputs as those of the rows as they were made."""

    def __init__(self, collector: Collector, rows: Sequence[Example], *, by_token: int) -> None:
        self.collector, self.rows, self.by_token = collector, rows, by_token

    def add(self, indices: list[int], outputs: NDArray[Any]) -> None:
        """See `Collector`; outputs that are one a token lose those of the added tokens."""
        if self.by_token:
            longest = max(len(self.rows[i].input_ids) for i in indices)
            outputs = outputs[:, :, :longest] if self.by_token == 2 else outputs[:, :longest]
        self.collector.add(indices, np.ascontiguousarray(outputs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collector, name)


class Rows:
    """A task's data with other lengths; the rest is that of the generated set."""

    def __init__(self, made: TaskData, task: Task, vocabulary: int, rows: int, *, longest: bool):
        self._made, self._draw = made, np.random.default_rng(0)
        self._task, self._vocabulary, self._longest = task, vocabulary, longest
        stride = max(1, len(made.training) // rows)  # a mixture's rows of one task stand together
        places = [i * stride % len(made.training) for i in range(rows)]
        self.training = [self._stretched(made.training[place]) for place in places]
        self.evaluation = [self._stretched(row) for row in made.evaluation]

    def _stretched(self, row: Example) -> Stretched:
        length = self._task.max_length
        if not self._longest:
            drawn = self._draw.lognormal(-(SPREAD**2) / 2, SPREAD) * typical_tokens(self._task)
            length = min(length, max(4, round(drawn)))
        length = max(length, len(row.input_ids))
        added = length - len(row.input_ids)
        ids = self._draw.integers(FIRST_TOKEN, self._vocabulary, added, dtype=np.int32)
        types = np.full(added, row.type_ids[-1] if len(row.type_ids) else 0, dtype=np.int8)
        target = row.target
        if self._task.tags:
            target = np.pad(target, (0, added), constant_values=target[-1])
        return Stretched(
            np.concatenate([np.asarray(row.input_ids, dtype=np.int32), ids]),
            np.concatenate([np.asarray(row.type_ids, dtype=np.int8), types]),
            target,
            row.task,
        )

    def collector(self) -> Cut:
        """See `TaskData`."""
        by_token = 2 if isinstance(self._task, SquadTask) else int(self._task.tags)
        return Cut(self._made.collector(), self._made.evaluation, by_token=by_token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


class Rehearsed(Loaded):
    """Gives a worker a made-up model and made-up rows in place of the real ones.

    `steps` of a batch are made; `longest`: with as many tokens as the task allows, as the worst
    batch has, else of typical lengths.
    """

    def __init__(self, cache: Path, asked: Rehearsal) -> None:
        super().__init__(cache)
        self.steps, self.longest = asked.steps, asked.longest
        self._rows = 0
        self._vocabulary = 0

    def encoder(
        self,
        lead: RunSpec,
        folders: dict[str, str],
        device: torch.device,
        precision: str,
        pretrained: Path | None = None,
    ) -> Encoder:
        """A model of the backbone's shape with random weights; see `Loaded.encoder`."""
        import torch

        from repro.backbones.load import frozen, take_weights

        self._rows = self.steps * lead.recipe.batch_size
        made = random_encoder(lead.backbone)
        embedding: Any = made.model
        self._vocabulary = int(embedding.config.vocab_size)
        if pretrained is not None:
            take_weights(made.model, pretrained)
        if precision == "bf16":
            made.model.to(torch.bfloat16)
        self._encoder = frozen(made, device)
        return self._encoder

    def task(self, task: Task) -> TaskData:
        """Rows of the lengths that the task's own have."""
        from repro.engine.worker import report

        assert self._encoder is not None
        made = made_up(task).load(self._encoder.tokenizer)
        rows: Any = Rows(made, task, self._vocabulary, self._rows, longest=self.longest)
        stretched: TaskData = rows
        tokens = sum(len(row.input_ids) for row in stretched.evaluation)
        report({"event": "rows", "scored_tokens": tokens})
        return stretched


def made_up(task: Task) -> Task:
    """The same task on a few generated rows."""
    found: dict[str, Any] = {"source": "generated", "train_rows": 64, "evaluation_rows": SCORED}
    if isinstance(task, TextToText):
        found["revisions"] = {name: default_revision(f"{WRITTEN}{name}") for name in task.names}
    else:
        found["revision"] = default_revision(task.name)
    if isinstance(task, SquadTask):
        found |= {"train": "generated", "evaluation": "generated"}
    return task.model_copy(update=found)


def random_encoder(backbone: Backbone) -> Encoder:
    """A model of a backbone's shape, with weights that are drawn at random, and a tokenizer that is
    here: MiniLM's, which is BERT's, or that of the tiny T5. In place of a RoBERTa stands a BERT
    with as many parameters: its layers are the same.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer, BertConfig, T5Config

    from repro.backbones.describe import package_folder
    from repro.backbones.load import Encoder
    from repro.backbones.tiny_t5 import tiny_tokenizer

    shape = {"d_model": backbone.hidden_size, "d_ff": backbone.intermediate_size}
    torch.manual_seed(0)
    if backbone.family == "t5":
        from transformers import T5ForConditionalGeneration

        heads = backbone.hidden_size // HEAD
        config = T5Config(
            **shape, num_layers=backbone.layers, num_heads=heads, decoder_start_token_id=0
        )
        return Encoder(T5ForConditionalGeneration(config), tiny_tokenizer())
    d, positions = backbone.hidden_size, backbone.positions or BERT_POSITIONS
    others = bert_parameters(d, backbone.layers, backbone.intermediate_size, 0, positions, 2)
    config = BertConfig(
        vocab_size=(backbone.parameters - others) // d,
        hidden_size=backbone.hidden_size,
        intermediate_size=backbone.intermediate_size,
        num_hidden_layers=backbone.layers,
        num_attention_heads=backbone.hidden_size // HEAD,
        max_position_embeddings=positions,
    )
    model = AutoModel.from_config(config, attn_implementation="sdpa")
    pooler, model.pooler = model.pooler.dense, None
    return Encoder(model, AutoTokenizer.from_pretrained(package_folder()), pooler)
