"""`--json`: what docs/json.md promises is what is printed, and every number is a number."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_curves import GLUE, store_curves
from fake_embeddings import FIGURE as EMBEDDINGS
from fake_embeddings import store_figure
from fake_glue import store_run, store_table
from fake_results import request, runs_of, store_all, store_result
from fake_spans import FIGURE, store_chain
from json_document import DOCUMENT, table_section

from repro.cli.requests import make_request
from repro.engine.cost import ASSUMED
from repro.engine.jobs import Execution, make_job, write_job
from repro.engine.progress import PROGRESS, Progress
from repro.papers.adaptable_adapters.tables import ACTIVATIONS
from repro.papers.registry import TABLES
from repro.report.files import save_request, table_name
from repro.spec import run_key
from repro.store import Store
from repro.store.entry import with_checksum

Call = Callable[..., Any]
COMPARED = ["--scale", "reduced", "--seeds", "2", "--epochs", "2"]
SWEPT = ["ResAdapters-1", "--row", "Adapter", "--scale", "smoke"]
ASKED = ["--scale", "smoke", "--seeds", "2", "--epochs", "2"]


def sections() -> dict[str, str]:
    """Verb -> its section of docs/json.md."""
    parts = re.split(r"^## (\w+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def examples(section: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(r"```json\n(.*?)```", section, re.DOTALL)]


def example_paths(section: str) -> set[str]:
    return {path for document in examples(section) for path in paths(document)}


def documented(section: str) -> set[str]:
    """The keys that the section's table names, `a[].b`, `.c` for `a[].c`, objects included."""
    names: set[str] = set()
    for line in section.splitlines():
        if not line.startswith("| `"):
            continue
        lead = ""
        for name in re.findall(r"`([^`]+)`", line.split("|")[1]):
            lead = name if not name.startswith(".") else lead.rpartition(".")[0] + name
            names.add(lead.removesuffix("[]"))
    return names


def paths(value: Any, lead: str = "") -> Iterator[str]:
    """`rows[].name` for every key of every object."""
    if isinstance(value, dict):
        for name, item in value.items():
            path = f"{lead}.{name}" if lead else name
            yield path
            if name != "chosen":  # its names are those of what a sweep sweeps
                yield from paths(item, path)
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, f"{lead}[]")


def strict(text: str) -> Any:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def printed(cli: Call, store: Store) -> Iterator[Callable[[str], Any]]:
    """What a verb prints over a store with results, a failure and a job that is trained now."""
    asked = make_request(TABLES["ResAdapters-1"], "smoke", seeds=2, epochs=2)
    specs = runs_of(asked)
    for spec in [*specs[:5], *specs[7:9]]:
        store_result(store, spec, span_f1=5.0)
    diverged = run_key(specs[6])
    store.record_failure(diverged, specs[6], "diverged", "The loss was not finite.", "log")
    folder = write_job(store, make_job(specs[9:]), Execution())
    now = Progress(state="training", process=7, host="node1", time=1.0)
    (folder / PROGRESS).write_text(now.model_dump_json())
    save_request(store, asked)
    store_chain(store, make_request(FIGURE, "smoke"))
    waiting = make_request(FIGURE, "smoke", epochs=1)
    parent, _ = [*FIGURE.matrix(waiting).runs.values()]
    store.record_failure(run_key(parent), parent, "error", "it broke", "log")
    save_request(store, waiting)
    store_curves(store, GLUE, make_request(GLUE, "smoke"), lambda *_: 50.0)
    for spec in ACTIVATIONS.matrix(make_request(ACTIVATIONS, "smoke")).runs.values():
        store_run(store, spec)
    store_figure(store, make_request(EMBEDDINGS, "smoke"))
    compared = request(scale="reduced", seeds=2, epochs=2)
    store_all(store, compared)
    save_request(store, compared)
    swept = make_request(TABLES["Houlsby-1"], "smoke")
    store_table(store, swept)
    words = {
        "list": ["list"],
        "show": ["show", "ResAdapters-1"],
        "plan": ["plan", "ResAdapters-1", *ASKED],
        "plan a sweep": ["plan", "Houlsby-1", "--scale", "smoke"],
        "table": ["table", "ResAdapters-1", *ASKED, "--no-run"],
        "table beside numbers": ["table", "ResAdapters-1", *COMPARED, "--no-run"],
        "table of a sweep": ["table", "Houlsby-1", "--scale", "smoke", "--no-run"],
        "table of words": ["table", "3-shared-1", "--scale", "smoke", "--no-run"],
        "figure": ["figure", FIGURE.id, "--scale", "smoke", "--no-run"],
        "figure of curves": ["figure", GLUE.id, "--scale", "smoke", "--no-run"],
        "activations": ["figure", ACTIVATIONS.id, "--scale", "smoke", "--no-run"],
        "embeddings": ["figure", EMBEDDINGS.id, "--scale", "smoke", "--no-run"],
        "drawing": ["figure", "architecture-resadapters", "--scale", "smoke"],
        "prepare": ["prepare", "airline"],
        "prepare a table": ["prepare", "ResAdapters-1", "--scale", "smoke", "--dry-run"],
        "status": ["status"],
        "why": ["why", diverged[:12]],
        "why of a stored run": ["why", run_key(specs[0])[:12]],
        "sweep": ["sweep", *SWEPT, "--set", "recipe.epochs=1,2", "--no-run"],
        "curves": ["curves", run_key(specs[0])[:12]],
    }

    def verb(name: str) -> Any:
        return strict(cli(*words[name], "--json").out)

    with store.claim([run_key(spec) for spec in specs[9:]]):
        yield verb


BESIDE = {
    "plan": ["plan a sweep"],
    "prepare": ["prepare a table"],
    "table": ["table beside numbers", "table of a sweep", "table of words"],
    "figure": ["figure of curves", "activations", "embeddings", "drawing"],
    "why": ["why of a stored run"],
}
"""What else a verb is asked, so that it prints every key that it has."""


VERBS = [
    "list", "show", "plan", "prepare", "table", "figure", "sweep", "status", "why", "curves",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_the_documented_keys_are_those_printed(printed: Callable[[str], Any], verb: str) -> None:
    documents = [printed(name) for name in (verb, *BESIDE.get(verb, []))]
    found = {path for document in documents for path in paths(document)}
    assert example_paths(sections()[verb]) == found


@pytest.mark.parametrize("verb", [*VERBS, "bench", "claims", "audit", "doctor", "store"])
def test_every_key_of_an_example_is_explained(verb: str) -> None:
    """Objects that the table explains by their parts in one line count with their parts."""
    section = sections()[verb]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", section))))
    found = example_paths(section)
    assert {path for path in found if path.rpartition(".")[2] not in words} == set()
    known = {path.replace("[]", "") for path in found}
    assert {name.replace("[]", "") for name in documented(section)} <= known


def test_the_part_about_tables_is_made_from_the_declared_columns(tmp_path: Path) -> None:
    """`PYTHONPATH=. python tests/json_document.py` writes it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.partition("## table\n")[2].partition("## figure\n")[0] == table_section(tmp_path)


def test_claims_print_the_documented_keys(cli: Call) -> None:
    """They are judged on runs of the paper's or the reduced scale, which no command here trains."""
    asked = request(scale="paper", seeds=2, epochs=1)
    store_all(Store("runs"), asked)
    save_request(Store("runs"), asked)
    document = strict(cli("claims", "resadapters", "--json").out)
    assert set(paths(document)) == example_paths(sections()["claims"])


def test_the_verbs_of_store_print_the_documented_keys(cli: Call, store: Store) -> None:
    asked = request(epochs=1)
    save_request(store, asked)
    first, second, third, *_ = runs_of(asked)
    other = Store("other")
    for spec in (first, second):
        store_result(store, spec)
        store_result(other, spec, lambda *_: 1.0)
    newer = store_result(store, third)
    manifest = store.root / newer[:2] / newer / "MANIFEST.json"
    document = json.loads(manifest.read_bytes()) | {"format": 99}
    del document["checksum"]
    manifest.write_bytes(with_checksum(document))
    store.cache.mkdir()
    (store.cache / "x.arrow").write_bytes(b"x")
    os.utime(store.cache / "x.arrow", (0, 0))
    documents = [
        strict(cli("store", *words, "--json").out)
        for words in (
            ("ls",),
            ("du",),
            ("gc",),
            ("merge", "other"),
            ("verify", "--no-rescore"),
            ("rm", run_key(second), "--force", "--request", table_name(asked)),
        )
    ]
    (store.root / "requests" / "x.json").write_text("{")
    packed = store.root / "one.jsonl.xz"
    other.pack([run_key(first)], packed, {})
    documents.append(strict(cli("store", "verify", "--json").out))
    found = {path for document in documents for path in paths(document)}
    assert example_paths(sections()["store"]) == found


def test_every_verb_with_json_is_documented() -> None:
    from repro.cli import main

    with_json = {
        name for name in main.VERBS if "json" in main.module_of(name).command.__annotations__
    }
    assert set(sections()) == with_json | {*main.GROUPS}


def test_numbers_are_numbers(printed: Callable[[str], Any]) -> None:
    table, plan = printed("table"), printed("plan")
    for row in table["rows"]:
        for cell in row["cells"]:
            if cell["reproduced"]:
                assert all(isinstance(v, float) for v in cell["reproduced"]["values"])
                assert isinstance(cell["reproduced"]["mean"], float)
                assert isinstance(cell["reproduced"]["n"], int)
    assert all(isinstance(job["seconds"], float) for job in plan["jobs"])
    assert all(isinstance(job["memory_bytes"], int) for job in plan["jobs"])


def test_the_plans_runs_and_jobs_name_each_other(printed: Callable[[str], Any]) -> None:
    plan = printed("plan")
    jobs = {key: job["id"] for job in plan["jobs"] for key in job["runs"]}
    assert {run["key"]: run["job"] for run in plan["runs"] if run["job"]} == jobs
    by_state = {run["state"]: run["job"] for run in plan["runs"]}
    assert by_state["done"] is None
    assert by_state["failed"] is None  # diverged: only --retry trains it again
    assert by_state["missing"] is not None
    total = sum(job["seconds"] for job in plan["jobs"])
    start = ASSUMED["cpu"].start  # of the one worker that trains them all
    assert plan["estimate"]["seconds"] == pytest.approx(total + start)
    assert plan["estimate"]["measured"] is False


def test_the_file_beside_the_table_is_what_was_printed(cli: Call, tmp_path: Path) -> None:
    out = cli("table", "ResAdapters-1", *ASKED, "--no-run", "--json").out
    assert (tmp_path / "tables" / "ResAdapters-1.smoke.seeds-2.epochs-2.json").read_text() == out
    out = cli("table", "ResAdapters-1", *ASKED, "--no-run", "--format", "csv").out
    assert (tmp_path / "tables" / "ResAdapters-1.smoke.seeds-2.epochs-2.csv").read_text() == out


def test_audit_prints_the_documented_keys(cli: Call) -> None:
    document = strict(cli("audit", "peters", "--json").out)
    assert set(paths(document)) == example_paths(sections()["audit"])
