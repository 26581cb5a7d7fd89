"""`bench`: what it makes of measured steps, and a real one on one shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repro.cli import bench
from repro.cli.rehearse import pace_in_words
from repro.engine.cost import Rehearsed, kind_of, stored_speed, work
from repro.engine.rehearsal import Found, Rehearsals
from repro.spec.backbones import KNOWN, MINILM

PEAK = 2e11
DOCUMENT = Path(__file__).parents[2] / "docs" / "json.md"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which every step takes 0.5 s, of short rows 0.06 s, and 300 kernels."""

    def found(jobs: Any, folder: Path, how: Any) -> Rehearsals:
        short = jobs[0].lead.recipe.batch_size == 1
        step = Rehearsed(0.06 if short else 0.5, 0.05, 1e-4, 1e9, 16, "a CPU, 2 threads", fit=True)
        one = Found("", 1_000_000_000, step, kernels=300.0 if how.kernels else None)
        return Rehearsals({kind_of(job): one for job in jobs}, 1.0)

    monkeypatch.setattr(bench, "rehearsed", found)
    monkeypatch.setattr(bench, "matrix_peaks", lambda execution: {"fp32": PEAK})
    monkeypatch.setattr("repro.engine.rehearsal.load", lambda: 0.0)


@pytest.mark.usefixtures("measured")
def test_a_step_is_told_by_its_tokens_its_share_of_the_peak_and_what_is_overhead(cli: Any) -> None:
    document = json.loads(cli("bench", "--json").out)
    steps = {one["name"]: one for one in document["steps"]}
    assert len(steps) == 10
    one = steps["pfeiffer, MiniLM-L6"]
    assert one["tokens_a_second"] == 16 * 64 / 0.5  # MRPC's 53 tokens to the next 16
    job = bench.jobs_on("cpu", "fp32", [KNOWN[MINILM]])["pfeiffer, MiniLM-L6"]
    assert one["share_of_peak"] == pytest.approx(work(job, 16 * 64, 0)[0] / 0.5 / PEAK)
    assert (one["kernels"], one["overhead_seconds"]) == (300.0, 0.06)
    text = DOCUMENT.read_text(encoding="utf-8").partition("## bench\n")[2]
    example = json.loads(text.partition("```json\n")[2].partition("```")[0])
    assert document.keys() == example.keys()
    for part in ("steps", "floors"):
        assert document[part][0].keys() == example[part][0].keys()


@pytest.mark.parametrize(("share", "told"), [(0.62, "62%"), (12.3, "—")])
def test_a_share_above_the_peak_is_not_told(share: float, told: str) -> None:
    line = {"seconds_a_step": 0.5, "spread": None, "tokens_a_second": 2000.0}
    assert pace_in_words(line | {"share_of_peak": share}) == ["500", "2,000", told]


@pytest.mark.usefixtures("measured")
def test_a_floor_is_arithmetic_and_plans_use_the_speed_found(cli: Any, store: Any) -> None:
    document = json.loads(cli("bench", "--json").out)
    ratios = {one["id"]: one["ratio"] for one in document["floors"]}
    assert {"AA-2", "Houlsby-1", "ResAdapters-1"} <= ratios.keys()
    assert "AA-1" not in ratios  # nothing is trained
    speed = stored_speed(store.root, "cpu")
    assert speed.measured
    assert speed.layer == pytest.approx(0.06 / 12)  # of BERT-base's layers
    for one in document["floors"]:
        assert one["seconds"] / one["floor"] == pytest.approx(one["ratio"])


@pytest.mark.usefixtures("measured")
def test_on_a_busy_machine_nothing_is_kept_and_the_mend_is_said(
    cli: Any, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro.engine.rehearsal.load", lambda: 1e6)
    assert "give the command again when nothing else runs here" in cli("bench").err
    assert not stored_speed(store.root, "cpu").measured


@pytest.mark.usefixtures("measured")
def test_the_page_is_written_between_its_marks_only(cli: Any, tmp_path: Path) -> None:
    assert "BERT-large" in cli("bench", "--shapes", "bert-huge").err
    refused = cli("bench", "--write")
    assert refused.code == 2
    assert "docs/performance.md is not here" in refused.err
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    page.write_text(f"# Before\n\n{bench.BEGIN}\nold\n{bench.END}\n\nAfter\n")
    assert cli("bench", "--write").code == 0
    text = page.read_text()
    assert text.startswith(f"# Before\n\n{bench.BEGIN}\n")
    assert text.endswith(f"{bench.END}\n\nAfter\n")
    assert "| pfeiffer, MiniLM-L6" in text
    assert "old" not in text


@pytest.mark.slow
def test_a_real_bench_measures_every_method(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "floors", lambda *_: [])
    document = json.loads(cli("bench", "--shapes", "minilm-l6", "--json").out)
    for one in document["steps"]:
        assert one["failure"] is None
        assert 0 < one["overhead_seconds"] < one["seconds_a_step"]
        assert 100 < one["kernels"] < 900
        assert one["memory_bytes"] > 100e6
