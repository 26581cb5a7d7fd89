"""Loads an encoder once, frozen, in eval mode; many runs read its states."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from repro.backbones.checks import Tokens, check_configuration, check_tokens
from repro.backbones.contents import CONFIG, fetch
from repro.backbones.describe import locate
from repro.backbones.weight_files import TIED, check_names, misshapen, not_finite, refusal
from repro.errors import MissingModel, told
from repro.spec.backbones import TINY_T5
from repro.spec.types import Backbone

TRAINED = "model."
"""Stands before the names of a fine-tuned model's weights in an artefact."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A frozen encoder, its tokenizer, and its pooler where the checkpoint has one.

    The pooler is BERT's linear map of the first token's state; a tanh follows it.
    """

    model: nn.Module
    tokenizer: Any
    pooler: nn.Linear | None = None

    def states(
        self, input_ids: Tensor, attention_mask: Tensor | None, type_ids: Tensor
    ) -> list[Tensor]:
        """Outputs of layers 1..L, each (batch, length, hidden), without gradient.

        `attention_mask` (batch, length) is None if no token is padding: the device is not asked.
        The embedding output is dropped, as the released ResAdapters notebook does.
        """
        if attention_mask is not None:  # the library asks whether a mask of two axes is full
            rows, length = attention_mask.shape
            attention_mask = attention_mask.bool()[:, None, None].expand(rows, 1, length, length)
        with torch.inference_mode(False), torch.no_grad():
            output = self.model(
                input_ids=input_ids,
                attention_mask=attention_mask,
                token_type_ids=type_ids,
                output_hidden_states=True,
            )
        return list(output.hidden_states[1:])

    def shared_copy(self, trained: Iterable[nn.Module]) -> nn.Module:
        """The model's modules anew, to be hooked into; weights and buffers are the model's own.

        Only the parameters of `trained` (modules of `model`) are copied: in fp32, trainable.
        """
        own = {id(p) for module in trained for p in module.parameters()}
        shared = [t for t in (*self.model.parameters(), *self.model.buffers()) if id(t) not in own]
        copied = copy.deepcopy(self.model, {id(tensor): tensor for tensor in shared})
        ours = {id(tensor) for tensor in shared}
        for parameter in copied.parameters():
            if id(parameter) not in ours:
                parameter.data = parameter.data.float()
                parameter.requires_grad_(True)
        return copied


def load_encoder(
    backbone: Backbone,
    folders: dict[str, str],
    device: torch.device,
    pretrained: Path | None = None,
) -> Encoder:
    """The encoder (of a T5 its decoder, too) on `device`, frozen, in fp32. `pretrained`: the
    artefact of a run that gave a T5 other weights.

    Raises MissingModel, with the mend, where the weights are neither here nor reachable.
    """
    if backbone.id == TINY_T5:
        from repro.backbones.tiny_t5 import tiny_model, tiny_tokenizer

        made = Encoder(tiny_model(backbone), tiny_tokenizer())
    else:
        made = _published(backbone, folders)
    if pretrained is not None:
        take_weights(made.model, pretrained)
    return frozen(made, device)


def frozen(encoder: Encoder, device: torch.device) -> Encoder:
    """The encoder on `device`, in eval mode; no weight of it trains."""
    for part in (encoder.model, encoder.pooler):
        if part is not None:
            part.to(device).eval().requires_grad_(False)
    return encoder


def take_weights(model: nn.Module, artefact: Path) -> None:
    """Puts the weights that a run trained (all of the model's) in place of its own."""
    from safetensors.torch import load_file

    tensors = {name.removeprefix(TRAINED): tensor for name, tensor in load_file(artefact).items()}
    own = dict(model.named_parameters())  # an embedding that is used in several places stands once
    other = sorted(tensors.keys() ^ own.keys())
    if other:
        raise MissingModel(
            f"{artefact} does not hold the weights of this model: {other[0]} and "
            f"{len(other) - 1} others are in one of them only. Train the run again."
        )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(tensors[name])


def _published(backbone: Backbone, folders: dict[str, str]) -> Encoder:
    """The encoder of a hub id, a package or a local folder.

    Raises MissingModel for one that cannot be loaded, is not the one described, or whose
    configuration, weights and tokenizer do not fit each other.
    """
    from safetensors import SafetensorError
    from transformers import AutoModel, PreTrainedConfig, T5ForConditionalGeneration

    where = locate(backbone, folders)
    if where == backbone.id:
        where = str(fetch(backbone)[CONFIG].parent)
    kind = AutoModel if backbone.family == "bert" else T5ForConditionalGeneration
    try:
        written, _ = PreTrainedConfig.get_config_dict(where)
        config = {"model_type": backbone.family} | written
        check_configuration(config, where)
        tokenizer = _tokenizer(backbone, where)
        model, loaded = kind.from_pretrained(
            where,
            dtype=torch.float32,
            attn_implementation="sdpa",
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below, by name
        )
    except (OSError, ValueError, SafetensorError) as problem:
        said = told(problem).rstrip(".")
        mend = "Replace its files by complete ones, or choose another model with --backbone."
        raise refusal(where, f"it could not be loaded ({said})", mend) from problem
    _check_size(backbone, where, model.config)
    # the library fills a tensor that the files lack with random numbers and only warns
    check_names(loaded["missing_keys"], loaded["unexpected_keys"], config["model_type"], where)
    for name, found, expected in sorted(loaded["mismatched_keys"]):
        raise misshapen(where, name, found, expected)
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise not_finite(where, name)
    pair = tokenizer("a", "b", return_special_tokens_mask=True)
    tokens = Tokens(
        largest=max(tokenizer.get_vocab().values()),
        pad=tokenizer.pad_token_id,
        special=pair["special_tokens_mask"],
        types=pair.get("token_type_ids") or [],
    )
    check_tokens(tokens, config, where)
    if backbone.family == "t5":
        _check_tied(model, where)
        return Encoder(model, tokenizer)
    pooler = None if loaded["missing_keys"] else getattr(model, "pooler", None)
    model.pooler = None
    return Encoder(model, tokenizer, None if pooler is None else pooler.dense)


def _tokenizer(backbone: Backbone, where: str) -> Any:
    """Raises MissingModel for a tokenizer of another kind of model; OSError, ValueError as the
    library does.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(where, use_fast=True)
    except (OSError, ValueError):
        raise
    except Exception as problem:  # inside, of any class, at what another kind lacks
        kind = "T5" if backbone.family == "t5" else "BERT or RoBERTa"
        raise refusal(
            where,
            f"its tokenizer is none of a {kind}",
            "Put the tokenizer.json there that belongs to its weights, or choose another model "
            "with --backbone.",
        ) from problem


def _check_size(backbone: Backbone, where: str, config: Any) -> None:
    """Refuses another model than the one described."""
    if (config.num_hidden_layers, config.hidden_size) != (backbone.layers, backbone.hidden_size):
        raise MissingModel(
            f"{where} holds {config.num_hidden_layers} layers of width {config.hidden_size}, but "
            f"{backbone.id} has {backbone.layers} layers of width {backbone.hidden_size}. Put the "
            "right files there, or remove them to use the hub's."
        )


def _check_tied(model: Any, where: str) -> None:
    """Refuses a T5 with embeddings of its own at the output or in a stack."""
    shared = model.shared.weight
    others = (model.lm_head, model.encoder.embed_tokens, model.decoder.embed_tokens)
    if any(module.weight is not shared for module in others):
        raise refusal(
            where,
            f"its weights hold several embeddings ({', '.join(TIED)} differ), and T5 v1.0 has one",
            "Choose another T5 with --backbone.",
        )
