"""Loads an encoder once, frozen, in eval mode; many runs read its states."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from repro.backbones.describe import locate
from repro.errors import MissingModel
from repro.spec.types import Backbone


@dataclass(frozen=True, slots=True)
class Encoder:
    """A frozen encoder and its tokenizer."""

    model: nn.Module
    tokenizer: Any

    def states(self, input_ids: Tensor, attention_mask: Tensor, type_ids: Tensor) -> list[Tensor]:
        """Outputs of layers 1..L, each (batch, length, hidden), without gradient.

        The embedding output is dropped, as the released ResAdapters notebook does.
        """
        with torch.inference_mode(False), torch.no_grad():
            output = self.model(
                input_ids=input_ids,
                attention_mask=attention_mask,
                token_type_ids=type_ids,
                output_hidden_states=True,
            )
        return list(output.hidden_states[1:])

    def trainable_copy(self) -> nn.Module:
        """An encoder of its own for full fine-tuning, in fp32, every parameter trainable."""
        from repro.methods.full_fine_tuning import register_attention

        register_attention()
        return copy.deepcopy(self.model).float().requires_grad_(True)


def load_encoder(
    backbone: Backbone, folders: dict[str, str], device: torch.device, precision: str = "fp32"
) -> Encoder:
    """The encoder on `device`, frozen; bf16 weights when `precision` is bf16.

    Raises MissingModel, with the mend, where the weights are neither here nor reachable.
    """
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer

    where = locate(backbone, folders)
    options = {} if where != backbone.id else {"revision": backbone.revision}
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, use_fast=True, **options)
        model, loaded = AutoModel.from_pretrained(
            where,
            dtype=torch.bfloat16 if precision == "bf16" else torch.float32,
            attn_implementation="sdpa",
            add_pooling_layer=False,
            output_loading_info=True,
            **options,
        )
    except (OSError, ValueError, SafetensorError) as problem:
        raise MissingModel(
            f"The backbone {backbone.id} could not be loaded: {str(problem).splitlines()[0]} "
            f"Connect to the hub once, or put its files at $REPRO_MODELS/{backbone.id}, "
            "or choose another with --backbone."
        ) from problem
    _check_loaded(backbone, where, model.config, sorted(loaded["missing_keys"]))
    return Encoder(model.to(device).eval().requires_grad_(False), tokenizer)


def _check_loaded(backbone: Backbone, where: str, config: Any, missing: list[str]) -> None:
    """Refuses another model than the one described, and weights that the library made up.

    The library fills a tensor that the files lack with random numbers and only warns.
    """
    if (config.num_hidden_layers, config.hidden_size) != (backbone.layers, backbone.hidden_size):
        raise MissingModel(
            f"{where} holds {config.num_hidden_layers} layers of width {config.hidden_size}, but "
            f"{backbone.id} has {backbone.layers} layers of width {backbone.hidden_size}. Put the "
            "right files there, or remove them to use the hub's."
        )
    if missing:
        raise MissingModel(
            f"The weights of {where} lack {missing[0]} and {len(missing) - 1} other tensors. "
            "Replace them by complete ones."
        )
