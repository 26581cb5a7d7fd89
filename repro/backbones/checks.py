"""Refuses a model whose configuration, weights and tokenizer do not fit each other. Torch-free.

`check_folder` reads a local folder when it is described, so that a plan says what training would
meet. The other functions also check what the library has loaded, of a hub's model too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from repro.backbones.weight_files import (
    NEEDED,
    check_shapes,
    not_finite,
    not_finite_in,
    refusal,
    tensor_shapes,
    version,
    weight_names,
)
from repro.errors import MissingModel
from repro.spec.backbones import T5_BUCKETS
from repro.strict import unique_keys

OF_BERT = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "vocab_size", "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
SIZES = {
    "bert": OF_BERT,
    "roberta": OF_BERT,
    "t5": ("d_model", "num_layers", "num_heads", "d_kv", "d_ff", "vocab_size"),
}  # fmt: skip
"""Numbers that every configuration of a family gives."""
NUMBERS = (
    "layer_norm_eps", "layer_norm_epsilon", "hidden_dropout_prob", "attention_probs_dropout_prob",
    "dropout_rate", "initializer_range", "initializer_factor",
)  # fmt: skip
TOKEN_IDS = ("pad_token_id", "decoder_start_token_id")
NOT_IMPLEMENTED = {
    "is_decoder": "tokens would still be read in both directions",
    "add_cross_attention": "there is no other sequence to attend to",
    "pruned_heads": "every layer would have all heads",
    "quantization_config": "weights are trained and compared as floating-point numbers",
    "auto_map": "it is code of the model's own, which is not run",
}
"""What a configuration may ask for and would not get -> why it is refused."""
ACTIVATIONS = (
    "gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python",
    "gelu_python_tanh", "gelu_pytorch_tanh", "leaky_relu", "linear", "mish", "quick_gelu", "relu",
    "relu2", "relu6", "sigmoid", "silu", "swish", "tanh",
)  # fmt: skip
"""Names of `hidden_act` that the library implements, but for those with weights of their own."""
USED_TOKENS = {
    "bert": ("pad_token", "cls_token", "sep_token", "unk_token"),
    "roberta": ("pad_token", "cls_token", "sep_token", "unk_token"),
    "t5": ("pad_token", "eos_token", "unk_token"),
}
VOCABULARIES = ("vocab.txt", "spiece.model")
"""Files that a slow tokenizer reads."""
GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Tokenizer classes that know no special tokens but those that their files name."""
PAD = {"bert": "[PAD]", "roberta": "<pad>", "t5": "<pad>"}
CLASSES = {
    "bert": (None, "BertTokenizer", "BertTokenizerFast"),
    "roberta": (None, "RobertaTokenizer", "RobertaTokenizerFast"),
    "t5": (None, "T5Tokenizer", "T5TokenizerFast"),
}
"""Tokenizer classes with the family's own special tokens, whatever their files name."""


def check_folder(folder: Path) -> dict[str, Any]:
    """The configuration of a local model; raises MissingModel unless its files fit each other."""
    names = weight_names(folder)
    for name in ("config.json", "tokenizer.json"):
        if not (folder / name).is_file():
            raise MissingModel(f"{folder} holds no {name}. {_what_it_needs(folder, name)}")
    config = read_json(folder, "config.json")
    check_configuration(config, folder)
    check_shapes(tensor_shapes(folder, names), config, folder)
    for name in names:
        broken = not_finite_in(folder / name)
        if broken is not None:
            raise not_finite(folder, broken)
    check_tokenizer_file(folder, config)
    return config


def _what_it_needs(folder: Path, lacking: str) -> str:
    listed = f"A model folder needs {', '.join(NEEDED)}."
    vocabularies = [name for name in VOCABULARIES if (folder / name).is_file()]
    if lacking != "tokenizer.json" or not vocabularies:
        return listed
    return (
        f'{listed} Write it from {vocabularies[0]}: python -c "from transformers import '
        f"AutoTokenizer; AutoTokenizer.from_pretrained('{folder}').save_pretrained('{folder}')\""
    )


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object that a file of a folder holds; empty for a file that is not there."""
    if not (folder / name).is_file():
        return {}
    try:
        found = json.loads(
            (folder / name).read_text(encoding="utf-8"), object_pairs_hook=unique_keys
        )
    except (OSError, ValueError, RecursionError) as problem:
        raise refusal(folder, f"{name} cannot be read ({problem})", "Copy it again.") from problem
    if not isinstance(found, dict):
        raise refusal(folder, f"{name} holds no JSON object", "Copy it again.")
    return found


# -- the configuration -------------------------------------------------------------------------


def check_configuration(config: Mapping[str, Any], where: object) -> None:
    """Raises MissingModel for a configuration of another kind of model, of wrong types or values,
    or that asks for what the installed library does not do.
    """
    family = config.get("model_type")
    if family not in SIZES:
        named = f"is of a '{family}' model" if family else "names no model_type"
        mend = "Backbones are of the BERT or RoBERTa family, or T5"
        likely = "t5" if "d_model" in config else "bert"
        mend += f': write "model_type": "{likely}".' if not family else "."
        raise refusal(where, f"config.json {named}", mend)
    _check_types(config, SIZES[family], where)
    _check_implemented(config, where)
    if family == "t5":
        _check_t5(config, where)
    problem = _misfit(config)
    if problem:
        raise refusal(where, problem, "Put the config.json there that belongs to the weights.")


def _misfit(config: Mapping[str, Any]) -> str:
    """Which numbers of a configuration do not fit each other; "" where all do."""
    family, pieces = config["model_type"], config["vocab_size"]
    if family != "t5" and config["hidden_size"] % config["num_attention_heads"]:
        return (
            f"its {config['num_attention_heads']} attention heads do not divide the hidden size "
            f"{config['hidden_size']} (config.json)"
        )
    for name in TOKEN_IDS:
        token = config.get(name)
        if token is not None and not (_whole(token) and 0 <= token < pieces):
            return f"config.json has {name} {token!r}, which is no number of its {pieces:,} pieces"
    pad = config.get("pad_token_id", 1)
    if family == "roberta" and (pad is None or positions_of(config) < 1):
        return (
            f"its {config['max_position_embeddings']} positions are counted from the number of the "
            f"padding token on, and pad_token_id is {pad} (config.json), so that no token has one"
        )
    return ""


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_types(config: Mapping[str, Any], sizes: Sequence[str], where: object) -> None:
    for name in sizes:
        value = config.get(name)
        if value is None:
            raise refusal(where, f"config.json lacks {name}", "Put the whole config.json there.")
        if not _whole(value) or value < 1:
            raise _mistyped(where, name, value, "a whole number from 1")
    for name in NUMBERS:
        value = config.get(name)
        if value is not None and not (_whole(value) or isinstance(value, float)):
            raise _mistyped(where, name, value, "a number")


def _mistyped(where: object, name: str, value: object, expected: str) -> MissingModel:
    return refusal(
        where,
        f"config.json has {name} {value!r}, which is not {expected}",
        "Write the number without quotes." if isinstance(value, str) else "Correct it.",
    )


def _check_implemented(config: Mapping[str, Any], where: object) -> None:
    other = "Choose another model with --backbone."
    for name, why in NOT_IMPLEMENTED.items():
        if config.get(name):
            raise refusal(where, f"config.json asks for {name}, and {why}", other)
    positions = config.get("position_embedding_type") or "absolute"
    if positions != "absolute":
        raise refusal(
            where,
            f"config.json asks for position_embedding_type {positions!r}, and the installed "
            "transformers library has absolute positions only",
            f"It would be trained as another model. {other}",
        )
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise refusal(
            where,
            f"config.json asks for hidden_act {activation!r}, which is unknown",
            f"Known are {', '.join(ACTIVATIONS)}.",
        )


def positions_of(config: Mapping[str, Any]) -> int:
    """Tokens of the longest input: RoBERTa counts positions from the padding token's id + 1."""
    positions: int = config["max_position_embeddings"]
    if config["model_type"] != "roberta":
        return positions
    pad: int = config.get("pad_token_id", 1)  # the library's own where it is not written
    return positions - 1 - pad


def _check_t5(config: Mapping[str, Any], where: object) -> None:
    gated = config.get("feed_forward_proj", "relu") != "relu"
    if gated or not config.get("tie_word_embeddings", True):
        raise refusal(
            where,
            "it is a T5 v1.1: the published numbers are of T5 v1.0, whose pre-training had seen "
            "GLUE",
            "Choose one of v1.0 (google-t5/t5-small, google-t5/t5-base).",
        )
    layers, inner = config["num_layers"], config["num_heads"] * config["d_kv"]
    decoder, buckets = (
        config.get(name) or usual
        for name, usual in (
            ("num_decoder_layers", layers),
            ("relative_attention_num_buckets", T5_BUCKETS),
        )
    )
    problem = ""
    if inner != config["d_model"]:
        problem = f"its heads are {inner} wide together and d_model is {config['d_model']}"
    elif decoder != layers:
        problem = f"its decoder has {decoder} layers and its encoder {layers}"
    elif buckets != T5_BUCKETS:
        problem = f"it has {buckets} buckets of relative positions"
    elif config.get("decoder_start_token_id") is None:
        raise refusal(
            where,
            "config.json lacks decoder_start_token_id, the token that a written text begins with",
            'T5 has "decoder_start_token_id": 0.',
        )
    if problem:
        raise refusal(
            where,
            f"{problem} (config.json); in T5 v1.0 heads have the model's width, both stacks one "
            f"depth, and positions {T5_BUCKETS} buckets",
            "Choose another T5 with --backbone.",
        )


# -- the tokenizer -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a tokenizer gives: its largest number, its padding token's, and a pair of texts."""

    largest: int
    pad: int | None
    special: Sequence[bool | int]
    """Of the pair's tokens: whether each is a special one."""
    types: Sequence[int]


def check_tokens(tokens: Tokens, config: Mapping[str, Any], where: object) -> None:
    """Raises MissingModel for a tokenizer that the model cannot read."""
    family, pieces = config["model_type"], config["vocab_size"]
    mend = "Put the tokenizer there that belongs to the weights."
    if tokens.largest >= pieces:
        raise refusal(
            where,
            f"its tokenizer has tokens up to number {tokens.largest:,}, and its vocabulary is "
            f"{pieces:,} (vocab_size in config.json), so the largest number is {pieces - 1:,}",
            mend,
        )
    if tokens.pad is None:
        raise refusal(
            where,
            "its tokenizer has no padding token",
            "Name it in tokenizer_config.json, as pad_token.",
        )
    begins = family == "t5" or bool(tokens.special[0])
    if not begins or not tokens.special[-1]:
        side = "begin" if not begins else "end"
        raise refusal(where, f"its tokenizer does not {side} a text with a special token", mend)
    types = config.get("type_vocab_size")
    if types is not None and max(tokens.types, default=0) >= types:
        raise refusal(
            where,
            f"its tokenizer gives a second text the type {max(tokens.types)}, and config.json has "
            f"a type_vocab_size of {types}",
            mend,
        )


def check_tokenizer_file(folder: Path, config: Mapping[str, Any]) -> None:
    """Raises MissingModel for a tokenizer.json, and what its folder says of special tokens, that
    the model cannot read.
    """
    settings = [
        read_json(folder, name) for name in ("tokenizer_config.json", "special_tokens_map.json")
    ]
    family, kind = config["model_type"], settings[0].get("tokenizer_class")
    tokenizer = _tokenizer(folder, *version(folder / "tokenizer.json"))
    pad: str | None = None
    for name in USED_TOKENS[family]:
        token = _named(name, settings)
        if token is not None and tokenizer.token_to_id(token) is None:
            raise refusal(
                folder,
                f"its {name} {token!r} is not in tokenizer.json",
                "Put the tokenizer_config.json and the tokenizer.json of one model there.",
            )
        pad = token if name == "pad_token" else pad
    if pad is None and kind not in GENERIC:  # the class has one of its own
        pad = PAD[family]
        if kind not in CLASSES[family]:
            return  # and files of its own: checked when it is loaded
    if tokenizer.post_processor is None and kind not in GENERIC:
        return  # the class makes one
    encoded = tokenizer.encode("a", "b")
    tokens = Tokens(
        max(tokenizer.get_vocab(with_added_tokens=True).values()),
        None if pad is None else tokenizer.token_to_id(pad),
        encoded.special_tokens_mask,
        encoded.type_ids,
    )
    check_tokens(tokens, config, folder)


@lru_cache(maxsize=4)
def _tokenizer(folder: Path, size: int, changed: int) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as problem:  # the library raises nothing more special
        raise refusal(
            folder,
            f"tokenizer.json holds no tokenizer ({str(problem).splitlines()[0]})",
            "Put the tokenizer there that belongs to the weights.",
        ) from problem


def _named(name: str, settings: Iterable[Mapping[str, Any]]) -> str | None:
    """A special token that the folder's files name, as text or as an object with its content."""
    for found in settings:
        token = found.get(name)
        if isinstance(token, Mapping):
            token = token.get("content")
        if isinstance(token, str):
            return token
    return None
