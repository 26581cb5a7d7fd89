"""What can be compared with a printed number: the declared runs alone, whatever a request says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args, get_origin

import fake_glue
import fake_results
import fake_written
import pytest
from fake_contents import COMMIT, FROM_HUB, LOCK, as_locked
from pydantic import ValidationError
from request_samples import made
from run_samples import changed

from repro.cli.requests import make_request
from repro.papers.matrix import Behind, Chain
from repro.papers.registry import TABLES
from repro.papers.request import OPTIONS, Request
from repro.papers.tables import Row, Score, Table
from repro.report.captions import caption
from repro.report.cells import Cell
from repro.report.declared import settings_differ
from repro.report.view import TableView, view_table
from repro.spec import RunSpec, run_key
from repro.spec.backbones import KNOWN, MINILM
from repro.spec.contents import Content, Contents
from repro.spec.fields import MARK, Spec
from repro.store import Store

SEEDS = 5
ADAPTER = TABLES["ResAdapters-1"].rows[0]
ONE_ROW = replace(TABLES["ResAdapters-1"], rows=(ADAPTER,))


def cell(table: TableView, row: str, column: str) -> Cell:
    found = next(found for found in table.rows if found.row.name == row)
    return next(cell for cell in found.cells if cell.column.name == column)


def as_printed(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
    """What the paper prints of the first row."""
    column = next(c for c in ONE_ROW.scores if (c.metric, c.group) == (metric, group))
    printed = ONE_ROW.published_cell(ADAPTER, column)
    assert printed is not None
    assert printed.value is not None
    return printed.value


def store_as_printed(store: Store, table: Table, asked: Request) -> TableView:
    """Every run of the row, scored as printed, and the table of them."""
    for spec in table.matrix(asked).runs.values():
        fake_results.store_result(store, spec, as_printed)
    return view_table(table, asked, store)


def verdicts(table: TableView) -> set[str | None]:
    return {cell.verdict for row in table.rows for cell in row.cells}


def reasons(table: TableView) -> set[str]:
    return {cell.reason for row in table.rows for cell in row.cells}


# -- the options of the command line -----------------------------------------------------------

CHANGES: dict[str, tuple[Any, str]] = {
    "backbone": (MINILM, "backbone.id minilm-l6, declared google-bert/bert-base-uncased"),
    "train_rows": (1_000, "task.train_rows 1000, declared"),
    "evaluation_rows": (100, "task.evaluation_rows 100, declared unset"),
    "epochs": (1, "recipe.epochs 1, declared"),
    "learning_rate": (3.3e-4, "recipe.learning_rate 0.00033, declared"),
    "bottleneck": (80, "method.bottleneck 80, declared 200"),
    "precision": ("fp32", "recipe.precision fp32, declared bf16"),
    "settings": (["recipe.warmup=0.5"], "recipe.warmup 0.5, declared 0"),
}
"""Option -> a value, and what the reason says of it."""
READINGS = ("as_released", "published_layers")
"""Declared by the artefact: judged, and named in the caption."""
CHANGES_NO_RUN = (
    "scale", "seeds", "tasks", "server", "sections", "rows", "columns", "method",
)  # fmt: skip


@pytest.fixture
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPRO_DATA", raising=False)


def test_every_option_is_known_to_this_test() -> None:
    assert {*CHANGES, *READINGS, *CHANGES_NO_RUN} == OPTIONS.keys()


@pytest.mark.usefixtures("_no_data")
def test_the_artefacts_own_runs_match(store: Store) -> None:
    asked = make_request(ONE_ROW, "paper", seeds=SEEDS)
    assert verdicts(store_as_printed(store, ONE_ROW, asked)) == {"MATCH"}


@pytest.mark.usefixtures("_no_data")
@pytest.mark.parametrize("option", CHANGES)
def test_an_option_that_changes_runs_leaves_nothing_to_compare(store: Store, option: str) -> None:
    value, said = CHANGES[option]
    asked = make_request(ONE_ROW, "paper", seeds=SEEDS, **{option: value})
    declared = [*ONE_ROW.matrix(asked.declared()).runs.values()]
    if option == "precision" and declared[0].recipe.precision == "fp32":
        pytest.fail("name the other precision")
    table = store_as_printed(store, ONE_ROW, asked)
    assert verdicts(table) == {"NOT COMPARABLE"}
    (reason,) = reasons(table)
    assert said in reason
    assert f"(not comparable with the published numbers: {reason})" in caption(table)


def test_printed_layers_are_a_reading_that_the_caption_names(store: Store) -> None:
    (row,) = [row for row in TABLES["AA-2"].rows if row.name == "Low-data-100 / AA-focused^uni"]
    table = replace(TABLES["AA-2"], rows=(row,))
    asked = fake_glue.request("AA-2", "paper", tasks=("rte",), published_layers=True)
    for spec in table.matrix(asked).runs.values():
        fake_glue.store_run(store, spec)
    found = view_table(table, asked, store)
    assert cell(found, row.name, "RTE").verdict == "SINGLE"
    assert "Reading: as published, with the printed layers." in caption(found)


@pytest.mark.usefixtures("_no_data")
def test_the_released_reading_is_judged_and_named(store: Store) -> None:
    asked = make_request(ONE_ROW, "paper", seeds=SEEDS, as_released=True)
    table = store_as_printed(store, ONE_ROW, asked)
    assert verdicts(table) == {"MATCH"}
    assert "Reading: as released." in caption(table)


def test_a_small_encoder_on_few_rows_is_not_judged_at_the_papers_scale(store: Store) -> None:
    """`table 3-shared-3 --scale paper --backbone minilm-l6 --train-rows 100 --evaluation-rows 60
    --epochs 1 --seeds 3` said LOWER: 73.3 against 92.5, 51.7 against 85.3.
    """
    asked = fake_glue.request(
        "3-shared-3", "paper", seeds=3, tasks=("corporate-messaging", "disasters"),
        backbone=KNOWN[MINILM], train_rows=100, evaluation_rows=60, epochs=1,
    )  # fmt: skip
    scores = {"corporate-messaging": 73.3, "disasters": 51.7}
    fake_glue.store_table(store, asked, lambda spec, *_: scores[spec.task.name])
    table = view_table(TABLES[asked.id], asked, store)
    cells = [cell for row in table.rows for cell in row.cells if cell.reproduced is not None]
    assert len(cells) == 4
    for found in cells:
        assert found.verdict == "NOT COMPARABLE"
        assert found.reason.startswith("backbone.id minilm-l6, declared google-bert/bert-base-unca")
        assert "recipe.epochs 1, declared" in found.reason
        assert found.reason.endswith(" more")


# -- every field of every table's runs ---------------------------------------------------------


KINDS = "method.kind", "task.name"
VALUES = (
    7,
    8,
    40,
    0.3,
    True,
    False,
    "other",
    ("cola",),
    ("rte",),
    ("key",),
    (0, 1),
    {"other": "0" * 64},
)


def leaves(spec: Spec, prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """(path, values to try) of every identity field, those that have their default included."""
    for name, field in type(spec).model_fields.items():
        extra, value = field.json_schema_extra, getattr(spec, name)
        assert isinstance(extra, dict)
        if isinstance(value, Spec) and extra[MARK]:
            yield from leaves(value, f"{prefix}{name}.")
        elif extra[MARK]:
            parts = (field.annotation, *get_args(field.annotation))
            choices = [get_args(part) for part in parts if get_origin(part) is Literal]
            yield f"{prefix}{name}", [*(one for some in choices for one in some), *VALUES]


def with_another(spec: RunSpec, path: str, values: list[Any]) -> RunSpec:
    """The run with the first of these values that the field can have and has not."""
    for value in values:
        with contextlib.suppress(ValidationError):
            other = changed(spec, tuple(path.split(".")), value)
            if run_key(other) != run_key(spec):
                return other
    raise AssertionError(f"no other value of {path} is known to this test")


def first_of_each_method(table: Table) -> list[RunSpec]:
    """A declared run of every kind of method in the table."""
    asked = Request(table.id, "paper", 1)
    found: dict[str, RunSpec] = {}
    for row in table.trained:
        column = (table.scores or table.columns)[0]
        for spec in table.matrix(asked).of(row.name, column.name)[:1]:
            found.setdefault(spec.method.kind, spec)
    return list(found.values())


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_each_identity_field_changed_alone_is_named(table: Table) -> None:
    for spec in first_of_each_method(table):
        declared = Behind([spec])
        assert settings_differ(declared, declared) == ""
        for path, values in leaves(spec):
            if path in ("seed", *KINDS):
                continue
            said = settings_differ(Behind([with_another(spec, path, values)]), declared)
            assert said.startswith(path), (path, said)
            assert ", declared " in said


def test_another_kind_of_method_or_task_is_named_without_its_fields() -> None:
    kinds = {spec.method.kind: spec for spec in first_of_each_method(ONE_ROW)}
    for table in (TABLES["3-shared-2"], TABLES["Peters-1"], TABLES["Hyperformer-1"]):
        for spec in first_of_each_method(table):
            for one in kinds.values():
                other = changed(one, ("method",), spec.method)
                said = settings_differ(Behind([other]), Behind([one]))
                assert said == f"method.kind {spec.method.kind}, declared {one.method.kind}"
                other = changed(one, ("task",), spec.task)
                said = settings_differ(Behind([other]), Behind([one]))
                assert said == f"task.name {spec.task.name}, declared {one.task.name}"


def test_another_seed_is_the_same_run() -> None:
    spec = next(iter(ONE_ROW.matrix(Request("ResAdapters-1", "paper", 1)).runs.values()))
    assert settings_differ(Behind([changed(spec, ("seed",), 99)]), Behind([spec])) == ""


def test_each_field_turns_a_match_into_a_number_that_is_not_compared(store: Store) -> None:
    """From the run to the verdict, for all fields of one table: only the seed may differ."""
    column = ONE_ROW.scores[0]
    # no declared request names its data: so is this one told from it
    one = Request("ResAdapters-1", "paper", 1, data_revisions={"squad2": None})

    def judged(change: Callable[[RunSpec], RunSpec], asked: Request = one) -> Cell:
        def chains(row: Row, column: Any, request: Request) -> list[Chain]:
            specs = ONE_ROW.matrix(request).of(row.name, column.name)
            return [(change(spec) if request == asked else spec,) for spec in specs]

        table = replace(ONE_ROW, columns=(column,), chains=chains)
        return store_as_printed(store, table, asked).rows[0].cells[0]

    five = replace(one, seeds=SEEDS)
    assert judged(lambda spec: spec, five).verdict == "MATCH"
    assert judged(lambda spec: changed(spec, ("seed",), spec.seed + 50), five).verdict == "MATCH"
    assert judged(lambda spec: spec).verdict == "SINGLE"
    tried = [
        (path, values)
        for path, values in leaves(next(iter(ONE_ROW.matrix(one).runs.values())))
        if path != "seed"
    ]
    assert len(tried) > 40
    for path, values in tried:
        if path in ("scale", "parents", *KINDS):
            continue  # a run of another scale, kind or parent is no run of this table
        found = judged(partial(with_another, path=path, values=values))
        assert (found.verdict, found.reason.split()[0]) == ("NOT COMPARABLE", path)


# -- what is made of several runs --------------------------------------------------------------


def test_a_part_of_a_sweep_is_not_the_sweep(store: Store) -> None:
    asked = fake_glue.request("Houlsby-1", "paper", seeds=5, tasks=("rte",), learning_rate=3e-4)
    fake_glue.store_table(store, asked)
    found = cell(view_table(TABLES["Houlsby-1"], asked, store), "Adapters (64)", "RTE")
    assert found.reason == "recipe.learning_rate 0.0003, declared 3e-05, 0.0003 or 0.003"


def test_the_best_of_fewer_restarts_is_not_the_best_of_five(store: Store) -> None:
    asked = fake_glue.request("Houlsby-1", "paper", seeds=2, tasks=("rte",))
    fake_glue.store_table(store, asked)
    table = view_table(TABLES["Houlsby-1"], asked, store)
    assert cell(table, "Adapters (64)", "RTE").reason == "best of 2, declared of 5"
    assert cell(table, "BERT-large", "RTE").reason == "best of 2, declared of 5"


def test_a_difference_of_rows_is_of_the_runs_of_both(store: Store) -> None:
    asked = fake_glue.request("Peters-1", "paper", tasks=("sick-e",), epochs=1)
    fake_glue.store_table(store, asked)
    found = cell(view_table(TABLES["Peters-1"], asked, store), "BERT-base, delta", "SICK-E")
    assert (found.verdict, found.reason[:25]) == ("NOT COMPARABLE", "recipe.epochs 1, declared")


def test_a_mean_over_columns_is_of_the_runs_of_all(store: Store) -> None:
    row = next(row for row in TABLES["AA-2"].rows if row.name == "Low-data-100 / Baseline")
    table = replace(TABLES["AA-2"], rows=(row,))
    for epochs, verdict in ((None, "SINGLE"), (1, "NOT COMPARABLE")):
        asked = fake_glue.request("AA-2", "paper", epochs=epochs)
        for spec in table.matrix(asked).runs.values():
            fake_glue.store_run(store, spec)
        found = cell(view_table(table, asked, store), row.name, "Avg")
        assert found.verdict == verdict
        assert found.reason.startswith("recipe.epochs 1, declared ") == (epochs == 1)


def test_a_word_about_a_model_set_by_hand_is_not_compared(store: Store) -> None:
    table, column = TABLES["3-shared-1"], "Trained part of BERT"
    asked = Request(table.id, "smoke", 1, settings={"method.norms": "all"})
    found = cell(view_table(table, asked, store), "Houlsby", column)
    assert (found.verdict, found.reason) == (
        "NOT COMPARABLE",
        "method.norms all, declared none",
    )
    asked = made(id=table.id, scale="smoke", seeds=1, epochs=1)  # nothing to what is counted
    assert cell(view_table(table, asked, store), "Houlsby", column).verdict == "MATCH"


def test_a_parent_of_other_settings_is_named() -> None:
    table = TABLES["Hyperformer-2"]
    plain = table.matrix(Request(table.id, "paper", 1))
    of_cell = plain.behind((table.rows[-1].name, table.scores[0].name))

    def behind(change: Callable[[RunSpec], RunSpec]) -> Behind:
        parents = {run_key(run): change(run) for run in of_cell.needed}
        runs = [
            run.model_copy(
                update={"parents": {r: run_key(parents[k]) for r, k in run.parents.items()}}
            )
            for run in of_cell.runs
        ]
        return Behind(runs, list(parents.values()))

    other = behind(lambda run: changed(run, ("recipe", "steps"), 12))
    assert settings_differ(other, behind(lambda run: run)) == (
        "parents.multi-task.recipe.steps 12, declared 65536"
    )


# -- weights, tokenizer and rows ---------------------------------------------------------------

FOLDER = Content(digests={"config.json": "1" * 64, "model.safetensors": "2" * 64})
ROWS = Content(digests={"train": "3" * 64, "validation": "4" * 64})
BERT = "google-bert/bert-base-uncased"
MEND = "; run `python -m repro prepare --lock {name}` on a machine with the hub"


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Contents], None]:
    """Puts another lock file in place of the committed one."""

    def put(contents: Contents) -> None:
        monkeypatch.setattr("repro.report.declared.locked", lambda: contents)

    put(Contents())
    return put


def judged(store: Store, read: Contents) -> Cell:
    """The first cell of five runs that say that they have read this."""
    made = fake_results.request(scale="paper", seeds=SEEDS)
    for spec in ONE_ROW.matrix(made).runs.values():
        fake_results.store_result(store, spec, as_printed, read=read)
    return view_table(ONE_ROW, made, store).rows[0].cells[0]


def test_files_and_rows_that_the_lock_has_are_known(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    read = Contents(models={BERT: FOLDER}, data={"squad_v2": ROWS})
    lock(Contents(models={BERT: FOLDER}, data={"squad_v2": ROWS}))
    assert judged(store, read).verdict == "MATCH"


def test_a_folder_in_the_place_of_a_published_model_is_unverified_without_a_lock(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    """Any weights in the shape of BERT-base below $REPRO_MODELS were taken for BERT-base."""
    lock(Contents(data={"squad_v2": ROWS}))
    found = judged(store, Contents(models={BERT: FOLDER}, data={"squad_v2": ROWS}))
    assert found.verdict == "NOT COMPARABLE"
    assert found.reason == (
        f"unverified: weights and tokenizer of {BERT} (not in the lock file)"
        + MEND.format(name=BERT)
    )


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer_config.json"])
def test_other_files_than_the_locked_ones_are_named(
    store: Store, lock: Callable[[Contents], None], name: str
) -> None:
    locked = Content(revision=COMMIT, digests=FOLDER.digests | {name: "9" * 64})
    lock(Contents(models={BERT: locked}, data={"squad_v2": ROWS}))
    found = judged(store, Contents(models={BERT: FOLDER}, data={"squad_v2": ROWS}))
    assert f"({name} is not the locked one)" in found.reason


def test_other_rows_than_the_locked_ones_are_named(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    other = Content(digests=ROWS.digests | {"validation": "5" * 64})
    lock(Contents(models={BERT: FOLDER}, data={"squad_v2": other}))
    found = judged(store, Contents(models={BERT: FOLDER}, data={"squad_v2": ROWS}))
    assert found.verdict == "NOT COMPARABLE"
    assert found.reason.startswith(
        "unverified: rows of squad_v2 (validation is not the locked one); "
    )


@pytest.mark.parametrize("part", ["models", "data"])
def test_what_the_lock_lacks_is_known_by_a_commit_of_the_hub(
    store: Store, lock: Callable[[Contents], None], part: str
) -> None:
    read = Contents(models={BERT: FROM_HUB}, data={"squad_v2": FROM_HUB})
    lock(read.model_copy(update={part: {}}))
    assert judged(store, read).verdict == "MATCH"


@pytest.mark.parametrize("part", ["models", "data"])
def test_local_files_that_the_lock_lacks_are_not_known(
    store: Store, lock: Callable[[Contents], None], part: str
) -> None:
    read = Contents(models={BERT: FROM_HUB}, data={"squad_v2": FROM_HUB})
    lock(read.model_copy(update={part: {}}))
    local = {BERT: FOLDER} if part == "models" else {"squad_v2": ROWS}
    found = judged(store, read.model_copy(update={part: local}))
    assert found.verdict == "NOT COMPARABLE"
    assert "(not in the lock file)" in found.reason


def test_an_entry_of_the_lock_without_digests_verifies_nothing(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    named = Content(revision=COMMIT, digests={})
    lock(Contents(models={BERT: named}, data={"squad_v2": named}))
    found = judged(store, Contents(models={BERT: FROM_HUB}, data={"squad_v2": FROM_HUB}))
    assert found.verdict == "NOT COMPARABLE"
    assert "(what is not the locked one), and 1 more" in found.reason


def test_files_that_were_not_downloaded_of_the_locked_commit_may_be_absent(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    whole = Content(revision=COMMIT, digests=FOLDER.digests | {"vocab.txt": "9" * 64})
    lock(Contents(models={BERT: whole}, data={"squad_v2": ROWS}))
    part = FOLDER.model_copy(update={"revision": COMMIT})
    assert judged(store, Contents(models={BERT: part}, data={"squad_v2": ROWS})).verdict == "MATCH"


def test_every_set_of_a_mixture_has_to_be_known(
    store: Store, lock: Callable[[Contents], None]
) -> None:
    """A run's own record of what it read named fewer sets, or others, than its task reads."""
    table = TABLES["Hyperformer-1"]
    row, column = table.rows[-1], table.scores[0]
    asked = fake_written.request("Hyperformer-1")
    one = replace(table, rows=(row,), columns=(column,))
    specs = [*one.matrix(asked).runs.values()]
    for spec in specs:
        read = as_locked(spec)
        few = {name: content for name, content in read.data.items() if name != "glue_rte"}
        few["rows-of-others"] = FROM_HUB
        fake_written.store_run(
            store, spec, lambda *_: 80.0, read=read.model_copy(update={"data": few})
        )
    lock(Contents(models=LOCK.models, data={**LOCK.data, "rows-of-others": FROM_HUB}))
    assert (
        view_table(one, asked, store)
        .rows[0]
        .cells[0]
        .reason.startswith("unverified: rows of glue_rte (no digest was stored); ")
    )


def test_runs_that_stored_no_digest_are_not_judged(store: Store) -> None:
    found = judged(store, Contents())
    assert found.reason.startswith(
        f"unverified: weights and tokenizer of {BERT} (no digest was stored), and 1 more; "
    )


def test_the_parents_of_a_run_are_verified_too(store: Store) -> None:
    table = TABLES["Hyperformer-2"]
    row, column = table.rows[-1], table.scores[0]
    assert isinstance(column, Score)
    asked = fake_written.request("Hyperformer-2")
    behind = table.matrix(asked).behind((row.name, column.name))
    parents, runs = behind.needed, behind.runs
    one = replace(table, rows=(row,), columns=(column,))
    for spec in [*parents, *runs]:
        fake_written.store_run(store, spec, lambda *_: 80.0)
    assert view_table(one, asked, store).rows[0].cells[0].verdict == "SINGLE"
    other = Store(store.root.parent / "other")
    for spec in [*parents, *runs]:
        read = None if spec in runs else Contents()
        fake_written.store_run(other, spec, lambda *_: 80.0, read=read)
    assert view_table(one, asked, other).rows[0].cells[0].reason.startswith("unverified: weights")
    alone = Store(store.root.parent / "alone")
    for spec in runs:
        fake_written.store_run(alone, spec, lambda *_: 80.0)
    reason = view_table(one, asked, alone).rows[0].cells[0].reason
    parent = run_key(parents[0])[:12]
    assert reason == f"unverified: the run {parent}, which it was made from, is not stored here"
