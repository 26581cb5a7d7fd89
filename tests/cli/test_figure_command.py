"""`figure`: draws what is stored, says what is missing, stops at mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_curves import BY_ID, GLUE, INIT, store_curve_run, store_curves
from fake_embeddings import FIGURE as EMBEDDINGS
from fake_embeddings import store_figure
from fake_spans import FIGURE, store_chain

from repro.cli.requests import make_request
from repro.papers.request import Request
from repro.report.files import save_request, saved_requests
from repro.spec import run_key
from repro.store import Store

Call = Callable[..., Any]
DRAW = ["figure", "ablation-heatmap", "--scale", "smoke", "--no-run"]


def smoke(method: str | None = None, **asked: Any) -> Request:
    """A request as `--scale smoke` makes it."""
    return make_request(FIGURE, "smoke", **asked, method=method)


def test_a_stored_figure_is_drawn_and_its_files_are_named(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    store_chain(store, smoke())
    answer = cli(*DRAW)
    assert answer.code == 0
    assert "Spans scored: 21/21." in answer.out
    names = [f"figures/ablation-heatmap.smoke.{e}" for e in ("png", "svg", "pdf", "csv", "json")]
    for name in names:
        assert f"Wrote {name}\n" in answer.out
        assert (tmp_path / name).stat().st_size > 0


def test_with_everything_stored_nothing_is_trained_and_the_request_is_remembered(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    asked = smoke(tasks="mnli", method="pfeiffer")
    store_chain(store, asked)
    words = ["--task", "mnli", "--method", "pfeiffer", "--json"]
    answer = cli("figure", "Ablation-Heatmap", "--scale", "smoke", *words)
    assert (answer.code, answer.err) == (0, "")
    document = json.loads(answer.out)
    assert (document["task"], document["method"]) == ("mnli", "pfeiffer")
    assert saved_requests(store) == [asked]
    assert document["files"][4] == "figures/ablation-heatmap.smoke.mnli.pfeiffer.json"
    assert (tmp_path / document["files"][4]).read_text() == answer.out


def test_a_figure_without_runs_is_drawn_incomplete(cli: Call) -> None:
    answer = cli(*DRAW, "--task", "mnli", "--json")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert document["complete"] == "0/21"
    assert "--scale smoke --tasks mnli" in document["panels"][1]["absent"]
    assert document["intact"]["reproduced"] == {}


def test_a_failed_run_is_told_by_the_exit_code(cli: Call, store: Store) -> None:
    trained, _ = [*FIGURE.matrix(smoke(tasks="mnli")).runs.values()][:2]
    store.record_failure(run_key(trained), trained, "diverged", "Not finite at step 3.", "log")
    assert cli(*DRAW, "--task", "mnli").code == 1


def test_embeddings_that_no_run_has_learned_name_the_command_that_trains_it(cli: Call) -> None:
    answer = cli("figure", EMBEDDINGS.id, "--scale", "smoke", "--no-run")
    assert answer.code == 3
    command = "python -m repro figure task-embeddings --scale smoke"
    assert f"Not drawn: not run. It is trained by: {command}\n" in answer.out
    assert "Embeddings drawn: 0/8." in answer.out


def test_embeddings_of_either_model_are_drawn_from_its_own_run(cli: Call, store: Store) -> None:
    for method, width in (("hyperformer++", 64), ("hyperformer", 512)):
        store_figure(store, make_request(EMBEDDINGS, "smoke", method=method))
        words = ["--scale", "smoke", "--method", method, "--json"]
        answer = cli("figure", EMBEDDINGS.id, *words)  # nothing is left to train
        document = json.loads(answer.out)
        assert (answer.code, document["dimensions"]) == (0, width)
    assert document["files"][3] == "figures/task-embeddings.smoke.hyperformer.csv"


def test_show_of_embeddings_is_of_the_model_with_the_papers_parameters(cli: Call) -> None:
    """Table 1: HyperFormer++ base trains 0.29 % a task of eight, 5,211,056 in all."""
    document = json.loads(cli("show", EMBEDDINGS.id, "--json").out)
    (run,) = document["runs"]
    assert (run["name"], run["parameters_trained"]) == ("hyperformer++", 5_211_056)
    fields = {line["field"]: line["value"] for line in run["setting"]}
    assert fields["method.task_embedding"] == 64
    assert document["published"] == []
    assert any("picture without coordinates" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["figure", "ablation"], "Did you mean ablation-heatmap or learned-activations?"),
        (
            ["table", "ablation-heatmap"],
            "is a figure, not a table: python -m repro figure ablation",
        ),
        ([*DRAW, "--method", "full-fine-tuning"], "There is no method"),
        ([*DRAW, "--method", "3shared"], "Did you mean 3-shared"),
        (["figure", "task-embedings"], "Did you mean task-embeddings"),
        (
            ["figure", "task-embeddings", "--scale", "smoke", "--method", "adapters"],
            "There is no method of this figure called 'adapters'. Known: hyperformer",
        ),
        (
            ["figure", "task-embeddings", "--scale", "smoke", "--tasks", "cola,rte"],
            "draws maps of 4 tasks at least, and --tasks names 2",
        ),
        (["table", "task-embeddings"], "is a figure, not a table: python -m repro figure task-e"),
        ([*DRAW, "--task", "sst2"], "There is no task of this figure called 'sst2'"),
        ([*DRAW, "--task", "cola,mnli"], "draws one task: cola or mnli"),
        ([*DRAW, "--task", "colla"], "Did you mean cola"),
        (["figure", "tradeof-glue"], "Did you mean tradeoff-glue"),
        (["table", "tradeoff-squad"], "is a figure, not a table: python -m repro figure tradeoff"),
        (["figure", "tradeoff-glue", "--scale", "smoke", "--task", "wnli"], "has no task wnli"),
        (
            ["figure", "init-robustness", "--scale", "smoke", "--method", "houlsby"],
            "init-robustness draws all of its models: leave --method out.",
        ),
    ],
)
def test_mistakes_are_one_sentence_with_the_mend(cli: Call, words: list[str], said: str) -> None:
    answer = cli(*words)
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_the_report_draws_the_figure_again(cli: Call, store: Store, tmp_path: Path) -> None:
    store_chain(store, smoke(tasks="mnli"))
    cli(*DRAW[:-1], "--task", "mnli")
    before = (tmp_path / "figures" / "ablation-heatmap.smoke.mnli.png").read_bytes()
    answer = cli("report", "--out", "site")
    assert answer.code == 0
    said = "Wrote site/REPRODUCE.md and 4 files in site/tables and 5 files in site/figures.\n"
    assert answer.out == said
    assert (
        tmp_path / "site" / "figures" / "ablation-heatmap.smoke.mnli.png"
    ).read_bytes() == before
    text = (tmp_path / "site" / "tables" / "ablation-heatmap.smoke.mnli.md").read_text()
    command = next(line.split() for line in text.splitlines() if line.startswith("    python"))
    assert command[3:] == [*DRAW[:-1], "--tasks", "mnli"]


def test_report_shows_its_progress_on_a_terminal_only(
    cli: Call, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_request(store, smoke(tasks="mnli"))
    assert cli("report", "--out", "site", "--site", "html").err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal then
    said = cli("report", "--out", "site", "--site", "html").err
    for title in ("Reading results", "Writing tables and figures", "Making the site"):
        assert title in said


CURVES = ["figure", "init-robustness", "--scale", "smoke"]


def by_deviation(point: Any, task: str, seed: int) -> float:
    """Worse the larger the first weights."""
    return 80.0 - 10 * (point.value or 0)


def test_stored_curves_are_drawn_and_remembered(cli: Call, store: Store, tmp_path: Path) -> None:
    asked = make_request(INIT, "smoke", epochs=2)
    store_curves(store, INIT, asked, by_deviation)
    answer = cli(*CURVES, "--epochs", "2")
    assert (answer.code, answer.err) == (0, "")
    assert "Points scored: 5/5." in answer.out
    assert "training rows; size 64, 2 epochs, batch 16," in answer.out
    assert saved_requests(store) == [asked]
    picture = tmp_path / "figures" / "init-robustness.smoke.epochs-2.png"
    before = picture.read_bytes()
    assert cli("report", "--out", "site").code == 0
    assert (tmp_path / "site" / "figures" / picture.name).read_bytes() == before
    text = (tmp_path / "site" / "tables" / "init-robustness.smoke.epochs-2.md").read_text()
    assert "    python -m repro figure init-robustness --scale smoke --epochs 2\n" in text
    assert "![Curves over standard deviation of the initial matrices." in text
    assert "**Status:** complete, 5 of 5 cells." in text


def test_curves_with_missing_runs_are_incomplete_and_a_failed_run_is_told(
    cli: Call, store: Store
) -> None:
    first, second, *_ = [*INIT.matrix(asked := make_request(INIT, "smoke")).runs.values()]
    store_curve_run(store, INIT, asked, first, 70.0)
    answer = cli(*CURVES, "--no-run", "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["complete"]) == (3, "1/5")
    assert [len(line["points"]) for line in document["panels"][0]["lines"]] == [1, 1]
    assert document["gaps"][0].startswith("Adapters, standard deviation 1e-4 (CoLA); ")
    store.record_failure(run_key(second), second, "diverged", "Not finite at step 3.", "log")
    assert cli(*CURVES, "--no-run").code == 1


@pytest.mark.parametrize("figure", list(BY_ID))
def test_every_value_of_a_series_setting_has_a_source(cli: Call, figure: str) -> None:
    for words in ([], ["--scale", "smoke"], ["--scale", "smoke", "--as-released"]):
        shown = json.loads(cli("show", figure, "--json", *words).out)
        for run in shown["runs"]:
            without = {line["field"] for line in run["setting"] if not line["citation"]}
            assert without == {"scale", "seed"}
        assert all(cell["source"] for cell in shown["published"])


def test_show_prints_each_series_and_what_is_published(cli: Call) -> None:
    out = cli("show", "tradeoff-glue").out
    assert "Scale paper, 3 seeds, scored on validation by glue." in out
    assert "Adapters: size 1, size 2, size 4," in out
    assert "Top layers: top layer, top 2 layers," in out
    assert "\nLayer norms only (" in out
    row = next(line for line in out.splitlines() if line.startswith("Adapters, adapters size 64"))
    assert row.endswith("mnli, quoted       83.7 +/- 0.1")


def test_show_of_the_heat_map_prints_its_one_chain(cli: Call) -> None:
    out = cli("show", "ablation-heatmap").out
    assert "not-shared (" in out
    assert "switched off (0 parameters trained):" in out


def test_plan_counts_the_runs_of_curves(cli: Call) -> None:
    plan = json.loads(cli("plan", "tradeoff-glue", "--scale", "smoke", "--json").out)
    assert len(plan["runs"]) == len([*GLUE.matrix(make_request(GLUE, "smoke")).runs.values()]) == 14


DRAWING = "architecture-resadapters"


def test_a_drawing_needs_no_run_and_is_complete(cli: Call, store: Store, tmp_path: Path) -> None:
    answer = cli("figure", DRAWING, "--scale", "smoke")
    assert (answer.code, answer.err) == (0, "")
    assert "Adapter 939,794; Adapter ResNet 939,794; Attention ResNeXt 1,426,994" in answer.out
    assert len(list((tmp_path / "figures").glob(f"{DRAWING}.smoke.*"))) == 5
    assert "0 runs: 0 stored, 0 missing" in cli("plan", DRAWING, "--scale", "smoke").out
    assert "drawn" in cli("show", DRAWING).out.splitlines()[1]
    assert [asked.id for asked in saved_requests(store)] == [DRAWING]
    cli("report", "--out", "site")
    page = (tmp_path / "site" / "tables" / f"{DRAWING}.smoke.md").read_text()
    assert f"](../figures/{DRAWING}.smoke.png)" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--method", "houlsby"], "draws all of its models: leave --method out"),
        (["--tasks", "cola"], "has no task cola. It has: no task at all."),
        (["--bottleneck", "10"], "cannot be split into 4 attention heads"),
    ],
)
def test_what_a_drawing_cannot_show_is_refused(cli: Call, words: list[str], said: str) -> None:
    answer = cli("figure", DRAWING, "--scale", "smoke", *words)
    assert answer.code == 2
    assert said in answer.err
