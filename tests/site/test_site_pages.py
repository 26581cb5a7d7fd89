"""What the pages say: every number and run, nothing that is not there, and no text as markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import fake_spans
import pytest
from fake_results import request, runs_of, store_all, store_result
from site_reader import Page, pages, read, target

from repro.papers.published import load_published
from repro.report.files import save_request, table_name
from repro.spec import RunSpec, run_key
from repro.spec.backbones import KNOWN
from repro.store import Store

Build = Callable[[Store], dict[str, bytes]]
TABLE = "tables/ResAdapters-1.smoke.html"
HOSTILE = "</code><script>alert('x')</script><img src=x onerror=alert(1)>\"'&"
ABSENT = re.compile(r"\b(None|nan|NaN|inf|Undefined)\b")


@pytest.fixture(scope="module")
def found(reference: dict[str, bytes]) -> dict[str, Page]:
    """The pages of the committed store's site."""
    return pages(reference)


def test_every_link_leads_to_a_file_and_a_place_of_the_site(
    reference: dict[str, bytes], found: dict[str, Page]
) -> None:
    ids = {path: set(page.ids) for path, page in found.items()}
    count = 0
    for path, page in found.items():
        for link in page.links():
            if link == "data:,":
                continue
            file, anchor = target(path, link)
            assert file in reference, f"{path}: {link}"
            assert not anchor or anchor in ids[file], f"{path}: {link}"
            count += 1
    assert count > 10 * len(found)


def test_ids_are_single_and_those_named_are_there(found: dict[str, Page]) -> None:
    for path, page in found.items():
        assert len(page.ids) == len(set(page.ids)), path
        assert set(page.named_ids()) <= set(page.ids), path


def test_no_file_asks_for_anything_outside(
    reference: dict[str, bytes], found: dict[str, Page]
) -> None:
    for path, page in found.items():
        assert not [link for link in page.links() if re.match(r"(\w+:)?//", link)], path
    for path in ("style.css", "script.js"):
        text = reference[path].decode()
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest|import\s", text), path


def test_headings_are_in_order_and_tables_have_captions_and_scopes(
    found: dict[str, Page],
) -> None:
    for path, page in found.items():
        levels = [int(tag.name[1]) for tag in page.tags if re.fullmatch(r"h[1-6]", tag.name)]
        assert levels.count(1) == 1, path
        assert levels[0] == 1, path
        assert all(later <= earlier + 1 for earlier, later in pairwise(levels)), path
        assert len(page.all("caption")) == len(page.all("table")), path
        assert all("scope" in heading.attributes for heading in page.all("th")), path
        assert all(image.attributes.get("alt") for image in page.all("img")), path
        assert {tag.name for tag in page.tags} >= {"header", "nav", "main", "footer"}, path
        assert next(tag for tag in page.tags if tag.name == "a").attributes["href"] == "#main"


def test_no_page_prints_an_absent_value(found: dict[str, Page]) -> None:
    for path, page in found.items():
        assert not ABSENT.search(page.words), f"{path}: {ABSENT.search(page.words)}"


def test_the_same_store_gives_the_same_bytes(store: Store, build: Build) -> None:
    save_request(store, request())
    store_all(store, request())
    assert build(store) == build(Store(store.root))


def test_a_cell_shows_both_numbers_and_opens_its_runs(store: Store, build: Build) -> None:
    """Scores are 10 x epoch + seed, one more for F1; the printed ones are those of the CSV."""
    asked = request(scale="reduced", seeds=2)
    save_request(store, asked)
    store_all(store, asked)
    files = build(store)
    page = read(files[f"tables/{table_name(asked)}.html"])
    f1 = load_published("resadapters", "RA-T1")[
        "Non Linear / Adapter", "ALL", "F1 (SQuAD2.0 dev)"
    ].value
    assert f1 is not None
    words = page.cell("cell-1-2").text
    assert "81.5 ± 0.7" in words  # seeds 0 and 1 after eight epochs: 81 and 82
    assert f"{f1:.1f}" in words
    assert f"+{81.5 - f1:.1f}" in words
    assert "not comparable" in words
    opened = page.cell("runs-cell-1-2")
    specs = [spec for spec in runs_of(asked) if run_key(spec) in _linked(files, asked, "cell-1-2")]
    assert {spec.seed for spec in specs} == {0, 1}
    assert len(specs) == 2
    assert "81.00" in opened.text
    assert "82.00" in opened.text


def _linked(files: dict[str, bytes], asked: object, cell: str) -> set[str]:
    """The runs that a cell's panel links to."""
    text = files[f"tables/{table_name(asked)}.html"].decode()  # type: ignore[arg-type]
    panel = text.split(f'id="runs-{cell}"')[1].split("popover ")[0]
    return set(re.findall(r"runs/([0-9a-f]{64})\.html", panel))


def test_a_run_has_its_scores_by_epoch_its_spec_and_the_cells_that_show_it(
    store: Store, build: Build
) -> None:
    save_request(store, request())
    store_all(store, request())
    spec = runs_of(request())[0]
    page = read(build(store)[f"runs/{run_key(spec)}.html"])
    for epoch in range(1, 9):  # 10 x epoch, in ALL EM
        assert f"{10 * epoch}.00" in page.words
    shown = [code.text for code in page.all("code") if code.text.startswith("{")]
    assert RunSpec.model_validate_json(shown[0]) == spec
    assert "ALL EM" in page.words
    assert any(link.startswith("../tables/ResAdapters-1") for link in page.links())


def test_losses_are_drawn_where_they_are_stored(store: Store, build: Build) -> None:
    save_request(store, request())
    spec = runs_of(request())[0]
    store_result(store, spec)
    key = run_key(spec)
    words = read(build(store)[f"runs/{key}.html"]).words
    assert "fewer than two steps" in words  # the made-up history has one
    store.pack([key], store.root / "copy" / "one.jsonl.xz", {})
    copy = Store(store.root / "copy")
    save_request(copy, request())
    assert "only scores were copied" in read(build(copy)[f"runs/{key}.html"]).words


def test_a_missing_run_leaves_a_gap_with_its_reason(store: Store, build: Build) -> None:
    save_request(store, request())
    first, second, *rest = runs_of(request())
    for spec in rest:
        store_result(store, spec)
    store.record_failure(run_key(first), first, "diverged", "The loss is not finite.", "log")
    files = build(store)
    page = read(files[TABLE])
    assert page.cell("cell-1-1").text.startswith("—")
    assert "gap" in page.cell("cell-1-1").text
    assert "failed (diverged): The loss is not finite." in page.cell("runs-cell-1-1").text
    assert "not run" in page.cell("runs-cell-2-1").text
    assert "The loss is not finite." in read(files[f"runs/{run_key(first)}.html"]).words
    assert f"runs/{run_key(second)}.html" not in files


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_any_subset_of_the_runs_gives_gaps_and_no_other_number(
    seed: int, store: Store, build: Build
) -> None:
    asked = request(seeds=2)
    save_request(store, asked)
    save_request(store, fake_spans.request())
    specs = runs_of(asked)
    kept = [spec for place, spec in enumerate(specs) if (place * 7 + seed * 5) % 6 < seed]
    for spec in kept:
        store_result(store, spec)
    files = build(store)
    for path, page in pages(files).items():
        assert not ABSENT.search(page.words), path
    stored = {run_key(spec) for spec in kept}
    assert {path for path in files if path.startswith("runs/")} == {
        f"runs/{key}.html" for key in stored
    }
    for row in range(6):
        behind = _linked(files, asked, f"cell-{row + 1}-1")
        seeds = sorted(spec.seed for spec in kept if run_key(spec) in behind)
        words = read(files[f"tables/{table_name(asked)}.html"]).cell(f"cell-{row + 1}-1").text
        mean = sum(80 + s for s in seeds) / len(seeds) if seeds else None  # by arithmetic
        assert words.startswith("—" if mean is None else f"{mean:.1f}")


def test_text_from_a_store_is_text(store: Store, build: Build) -> None:
    """A model may be called anything, and a failure may say anything."""
    named = KNOWN["minilm-l6"].model_copy(update={"id": "local", "name": HOSTILE})
    asked = replace(request(), backbone=named)
    save_request(store, asked)
    first, *rest = runs_of(asked)
    for spec in rest:
        store_result(store, spec)
    store.record_failure(run_key(first), first, "error", HOSTILE, "log")
    files = build(store)
    told = 0
    for path, page in pages(files).items():
        for script in page.all("script"):
            assert script.attributes["src"].endswith("script.js"), path
            assert not script.text
        assert not [tag for tag in page.tags if set(tag.attributes) & {"onerror", "onclick"}], path
        told += HOSTILE in page.words
    assert told > 3
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]+", path) for path in files)


def test_a_score_of_generated_rows_is_shown_alone(store: Store, build: Build) -> None:
    """The published number is in the panel that the cell opens; nothing is subtracted from it."""
    save_request(store, request())
    store_all(store, request())
    page = read(build(store)[TABLE])
    assert page.cell("cell-1-2").text.split() == ["81.0", "○", "not", "comparable"]
    opened = page.cell("runs-cell-1-2").text
    assert "31.6" in opened  # RA-T1, Non Linear / Adapter
    assert "Difference" not in opened
    assert not [tag for tag in page.tags if tag.attributes.get("id") == "plots"]


def test_names_are_set_as_in_the_papers(store: Store, build: Build) -> None:
    asked = request("AA-2", sections=("Low-data-100",)), request("Hyperformer-2")
    for one in asked:
        save_request(store, one)
    files = build(store)
    texts = [files[f"tables/{table_name(one)}.html"].decode() for one in asked]
    assert "AA-focused<sup>uni</sup>" in texts[0]
    assert "Adapters†<sub>BASE</sub>" in texts[1]
    for text in texts:
        assert not re.search(r"\^uni|_BASE|dagger|\\_", text)


def test_two_variants_of_a_table_have_headings_of_their_own(store: Store, build: Build) -> None:
    for one in (request("Peters-1"), request("Peters-1", tasks=("mrpc",), epochs=3)):
        save_request(store, one)
    found = pages(build(store))
    headings = [page.all("h1")[0].text for path, page in found.items() if "Peters-1" in path]
    assert sorted(headings) == [
        "Peters-1, smoke scale, MiniLM-L6",
        "Peters-1, smoke scale, MiniLM-L6, MRPC, epochs 3",
    ]


def test_a_page_shows_the_columns_that_are_asked_for(store: Store, build: Build) -> None:
    asked = request("Peters-1", tasks=("mrpc",))
    save_request(store, asked)
    page = read(build(store)[f"tables/{table_name(asked)}.html"])
    heads = [head.text for head in page.all("th") if head.attributes["scope"] == "col"]
    assert heads[:3] == ["Model", "MRPC", "Trained parameters"]


def test_the_first_page_answers_first(store: Store, build: Build) -> None:
    save_request(store, request())
    store_all(store, request())
    words = " ".join(read(build(store)["index.html"]).words.split())
    first = "Do the published numbers reproduce? Trained scores judged at paper scale none yet"
    assert first in words
    assert "36 of 36 30 ○ not comparable" in words  # five printed rows of six scores
    assert "Houlsby-1" in words
    assert "a made-up CPU, 1 threads" in words
    assert "12 s in 1 job" in words
    assert "Contradicted by the paper's own printed numbers: Of the models with attention" in words


def test_the_csv_beside_a_table_is_the_one_of_the_report(store: Store, build: Build) -> None:
    from repro.papers.registry import TABLES
    from repro.report.render import csv_text
    from repro.report.view import view_table

    save_request(store, request())
    store_all(store, request())
    files = build(store)
    expected = csv_text(view_table(TABLES["ResAdapters-1"], request(), store))
    assert files[TABLE.replace(".html", ".csv")].decode() == expected


def test_the_site_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys, json, repro.site.pages; print(json.dumps('torch' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
