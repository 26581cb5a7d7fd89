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
    Shape,
    not_finite_in,
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
HEADS = ("cls.", "classifier.", "qa_outputs.", "lm_head.", "classification_head.")
"""Names of a pre-training or task head begin so: it is left out."""
BUFFERS = (
    "embeddings.position_ids",
    "embeddings.token_type_ids",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
)
"""Tensors of published checkpoints that their models never read."""
POOLER = "pooler."
TIED = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
        "lm_head.weight")  # fmt: skip
"""T5 v1.0 has one tensor under these names."""
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


def refusal(where: object, problem: str, mend: str) -> MissingModel:
    """The error of a model that cannot be used: where it is, what is wrong, what to do."""
    return MissingModel(f"The model {where} cannot be used: {problem}. {mend}")


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
        mend += f': write "model_type": "{_guessed(config)}".' if not family else "."
        raise refusal(where, f"config.json {named}", mend)
    _check_types(config, SIZES[family], where)
    _check_implemented(config, where)
    if family == "t5":
        _check_t5(config, where)
    else:
        _check_bert(config, where)
    for name in TOKEN_IDS:
        token = config.get(name)
        if token is not None and not (_whole(token) and 0 <= token < config["vocab_size"]):
            raise refusal(
                where,
                f"config.json has {name} {token!r}, which is no number of its "
                f"{config['vocab_size']:,} pieces",
                "Put the config.json there that belongs to the weights.",
            )
    counted = family == "roberta"
    if counted and (config.get("pad_token_id", 1) is None or positions_of(config) < 1):
        raise refusal(
            where,
            f"its {config['max_position_embeddings']} positions are counted from the number of "
            f"the padding token on, and pad_token_id is {config.get('pad_token_id', 1)} "
            "(config.json), so that no token has one",
            "Put the config.json there that belongs to the weights.",
        )


def _guessed(config: Mapping[str, Any]) -> str:
    return "t5" if "d_model" in config else "bert"


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


def _check_bert(config: Mapping[str, Any], where: object) -> None:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    if hidden % heads:
        raise refusal(
            where,
            f"its {heads} attention heads do not divide the hidden size {hidden} (config.json)",
            "Put the config.json there that belongs to the weights.",
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


# -- the weights -------------------------------------------------------------------------------


def check_shapes(found: Mapping[str, Shape], config: Mapping[str, Any], where: object) -> None:
    """Raises MissingModel unless the tensors are those of the configuration, in shape too."""
    family = config["model_type"]
    expected = expected_shapes(config)
    named = {_plain(name, family): name for name in found}
    if family == "t5" and any(name in named for name in TIED):
        expected = {n: shape for n, shape in expected.items() if n not in TIED or n in named}
    check_names(
        [name for name in expected if name not in named],
        [name for plain, name in named.items() if plain not in expected],
        family,
        where,
    )
    for name, shape in expected.items():
        if name in named and found[named[name]] != shape:
            raise misshapen(where, named[name], found[named[name]], shape)


def misshapen(
    where: object, name: str, found: Sequence[int], expected: Sequence[int]
) -> MissingModel:
    """The error of a tensor whose shape is not that of the configuration."""
    here, there = (" x ".join(map(str, size)) or "1" for size in (found, expected))
    return refusal(
        where,
        f"its weights have {name} of {here}, and config.json makes it {there}",
        "Put the config.json and the weights of one model there.",
    )


def check_names(
    missing: Iterable[str], unexpected: Iterable[str], family: str, where: object
) -> None:
    """Raises MissingModel for tensors of a model that the files lack (but for BERT's pooler), and
    for those in the files that the model has no place for (but for heads and unused buffers).
    """
    lost = sorted(name for name in missing if not name.startswith(POOLER))
    others = sorted(
        name
        for name in unexpected
        if not name.startswith(HEADS) and _plain(name, family) not in BUFFERS
    )
    if others:
        raise refusal(
            where,
            f"its weights hold {_first(others)}, which the model of its config.json has no place "
            "for, so that it would be trained without",
            "Choose another model with --backbone, or take out what is not the encoder's.",
        )
    if lost:
        raise refusal(where, f"its weights lack {_first(lost)}", "Replace them by complete ones.")


def _first(names: Sequence[str]) -> str:
    more = len(names) - 1
    return names[0] if not more else f"{names[0]} and {more} other tensor{'s' * (more > 1)}"


def _plain(name: str, family: str) -> str:
    """A tensor's name in the encoder: without "bert.", and with today's names of a layer norm."""
    if family == "t5":
        return name
    name = name.removeprefix(f"{family}.")
    for old, new in (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")):
        name = name.replace(old, new)
    return name


def expected_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    """Every tensor of the configuration's model, by the library's name for it."""
    return _t5_shapes(config) if config["model_type"] == "t5" else _bert_shapes(config)


def _bert_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, Shape] = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], hidden),
    }
    norms, maps = ["embeddings.LayerNorm"], {"pooler.dense": (hidden, hidden)}
    for layer in range(config["num_hidden_layers"]):
        lead = f"encoder.layer.{layer}"
        attention = ("self.query", "self.key", "self.value", "output.dense")
        maps |= {f"{lead}.attention.{name}": (hidden, hidden) for name in attention}
        maps |= {
            f"{lead}.intermediate.dense": (inner, hidden),
            f"{lead}.output.dense": (hidden, inner),
        }
        norms += [f"{lead}.attention.output.LayerNorm", f"{lead}.output.LayerNorm"]
    for name, shape in maps.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (hidden,), f"{name}.bias": (hidden,)}
    return shapes


def _t5_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    width, inner = config["d_model"], config["d_ff"]
    shapes: dict[str, Shape] = dict.fromkeys(TIED, (config["vocab_size"], width))
    for stack, attentions in (
        ("encoder", ("SelfAttention",)),
        ("decoder", ("SelfAttention", "EncDecAttention")),
    ):
        shapes[f"{stack}.final_layer_norm.weight"] = (width,)
        first = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        shapes[first] = (T5_BUCKETS, config["num_heads"])
        for layer in range(config["num_layers"]):
            lead = f"{stack}.block.{layer}.layer"
            for place, name in enumerate(attentions):
                shapes |= {f"{lead}.{place}.{name}.{m}.weight": (width, width) for m in "qkvo"}
            last = f"{lead}.{len(attentions)}.DenseReluDense"
            shapes |= {f"{last}.wi.weight": (inner, width), f"{last}.wo.weight": (width, inner)}
            for place in range(len(attentions) + 1):
                shapes[f"{lead}.{place}.layer_norm.weight"] = (width,)
    return shapes


def not_finite(where: object, name: str) -> MissingModel:
    """The error of a tensor that holds NaN or infinity."""
    return refusal(
        where,
        f"its weights hold a number in {name} that is not finite",
        "Copy them again, or choose a checkpoint from before its training diverged.",
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
