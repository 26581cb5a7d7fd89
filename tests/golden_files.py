"""What must not change while the code around it does: run keys, stored cells, generated rows.

`PYTHONPATH=. python tests/golden_files.py` writes the files anew. Do that only for a change that
is meant to change keys, cells or rows, and say which in the commit.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from committed import NAMES, committed

from repro.backbones.tiny_t5 import vocabulary
from repro.errors import ReproError
from repro.papers.hyperformer import setting as hyperformer
from repro.papers.registry import ARTEFACTS, FIGURES, TABLES
from repro.papers.request import SHORT_NAMES, Request, settings_of
from repro.report.figures.view import view_figure
from repro.report.files import command_line, saved_requests
from repro.report.view import view_table
from repro.spec.backbones import KNOWN
from repro.spec.identity import canonical_json
from repro.spec.tasks import KINDS
from repro.spec.text_to_text import FEW_SHOT, MIXTURE
from repro.store.store import Store
from repro.tasks.generated import SCORED, default_revision, generate

HERE = Path(__file__).parent / "golden"
KEYS, CELLS, ROWS = HERE / "keys.jsonl.gz", HERE / "cells.jsonl.gz", HERE / "rows.jsonl.gz"

SCALES = ("smoke", "reduced", "paper")
OPTIONS: tuple[dict[str, Any], ...] = (
    {"train_rows": 48},
    {"train_rows": 0},
    {"evaluation_rows": 32},
    {"epochs": 2},
    {"learning_rate": 2e-4},
    {"bottleneck": 12},
    {"precision": "fp32"},
    {"precision": "bf16"},
    {"backbone": "minilm-l6"},
    {"backbone": "google-bert/bert-base-uncased"},
    {"backbone": "google-t5/t5-small"},
    {"seeds": 4},
    {"settings": {"recipe.clip_norm": 0.5}},
    {"settings": {"method.dropout": 0.2}},
    {"settings": {"task.subset_seed": 7}},
)
"""Documented options, one at a time; of a model with a reading, a section, a task or a method all
of these, too."""

SIZES = (
    "seed=0,train=8,validation=4", "seed=0,train=20,validation=12", "seed=0,train=30,validation=0",
    "seed=0,train=40,validation=12", "seed=0,train=100,validation=40",
    "seed=0,train=600,validation=300", "seed=1,train=23,validation=1",
    "seed=1,train=200,validation=100", "seed=3,train=20,validation=6",
    "seed=5,train=12,validation=30", "seed=a,train=1,validation=1", "",
)  # fmt: skip
"""Revisions of generated rows, beside the default ones: those of the tests, one that is more than
some sets have, and two of no form.
"""
LARGE = {
    "span-corruption": (hyperformer.CORPUS, *SIZES),
    "squad2": ("seed=1,train=1200,validation=800", *SIZES),
} | dict.fromkeys((*MIXTURE, *FEW_SHOT), (hyperformer.SMOKE_DATA, *SIZES))


def choices(id: str) -> Iterator[dict[str, Any]]:
    """Everything that an artefact is asked for: its scale's own, the readings, then one option."""
    artefact = ARTEFACTS[id]
    for scale in SCALES:
        yield {"scale": scale}
        yield {"scale": scale, "as_released": True}
        if artefact.paper == "adaptable_adapters":  # type: ignore[attr-defined]
            yield {"scale": scale, "published_layers": True}
    for scale in ("smoke", "paper"):
        one = {"scale": scale, "seeds": 1}
        yield from (one | option for option in OPTIONS)
        yield from (one | {"tasks": (task,)} for task in artefact.tasks)
        yield from (one | {"sections": (name,)} for name in getattr(artefact, "sections", ()))
        yield from (one | {"method": name} for name in getattr(artefact, "methods", ()))


def request_of(id: str, options: dict[str, Any]) -> Request:
    """The request that these options make."""
    given = {"seeds": ARTEFACTS[id].default_seeds[options["scale"]]} | options
    if "backbone" in given:
        given["backbone"] = KNOWN[given["backbone"]]
    short = {name: given.pop(name) for name in SHORT_NAMES if name in given}
    given["settings"] = given.get("settings", {}) | settings_of(**short)
    return Request(id=id, **given)


def keys() -> Iterator[dict[str, Any]]:
    """One line a request: its runs in order, in full where nothing but a reading is given."""
    for id in ARTEFACTS:
        for options in choices(id):
            try:
                found = list(ARTEFACTS[id].matrix(request_of(id, options)).runs)
            except ReproError as problem:
                yield {"id": id, "options": options, "refused": type(problem).__name__}
                continue
            line = {"id": id, "options": options, "runs": len(found), "digest": _digest(found)}
            yield line | ({} if "seeds" in options else {"keys": [key[:10] for key in found]})


def cells() -> Iterator[dict[str, Any]]:
    """One line a cell of a table, and one a figure, of everything that each bundle shows."""
    for name in NAMES:
        with TemporaryDirectory() as folder:
            store = committed(Path(folder), name)
            for request in saved_requests(store):
                asked = {"store": name, "command": command_line(request)}
                yield from (asked | line for line in _of_request(request, store))


def _of_request(request: Request, store: Store) -> Iterator[dict[str, Any]]:
    if request.id in FIGURES:
        view = view_figure(FIGURES[request.id], request, store)
        shown = {key: value for key, value in view.document.items() if key != "files"}
        yield {"figure": shown, "runs": list(view.runs)}
    else:
        yield from _of_table(request, store)


def _of_table(request: Request, store: Store) -> Iterator[dict[str, Any]]:
    for row in view_table(TABLES[request.id], request, store).rows:
        for cell in row.cells:
            printed, ours = cell.published, cell.reproduced
            yield {
                "row": row.row.name,
                "column": cell.column.name,
                "published": printed and [printed.value, printed.sd, printed.n],
                "reproduced": ours and [ours.mean, ours.sd, ours.n, list(ours.values)],
                "text": cell.text,
                "difference": cell.difference,
                "verdict": cell.verdict,
                "reason": cell.reason,
                "runs": list(cell.runs),
            }


def rows() -> Iterator[dict[str, Any]]:
    """One line a generated set and revision: the digest of its rows, or why it is refused.

    Stored runs are keyed by the revision numbers of the first line, not by the rows: whoever
    changes rows raises the numbers.
    """
    yield dict(list(kind.code.items())[1] for kind in KINDS)
    yield {"tiny T5": hashlib.sha256(canonical_json(vocabulary()).encode()).hexdigest()}
    for name in SCORED:
        sizes = LARGE.get(name.removeprefix("text-to-text/"), SIZES)
        for revision in (default_revision(name), *sizes):
            line = {"name": name, "revision": revision}
            try:
                made = generate(name, revision)
            except ReproError as problem:
                yield line | {"refused": str(problem)}
                continue
            digest = hashlib.sha256(canonical_json(made).encode()).hexdigest()
            yield line | {"rows": {split: len(of) for split, of in made.items()}, "digest": digest}


def _digest(found: list[str]) -> str:
    return hashlib.sha256("".join(found).encode()).hexdigest()[:24]


def write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """The same lines give the same bytes."""
    text = "".join(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


if __name__ == "__main__":
    write(KEYS, keys())
    write(CELLS, cells())
    write(ROWS, rows())
