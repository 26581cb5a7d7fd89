"""Where each encoder family has the slots of a layer: names of the library's own modules.

Houlsby et al. 2019, Figure 2: an adapter stands after the attention's output and after the
feed-forward's output, each after its dropout and before the residual and the layer norm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from repro.errors import ReproError


@dataclass(frozen=True, slots=True)
class Family:
    """Module paths: `layers` from the model, the others from a layer.

    The outputs of `attention` and `feed_forward` are the two slots, as a rule a dropout; `norm` is
    the layer's last layer norm. `query` to `down` are its linear maps (`joined` follows the heads),
    `first_norm` is the attention's layer norm, `activation` stands between `up` and `down`.
    """

    layers: str
    attention: str
    feed_forward: str
    norm: str
    query: str
    key: str
    value: str
    joined: str
    first_norm: str
    up: str
    down: str
    activation: str
    after_padding: bool = False
    """Positions are counted from the padding token's id + 1."""


BERT = Family(
    "encoder.layer",
    "attention.output.dropout",
    "output.dropout",
    "output.LayerNorm",
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "intermediate.intermediate_act_fn",
)
DISTILBERT = Family(
    "transformer.layer",
    "attention.out_lin",
    "ffn.dropout",
    "output_layer_norm",
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    "attention.out_lin",
    "sa_layer_norm",
    "ffn.lin1",
    "ffn.lin2",
    "ffn.activation",
)
ROBERTA = replace(BERT, after_padding=True)
FAMILIES = {
    "bert": BERT,
    "electra": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "distilbert": DISTILBERT,
}


def family_of(model: nn.Module) -> Family:
    """The family of a library model; raises ReproError where its slots are not known."""
    kind = str(model.config.model_type)  # type: ignore[union-attr]
    if kind not in FAMILIES:
        raise ReproError(
            f"The slots of a '{kind}' encoder are not known; adapters go into "
            f"{', '.join(FAMILIES)}. Choose another with --backbone."
        )
    return FAMILIES[kind]


def layers_of(model: nn.Module, family: Family) -> list[nn.Module]:
    """The model's layers, the first one first."""
    return list(model.get_submodule(family.layers).children())


def embed(
    model: nn.Module,
    family: Family,
    input_ids: Tensor,
    type_ids: Tensor,
    places: Tensor,
    drop: Callable[[Tensor], Tensor],
) -> Tensor:
    """The embedding output (1, tokens, hidden) of packed tokens, (1, tokens) each.

    `places` are the tokens' positions in their rows, from 0; `drop` follows the layer norm.
    """
    config: Any = model.config
    if family.after_padding:
        places = places + config.pad_token_id + 1
    named = {"input_ids": input_ids, "position_ids": places}
    if hasattr(config, "type_vocab_size"):
        named["token_type_ids"] = type_ids if config.type_vocab_size > 1 else type_ids * 0
    states: Tensor = drop(model.get_submodule("embeddings")(**named))
    if hasattr(model, "embeddings_project"):  # ELECTRA's embeddings may be narrower
        states = model.get_submodule("embeddings_project")(states)
    return states
