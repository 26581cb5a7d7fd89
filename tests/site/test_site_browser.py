"""The site in a real browser: Debian's Chromium, driven by Playwright; files, no server."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
FEW_SECTIONS = """() => document.querySelectorAll("[id^=paper-]").forEach(
  (heading, place) => place && heading.parentElement.remove())"""
"""Claims and findings are a section a paper, all alike: the first is looked at."""
WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test for an error, and for any request but for files."""
    width, height = WIDTHS["desk"]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.set_default_timeout(120_000)  # a busy machine is no failure
    said: list[str] = []

    def asked(url: str) -> None:
        if not url.startswith(("file:", "data:")):
            said.append(f"asked for {url}")

    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(f"failed: {request.url}"))
    page.on("request", lambda request: asked(request.url))
    yield page
    page.close()
    assert not said


@pytest.fixture
def table(site: Path) -> Path:
    """The page of a table with several runs a cell."""
    return next(
        path for path in sorted(site.glob("tables/3-shared-2*.html")) if "seeds" in path.name
    )


@pytest.fixture
def kinds(site: Path, table: Path) -> list[Path]:
    """One page of each kind."""
    figure = next(iter(sorted(site.glob("figures/*.html"))))
    run = next(iter(sorted(site.glob("runs/*.html"))))
    names = ("index.html", "audit.html", "claims.html")
    return [*(site / name for name in names), table, figure, run]


def test_pages_load_without_an_error_or_a_request(page: Page, site: Path) -> None:
    """Every page but those of runs, which are alike: of them one in forty."""
    runs = sorted(site.glob("runs/*.html"))[::40]
    others = [path for path in sorted(site.rglob("*.html")) if path.parent.name != "runs"]
    assert len(others) >= 10
    for path in (*others, *runs):
        page.goto(path.as_uri())
        assert page.locator("h1").count() == 1, path


def test_a_cell_opens_its_runs_and_a_run_leads_back(page: Page, table: Path) -> None:
    from playwright.sync_api import expect  # waits for what a click leads to

    page.goto(table.as_uri())
    cell = page.locator("table.matrix td button").first
    panel = page.locator("[popover]:popover-open")
    expect(panel).to_have_count(0)
    cell.click()
    expect(panel).to_have_count(1)
    expect(panel.locator("tbody tr")).to_have_count(3)  # a run a seed
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    cell.focus()
    page.keyboard.press("Enter")
    expect(panel).to_have_count(1)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Close"
    panel.locator("tbody a").first.click()
    expect(page.locator("h1")).to_have_text(re.compile("seed 0$"))
    page.locator("section[aria-labelledby=used] a").nth(1).click()
    expect(page.locator("td:target")).to_have_count(1)


def first_cells(page: Page, column: int) -> list[str]:
    rows = page.locator("#artefacts tbody tr")
    return [row.locator("th, td").nth(column).inner_text() for row in rows.all()]


def test_a_column_is_sorted_by_click_and_by_keyboard(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    heading = page.locator("#artefacts thead th").nth(3)  # the encoder
    before = first_cells(page, 3)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    gaps = ["—"] * before.count("—")  # a table of data has no encoder
    known = sorted((name for name in before if name != "—"), key=str.lower)
    assert first_cells(page, 3) == known + gaps != before
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert first_cells(page, 3) == known[::-1] + gaps
    other = page.locator("#artefacts thead th").first
    other.locator("button").focus()
    page.keyboard.press("Space")
    assert other.get_attribute("aria-sort") == "ascending"
    assert heading.get_attribute("aria-sort") is None


def test_numbers_are_sorted_as_numbers_and_gaps_stand_last(page: Page, table: Path) -> None:
    page.goto(table.as_uri())
    places = page.locator("table.matrix thead th").all_inner_texts()
    column = next(i for i, name in enumerate(places) if name.startswith("SST-2"))
    page.locator("table.matrix thead th").nth(column).locator("button").click()
    shown = page.locator(f"table.matrix tbody tr > :nth-child({column + 1}) b").all_inner_texts()
    numbers = [float(text.split()[0]) for text in shown if text[0].isdigit()]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)
    assert all(text[0].isdigit() for text in shown[: len(numbers)])


def test_the_filter_and_the_theme_answer(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    rows = page.locator("#artefacts tbody tr:visible")
    total = rows.count()
    page.get_by_label("Show those with").fill("resadapters")
    assert 0 < rows.count() < total
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.reload()
    page.wait_for_load_state()
    assert page.locator("#theme").inner_text() == "Light theme"  # the choice stays


def test_tab_reaches_everything_that_can_be_used(page: Page, kinds: list[Path]) -> None:
    for path in kinds:
        page.goto(path.as_uri())
        page.evaluate(FEW_SECTIONS)
        wanted = page.evaluate(
            """() => {
              const found = [...document.querySelectorAll(
                "a[href], button, input, summary, [tabindex='0']")];
              const usable = found.filter((e) => e.checkVisibility() && !e.disabled);
              usable.forEach((e, i) => { e.dataset.place = i; });
              return usable.length;
            }"""
        )
        reached = set()
        for _ in range(wanted + 2):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.place ?? ''"))
        assert reached - {""} == {str(place) for place in range(wanted)}, path


def test_the_skip_link_leads_to_the_content(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_nothing_but_tables_and_plots_is_wider_than_a_phone(page: Page, kinds: list[Path]) -> None:
    width, height = WIDTHS["phone"]
    page.set_viewport_size({"width": width, "height": height})
    for path in kinds:
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_table_says_that_it_is_wider_than_the_page(page: Page, site: Path, table: Path) -> None:
    from playwright.sync_api import expect

    width, height = WIDTHS["phone"]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(table.as_uri())
    matrix = page.locator(".scroll:has(> table.matrix)")
    expect(matrix).to_have_class(re.compile(r"\bwide\b"))
    said = matrix.evaluate("place => getComputedStyle(place, '::before').content")
    assert "scroll sideways" in said
    page.set_viewport_size({"width": WIDTHS["desk"][0], "height": WIDTHS["desk"][1]})
    page.goto((site / "index.html").as_uri())
    expect(page.locator(".scroll:has(> #artefacts)")).not_to_have_class(re.compile(r"\bwide\b"))


def test_a_page_is_whole_without_scripts(browser: Browser, table: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(table.as_uri())
    assert page.locator("svg[role=img]").count() == 1
    page.locator("table.matrix td button").first.click()
    assert page.locator(".runs:visible").count() == 1
    context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_serious_barrier_is_found(
    page: Page, kinds: list[Path], table: Path, width: str
) -> None:
    """By axe; a panel that a cell opens is looked at, too."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    wide, high = WIDTHS[width]
    page.set_viewport_size({"width": wide, "height": high})
    for path in kinds if width == "desk" else [table]:
        page.goto(path.as_uri())
        page.evaluate(FEW_SECTIONS)
        assert not barriers(axe, page), path
    page.goto(table.as_uri())
    page.locator("table.matrix td button").first.click()
    assert not barriers(axe, page)


def barriers(axe: Any, page: Page) -> list[str]:
    """The serious and critical ones, each with where it is."""
    # Without preload: axe would fetch the style sheet, which a browser refuses a file.
    options = {"resultTypes": ["violations"], "preload": False}
    found = axe.Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']}: {node['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
