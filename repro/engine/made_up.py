"""The model and the inputs of a rehearsal, made up: no data and no weights are needed.

The model has the exact shape of the backbone; its weights are drawn at random. Inputs are rows of
the generated sets, stretched with random tokens to the lengths of the published rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from repro.engine.cost import typical_tokens
from repro.engine.jobs import Rehearsal
from repro.engine.loaded import Loaded
from repro.spec import RunSpec, SquadTask, Task, TextToText, canonical_json
from repro.spec.backbones import BERT_POSITIONS, HEAD, bert_parameters
from repro.spec.identity import identity_fields
from repro.tasks.generated import WRITTEN, default_revision

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from repro.backbones.load import Encoder
    from repro.engine.parents import Report
    from repro.spec import Backbone
    from repro.tasks.data import Collector, Example, TaskData

SPREAD = 0.4
"""Of the logarithms of typical lengths (assumed)."""
SCORED = 8
"""Rows of every scored split, at least."""
FIRST_TOKEN = 1_000
"""The ids below are special, or unused."""


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

    def __init__(
        self,
        made: TaskData,
        task: Task,
        vocabulary: int,
        rows: int,
        *,
        longest: bool,
        scored: int | None = None,
    ) -> None:
        """`rows`: how many to train on; `scored`: how many of the scored ones are stretched."""
        self._made, self._draw = made, np.random.default_rng(0)
        self._task, self._vocabulary, self._longest = task, vocabulary, longest
        stride = max(1, len(made.training) // rows)  # a mixture's rows of one task stand together
        places = [i * stride % len(made.training) for i in range(rows)]
        self.training = [self._stretched(made.training[place]) for place in places]
        stretched = [self._stretched(row) for row in made.evaluation[:scored]]
        self.evaluation = [*stretched, *made.evaluation[len(stretched) :]]

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


class MadeUp(Loaded):
    """Gives a worker a made-up model and made-up rows in place of the real ones: as many as
    `asked.steps` batches have. One model is kept from one job to the next.
    """

    kept: tuple[str, Encoder] | None = None
    """Of this process: what the model is of, and the model."""

    def __init__(self, cache: Path, asked: Rehearsal) -> None:
        super().__init__(cache)
        self.asked = asked
        self._batch = 0
        self._scored_tokens = 0
        self._vocabulary = 0

    def encoder(
        self,
        lead: RunSpec,
        folders: dict[str, str],
        device: torch.device,
        pretrained: Path | None = None,
    ) -> Encoder:
        """A model of the backbone's shape with random weights; see `Loaded.encoder`."""

        from repro.backbones.load import frozen, take_weights
        from repro.training.group import EVALUATION_TOKENS

        self._batch = lead.recipe.batch_size
        self._scored_tokens = EVALUATION_TOKENS[device.type]
        if lead.recipe.precision == "bf16" and not computes_bf16(device.type):
            compute_in_fp32()
        named = canonical_json(identity_fields(lead.backbone))
        if pretrained is not None or MadeUp.kept is None or MadeUp.kept[0] != named:
            MadeUp.kept = None  # memory holds one at a time
            made = random_encoder(lead.backbone)
            if pretrained is not None:
                take_weights(made.model, pretrained)
            MadeUp.kept = named if pretrained is None else "", frozen(made, device)
        self._encoder = MadeUp.kept[1]
        embedding: Any = self._encoder.model
        self._vocabulary = int(embedding.config.vocab_size)
        return self._encoder

    def counting(self, tell: Report) -> Report:
        """`tell`, whose steps say how many kernels there were so far, if that is asked for."""
        if not self.asked.kernels:
            return tell
        from repro.training.kernels import Kernels

        kernels = Kernels()
        kernels.__enter__()  # type: ignore[no-untyped-call]

        def counted(event: dict[str, Any]) -> None:
            tell(event | ({"kernels": kernels.total()} if event["event"] == "step" else {}))

        return counted

    def task(self, task: Task) -> TaskData:
        """Rows of the lengths that the task's own have.

        As many are scored as a real run scores at once; with smaller batches, as many as these have
        are stretched, and the rest stay short.
        """
        from repro.engine.worker import report

        assert self._encoder is not None
        scored = max(1, self._scored_tokens // task.max_length)
        scored = self._batch if self.asked.smaller else max(SCORED, scored)
        made = made_up(task, scored).load(self._encoder.tokenizer)
        rows: Any = Rows(
            made,
            task,
            self._vocabulary,
            self.asked.steps * self._batch,
            longest=self.asked.longest,
            scored=scored if self.asked.smaller else None,
        )
        stretched: TaskData = rows
        tokens = sum(len(row.input_ids) for row in stretched.evaluation)
        report({"event": "rows", "scored_tokens": tokens})
        return stretched


def made_up(task: Task, scored: int = SCORED) -> Task:
    """The same task on a few generated rows, `scored` of them scored (at least, and if so many can
    be made).
    """
    found: dict[str, Any] = {"source": "generated", "train_rows": 64}
    found["evaluation_rows"] = max(scored, SCORED)
    if isinstance(task, TextToText):
        found["revisions"] = {name: default_revision(f"{WRITTEN}{name}") for name in task.names}
    else:
        found["revision"] = default_revision(task.name)
    if isinstance(task, SquadTask):
        found |= {"train": "generated", "evaluation": "generated"}
    return task.model_copy(update=found)


def computes_bf16(device: str) -> bool:
    """Whether products of bf16 have hardware here; a CPU without it takes 30 times as long as for
    those of fp32.
    """
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def compute_in_fp32() -> Any:
    """From here on, this thread computes products of bf16 in fp32 and rounds what comes out: what
    hardware does that has bf16. Other operations stay as they are. Returns the active context.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as active

    aten = torch.ops.aten
    products = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}

    class Rounded(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            if func in products and args[0].dtype == torch.bfloat16:
                return func(*(given.float() for given in args), **(kwargs or {})).bfloat16()
            return func(*args, **(kwargs or {}))

    modes = {type(mode).__name__: mode for mode in active()}
    return modes.get("Rounded") or Rounded().__enter__()  # type: ignore[no-untyped-call]


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
