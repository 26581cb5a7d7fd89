"""Parameters counted on real modules, kept beside the results so that a table needs no torch."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from repro.papers.tables import Fact, Request, Table
from repro.spec import RunSpec, canonical_json
from repro.spec.identity import identity_fields, revisions
from repro.store.atomic import write_json
from repro.store.store import Store

FOLDER = "counts"
COUNT = TypeAdapter(dict[str, int])


def models_to_count(table: Table, request: Request) -> list[RunSpec]:
    """The models that a table's columns count."""
    return [
        spec
        for column in table.columns
        if isinstance(column, Fact) and column.counted
        for row in table.rows
        for spec in table.cell_runs(row, column, request)
    ]


def read_count(store: Store, spec: RunSpec) -> dict[str, int] | None:
    """Part -> trained parameters; None where they were not counted, or the file is damaged."""
    for root in store.roots:
        try:
            return COUNT.validate_json((root / FOLDER / _name(spec)).read_bytes(), strict=True)
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            continue
    return None


def count_missing(table: Table, request: Request, store: Store) -> None:
    """Counts what was not counted yet. Raises StoreError."""
    for spec in models_to_count(table, request):
        if read_count(store, spec) is None:
            from repro.methods.inside.counting import count_modules

            write_json(store.root / FOLDER / _name(spec), count_modules(spec))


def copy_counts(table: Table, request: Request, store: Store, destination: Path) -> None:
    """Copies the counts behind a table to another store. Raises StoreError."""
    for spec in models_to_count(table, request):
        count = read_count(store, spec)
        if count is not None:
            write_json(destination / FOLDER / _name(spec), count)


def _name(spec: RunSpec) -> str:
    """By all that the count depends on: the method, the encoder's shape, the task's outputs."""
    shape = [spec.backbone.layers, spec.backbone.hidden_size, spec.backbone.intermediate_size]
    document = [
        identity_fields(spec.method), shape, spec.backbone.parameters, spec.task.name,
        revisions(spec),
    ]  # fmt: skip
    return hashlib.sha256(canonical_json(document).encode()).hexdigest()[:16] + ".json"
