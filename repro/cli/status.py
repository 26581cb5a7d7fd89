"""`status`: how every table asked for stands, and what failed."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from repro.cli import options as o
from repro.engine.jobs import unfinished_jobs
from repro.engine.plan import make_plan
from repro.report.files import asked_for
from repro.report.layout import text_table
from repro.report.render import json_text
from repro.store.store import Store
from repro.words import counted, run_name

STATES = ("done", "running", "missing", "failed", "blocked")


def command(json: o.JsonOption = False, store: o.StoreOption = None) -> None:
    """Shows the tables asked for so far, their runs by state, failures and unfinished jobs.

    Example: python -m repro status --json
    """
    results = o.open_store(store)
    document = as_json(results)
    sys.stdout.write(json_text(document) if json else as_text(document, results))


def as_json(store: Store) -> dict[str, Any]:
    """The object of `status --json`; docs/json.md describes it."""
    tables, failures, blocked = [], {}, {}
    for name, requests in asked_for(store).items():
        plan = make_plan(requests, store, o.any_speed())
        counts = {state: sum(run.state == state for run in plan.runs) for state in STATES}
        tables.append({"name": name, "runs": len(plan.runs), **counts})
        for run in plan.runs:
            if run.state == "failed" and run.failure is not None:
                failures[run.key] = {
                    "key": run.key,
                    "name": run_name(run.spec),
                    "kind": run.failure.kind,
                    "message": run.failure.message,
                    "log": str(store.root / run.failure.log),
                }
            if run.blocked is not None:
                blocked[run.key] = {
                    "key": run.key,
                    "name": run_name(run.spec),
                    "reason": run.blocked,
                }
    unfinished = [{"id": job.id, "runs": job.keys} for job in unfinished_jobs(store)]
    return {
        "tables": tables,
        "failures": list(failures.values()),
        "blocked": list(blocked.values()),
        "unfinished_jobs": unfinished,
    }


def as_text(document: dict[str, Any], store: Store) -> str:
    """For a person."""
    if not document["tables"]:
        return f"Nothing was asked for yet in {store.root}. Try: python -m repro list\n"
    rows = [
        [table["name"], *(str(table[state]) for state in STATES)] for table in document["tables"]
    ]
    lines = [text_table(["table", *STATES], rows)]
    for failure in document["failures"]:
        lines.append(f"\n{failure['key'][:12]} {failure['name']}: {failure['kind']}")
        lines.append(f"  {failure['message']}\n  log: {failure['log']}")
    for reason, count in Counter(run["reason"] for run in document["blocked"]).items():
        lines.append(f"\n{counted(count, 'run')} blocked: {reason}")
    for job in document["unfinished_jobs"]:
        lines.append(
            f"\njob {job['id']} ({counted(len(job['runs']), 'run')}) has not ended; if it is not "
            "running, the same command continues it."
        )
    return "\n".join(lines) + "\n"
