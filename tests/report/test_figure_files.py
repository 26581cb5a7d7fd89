"""The figure's files: the same data gives the same bytes, no cell is unreadable, none is lost."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fake_curves
import fake_embeddings
import numpy as np
import pytest
from fake_curves import SQUAD
from fake_spans import FIGURE, by_place, request, store_chain

from repro.errors import StoreError
from repro.papers.registry import find_figure
from repro.report.figures.ablation import AblationView, Panel, farthest, fill, in_rows, view_of
from repro.report.figures.architecture_drawing import text_ems
from repro.report.figures.style import (
    GAIN,
    INK,
    LEAST,
    LOSS,
    PAPER,
    blank,
    headed,
    ink_on,
    rendered,
    styled,
)
from repro.report.figures.view import view_figure, write_figure
from repro.report.files import request_document, table_name
from repro.report.render import json_text
from repro.report.reproduce import picture
from repro.spec.spans import Span
from repro.store import Store

PROJECT = Path(__file__).parents[2]


def name(layers: int) -> str:
    return f"figures/{table_name(request(layers=layers))}"


@pytest.fixture
def view(store: Store) -> AblationView:
    """Six layers, all scored."""
    store_chain(store, request(layers=6))
    return view_of(FIGURE, request(layers=6), store)


@pytest.fixture
def small(store: Store) -> AblationView:
    """Three layers of a task without a published grid: drawn in a second."""
    store_chain(store, request(layers=3, task="mnli"))
    return view_of(FIGURE, request(layers=3, task="mnli"), store)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """Everything written in the figure of `view`, and in the cells of its panel "Reproduced"."""
    store = Store(tmp_path_factory.mktemp("drawn"))
    store_chain(store, request(layers=6))
    return texts_of(view_of(FIGURE, request(layers=6), store))


AGAIN = """
import json, sys
from pathlib import Path
from repro.papers.registry import FIGURES, find_figure
from repro.papers.request import Request
from repro.report.figures.view import write_figure
from repro.report.figures.view import view_figure
from repro.report.files import DOCUMENTS
from repro.store import Store

for store, document in json.loads(sys.argv[1]):
    asked = DOCUMENTS[Request].validate_python(document)
    write_figure(view_figure(find_figure(asked.id), asked, Store(store)), Path("two"))
for id, figure in FIGURES.items():
    view_figure(figure, Request(id, "smoke", 1), Store("nowhere"))
assert "torch" not in sys.modules
"""


def test_the_same_data_gives_the_same_bytes_in_another_process_without_torch(
    tmp_path: Path,
) -> None:
    """Its hashes are seeded otherwise; a heat map, curves, and maps with drawn starts."""
    stores = [Store(tmp_path / name) for name in ("spans", "curves", "embeddings")]
    asked = (request(3, "mnli"), fake_curves.request(SQUAD), fake_embeddings.request("smoke"))
    store_chain(stores[0], asked[0])
    fake_curves.store_curves(stores[1], SQUAD, asked[1], lambda point, task, seed: 80.0 + seed)
    fake_embeddings.store_figure(stores[2], asked[2])
    paths = [
        path
        for one, store in zip(asked, stores, strict=True)
        for path in write_figure(view_figure(find_figure(one.id), one, store), tmp_path / "one")
    ]
    documents = [
        (str(store.root), request_document(one)) for one, store in zip(asked, stores, strict=True)
    ]
    subprocess.run(
        [sys.executable, "-c", AGAIN, json.dumps(documents)],
        env=os.environ | {"PYTHONPATH": str(PROJECT), "PYTHONHASHSEED": "7", "MPLBACKEND": "svg"},
        cwd=tmp_path,
        check=True,
    )
    assert {path.suffix for path in paths} == {".png", ".svg", ".pdf", ".csv", ".json"}
    for path in paths:
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes(), path.name


DRAWN = """
import hashlib
from repro.report.figures.style import blank, rendered, styled

with styled():
    import seaborn

    drawing = blank(3, 2)
    seaborn.lineplot(x=[0, 1, 2], y=[0, 3, 1], ax=drawing.add_subplot(title="R = x / y"))
    for format, picture in rendered(drawing).items():
        print(format, hashlib.sha256(picture).hexdigest())
"""


def drawn_in(folder: Path, **environment: str) -> list[str]:
    """The digests of a drawing's files, made in a process of its own with this environment."""
    done = subprocess.run(
        [sys.executable, "-c", DRAWN],
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment, cwd=folder,
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_bytes_do_not_depend_on_what_is_set_for_matplotlib(tmp_path: Path) -> None:
    plain, damaged, styles = (tmp_path / name for name in ("a", "b", "b/stylelib"))
    for folder in (plain, styles):
        folder.mkdir(parents=True)
    (damaged / "matplotlibrc").write_bytes(b"\xff\xfe not text")
    (styles / "house.mplstyle").write_bytes(b"\xff\xfe not text")
    expected = drawn_in(plain)
    assert [line.split()[0] for line in expected] == ["png", "svg", "pdf"]
    inline = "module://matplotlib_inline.backend_inline"  # a notebook's, not installed here
    assert drawn_in(damaged, MPLBACKEND=inline, MPLCONFIGDIR=str(damaged)) == expected


@pytest.mark.parametrize("name", [r"cost$\frac$", "$HOME$x_{1}", "100 $", "a$b$"])
def test_a_name_with_dollar_signs_is_drawn_as_it_stands(name: str) -> None:
    """Between two of them a formula was read: it was set as one, or the figure failed."""
    with styled():
        title = headed(4.0, 1.0, name).get_suptitle()
        plain, other = (headed(4.0, 1.0, text) for text in (name, name.replace("$", "S")))
        widths = [one._suptitle.get_window_extent().width for one in (plain, other)]  # type: ignore[attr-defined]
    assert title == name
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_no_date_enters_a_picture(small: AblationView) -> None:
    with styled():
        pictures = rendered(small.draw())
    assert pictures["png"].startswith(b"\x89PNG")
    assert b"Software" not in pictures["png"][:400]
    assert b"<dc:date>" not in pictures["svg"]
    assert b"CreationDate" not in pictures["pdf"]


def test_every_file_is_named_and_unchanged_ones_are_left_alone(
    small: AblationView, tmp_path: Path
) -> None:
    paths = write_figure(small, tmp_path)
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf", ".csv", ".json"]
    *files, page = small.document["files"]
    assert [str(path.relative_to(tmp_path)) for path in paths] == files
    drawn = table_name(small.request)
    assert files[0] == f"figures/{drawn}.png"
    assert page == f"tables/{drawn}.md"
    before = [path.stat().st_mtime_ns for path in paths]
    assert [path.stat().st_mtime_ns for path in write_figure(small, tmp_path)] == before


def test_a_folder_that_cannot_be_written_names_the_mend(
    small: AblationView, tmp_path: Path
) -> None:
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(StoreError, match="--out"):
        write_figure(small, tmp_path)


def test_the_csv_holds_every_cell_that_is_drawn(view: AblationView) -> None:
    lines = list(csv.DictReader(io.StringIO(view.csv)))
    counts = {p.name: sum(line["panel"] == p.name for line in lines) for p in view.panels}
    assert counts == {"published": 78, "reproduced": 21, "difference": 0, "relative": 21}
    read = {
        (line["panel"], int(line["first_layer"]), int(line["last_layer"])): float(line["value"])
        for line in lines
    }
    assert read == {(p.name, *span): value for p in view.panels for span, value in p.grid.items()}


def test_the_json_is_what_the_picture_shows(view: AblationView) -> None:
    document = json.loads(json.dumps(view.document, allow_nan=False))
    assert [panel["name"] for panel in document["panels"]] == [
        "published", "reproduced", "difference", "relative",
    ]  # fmt: skip
    assert document["panels"][2]["absent"] is not None
    assert document["panels"][2]["cells"] == []
    cell = document["panels"][1]["cells"][1]
    value = {"value": pytest.approx(11.0), "undefined": None}
    assert cell == {"first": 0, "last": 1, "one_class": False} | value
    assert document["complete"] == "21/21"


def test_an_undefined_cell_is_null_in_json_empty_in_csv_and_blank_in_the_picture(
    store: Store,
) -> None:
    asked = request(layers=3)

    def value(seed: int, metric: str, span: Span | None) -> float:
        return 0.0 if metric == "accuracy" else by_place(seed, metric, span)

    store_chain(store, asked, value=value)
    view = view_of(FIGURE, asked, store)
    relative = json.loads(json.dumps(view.document, allow_nan=False))["panels"][3]
    why = "no change in percent: the intact model's accuracy is 0"
    assert [(c["value"], c["undefined"]) for c in relative["cells"]] == [(None, why)] * 6
    lines = [x for x in csv.DictReader(io.StringIO(view.csv)) if x["panel"] == "relative"]
    assert [line["value"] for line in lines] == [""] * 6
    words = " ".join(texts_of(view)[0]).replace("\n", " ")
    assert (
        "relative change in accuracy: no change in percent: the intact model's accuracy is 0"
        in words
    )


def test_no_zero_has_a_sign(store: Store) -> None:
    """A score of -0.0, no change at all, and changes too small for what is printed."""
    asked = request(layers=3)

    def value(seed: int, metric: str, span: Span | None) -> float:
        small = 0.01 if span == (0, 1) else 0.0
        return -0.0 - small if metric == "matthews" else 50.0 - small

    store_chain(store, asked, value=value)
    view = view_of(FIGURE, asked, store)
    words = " ".join([*texts_of(view)[0], picture(view)])
    assert not re.search(r"-0\.0(?!\d)", words)
    assert not re.search(r"-0\.0\b", json_text(view.document) + view.csv)


def test_the_caption_has_an_alternative_text_and_no_tag(view: AblationView) -> None:
    broken = replace(view, partial="1 of 2 seeds; the rest: failed (error): <module>")
    text = picture(broken)
    assert text.startswith("![Heat maps over")
    assert f"](../{name(6)}.png)" in text
    assert "&lt;module>" in text


def texts_of(view: AblationView) -> tuple[list[str], list[str]]:
    """Everything that is written, and what is written in the cells of the panel "Reproduced"."""
    from matplotlib.text import Text

    with styled():
        drawing = view.draw()
        grids = [a for a in drawing.axes if a.get_title(loc="left") == "Reproduced"]
        cells = [text.get_text() for axes in grids for text in axes.texts]
        return [text.get_text() for text in drawing.findobj(Text)], cells


def test_each_scored_span_is_written_in_its_cell_and_nothing_below_the_diagonal(
    view: AblationView, drawn: tuple[list[str], list[str]]
) -> None:
    _, cells = drawn
    assert cells == [f"{value:.1f}" for _, value in sorted(view.panels[1].grid.items())]


def test_the_picture_says_its_scale_and_why_a_grid_is_absent(
    drawn: tuple[list[str], list[str]],
) -> None:
    words = " ".join(drawn[0]).replace("\n", " ")
    assert "Smoke scale" in words
    assert "not comparable with the published numbers" in words
    assert "Not drawn: reproduced minus published: the published grid has 12 layers" in words


def test_an_empty_store_is_drawn_with_the_command_that_fills_it(store: Store) -> None:
    asked = request(layers=6, backbone=None)
    words = " ".join(texts_of(view_of(FIGURE, asked, store))[0]).replace("\n", " ")
    assert "accuracy: not run: python -m repro figure ablation-heatmap --scale smoke" in words


def made(grid: dict[Span, float]) -> Panel:
    return Panel("made", "Made", "points", 1 + max((j for _, j in grid), default=0), grid)


def test_published_and_reproduced_share_their_colours(view: AblationView) -> None:
    published, reproduced = view.panels[:2]
    assert farthest(published, reproduced) == max(
        *published.grid.values(), *reproduced.grid.values()
    )
    assert farthest(made({(0, 0): -3.0, (0, 1): 1.0})) == 3
    assert farthest(made({})) > 0


def shades(grid: dict[Span, float], map: str) -> dict[Span, tuple[float, float, float]]:
    """Red, green and blue of each cell as it is drawn."""
    panel = replace(made(grid), name="relative" if map == GAIN else "reproduced")
    with styled():
        axes = blank(3.0, 3.0).add_subplot()
        fill(axes, panel, farthest(panel))
        spans = sorted(grid)
        colours = axes.collections[0].to_rgba(np.array([grid[span] for span in spans]))
        return {span: tuple(colour[:3]) for span, colour in zip(spans, colours, strict=True)}


@pytest.mark.parametrize("map", [LOSS, GAIN])
def test_no_change_is_the_lightest_colour_and_a_gain_is_no_loss(map: str) -> None:
    flat = shades({(0, 0): 0.0, (0, 1): 0.0, (1, 1): 0.0}, map)
    found = shades({(0, 0): 0.0, (0, 1): -40.0, (1, 1): 5.0}, map)
    assert set(flat.values()) == {found[0, 0]}
    assert min(found[0, 0]) > 0.95
    assert all(sum(found[span]) < sum(found[0, 0]) for span in ((0, 1), (1, 1)))


def test_what_hurts_has_one_hue_in_every_panel() -> None:
    """Purple holds more blue than red, orange more red than blue."""
    lost = shades({(0, 0): 7.0}, LOSS)[0, 0], shades({(0, 0): -7.0}, GAIN)[0, 0]
    gained = shades({(0, 0): -7.0}, LOSS)[0, 0], shades({(0, 0): 7.0}, GAIN)[0, 0]
    assert all(blue > red for red, _, blue in lost)
    assert all(red > blue for red, _, blue in gained)


@pytest.mark.parametrize("layers", [6, 12, 24])
def test_what_is_written_fits_its_cell_and_can_be_read(layers: int) -> None:
    from matplotlib.text import Text

    grid = {(i, j): -10.0 * j - i for i in range(layers) for j in range(i, layers)}
    panel = made({span: max(value, -99.9) for span, value in grid.items()})
    with styled():
        drawing = blank(0.4 * layers + 1, 0.4 * layers + 2)
        fill(axes := drawing.add_subplot(), panel, farthest(panel))
        drawing.draw_without_rendering()
        wide = axes.get_window_extent().width / layers
        assert all(Text.get_window_extent(text).width < 0.9 * wide for text in axes.texts)
        assert min(float(text.get_fontsize()) for text in axes.texts) >= LEAST


def test_a_deep_encoders_grids_stand_in_several_rows() -> None:
    def rows(*depths: int) -> list[list[int]]:
        grids = [Panel("made", "Made", "points", layers, {}) for layers in depths]
        return [[panel.layers for panel in row] for row in in_rows(grids)]

    assert rows(12, 6, 6) == [[12, 6, 6]]
    assert rows(12, 12, 12, 12) == [[12, 12], [12, 12]]
    assert rows(12, 24, 24) == [[12], [24], [24]]


def test_a_grid_of_one_value_is_not_drawn(store: Store) -> None:
    asked = request(layers=3)
    store_chain(store, asked, value=lambda seed, metric, span: 50.0)
    words = " ".join(texts_of(view_of(FIGURE, asked, store))[0]).replace("\n", " ")
    assert "Not drawn: reproduced, relative change in accuracy: 0.0 for every span." in words


def test_the_estimated_width_of_a_number_is_the_fonts() -> None:
    from matplotlib.textpath import TextPath

    with styled():
        for text in ("0.0", "-17.4", "60.7", "-44"):
            drawn = TextPath((0, 0), text, size=100).get_extents().width / 100
            assert drawn <= text_ems(text) <= drawn + 0.2


def test_the_ink_is_the_one_that_contrasts_more() -> None:
    assert ink_on((1.0, 1.0, 1.0, 1.0)) == INK
    assert ink_on((0.0, 0.0, 0.3)) == PAPER
    assert ink_on((0.5, 0.5, 0.5)) == INK  # luminance 0.214: 4.0 against 4.0, dark by a hair
