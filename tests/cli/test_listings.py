"""`list`, `show`, `plan`, `status`, `run`, `report`: what a person reads, without any training."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_results import runs_of, store_all, store_result

import repro
from repro.cli.requests import make_request
from repro.engine.cost import Speed, store_speed
from repro.engine.jobs import Execution, make_job, write_job
from repro.papers.registry import ARTEFACTS, FIGURES, TABLES
from repro.papers.request import Request
from repro.report.files import save_request, table_name
from repro.spec import run_key
from repro.spec.backbones import KNOWN
from repro.store import Store

Call = Callable[..., Any]


QUESTIONS = ("ResAdapters-1", "ResAdapters-2")
ENDINGS = ("csv", "json", "md", "tex")


def smoke(table: str = "ResAdapters-1", **asked: Any) -> Request:
    """A request as `--scale smoke` makes it."""
    return make_request(TABLES[table], "smoke", **asked)


def test_list_names_every_table(cli: Call) -> None:
    out = cli("list").out
    for name, artefact in (TABLES | FIGURES).items():
        assert name in out
        assert artefact.title in out
    assert "6 x 6" in out
    assert "11 x 6" in out


@pytest.mark.parametrize("table", ["ResAdapters-1", "ResAdapters-2"])
@pytest.mark.parametrize("reading", [[], ["--as-released"]])
def test_every_value_of_the_papers_setting_has_a_source(
    cli: Call, table: str, reading: list[str]
) -> None:
    shown = json.loads(cli("show", table, "--json", *reading).out)
    for run in shown["runs"]:
        without = {line["field"] for line in run["setting"] if not line["citation"]}
        assert without == {"scale", "seed"}
        origins = {line["origin"] for line in run["setting"]} - {None}
        assert origins <= {"paper", "code", "assumed"}


def test_show_prints_published_numbers_and_what_differs_a_run(cli: Call) -> None:
    out = cli("show", "ResAdapters-1").out
    assert "Scale paper, 3 seeds, scored on cs224n by legacy/argmax-pair." in out
    assert "adapter b200 on BERT-base (7,444,034 parameters trained):" in out
    row = next(line for line in out.splitlines() if line.startswith("Attention ResNeXt"))
    assert row.split()[2:] == ["42.6", "51.4", "42.8", "42.8", "42.3", "60.0"]
    assert "recipe.learning_rate" in out.split("adapter b200")[0]  # shared by all runs
    assert "method.wiring" not in out.split("adapter b200")[0]


def test_show_tells_the_released_reading_apart(cli: Call) -> None:
    repaired, released = (
        {
            line["field"]: line["value"]
            for line in json.loads(cli("show", "ResAdapters-1", "--json", *words).out)["runs"][0][
                "setting"
            ]
        }
        for words in ([], ["--as-released"])
    )
    changed = {field for field in repaired if repaired[field] != released[field]}
    assert changed >= {"recipe.clip_norm", "method.norm_axis", "recipe.padding"}
    assert released["recipe.logit_clamp"] == [0.0, 384.0]


def test_show_needs_no_data(cli: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "data" / "squad_v2").mkdir(parents=True)
    (tmp_path / "data" / "squad_v2" / "train.jsonl").write_text("{}\n")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    assert cli("show", "ResAdapters-1").code == 0


def test_show_says_what_auto_is(cli: Call) -> None:
    answer, paper = cli("show", "ResAdapters-1", "--scale", "auto"), cli("show", "ResAdapters-1")
    assert answer.err.startswith("Scale: paper (")
    assert (answer.out, paper.err) == (paper.out, "")


def test_plan_and_doctor_name_bf16_where_the_cpu_has_it(
    cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("plan", "ResAdapters-1", "--scale", "smoke", "--device", "cpu")
    for verb in ("plan", "doctor"):
        monkeypatch.setattr(f"repro.cli.{verb}.cpu_bf16", lambda: "AMX")
    assert "This CPU has AMX: --precision bf16 trains" in cli(*asked).out
    assert "bf16" not in cli(*asked, "--precision", "bf16").out.split("Estimate")[1]
    assert "AMX: --precision bf16" in cli("doctor", "ResAdapters-1", "--scale", "smoke").out
    for verb in ("plan", "doctor"):
        monkeypatch.setattr(f"repro.cli.{verb}.cpu_bf16", lambda: None)
    assert "bf16" not in cli(*asked).out


def test_plan_shows_states_jobs_and_what_is_shared(cli: Call, store: Store) -> None:
    store_all(store, smoke())
    answer = cli("plan", "ResAdapters-1", "ResAdapters-2", "--scale", "smoke", "--runs")
    assert answer.code == 0
    lines = answer.out.splitlines()
    shared = next(line for line in lines if "attention-resnext" in line)
    assert "stored" in shared
    assert "ResAdapters-1, ResAdapters-2" in shared
    assert "8 runs: 6 stored, 2 missing, 2 shared between tables." in lines
    assert any(line.startswith("job 1 (") and "1 run on one pass" in line for line in lines)
    (estimate,) = (line for line in lines if line.startswith("Estimate: "))
    assert estimate.endswith("(assuming 2 CPU cores).")
    table, both = (line.split()[:5] for line in lines if line.startswith(("ResAdapters-2", "all")))
    assert table == ["ResAdapters-2", "4", "2", "2", "2"]  # runs, stored, missing, jobs
    assert both == ["all", "8", "6", "2", "2"]  # a run that both show counts once


def test_a_plan_of_thousands_of_runs_fits_a_screen(cli: Call) -> None:
    answer = cli("plan", "AA-2", "Houlsby-2", "--scale", "paper", "--card", "h100,l4")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert len(lines) <= 24
    assert "No data here, planned as if there were: Houlsby-2." in lines
    for card in ("H100", "L4"):  # each with its own time and what is assumed of it
        (said,) = (line for line in lines if line.startswith(f"Estimate on {card}: "))
        assert said.endswith(f"(assuming one {card} at 45% of its datasheet).")
        assert any(line.startswith(f"Times on {card} of ") for line in lines)
    assert lines[2].split()[-2:] == ["H100", "L4"]
    wrong = cli("plan", "AA-2", "--scale", "paper", "--card", "h10")
    assert wrong.code == 2
    assert "h100" in wrong.err
    for twice in ("h100,,", ",h100"):
        said = cli("plan", "AA-2", "--scale", "paper", "--card", twice).err
        assert said.endswith("nothing stands before or after a comma. Give --card h100.\n")
    assert "--tf32 is for --card" in cli("plan", "AA-2", "--scale", "paper", "--tf32").err


def test_plan_without_ids_plans_all_tables_and_figures(cli: Call) -> None:
    runs = json.loads(cli("plan", "--scale", "smoke", "--json").out)["runs"]
    trained = set(ARTEFACTS) - {"3-shared-1", "AA-1", "architecture-resadapters"}  # train nothing
    assert {table for run in runs for table in run["tables"]} == trained


def test_plan_at_the_papers_scale_estimates_a_gpu(cli: Call, store: Store) -> None:
    out = cli("plan", "ResAdapters-1", "--scale", "paper").out
    assert "18 runs: 0 stored, 18 missing, 0 shared between tables." in out
    assert "(assuming one H100" in out
    store_speed(store.root, "cuda", Speed(1e15, 1e13, "a faster GPU", True))
    assert "(measured on a faster GPU)" in cli("plan", "ResAdapters-1", "--scale", "paper").out
    assert "CPU" in cli("plan", "ResAdapters-1", "--scale", "paper", "--device", "cpu").out


def test_status_before_anything_was_asked(cli: Call) -> None:
    answer = cli("status")
    assert answer.code == 0
    assert answer.out == "Nothing was asked for yet in runs. Try: python -m repro list\n"
    assert json.loads(cli("status", "--json").out) == {
        "tables": [],
        "running": [],
        "failures": [],
        "blocked": [],
        "unfinished_jobs": [],
    }


def test_status_counts_runs_and_names_failures_with_their_logs(cli: Call, store: Store) -> None:
    asked = smoke(seeds=2)
    specs = runs_of(asked)
    store_all(store, smoke(seeds=1))
    failed = run_key(specs[6])
    store.record_failure(failed, specs[6], "error", "it broke", "the log")
    write_job(store, make_job(specs[7:9]), Execution())
    save_request(store, asked)
    out = cli("status").out
    row = next(line for line in out.splitlines() if line.startswith("ResAdapters-1.smoke"))
    assert row.split()[1:] == ["6", "0", "5", "1", "0"]  # done, running, missing, failed, blocked
    assert f"{failed[:12]} adapter b100 on MiniLM-L6, seed 1: error" in out
    assert f"it broke\n  log: runs/failures/{failed}.log" in out
    assert "(2 runs) waits or was cut short; the command that planned it continues it." in out


def test_a_finished_jobs_leftover_folder_is_no_unfinished_job(cli: Call, store: Store) -> None:
    """And the next command that trains sweeps it away."""
    asked = smoke(epochs=1)
    store_all(store, asked)
    folder = write_job(store, make_job(runs_of(asked)), Execution())
    save_request(store, asked)
    assert "was cut short" not in cli("status").out
    assert cli("table", "ResAdapters-1", "--scale", "smoke", "--epochs", "1").code == 0
    assert not folder.exists()


def test_run_with_everything_stored_says_so(cli: Call, store: Store) -> None:
    for table in QUESTIONS:
        store_all(store, smoke(table))
    answer = cli("run", "ResAdapters-1", "ResAdapters-2", "--scale", "smoke")
    assert answer.code == 0
    assert answer.out == "8 of 8 runs are stored in runs.\n"
    assert answer.err == ""
    assert len(store.requests()) == 2


def test_report_lays_out_every_table_asked_for(cli: Call, store: Store, tmp_path: Path) -> None:
    for table in QUESTIONS:
        asked = smoke(table, epochs=2)
        store_all(store, asked)
        save_request(store, asked)
    answer = cli("report", "--out", "site")
    assert answer.code == 0
    assert answer.out == "Wrote site/REPRODUCE.md and 13 files in site/tables.\n"
    names = sorted(path.name for path in (tmp_path / "site" / "tables").iterdir())
    tables = [f"ResAdapters-{n}.smoke.epochs-2.{e}" for n in (1, 2) for e in ENDINGS]
    assert names == [*tables, "audit.md", "claims.md", "numbers.tex", "repro.tex", "smoke.md"]
    before = (tmp_path / "site" / "REPRODUCE.md").read_bytes()
    cli("report", "--out", "site")
    assert (tmp_path / "site" / "REPRODUCE.md").read_bytes() == before


def test_the_reports_command_brings_back_its_table(cli: Call, store: Store, tmp_path: Path) -> None:
    asked = smoke(seeds=2, epochs=3, learning_rate=0.004, train_rows=24)
    store_all(store, asked)
    save_request(store, asked)
    cli("report")
    text = (tmp_path / "tables" / f"{table_name(asked)}.md").read_text()
    command = next(line.split() for line in text.splitlines() if line.startswith("    python"))
    answer = cli(*command[3:])
    assert answer.code == 0
    assert answer.out.strip() in text


@pytest.mark.parametrize(("missing", "code"), [(0, 0), (1, 3)])
def test_a_table_with_a_missing_seed_is_incomplete(
    cli: Call, store: Store, missing: int, code: int
) -> None:
    for spec in runs_of(smoke(seeds=2))[: 12 - missing]:
        store_result(store, spec)
    words = ["table", "ResAdapters-1", "--scale", "smoke", "--seeds", "2", "--no-run"]
    assert cli(*words).code == code


def test_a_table_with_a_failed_seed_exits_with_1(cli: Call, store: Store) -> None:
    specs = runs_of(smoke(seeds=2))
    for spec in specs[:-1]:
        store_result(store, spec)
    store.record_failure(run_key(specs[-1]), specs[-1], "error", "it broke", "log")
    words = ["table", "ResAdapters-1", "--scale", "smoke", "--seeds", "2", "--no-run"]
    assert cli(*words).code == 1


def test_no_run_on_an_empty_store_is_incomplete_and_all_gaps(cli: Call, tmp_path: Path) -> None:
    answer = cli("table", "ResAdapters-1", "--scale", "smoke", "--no-run")
    assert answer.code == 3
    assert answer.out.count("gap, not run.") == 6
    assert "nan" not in answer.out.lower()
    assert not (tmp_path / "runs").exists()  # nothing was asked to be trained or remembered


def test_version(cli: Call) -> None:
    answer = cli("--version")
    assert (answer.code, answer.out) == (0, f"repro {repro.__version__}\n")


def test_help_names_every_verb_and_the_defaults(cli: Call) -> None:
    out = cli("--help").out
    for verb in ("list", "show", "plan", "run", "table", "report", "status", "why", "doctor"):
        assert verb in out
    out = " ".join(cli("table", "--help").out.replace("│", " ").split())
    out = re.sub(r"\[[\d.]+<=x<=[\d.]+\] ", "", out)  # a range may stand beside a second line
    assert "Example: python -m repro table" in out
    for known in KNOWN:
        assert known in out.replace("- ", "-")  # wrapped at a hyphen, perhaps
    for default in (
        "(default: the table's)",
        "(default: all cores, divided)",
        "(default: $REPRO_STORE",
    ):
        assert default in out
