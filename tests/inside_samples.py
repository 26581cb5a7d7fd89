"""Tiny encoders of each family, learners inside them, and batches of several runs."""

from __future__ import annotations

from typing import Any

import torch
from run_samples import TASK, run_spec
from tiny_models import HIDDEN, real_tokens, tiny_bert
from torch import Tensor, nn

from repro.backbones.load import Encoder
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.bottleneck_adapters.module import Adapter, Adapters
from repro.methods.inside import InsideEncoder, Trained
from repro.methods.inside.learner import Inside
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout, generator
from repro.spec import GlueTask, RunSpec
from repro.spec.method import Method

MNLI = GlueTask(name="mnli", source="generated", revision="by hand")
FAMILIES = ("bert", "roberta", "electra", "distilbert")
PIECES = 500


def family_model(kind: str, layers: int = 2, seed: int = 0) -> nn.Module:
    """A frozen model with random weights; ELECTRA's embeddings are half as wide."""
    import transformers as library

    sizes: dict[str, Any] = {
        "vocab_size": PIECES,
        "hidden_size": HIDDEN,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * HIDDEN,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
    }
    distil = {"dim": HIDDEN, "n_layers": layers, "n_heads": 4, "hidden_dim": 2 * HIDDEN}
    config, model, more = {
        "bert": (library.BertConfig, library.BertModel, {}),
        "roberta": (library.RobertaConfig, library.RobertaModel, {"type_vocab_size": 1}),
        "electra": (library.ElectraConfig, library.ElectraModel, {"embedding_size": 16}),
        "distilbert": (library.DistilBertConfig, library.DistilBertModel, distil),
    }[kind]
    options = {"add_pooling_layer": False} if kind in ("bert", "roberta") else {}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = model(config(**(sizes | more)), **options)
        for name, value in made.named_parameters():
            if name.endswith("bias") or "norm" in name.lower():  # the library's are 0 and 1
                nn.init.normal_(value, float(name.endswith("weight")), 0.2)
    made.set_attn_implementation("sdpa")
    frozen: nn.Module = made.eval().requires_grad_(False)
    return frozen


def pooler_of(seed: int = 0) -> nn.Linear:
    """A frozen pooler with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Linear(HIDDEN, HIDDEN).requires_grad_(False)


def encoder_of(kind: str = "bert", layers: int = 2, *, pooler: bool = True) -> Encoder:
    """A tiny encoder as the training loop gets it."""
    model = tiny_bert(layers) if kind == "tiny" else family_model(kind, layers)
    return Encoder(model, None, pooler_of() if pooler else None)


def adapters(**changes: Any) -> BottleneckAdapters:
    """Houlsby's of size 8 with a frozen pooler, large enough to be seen."""
    fields: dict[str, Any] = {
        "placement": "houlsby",
        "size": 8,
        "nonlinearity": "gelu",
        "init_std": 0.3,
        "norms": "none",
    }
    return BottleneckAdapters(**(fields | changes))


def inside_spec(method: Method, layers: int = 2, *, spans: bool = False) -> RunSpec:
    """A run of `method` on MNLI, or on questions."""
    return run_spec(method, task=TASK if spans else MNLI, backbone__layers=layers)


def learner_of(
    method: Method,
    encoder: Encoder,
    seeds: tuple[int, ...] = (0,),
    *,
    spans: bool = False,
    precision: str = "fp32",
) -> Inside:
    """A learner of one run a seed, drawn and in training mode."""
    layers = len(list(encoder.model.get_submodule(_layers(encoder)).children()))
    spec = inside_spec(method, layers, spans=spans)
    recipe = spec.recipe.model_copy(update={"precision": precision})
    learner = spec.model_copy(update={"recipe": recipe}).learner(len(seeds), encoder)
    assert isinstance(learner, Inside)
    learner.initialise([generator("cpu", "init", seed) for seed in seeds])
    return learner.train()


def adapters_of(learner: Inside) -> list[Adapter]:
    """The bottleneck adapters in order."""
    assert isinstance(learner.added, Adapters)
    return list(learner.added)


def plain(encoder: Encoder, *, spans: bool = False, seed: int = 0) -> Inside:
    """The backbone with a new output layer and nothing else that trains."""
    frozen = Trained(0.0, 2 if spans else 3, not spans)
    learner = Inside(InsideEncoder(), frozen, 1, encoder, "tiny", "fp32")
    learner.initialise([generator("cpu", "init", seed)])
    return learner.train()


def _layers(encoder: Encoder) -> str:
    distil = encoder.model.config.model_type == "distilbert"  # type: ignore[union-attr]
    return "transformer.layer" if distil else "encoder.layer"


def batch_of(lengths: list[int], seed: int = 0, length: int | None = None) -> Inputs:
    """Rows with so many tokens, of ids from 5, in two segments; padding has id 1, as RoBERTa's."""
    real = real_tokens(lengths, length or max(lengths))
    draw = generator("cpu", "ids", seed)
    ids = torch.ones(real.shape, dtype=torch.int64)
    types = torch.zeros_like(ids)
    for row, size in enumerate(lengths):  # by row, so that a row is the same in any batch
        ids[row, :size] = torch.randint(5, PIECES, (size,), generator=draw)
        types[row, size // 2 : size] = 1
    return Inputs(ids, real.long(), types, Layout.of(real, keep_padding=False), [])


def joined(batches: list[Inputs]) -> Inputs:
    """The rows of several runs, one run after another, padded to the longest."""
    length = max(batch.input_ids.shape[1] for batch in batches)

    def together(name: str, fill: int) -> Tensor:
        parts = [getattr(batch, name) for batch in batches]
        padded = [
            nn.functional.pad(part, (0, length - part.shape[1]), value=fill) for part in parts
        ]
        return torch.cat(padded)

    mask = together("attention_mask", 0)
    layout = Layout.of(mask, keep_padding=False)
    return Inputs(together("input_ids", 1), mask, together("type_ids", 0), layout, [])


def no_dropout(runs: int = 1) -> Dropout:
    """Switched off, as in evaluation."""
    off = Dropout([generator("cpu", "dropout", run) for run in range(runs)])
    off.active = False
    return off


def dropout_of(*seeds: int) -> Dropout:
    """A stream for each run."""
    return Dropout([generator("cpu", "dropout", seed) for seed in seeds])


def library_states(encoder: Encoder, inputs: Inputs) -> Tensor:
    """The library's own padded forward: (rows, length, hidden)."""
    config: Any = encoder.model.config
    named = {"input_ids": inputs.input_ids, "attention_mask": inputs.attention_mask}
    if hasattr(config, "type_vocab_size"):
        named["token_type_ids"] = inputs.type_ids % config.type_vocab_size
    states: Tensor = encoder.model(**named).last_hidden_state
    return states


def split(x: Tensor, *sizes: int) -> list[Tensor]:
    """Consecutive parts of the first axis."""
    ends = torch.tensor(sizes).cumsum(0).tolist()
    return [x[end - size : end] for size, end in zip(sizes, ends, strict=True)]
