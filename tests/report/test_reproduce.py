"""REPRODUCE.md, the artefacts' names and commands, and the requests behind them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import fake_spans
import pytest
from fake_results import request, runs_of, store_all, store_result
from typer.testing import CliRunner

from repro.cli.main import application
from repro.papers.registry import ARTEFACTS, TABLES
from repro.papers.request import Request
from repro.report.claims import judge_all
from repro.report.files import (
    backbone_label,
    command_line,
    request_document,
    save_request,
    saved_requests,
    table_name,
    write_table,
)
from repro.report.reproduce import document, view_of
from repro.report.summary import what_holds
from repro.report.view import view_table
from repro.spec import run_key
from repro.spec.backbones import KNOWN
from repro.store import Store
from repro.store.atomic import write_json

FOLDER_MODEL = KNOWN["minilm-l6"].model_copy(
    update={"id": "local", "revision": "sha256:1", "name": "my model"}
)
LABEL = backbone_label(FOLDER_MODEL)
"""my-model, and a digest, because another folder may have this name."""


AUDIT = "## Audit of the printed numbers"


def reproduce(store: Store) -> str:
    return document([view_of(asked, store) for asked in saved_requests(store)], store)


def test_a_request_is_remembered_as_it_was_asked(store: Store) -> None:
    asked = request(seeds=2, backbone=FOLDER_MODEL, learning_rate=1e-3, precision="fp32")
    save_request(store, asked)
    assert saved_requests(store) == [asked]


def test_an_unchanged_request_is_not_written_again(store: Store) -> None:
    save_request(store, request())
    path = next((store.root / "requests").iterdir())
    before = path.stat().st_ino
    save_request(store, request())
    assert path.stat().st_ino == before
    other = replace(request(), data_revisions={"squad2": "another"})
    save_request(store, other)
    assert saved_requests(store) == [other]


def test_no_setting_replaces_the_files_of_another(store: Store) -> None:
    asked = [request(), request(seeds=3), request(epochs=1), request(learning_rate=1e30)]
    for one in asked:
        save_request(store, one)
    assert len({table_name(one) for one in asked}) == len(asked)
    assert sorted(map(table_name, saved_requests(store))) == sorted(map(table_name, asked))


def test_a_request_of_another_version_is_left_out(store: Store) -> None:
    save_request(store, request())
    other = request_document(request("ResAdapters-2"))
    write_json(store.root / "requests" / "gone.json", other | {"id": "Gone-7"})
    write_json(store.root / "requests" / "odd.json", other | {"seeds": "many"})
    assert saved_requests(store) == [request()]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (request(), "ResAdapters-1.smoke"),
        (request(scale="paper", as_released=True, seeds=3), "ResAdapters-1.paper.as-released"),
        (request(train_rows=1200, seeds=2), "ResAdapters-1.smoke.seeds-2.train-rows-1200"),
        (
            request(scale="reduced", backbone=KNOWN["google-bert/bert-base-uncased"]),
            "ResAdapters-1.reduced.BERT-base",
        ),
        (request("3-shared-2", tasks=("cola", "rte")), "3-shared-2.smoke.cola-rte"),
        (request("3-shared-2", tasks=("cola",), epochs=1), "3-shared-2.smoke.cola.epochs-1"),
        (request("3-shared-2", precision="bf16"), "3-shared-2.smoke.precision-bf16"),
    ],
)
def test_artefacts_are_named_by_table_scale_encoder_and_reading(asked: Request, name: str) -> None:
    assert table_name(asked) == name


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (request(), "ResAdapters-1 --scale smoke"),
        (request(scale="paper", seeds=3), "ResAdapters-1 --scale paper"),  # the scale's own seeds
        (request(scale="paper", seeds=2), "ResAdapters-1 --scale paper --seeds 2"),
        (
            request(
                train_rows=1_234_567, evaluation_rows=12, epochs=2, learning_rate=0.00012345678
            ),
            "ResAdapters-1 --scale smoke --train-rows 1234567 --evaluation-rows 12 --epochs 2 "
            "--learning-rate 0.00012345678",
        ),
        (
            request(bottleneck=80, precision="bf16", as_released=True),
            "ResAdapters-1 --scale smoke --bottleneck 80 --precision bf16 --as-released",
        ),
        (
            request(backbone=KNOWN["google-bert/bert-base-uncased"]),
            "ResAdapters-1 --scale smoke --backbone google-bert/bert-base-uncased",
        ),
        (request(backbone=FOLDER_MODEL), f"ResAdapters-1 --scale smoke --backbone {LABEL}"),
        (request("3-shared-2", tasks=("cola", "rte")), "3-shared-2 --scale smoke --tasks cola,rte"),
    ],
)
def test_the_command_that_a_table_names_asks_for_it_again(asked: Request, words: str) -> None:
    assert shlex.split(command_line(asked)) == shlex.split(f"python -m repro table {words}")


def test_writing_a_table_leaves_unchanged_files_alone(store: Store, tmp_path: Path) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    view = view_table(TABLES[asked.id], asked, store)
    paths = write_table(view, tmp_path)
    assert [path.name for path in paths] == [
        f"ResAdapters-1.smoke.epochs-1.{e}" for e in ("md", "csv", "json", "tex")
    ]
    before = [path.stat().st_ino for path in paths]
    paths[1].write_text("by hand")
    write_table(view, tmp_path)
    assert [path.stat().st_ino for path in paths][::2] == before[::2]
    assert paths[1].read_text().startswith("table,scale,row,column")


def test_the_report_names_command_scale_and_status(store: Store) -> None:
    done, open_ = request(epochs=1), request("ResAdapters-2", scale="reduced")
    store_all(store, done)
    save_request(store, done)
    save_request(store, open_)
    text = reproduce(store)
    for part in (
        "| ResAdapters-1 | smoke   | MiniLM-L6 | 36/36            | 30 NOT COMPARABLE | none",
        "| ResAdapters-2 | reduced | MiniLM-L6 | 0/66             | 66 GAP            | none",
        "- **Run at smoke scale**, not comparable with the printed numbers: 6 runs of MiniLM-L6 on "
        "a made-up CPU, 1 threads, 12 s in 1 job.",
        "- **Cells:** 30 NOT COMPARABLE, 66 GAP.",
        "## ResAdapters-1.smoke",
        "    python -m repro table ResAdapters-1 --scale smoke --epochs 1",
        "Status: complete. Trained on a made-up CPU, 1 threads, 12 s in 1 job.",
        "    python -m repro table ResAdapters-2 --scale reduced",
        "Status: incomplete, 0 of 66 cells.",
    ):
        assert part in text.splitlines() or part in text
    absent = [name for name in ARTEFACTS if not name.startswith("ResAdapters")]
    assert f"66 cells (not run); not asked for: {', '.join(absent)}." in text


def test_a_report_of_all_tables_and_figures_names_none_as_absent(store: Store) -> None:
    for name in ARTEFACTS:
        save_request(store, request(name))
    assert "not asked for" not in reproduce(store)


def test_tables_that_nobody_asked_for_are_named(store: Store) -> None:
    save_request(store, request())
    assert "not asked for: ResAdapters-2, Houlsby-1, " in reproduce(store)


def test_a_failure_message_is_short_plain_text_on_the_first_screen(store: Store) -> None:
    spec = runs_of(request())[0]
    message = f"<script>alert(1)</script>\n# title {'word ' * 500}"
    store.record_failure(run_key(spec), spec, "error", message, "")
    save_request(store, request())
    text = reproduce(store)
    (line,) = [line for line in text.splitlines() if line.startswith("- **Missing:**")]
    assert "&lt;script>alert(1)&lt;/script> # title word" in line
    assert "<script" not in text
    assert len(line) < 800


def test_an_empty_store_gives_a_report_without_tables(store: Store) -> None:
    text = reproduce(store)
    assert "- **Run:** nothing yet." in text
    assert "not asked for: ResAdapters-1, ResAdapters-2, Houlsby-1, " in text
    assert re.findall("^## .*", text, re.MULTILINE) == ["## Claims", AUDIT]


def test_the_report_does_not_depend_on_the_order_of_requests(tmp_path: Path) -> None:
    asked = [request(), request("ResAdapters-2"), request(scale="reduced")]
    texts = []
    for number, order in enumerate((asked, asked[::-1])):
        store = Store(tmp_path / str(number))
        for one in asked:
            store_all(store, one)
        for one in order:
            save_request(store, one)
        texts.append(reproduce(store))
        assert reproduce(Store(store.root)) == texts[-1]
    assert texts[0] == texts[1]


def test_a_job_of_many_runs_is_counted_once(store: Store) -> None:
    asked = request("ResAdapters-2", epochs=1)
    specs = runs_of(asked)
    together = [run_key(spec) for spec in specs[:2]]
    for spec in specs[:2]:
        store_result(store, spec, seconds=30, members=together)
    for spec in specs[2:]:
        store_result(store, spec, seconds=45)
    save_request(store, asked)
    assert "120 s" not in reproduce(store)
    assert "Trained on a made-up CPU, 1 threads, 2.0 min in 3 jobs." in reproduce(
        store
    )  # 30 + 45 + 45 seconds


def test_a_figure_stands_in_the_report_with_picture_command_and_caption(store: Store) -> None:
    asked = fake_spans.request(layers=3, method="houlsby", task="mnli")
    fake_spans.store_chain(store, asked)
    save_request(store, asked)
    text = reproduce(store)
    label = backbone_label(fake_spans.encoder(3))
    name = table_name(asked)
    assert name.startswith("ablation-heatmap.smoke.Made-up-L3.mnli.")
    for line in (
        f"## {name}",
        f"    python -m repro figure ablation-heatmap --scale smoke --backbone {label} "
        "--tasks mnli --method houlsby",
    ):
        assert line in text.splitlines()
    assert f"](figures/{name}.png)" in text
    assert "Spans scored: 6/6." in text
    assert "| ablation-heatmap | smoke | Made-up-L3 | 6/6" in text
    assert "Status: complete." in text


def test_a_collapsed_intact_model_stands_among_the_collapsed_rows(store: Store) -> None:
    asked = fake_spans.request(layers=3)
    scores = {"matthews": 0.0, "accuracy": 0.0, "majority_share": 100.0}
    fake_spans.store_chain(store, asked, value=lambda seed, metric, span: scores[metric])
    save_request(store, asked)
    assert re.search(r"\| 6/6 +\| +\| intact model +\|", reproduce(store))


def test_the_first_screen_says_what_holds(store: Store) -> None:
    """The claims that fail on the papers' own numbers, by their arithmetic."""
    save_request(store, request())
    text = reproduce(store)
    first = text[: text.index("\n| Table")]
    assert len(first.splitlines()) <= 25
    printed = next(line for line in first.splitlines() if "own numbers" in line)
    holds, fails = re.findall(r"(\d+) hold, (\d+) do not", printed)[0]
    section = text[text.index("## Claims") : text.index(AUDIT)]
    assert len(re.findall(r"\| holds: ", section)) == int(holds)
    assert len(re.findall(r"\| does not hold: ", section)) == int(fails)
    # Adaptable Adapters, Table 2 at 100 rows: WNLI is lower in all three rows.
    assert "All focused architectures are ahead of the baseline in all low-data tasks." in first
    # ResAdapters, Table 1: 42.6 is bold, 45.0 stands beside it.
    assert "ResNeXt has the best exact match and F1 on all questions." in first


def test_the_first_screen_names_the_claims_that_our_runs_decide(store: Store) -> None:
    """What only the sign of single runs says is not listed as borne out or reversed."""
    titles = {
        "direction holds": "Borne out here",
        "reversed": "Reversed here",
        "direction holds (one seed)": "Single runs point as claimed",
        "direction reversed (one seed)": "Single runs point the other way",
    }
    undecided, *claims = judge_all(store)[: len(titles) + 1]
    found = [
        replace(claim, ours=verdict)  # type: ignore[arg-type]
        for claim, verdict in zip(claims, titles, strict=True)
    ]
    lines = what_holds([], [undecided, *found], [], store)
    said = [line for line in lines if line.startswith("  - ")]
    assert [line.removeprefix("  - ").split(",")[0] for line in said[: len(titles)]] == [
        *titles.values()
    ]
    for line, claim in zip(said, found, strict=False):
        assert line.endswith(f": {claim.claim.says}")


def test_each_artefact_with_runs_shows_its_protocol(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    save_request(store, asked)
    save_request(store, request("ResAdapters-2"))
    text = reproduce(store)
    assert text.count("<details><summary>Protocol") == text.count("</details>") == 1
    line = next(line for line in text.splitlines() if line.startswith("| recipe.epochs "))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "recipe.epochs", "5 — code: epochs=5; the paper says above 5", "1 — assumed: asked for",
    ]  # fmt: skip


def test_laying_out_alone_never_empties_a_table(tmp_path: Path) -> None:
    """What stands there of another store, or of other data, is fuller than what is found."""
    asked = request(epochs=1)
    full = Store(tmp_path / "full")
    store_all(full, asked)
    write_table(view_table(TABLES[asked.id], asked, full), tmp_path)
    before = {path.name: path.read_text() for path in (tmp_path / "tables").iterdir()}
    words = ["table", "ResAdapters-1", "--scale", "smoke", "--epochs", "1", "--no-run"]
    where = ["--out", str(tmp_path), "--store", str(tmp_path / "empty")]
    done = CliRunner().invoke(application(), [*words, *where])
    assert "keeps this table as it is" in done.stderr
    assert {path.name: path.read_text() for path in (tmp_path / "tables").iterdir()} == before
    (tmp_path / "tables" / "ResAdapters-1.smoke.epochs-1.json").write_text("[]")
    CliRunner().invoke(application(), [*words, *where])
    assert "0/36" in (tmp_path / "tables" / "ResAdapters-1.smoke.epochs-1.json").read_text()
