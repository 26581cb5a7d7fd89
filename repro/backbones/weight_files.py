"""Which files of a model folder hold its weights, and what is in them. Torch-free.

Safetensors files are read, one or several with an index; weights in another format get the command
that converts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from repro.errors import MissingModel

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
NEEDED = ("config.json", WEIGHTS, "tokenizer.json")
FLOATS = ("F16", "BF16", "F32", "F64")
OTHER_FORMATS = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index", "bert_model.ckpt.index")
Shape = tuple[int, ...]

CONVERSION = (
    'python -c "import glob, torch; from safetensors.torch import save_file; '
    "files = sorted(glob.glob('{folder}/pytorch_model*.bin')); "
    "tensors = {{n: t.clone().contiguous() for f in files "
    "for n, t in torch.load(f, weights_only=True).items()}}; "
    "save_file(tensors, '{folder}/model.safetensors', metadata={{'format': 'pt'}})\""
)
"""Writes the tensors of pickled files as they are; a library's model would add random ones."""


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
