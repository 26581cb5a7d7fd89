"""Rows as tokens: a `datasets` map, made once and read again from the store's cache folder.

A mapped set is one Arrow file, `<fingerprint>-<content>.arrow`. The fingerprint covers everything
that determines the tokens (see `_fingerprint`), so a file never becomes out of date. The second
part of the name is the digest of the file's content: a file whose content has another digest is
damaged; it is removed and made again. A file is written under another name and then renamed, so
several processes can map the same rows at once. An open file stays readable after its removal, so
any file may be removed at any time.

Nothing here is part of a run's identity: a file gives the same tokens as the tokenizer.

CPU seconds on a shared machine of 2 cores, MiniLM's tokenizer:

    rows                                        in memory   into a file   from the file
    SST-2, 67,349 sentences                           5.5           6.3             0.5
    SQuAD 2.0 dev, windows of both conventions        6.8           6.4             0.4

One process maps. With `num_proc=2`, 20,000 sentences took 5.1 s where one process took 3.4 s, and
one convention's windows 8.0 to 11.5 s where it took 6.5 to 9.1 s (35 % more CPU); the tokenizer's
own threads took 3.7 s for the sentences. Forked processes would also outlive a killed worker.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from repro.spec import canonical_json
from repro.spec.contents import file_digest
from repro.store.temporary import unfinished_name

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase

KEPT_FROM = 1_000
"""Sets of fewer rows are mapped in memory: 1,000 short sentences take 0.1 s there, 1.2 times that
into a file, and a third of it from the file (benchmarks/tokenised.py).
"""
ROWS_AT_ONCE = 2_000
DIGITS = 40
"""Of each digest in a file's name; `datasets` takes no fingerprint above 64."""

Columns = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Tokenisation:
    """How columns of rows become columns of tokens.

    `function(columns, tokenizer, **settings)` gets a batch of rows as lists by column, and returns
    such lists of any number of rows; `settings` are JSON data. `columns` names what it returns with
    the Arrow types, a list of integers as `["int32"]`. `revision` goes up with every change of the
    function that changes what it returns.
    """

    function: Callable[..., Columns]
    columns: Mapping[str, str | list[str]]
    revision: int


def tokenised(
    rows: Dataset,
    how: Tokenisation,
    tokenizer: PreTrainedTokenizerBase,
    cache: Path | None,
    **settings: Any,
) -> Dataset:
    """The rows mapped by `how`: read from a file in the folder `cache`, which is made if missing.

    The rows are mapped in memory without `cache`, if they are few, or if the folder cannot be used
    (one sentence on stderr says so).
    """
    import datasets

    datasets.disable_progress_bars()
    features = datasets.Features(
        {
            name: datasets.List(datasets.Value(*kind))
            if isinstance(kind, list)
            else datasets.Value(kind)
            for name, kind in how.columns.items()
        }
    )
    if not len(rows):
        return datasets.Dataset.from_dict({name: [] for name in features}, features)
    mapped = partial(
        rows.map,
        partial(how.function, tokenizer=tokenizer, **settings),
        batched=True,
        batch_size=ROWS_AT_ONCE,
        remove_columns=rows.column_names,
        features=features,
        load_from_cache_file=False,  # `_read` does that, and checks the content
    )
    if cache is not None and len(rows) >= KEPT_FROM:
        name = _fingerprint(rows, how, tokenizer, settings)
        try:
            found = _read(cache, name)
            if found is None:
                found = _written(partial(mapped, new_fingerprint=name), cache, name)
            return found
        except OSError as problem:
            reason = problem.strerror or problem
            _say(f"{cache} cannot be used ({reason}): rows are tokenised anew by every process.")
    return mapped(new_fingerprint="memory", keep_in_memory=True)


def arrays(mapped: Dataset, column: str) -> list[NDArray[Any]]:
    """A column of lists as one array a row: read-only views of the table's memory."""
    found = []
    for chunk in mapped.data.column(column).chunks:
        content = chunk.values.to_numpy()
        found += [content[begin:end] for begin, end in pairwise(chunk.offsets.to_pylist())]
    return found


def values(mapped: Dataset, column: str) -> list[Any]:
    """A column of numbers."""
    return list(mapped.data.column(column).to_numpy().tolist())


def _fingerprint(
    rows: Dataset,
    how: Tokenisation,
    tokenizer: PreTrainedTokenizerBase,
    settings: Mapping[str, Any],
) -> str:
    """A digest of everything that determines the mapped rows: the rows, the tokenizer, the
    settings, the function with its revision, and the libraries' versions.
    """
    import tokenizers
    import transformers

    parts = {
        "rows": _rows_digest(rows),
        "tokenizer": _tokenizer_digest(tokenizer),
        "settings": dict(settings),
        "function": f"{how.function.__module__}.{how.function.__qualname__}",
        "revision": how.revision,
        "columns": dict(how.columns),
        "versions": [tokenizers.__version__, transformers.__version__],
    }
    return sha256(canonical_json(parts).encode()).hexdigest()[:DIGITS]


def _rows_digest(rows: Dataset) -> str:
    """Of names, types and content; chunks of the table and a selection by index do not matter."""
    found = sha256(
        canonical_json({name: str(kind) for name, kind in rows.features.items()}).encode()
    )
    for part in rows.with_format("arrow").iter(ROWS_AT_ONCE):
        for batch in part.combine_chunks().to_batches():
            found.update(batch.serialize())
    return found.hexdigest()


def _tokenizer_digest(tokenizer: PreTrainedTokenizerBase) -> str:
    """Of tokenizer.json and of the settings that transformers adds to it."""
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()  # the last call left both set; the next call sets its own
    backend.no_padding()
    around = {
        "class": type(tokenizer).__name__,
        "special": {name: str(token) for name, token in tokenizer.special_tokens_map.items()},
        "inputs": tokenizer.model_input_names,
        "truncation_side": tokenizer.truncation_side,
        "split_special_tokens": tokenizer.split_special_tokens,
    }
    return sha256((canonical_json(around) + backend.to_str()).encode()).hexdigest()


def _read(cache: Path, name: str) -> Dataset | None:
    """The mapped set called `name`; None if there is no undamaged file of it. Raises OSError."""
    from datasets import Dataset

    for path in sorted(cache.glob(f"{name}-*.arrow")):
        with suppress(FileNotFoundError):  # removed just now
            if file_digest(path)[:DIGITS] == path.stem.rpartition("-")[2]:
                with suppress(OSError):  # a store that this user may only read
                    path.touch()  # `store gc` removes what was not used for long
                return Dataset.from_file(str(path))
            _say(f"{path} is damaged; it is removed and made again.")
            path.unlink()
    return None


def _written(mapped: Callable[..., Dataset], cache: Path, name: str) -> Dataset:
    """Maps into a file of `cache`. Raises OSError; no unfinished file is left."""
    folder = cache / unfinished_name(".tmp")
    try:
        folder.mkdir(parents=True)
        file = folder / "mapped.arrow"
        found = mapped(cache_file_name=str(file))
        os.replace(file, cache / f"{name}-{file_digest(file)[:DIGITS]}.arrow")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


@once
def _say(line: str) -> None:
    print(line, file=sys.stderr)
