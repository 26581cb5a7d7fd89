"""Which files of a model folder hold its weights, what is in them, and whether that is the model
of its configuration. Torch-free.

Safetensors files are read, one or several with an index; weights in another format get the command
that converts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from repro.errors import MissingModel
from repro.spec.backbones import T5_BUCKETS

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
NEEDED = ("config.json", WEIGHTS, "tokenizer.json")
FLOATS = ("F16", "BF16", "F32", "F64")
OTHER_FORMATS = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index", "bert_model.ckpt.index")
Shape = tuple[int, ...]
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
CONVERSION = (
    'python -c "import glob, torch; from safetensors.torch import save_file; '
    "files = sorted(glob.glob('{folder}/pytorch_model*.bin')); "
    "tensors = {{n: t.clone().contiguous() for f in files "
    "for n, t in torch.load(f, weights_only=True).items()}}; "
    "save_file(tensors, '{folder}/model.safetensors', metadata={{'format': 'pt'}})\""
)
"""Writes the tensors of pickled files as they are; a library's model would add random ones."""


def refusal(where: object, problem: str, mend: str) -> MissingModel:
    """The error of a model that cannot be used: where it is, what is wrong, what to do."""
    return MissingModel(f"The model {where} cannot be used: {problem}. {mend}")


def weight_names(folder: Path) -> tuple[str, ...]:
    """The files that hold the weights: one, or an index and the shards that it names.

    Raises MissingModel, with the mend, for a folder that lacks them.
    """
    if (folder / WEIGHTS).is_file():
        return (WEIGHTS,)
    if not (folder / INDEX).is_file():
        raise MissingModel(f"{folder} holds no {WEIGHTS}{_mend(folder)}")
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names, _ = set(index["weight_map"].values()), index["metadata"]  # the library reads both
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise MissingModel(
            f"{folder / INDEX} cannot be read ({problem}). Copy it again."
        ) from problem
    absent = sorted(str(name) for name in names if not (folder / str(name)).is_file())
    if absent or not names:
        lacks = f"lacks {absent[0]}, which {INDEX} names" if absent else f"has an empty {INDEX}"
        raise MissingModel(f"{folder} {lacks}. Copy the files of the weights again.")
    return (INDEX, *sorted(map(str, names)))


def _mend(folder: Path) -> str:
    if any(folder.glob("pytorch_model*.bin")):
        command = CONVERSION.format(folder=folder)
        return f" but PyTorch's pickled weights. Convert them: {command}"
    if any((folder / name).is_file() for name in OTHER_FORMATS):
        return (
            " but weights of TensorFlow or JAX. Convert them with a version of transformers that "
            "reads them (from_pretrained, then save_pretrained), or take the model's PyTorch files."
        )
    return f". A model folder needs {', '.join(NEEDED)}."


def tensor_shapes(folder: Path, names: Sequence[str]) -> dict[str, Shape]:
    """Name -> shape of every tensor in the files, of which only the headers are read.

    Raises MissingModel for a file that is none or is cut off, and for tensors that are not
    floating-point numbers; a buffer of whole numbers is left out.
    """
    found: dict[str, Shape] = {}
    for name in names:
        if name == INDEX:
            continue
        with opened(folder / name) as file:
            for tensor in file.keys():  # noqa: SIM118 - no mapping
                part = file.get_slice(tensor)
                if part.get_dtype() in FLOATS:
                    found[tensor] = tuple(part.get_shape())
                elif not tensor.endswith("_ids"):
                    raise MissingModel(
                        f"{folder / name} holds {tensor} as {part.get_dtype()}, and weights are "
                        f"one of {', '.join(FLOATS)}. Put weights there that are not quantised."
                    )
    return found


def not_finite_in(path: Path) -> str | None:
    """The first tensor of a file with a number that is not finite; None where there is none.

    NumPy has no bf16: such tensors are checked when they are loaded.
    """
    if path.name == INDEX:
        return None
    return _first_broken(path, *version(path))


def version(path: Path) -> tuple[int, int]:
    """Size and time of a file: the same while its content is, so that a command reads it once."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=64)
def _first_broken(path: Path, size: int, changed: int) -> str | None:
    import numpy as np

    with opened(path) as file:
        for name in sorted(file.keys()):
            if file.get_slice(name).get_dtype() not in ("F16", "F32", "F64"):
                continue
            values = file.get_tensor(name)
            if not np.isfinite(values).all():
                return str(name)
    return None


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file; raises MissingModel for one that is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError) as problem:
        raise MissingModel(
            f"{path} is damaged or no safetensors file ({problem}). Copy it again."
        ) from problem


# -- whether the tensors are those of the configuration ------------------------------------------


def check_shapes(found: Mapping[str, Shape], config: Mapping[str, Any], where: object) -> None:
    """Raises MissingModel unless the tensors are those of the configuration, in shape too."""
    family = config["model_type"]
    expected = _t5_shapes(config) if family == "t5" else _bert_shapes(config)
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


def _bert_shapes(config: Mapping[str, Any]) -> dict[str, Shape]:
    """Every tensor of the configuration's model, by the library's name for it."""
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
