"""A tiny T5 with random weights, runs that train inside it, and batches of tokens."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import torch
from run_samples import RECIPE, written
from torch import nn

from repro.backbones.load import Encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.methods.modules.randomness import Dropout
from repro.methods.t5 import HyperFormer, T5Adapters
from repro.methods.t5.learner import Writer
from repro.spec import Backbone, RunSpec
from repro.spec.backbones import t5_parameters
from repro.spec.method import Method

HIDDEN, LAYERS, FORWARD, VOCABULARY, HEADS = 16, 2, 32, 50, 4
END = 1
TASKS = ("cola", "rte", "mnli")
SMALL = Backbone(
    id="local", revision="sha256:t5", layers=LAYERS, hidden_size=HIDDEN,
    intermediate_size=FORWARD,
    parameters=t5_parameters(HIDDEN, LAYERS, FORWARD, VOCABULARY, HEADS),
    family="t5", name="made by a test",
)  # fmt: skip


def hyperformer(generators: str = "stack", **changes: Any) -> HyperFormer:
    """r = 4, so d = 4; z of 6, I of 6."""
    fields = {"generators": generators, "reduction": 4, "task_embedding": 6, "projector": 10}
    return HyperFormer.model_validate(fields | {"projected": 6} | changes)


def plain(**changes: Any) -> T5Adapters:
    return T5Adapters.model_validate({"reduction": 4} | changes)


def written_run(
    method: Method | None = None, tasks: tuple[str, ...] = TASKS, **changes: Any
) -> RunSpec:
    """A run of `method` on the small T5; a change is of a field of the run."""
    recipe = RECIPE.model_copy(update={"look_steps": 5})
    fields = {
        "scale": "smoke", "backbone": SMALL, "task": written(*tasks),
        "method": method or hyperformer(), "recipe": recipe, "seed": 0,
    }  # fmt: skip
    return RunSpec.model_validate(fields | changes)


def small_t5(seed: int = 4) -> nn.Module:
    """Random weights, larger than T5's own so that texts differ and end early; frozen."""
    return copy.deepcopy(_drawn_t5(seed))


@lru_cache
def _drawn_t5(seed: int) -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=HIDDEN, d_kv=HIDDEN // HEADS, d_ff=FORWARD,
        num_layers=LAYERS, num_heads=HEADS, pad_token_id=0, eos_token_id=END,
        decoder_start_token_id=0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(config)
        for name, parameter in model.named_parameters():
            if "norm" in name:
                nn.init.uniform_(parameter, 0.5, 1.5)
            elif name == "shared.weight":
                nn.init.normal_(parameter, std=3.0)
            else:
                nn.init.normal_(parameter, std=0.4)
        model.shared.weight.data[END] *= -3
    frozen: nn.Module = model.eval().requires_grad_(False)
    return frozen


def writer_of(spec: RunSpec, model: nn.Module | None = None, *, scale: float = 0.0) -> Writer:
    """A learner with its first weights; with `scale`, N(0, scale^2) is added to everything new."""
    writer = Writer(spec, Encoder(model or small_t5(), None))
    writer.initialise([torch.Generator().manual_seed(spec.seed)])
    if scale:
        draw = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for name, parameter in writer.named_parameters():
                if name.startswith("adapters."):
                    parameter.add_(scale * torch.randn(parameter.shape, generator=draw))
    return writer.eval()


def written_batch(task: int = 0, rows: int = 5, longest: int = 6, seed: int = 3) -> Inputs:
    """Inputs of 3 to 9 tokens and answers of 1 to 4, padded."""
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 10, (rows,), generator=draw)
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).long()
    ids = torch.randint(2, VOCABULARY, mask.shape, generator=draw) * mask
    answers = torch.randint(1, 5, (rows,), generator=draw)
    written = torch.randint(1, VOCABULARY, (rows, int(answers.max())), generator=draw)
    written[torch.arange(written.shape[1]) >= answers[:, None]] = -100
    layout = Layout.of(mask, keep_padding=False)
    return Inputs(ids, mask, torch.zeros_like(ids), layout, [], written, longest, task)


def no_dropout() -> Dropout:
    """Not read by T5, whose dropout is the library's own."""
    return Dropout([torch.Generator()])
