"""`rehearse`, as its user gives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repro.papers.registry import ARTEFACTS

ROOT = Path(__file__).parents[2]


def rehearse(folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    """Without data, models or a hub: what is found, and stderr."""
    away = {"REPRO_DATA": "", "REPRO_MODELS": "", "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-m", "repro", "rehearse", *words, "--json", "--store", "s"],
        env={**os.environ, **away, "PYTHONPATH": str(ROOT)},
        cwd=folder, text=True, capture_output=True, check=False,
    )  # fmt: skip
    return json.loads(done.stdout), done.stderr


def test_the_jobs_of_a_table_take_a_few_steps_and_plans_use_what_they_took(tmp_path: Path) -> None:
    asked = ("3-shared-2", "--scale", "smoke", "--tasks", "rte", "--row", "Ours (3-shared)")
    found, said = rehearse(tmp_path, *asked, "--steps", "3")
    (kind,) = found["kinds"]
    assert (kind["failure"], kind["runs"], kind["jobs"]) == (None, 1, 1), said
    assert kind["seconds_a_step"] > 0
    assert kind["memory_bytes"] > 100e6  # the weights alone
    kept = tmp_path / "s" / "rehearsed.json"
    busy = "the machine was busy" in said
    assert kept.exists() is not busy
    assert not list((tmp_path / "s").glob("??/*"))  # no run is stored
    found, said = rehearse(tmp_path, *asked, "--steps", "2", "--batch-size", "1")
    assert found["kinds"][0]["failure"] is None, said
    assert kept.exists() is not busy


@pytest.mark.slow
@pytest.mark.parametrize("id", ARTEFACTS)
def test_every_job_of_paper_scale_runs(tmp_path: Path, id: str) -> None:
    found, said = rehearse(tmp_path, id, "--scale", "paper", "--steps", "2", "--batch-size", "1")
    failures = [(kind["example"], kind["failure"]) for kind in found["kinds"] if kind["failure"]]
    assert not failures, said
