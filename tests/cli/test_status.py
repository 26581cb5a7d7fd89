"""`status`: the tree of what is open, and --watch on a real terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from fake_results import runs_of, store_all

from repro.cli.requests import make_request
from repro.engine.jobs import Execution, make_job, write_job
from repro.engine.progress import PROGRESS
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.files import save_request
from repro.spec import run_key
from repro.store import Store

Call = Callable[..., Any]


def smoke(**asked: Any) -> Request:
    return make_request(TABLES["ResAdapters-1"], "smoke", **asked)


def test_status_draws_the_open_rows_with_the_runs_that_train_or_failed(
    cli: Call, store: Store
) -> None:
    asked = smoke(seeds=2)
    specs = runs_of(asked)
    store_all(store, smoke(seeds=1))
    store.record_failure(run_key(specs[6]), specs[6], "error", "it broke", "the log")
    folder = write_job(store, make_job(specs[7:9]), Execution())
    save_request(store, asked)
    (folder / PROGRESS).write_text(
        '{"state": "training", "epoch": 1, "step": 20, "steps": 100, "loss": 0.6125, '
        '"seconds_left": 40.0, "process": 7, "host": "node1", "time": 1.0}'
    )
    with store.claim([run_key(spec) for spec in specs[7:9]]):
        out = cli("status", "resadapters-1").out
        document = json.loads(cli("status", "--json").out)
    tree = out.partition("\n\n")[2].partition("ResAdapters-1.smoke.seeds-2")[2]
    training = "seed 1: training, step 20/100, loss 0.613, 40 s left, process 7 on node1"
    assert [run_key(spec)[:12] for spec in specs[7:9]] == re.findall(
        f"([0-9a-f]{{12}}).*{training}", tree
    )
    assert f"{run_key(specs[6])[:12]} seed 1: failed: it broke" in tree
    assert tree.startswith(": 6 done of 12, 2 running, 1 failed")
    assert [(one["key"], one["step"], one["host"]) for one in document["running"]] == [
        (run_key(spec), 20, "node1") for spec in specs[7:9]
    ]
    (table,) = document["tables"]
    states = {run["state"] for cell in table["open_cells"] for run in cell["runs"]}
    assert states == {"done", "running", "failed", "missing"}


def test_status_of_what_nobody_asked_for_names_the_plan(cli: Call, store: Store) -> None:
    save_request(store, smoke())
    answer = cli("status", "AA-2")
    assert (answer.code, "python -m repro plan AA-2" in answer.err) == (2, True)
    assert "python -m repro status --json" in cli("status", "--watch").err


def test_watching_ends_when_the_last_run_is_stored(store: Store) -> None:
    """On a real terminal; the runs are stored while it looks."""
    asked = smoke(seeds=1)
    save_request(store, asked)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "repro", "status", "--watch", "--store", str(store.root)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        seen = b""
        while b"0 done of 6" not in seen:
            seen += os.read(ours, 4096)
        store_all(store, asked)
        with contextlib.suppress(OSError):  # Linux's end of a terminal
            while more := os.read(ours, 4096):
                seen += more
    os.close(ours)
    assert process.returncode == 0
    assert seen.decode().rstrip().endswith("All runs are done.")
