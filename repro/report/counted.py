"""What is counted on real modules or data, kept beside the results so that a table needs neither.

Of a model, part -> trained parameters; of a task's data, split -> rows, all of them, whatever a
run draws.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repro.errors import MissingData
from repro.papers.request import Request
from repro.papers.tables import Counted, Fact, Table
from repro.spec import GlueTask, RunSpec, canonical_json
from repro.spec.identity import identity_fields, revisions
from repro.store.store import Store
from repro.store.strict_json import json_bytes

FOLDER = "counts"
COUNT = TypeAdapter(dict[str, int])


def to_count(table: Table, request: Request) -> list[tuple[Counted, RunSpec]]:
    """What a table's columns count, of which models, but where data cannot be had."""
    matrix = table.matrix(request)
    return [
        (column.counted, spec)
        for column in table.columns
        if isinstance(column, Fact) and column.counted
        for row in table.rows
        for spec in matrix.of(row.name, column.name)
        if spec.task.name not in request.unavailable
    ]


def read_count(store: Store, what: Counted, spec: RunSpec) -> dict[str, int] | None:
    """Part -> its number; None where it was not counted, or the file is damaged."""
    for content in store.contents(f"{FOLDER}/{_name(what, spec)}"):
        with suppress(ValidationError):
            return COUNT.validate_json(content, strict=True)
    return None


def count_missing(table: Table, request: Request, store: Store) -> list[str]:
    """Counts what was not counted yet; returns why data could not be had, each reason once.

    Raises StoreError.
    """
    problems: dict[str, str] = {}
    for what, spec in to_count(table, request):
        if spec.task.name in problems or read_count(store, what, spec) is not None:
            continue
        try:
            store.save_record(f"{FOLDER}/{_name(what, spec)}", _counted(what, spec))
        except MissingData as problem:
            problems[spec.task.name] = str(problem)
    return list(problems.values())


def count_files(table: Table, request: Request, store: Store) -> dict[str, bytes]:
    """Name -> content of the files with the counts behind a table, for a bundle."""
    found = {
        f"{FOLDER}/{_name(what, spec)}": read_count(store, what, spec)
        for what, spec in to_count(table, request)
    }
    return {name: json_bytes(count) for name, count in found.items() if count is not None}


def _counted(what: Counted, spec: RunSpec) -> dict[str, int]:
    if what == "rows":
        from repro.tasks.sentences.rows import task_rows

        return {split: len(rows) for split, rows in task_rows(_whole(spec)).items()}
    from repro.methods.modules.counting import count_modules

    return count_modules(spec)


def _whole(spec: RunSpec) -> GlueTask:
    assert isinstance(spec.task, GlueTask)
    return spec.task.model_copy(update={"train_rows": None, "evaluation_rows": None})


def _name(what: Counted, spec: RunSpec) -> str:
    """By all that the count depends on: the rows and the code that reads or makes them; or the
    method, the encoder's shape, the task's outputs.
    """
    task, encoder = spec.task, spec.backbone
    if what == "rows":
        raised = {part: number for part, number in task.code.items() if number > 1}
        document: list[Any] = [identity_fields(_whole(spec)), *([raised] if raised else ())]
    else:
        shape = [encoder.layers, encoder.hidden_size, encoder.intermediate_size]
        several = [task.names] if task.names != (task.name,) else []
        document = [identity_fields(spec.method), shape, encoder.parameters, task.name]
        document += [revisions(spec), *several]
    return hashlib.sha256(canonical_json(document).encode()).hexdigest()[:16] + ".json"
