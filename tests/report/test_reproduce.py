"""REPRODUCE.md and its pages, the artefacts' names and commands, and the requests behind them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import fake_spans
import pytest
from fake_results import request, runs_of, store_all, store_result
from typer.testing import CliRunner

from repro.audit.run import findings
from repro.cli.main import application
from repro.papers.matrix import Matrix
from repro.papers.registry import ARTEFACTS, TABLES
from repro.papers.request import Request
from repro.report.files import (
    backbone_label,
    command_line,
    save_request,
    saved_requests,
    table_name,
    write_table,
)
from repro.report.reproduce import front_page, page, view_of, write_pages
from repro.report.summary import Summary, answer, missing, summarise
from repro.report.view import TableView, view_table
from repro.spec import Scale, run_key
from repro.spec.backbones import KNOWN
from repro.store import Store
from repro.store.entry import StoredRun

PROJECT = Path(__file__).parents[2]
FOLDER_MODEL = KNOWN["minilm-l6"].model_copy(
    update={"id": "local", "revision": "sha256:1", "name": "my model"}
)
LABEL = backbone_label(FOLDER_MODEL)
"""my-model, and a digest, because another folder may have this name."""


LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(autouse=True, scope="module")
def _audited_once() -> Iterator[None]:
    """The audit is of the printed numbers alone, whatever is stored: one for all reports."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("repro.audit.run.findings", cache(findings))
        yield


def report(store: Store, folder: Path) -> str:
    """Writes REPRODUCE.md and its pages; returns the text of REPRODUCE.md."""
    views = [view_of(asked, store) for asked in saved_requests(store)]
    write_pages(summarise(views, store), store, folder)
    return (folder / "REPRODUCE.md").read_text()


def page_text(asked: Request, store: Store) -> str:
    return page(view_of(asked, store), store)


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


def test_the_index_links_what_was_run_and_the_appendix_has_the_smoke_scale(
    store: Store, tmp_path: Path
) -> None:
    done = request(scale="reduced", epochs=1, train_rows=1200, evaluation_rows=9)
    open_, smoke = request("ResAdapters-2", scale="reduced"), request("ResAdapters-2")
    store_all(store, done)
    for one in (done, open_, smoke):
        save_request(store, one)
    rows = [row.split(" | ") for row in report(store, tmp_path).splitlines() if "](tables/R" in row]
    found = [(*row[2:5], row[5].removesuffix(" |")) for row in rows if len(row) == 6]
    assert found == [
        ("reduced", "MiniLM-L6", "1,200", "complete"),
        ("reduced", "MiniLM-L6", "—", "empty"),
    ]
    assert f"[ResAdapters-1](tables/{table_name(done)}.md)" in rows[0][0]
    assert f"](tables/{table_name(smoke)}.md)" not in (tmp_path / "REPRODUCE.md").read_text()
    assert f"[ResAdapters-2]({table_name(smoke)}.md)" in (tmp_path / "tables/smoke.md").read_text()


def test_a_page_names_its_status_command_and_machine(store: Store) -> None:
    done, open_ = request(epochs=1), request("ResAdapters-2", scale="reduced")
    store_all(store, done)
    lines = page_text(done, store).splitlines()
    for line in (
        "# ResAdapters-1, smoke scale, MiniLM-L6, epochs 1",
        "**Status:** complete, 36 of 36 cells: 30 not comparable.",
        "    python -m repro table ResAdapters-1 --scale smoke --epochs 1",
        "6 runs behind it; the CSV names those of each cell.",
    ):
        assert line in lines
    assert any(line.startswith("| a made-up CPU, 1 threads | 12 s in 1 job |") for line in lines)
    lines = page_text(open_, store).splitlines()
    assert "    python -m repro table ResAdapters-2 --scale reduced" in lines
    assert "**Status:** empty, 0 of 66 cells: 66 gap." in lines


def test_every_link_of_a_new_report_resolves(store: Store, tmp_path: Path) -> None:
    """A table and a figure at smoke scale, tables at reduced scale, one with a long name."""
    long = request(
        "3-shared-2", "reduced", tasks=("cola", "rte"), train_rows=100, epochs=2, seeds=2
    )
    for asked in (request(), request(scale="reduced"), long):
        save_request(store, asked)
    store_all(store, request(scale="reduced"))
    save_request(store, request("tradeoff-extra"))
    done = CliRunner().invoke(
        application(), ["report", "--out", str(tmp_path), "--store", str(store.root)]
    )
    assert done.exit_code == 0, done.output
    assert broken_links(tmp_path) == []
    assert len(table_name(long)) <= 60


def test_every_link_of_the_committed_report_resolves() -> None:
    assert broken_links(PROJECT) == []


def broken_links(folder: Path) -> list[str]:
    """The links of REPRODUCE.md and of all pages that lead to no file; a page that REPRODUCE.md
    leads to at no number of clicks counts, too.
    """
    pages = [folder / "REPRODUCE.md"]
    found = []
    for path in pages:
        for link in LINK.findall(path.read_text(encoding="utf-8")):
            target = (path.parent / unquote(link)).resolve()
            if not target.is_file():
                found.append(f"{path.name}: {link}")
            elif target.suffix == ".md" and target not in {one.resolve() for one in pages}:
                pages.append(target)
    unreached = {one.resolve() for one in (folder / "tables").glob("*.md")} - set(pages)
    return found + sorted(f"no link to {path.name}" for path in unreached)


def of_all_artefacts(store: Store, *asked: tuple[Scale, int]) -> Summary:
    """A summary in which every artefact was asked for at these scales with so many seeds; their
    cells are those of one table.
    """
    view = view_of(request(), store)
    assert isinstance(view, TableView)
    wanted = [
        replace(view.request, id=id, scale=scale, seeds=seeds)
        for id in ARTEFACTS
        for scale, seeds in asked
    ]
    views = [replace(view, matrix=Matrix(view.matrix.source, one, {})) for one in wanted]
    return summarise(views, store)


def test_the_first_page_is_at_most_40_kb_however_much_was_run(store: Store) -> None:
    """Every artefact five times, every claim reversed, and every other run failed otherwise."""
    for place, spec in enumerate(runs_of(request())):
        store.record_failure(run_key(spec), spec, "error", f"{place} {'word ' * 500}", "")
    summary = of_all_artefacts(
        store, ("paper", 3), ("paper", 7), ("reduced", 1), ("reduced", 5), ("smoke", 1)
    )
    names = [table_name(view.request) for view in summary.views]
    claims = [
        replace(claim, ours="reversed", artefacts=(names[place],))
        for place, claim in enumerate(summary.claims)
    ]
    text = front_page(replace(summary, claims=tuple(claims)))
    assert text.count("](tables/") > 4 * len(ARTEFACTS)
    assert len(text.encode()) <= 40_000


def test_nothing_asked_for_is_missing_once_every_artefact_was_run(store: Store) -> None:
    said = missing(of_all_artefacts(store, ("smoke", 1)))
    assert not any(line.startswith("not asked for") for line in said)


def test_what_nobody_asked_for_is_missing(store: Store, tmp_path: Path) -> None:
    save_request(store, request())
    text = report(store, tmp_path)
    assert "- not asked for: ResAdapters-2, Houlsby-1, " in text
    assert "- no run at paper scale, of any table or figure." in text
    assert "- no run on the papers' data: ResAdapters-1." in text
    assert "- 36 cells: not run." in text


def test_a_failure_message_is_short_plain_text_on_the_first_page(
    store: Store, tmp_path: Path
) -> None:
    spec = runs_of(request())[0]
    message = f"<script>alert(1)</script>\n# title {'word ' * 500}"
    store.record_failure(run_key(spec), spec, "error", message, "")
    save_request(store, request())
    text = report(store, tmp_path)
    (line,) = [line for line in text.splitlines() if "alert(1)" in line]
    assert "&lt;script>alert(1)&lt;/script> # title word" in line
    assert "<script" not in text
    assert len(line) < 400


def test_the_report_does_not_depend_on_the_order_of_requests(tmp_path: Path) -> None:
    asked = [request(), request("ResAdapters-2"), request(scale="reduced")]
    found = []
    for number, order in enumerate((asked, asked[::-1])):
        store = Store(tmp_path / str(number))
        for one in asked:
            store_all(store, one)
        for one in order:
            save_request(store, one)
        folder = tmp_path / f"report {number}"
        report(store, folder)
        found.append({path.name: path.read_bytes() for path in folder.rglob("*.md")})
    assert found[0] == found[1]


def test_a_job_of_many_runs_is_counted_once(store: Store, tmp_path: Path) -> None:
    asked = request("ResAdapters-2", epochs=1)
    specs = runs_of(asked)
    together = [run_key(spec) for spec in specs[:2]]
    for spec in specs[:2]:
        store_result(store, spec, seconds=30, members=together)
    for spec in specs[2:]:
        store_result(store, spec, seconds=45)
    save_request(store, asked)
    assert "Trained for 2.0 min in 3 jobs." in report(store, tmp_path)  # 30 + 45 + 45 seconds


def test_the_page_of_a_figure_has_picture_command_and_caption(store: Store) -> None:
    asked = fake_spans.request(layers=3, method="houlsby", task="mnli")
    fake_spans.store_chain(store, asked)
    text, label = page_text(asked, store), backbone_label(fake_spans.encoder(3))
    name = table_name(asked)
    assert name.startswith("ablation-heatmap.smoke.Made-up-L3.mnli.")
    assert (
        f"    python -m repro figure ablation-heatmap --scale smoke --backbone {label} "
        "--tasks mnli --method houlsby"
    ) in text.splitlines()
    assert "# ablation-heatmap, smoke scale, Made-up-L3, MNLI, houlsby" in text.splitlines()
    assert f"](../figures/{name}.png)" in text
    assert f"[CSV](../figures/{name}.csv)" in text
    assert "Spans scored: 6/6." in text
    assert "**Status:** complete, 6 of 6 cells." in text


def test_a_collapsed_intact_model_is_named_on_its_page(store: Store) -> None:
    asked = fake_spans.request(layers=3)
    scores = {"matthews": 0.0, "accuracy": 0.0, "majority_share": 100.0}
    fake_spans.store_chain(store, asked, value=lambda seed, metric, span: scores[metric])
    assert "Constant answers (†): intact model." in page_text(asked, store)


def test_the_first_page_says_first_that_no_trained_score_was_judged(
    store: Store, tmp_path: Path
) -> None:
    """Then that 9 counts were: those of 3-shared, Table 1, that need no module."""
    for asked in (request(scale="reduced"), request("3-shared-1", "paper")):
        save_request(store, asked)
    store_all(store, request(scale="reduced"))
    lines = report(store, tmp_path).splitlines()
    assert lines[2].startswith("- **Trained scores judged at paper scale: none yet.**")
    assert lines[3].startswith("- **Facts judged: 9.** 9 match.")
    assert lines[4].startswith("- **Runs at reduced scale: 6.**")
    assert "no score is judged, 30 stand beside a published one" in lines[4]
    assert lines.index("## Tables and figures") <= 15


def test_trained_scores_at_paper_scale_are_counted_by_their_verdicts(store: Store) -> None:
    """One run of each of five printed rows with six scores: shown, never confirmed."""
    asked = request(scale="paper")
    store_all(store, asked)
    first = answer(summarise([view_of(asked, store)], store))[0]
    assert (first.number, first.says) == ("30", "30 single.")


def test_the_claims_page_has_every_verdict_on_the_printed_numbers(
    store: Store, tmp_path: Path
) -> None:
    save_request(store, request())
    text = report(store, tmp_path)
    holds, fails = re.findall(r"(\d+) of 59 hold.\*\* (\d+) do not", text)[0]
    claims = (tmp_path / "tables" / "claims.md").read_text()
    assert len(re.findall(r"\| holds: ", claims)) == int(holds)
    assert len(re.findall(r"\| does not hold: ", claims)) == int(fails)
    # Adaptable Adapters, Table 2 at 100 rows: WNLI is lower in all three rows.
    assert "All focused architectures are ahead of the baseline in all low-data tasks." in text
    # ResAdapters, Table 1: 42.6 is bold, 45.0 stands beside it.
    assert "ResNeXt has the best exact match and F1 on all questions." in text


def test_a_decided_claim_names_scale_seeds_and_rows(store: Store) -> None:
    """Runs that are not the paper's confirm nothing, and single runs are listed apart."""
    titles = {
        "direction holds": "Other runs than the paper's point as claimed",
        "reversed": "Reversed by the paper's runs or by counts",
        "direction holds (one seed)": "Single runs point as claimed",
        "direction reversed (one seed)": "Single runs point the other way",
    }
    asked = request(scale="reduced", train_rows=1200, seeds=2)
    save_request(store, asked)
    store_all(store, asked)
    summary = summarise([view_of(asked, store)], store)
    undecided, *claims = summary.claims[: len(titles) + 1]
    found = [
        replace(claim, ours=verdict, published="holds", artefacts=(table_name(asked),))  # type: ignore[arg-type]
        for claim, verdict in zip(claims, titles, strict=True)
    ]
    lines = front_page(replace(summary, claims=(undecided, *found))).splitlines()
    for claim, title in zip(found, titles.values(), strict=True):
        said = lines[lines.index(f"- **{title}:**") + 1]
        assert claim.claim.says in said
        side = "; 2 runs a side" if any(one.ours.gap for one in claim.statements) else ""
        assert said.endswith(
            f"([ResAdapters-1](tables/{table_name(asked)}.md), reduced scale, MiniLM-L6, 2 seeds, "
            f"1,200 training rows{side})"
        )
    assert any(one.ours.gap for claim in found for one in claim.statements)


def test_runs_in_the_store_that_no_table_shows_are_accounted_for(store: Store) -> None:
    asked = request(scale="reduced")
    store_all(store, asked)
    summary = summarise([view_of(asked, store)], store)
    assert "Runs in the store" not in [point.title for point in answer(summary)]
    parent, other = "a" * 64, "b" * 64

    def read(key: str) -> StoredRun | None:
        run = summary.read(key)
        if run is None or key != summary.stored[0]:
            return run
        return replace(run, spec=run.spec.model_copy(update={"parents": {"trained": parent}}))

    more = replace(summary, read=read, stored=(*summary.stored, parent, other))
    (point,) = [point for point in answer(more) if point.title == "Runs in the store"]
    assert (point.number, point.says) == (
        "8",
        "6 are shown in a table or figure, 1 are parents, whose weights or layers those use and 1 "
        "are of nothing that was asked for.",
    )


def test_a_row_is_named_on_the_first_page_as_it_is_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HYPERFORMER_BASE, whose underscore Markdown does not take for emphasis."""
    view = view_table(TABLES["Hyperformer-1"], request("Hyperformer-1"), store)
    cell = next(one for one in view.records if one["row"].endswith("_BASE")) | {"verdict": "LOWER"}
    monkeypatch.setattr("repro.report.summary.contradictions", lambda _: [(view, cell)])
    text = front_page(summarise([view], store))
    assert f"{cell['row']}, {cell['column']} (lower)" in text


def test_a_page_of_runs_shows_its_protocol(store: Store) -> None:
    asked = request(epochs=1)
    store_all(store, asked)
    text = page_text(asked, store)
    assert text.count("<details><summary>Protocol") == 1
    line = next(line for line in text.splitlines() if line.startswith("| recipe.epochs "))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "recipe.epochs", "5 — code: epochs=5; the paper says above 5", "1 — assumed: asked for",
    ]  # fmt: skip
    assert "<details><summary>Protocol" not in page_text(request("ResAdapters-2"), store)


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
