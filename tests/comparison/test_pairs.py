"""Two rows of a table compared: which numbers a name means, what is tested and what is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_glue import by_task, request, store_table
from scipy import stats

from repro.comparison.external import read_row
from repro.comparison.pairs import Pair, compare_rows, find_side
from repro.errors import ReproError, UnknownName
from repro.papers.registry import TABLES
from repro.report.figures.style import styled
from repro.report.pairs import csv_text, draw, latex, markdown, write_plot
from repro.report.view import TableView, view_table
from repro.spec import RunSpec
from repro.store import Store

OURS, OTHER = "Ours (3-shared)", "Ours (not shared)"


def value(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """Of seeds 0 to 2: the task's number and 0, 0.1 or 0.2; CoLA 5 points lower in one model."""
    lower = 5.0 * (spec.task.name == "cola" and "3-shared" in spec.method.label())
    return by_task(spec, 0, split, metric) - 9.9 * spec.seed - lower


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("pairs"))
    store_table(store, request(scale="reduced", seeds=3), value)
    return store


def view(store: Store, **more: Any) -> TableView:
    asked: dict[str, Any] = {"scale": "reduced", "seeds": 3}
    return view_table(TABLES["3-shared-2"], request(**(asked | more)), store)


def added(store: Store, text: str, **more: Any) -> Store:
    """The store's runs, and a row Mine beside them."""
    row = read_row(text.encode(), TABLES["3-shared-2"], "Mine", by="Ada", **more)
    beside = Store(store.root)
    beside.external = lambda: [row]  # type: ignore[method-assign]
    return beside


def lines(pair: Pair) -> dict[str, dict[str, Any]]:
    return {line["column"]: line for line in pair.lines}


def test_a_name_means_the_reproduced_numbers_where_there_are_any(trained: Store) -> None:
    full, empty = view(trained), view(trained, scale="paper")
    assert find_side(full, "ours (3-SHARED)").kind == "reproduced"
    assert find_side(full, f"published: {OURS}").kind == "published"
    assert find_side(empty, OURS).kind == "published"
    with pytest.raises(ReproError, match="no reproduced number at paper scale"):
        find_side(empty, f"reproduced:{OURS}")
    with pytest.raises(UnknownName, match="Did you mean Ours"):
        find_side(full, "Ours 3-shared")
    with pytest.raises(ReproError, match="name two different rows"):
        compare_rows(full, OURS, OURS.upper())


def test_a_name_of_several_parts_wants_the_whole_one(store: Store) -> None:
    parts = view_table(TABLES["AA-2"], request("AA-2", "paper"), store)
    with pytest.raises(ReproError, match=r"4 rows called 'AA'.*Full data / AA, Low-data-100 / AA"):
        find_side(parts, "AA")
    assert find_side(parts, "Low-data-100 / AA").row == "Low-data-100 / AA"
    with pytest.raises(ReproError, match=r"holds scores and .* differences"):
        compare_rows(parts, "Low-data-100 / AA", "Low-data-100 / AA-focused^uni minus Baseline")


def test_columns_are_tested_by_welch_and_adjusted_by_holm(trained: Store) -> None:
    found = compare_rows(view(trained), OTHER, OURS)
    own = lines(found)
    cola, rte = own["CoLA"], own["RTE"]
    theirs = stats.ttest_ind_from_stats(5, 0.1, 3, 0, 0.1, 3, equal_var=False)
    assert (cola["difference"], cola["freedom"]) == (pytest.approx(5), pytest.approx(4))
    assert cola["p"] == pytest.approx(theirs.pvalue)
    assert cola["p_adjusted"] == pytest.approx(9 * theirs.pvalue)
    assert (cola["outcome"], rte["outcome"], rte["p_adjusted"]) == ("higher", "not shown", 1.0)
    assert own["Mean of 9"]["outcome"] == "not tested"
    assert own["Mean of 9"]["p_adjusted"] is None
    assert own["Mean of 9"]["low_95"] < 5 / 9 < own["Mean of 9"]["high_95"]
    assert found.words[0] == (
        f"Reproduced {OTHER} is higher than reproduced {OURS} on 1 of 9 columns "
        "(Welch, p below 0.05 after Holm's adjustment for 9 tests); no difference is shown on 8."
    )


def test_where_no_column_differs_the_sentence_says_that_alone(trained: Store) -> None:
    found = compare_rows(view(trained, tasks=("rte", "sst2")), OTHER, OURS)
    assert found.words[0] == (
        f"No difference between reproduced {OTHER} and reproduced {OURS} is shown on any of the 2 "
        "columns that can be tested (Welch, p below 0.05 after Holm's adjustment for 2 tests)."
    )


def test_the_effect_counts_a_task_once(trained: Store) -> None:
    """MNLI has two columns and is one task of eight."""
    effect = compare_rows(view(trained), OTHER, OURS).effect
    assert effect is not None
    assert (effect.tasks, effect.value) == pytest.approx((8, 5 / 8))
    theirs = stats.ttest_1samp([5, *[0] * 7], 0)
    assert effect.t is not None
    assert effect.t.p == pytest.approx(theirs.pvalue)


def test_an_external_row_is_tested_where_both_deviations_are_known(trained: Store) -> None:
    text = "CoLA,CoLA sd,CoLA n,RTE,RTE n,SST-2\n52,0.5,5,70,3,90\n"
    found = compare_rows(view(added(trained, text)), "mine", OURS)
    own = lines(found)
    theirs = stats.ttest_ind_from_stats(52, 0.5, 5, 45.1, 0.1, 3, equal_var=False)
    assert own["CoLA"]["second"] == pytest.approx(45.1)
    assert own["CoLA"]["p"] == pytest.approx(theirs.pvalue)
    assert own["RTE"]["outcome"] == "not tested"
    assert own["RTE"]["reason"] == "Mine (external): one number without a deviation"
    assert (own["RTE"]["low_95"], own["RTE"]["p"]) == (None, None)
    assert own["QQP"]["outcome"] == "absent"
    assert any("Absent: MRPC, STS-B, QQP" in one for one in found.words)
    assert "on 1 of 3 columns" in found.words[0]
    assert (
        "2 cannot be tested (by the numbers alone, 2 of them higher and 0 lower)" in found.words[0]
    )


def test_means_are_tested_where_a_paper_prints_nothing_else(store: Store) -> None:
    """Hyperformer-4 prints averages only; theirs are given a deviation here."""
    shown = view_table(TABLES["Hyperformer-4"], request("Hyperformer-4", "paper"), store)
    for record in shown.records:
        record |= {"published_sd": 0.5, "published_n": 3}
    names = [f"published: {row.name}" for row in TABLES["Hyperformer-4"].rows[:2]]
    own = lines(compare_rows(shown, *names))
    theirs = stats.ttest_ind_from_stats(own["GLUE"]["difference"], 0.5, 3, 0, 0.5, 3)
    assert own["GLUE"]["p_adjusted"] == own["GLUE"]["p"] == pytest.approx(theirs.pvalue)
    assert {line["outcome"] for name, line in own.items() if name != "GLUE"} == {"absent"}
    assert "1 mean" in compare_rows(shown, *names).words[0]


def test_counts_are_compared_exactly(store: Store) -> None:
    shown = view_table(TABLES["3-shared-1"], request("3-shared-1", "paper"), store)
    words = compare_rows(shown, "published: Houlsby", "published: Ours (3-shared)").words
    assert words[0].startswith("By counts, published Houlsby beside published Ours (3-shared) is")


def test_numbers_of_other_rows_are_marked_and_enter_nothing(trained: Store) -> None:
    text = "CoLA,CoLA sd,CoLA n\n52,0.5,5\n"
    stored = added(trained, text)
    found = compare_rows(view(stored), "Mine", f"published: {OURS}")
    assert lines(found)["CoLA"]["outcome"] == "not comparable"
    assert "Mine (external): validation; published" in lines(found)["CoLA"]["reason"]
    assert lines(found)["CoLA"]["difference"] == pytest.approx(52 - 53.5)
    assert (found.effect, found.comparable) == (None, 0)
    assert "can be compared on none of 9 columns" in found.words[0]
    own = added(trained, text, server=True)
    assert lines(compare_rows(view(own), "Mine", f"published: {OURS}"))["CoLA"]["outcome"] == (
        "not tested"
    )
    assert lines(compare_rows(view(own), "Mine", OURS))["CoLA"]["outcome"] == "not comparable"


def test_published_numbers_beside_runs_of_another_setting_are_not_compared(store: Store) -> None:
    """AA-2 prints validation scores, and runs of reduced scale are not the paper's."""
    asked = request("AA-2", "reduced", sections=("Low-data-100",), tasks=("rte",))
    store_table(store, asked)
    found = compare_rows(
        view_table(TABLES["AA-2"], asked, store), "published:Baseline", "reproduced: Baseline"
    )
    own = lines(found)["RTE"]
    assert (own["outcome"], own["reason"]) == (
        "not comparable", "runs that are not the paper's: reduced scale"
    )  # fmt: skip


def test_printed_deviations_are_used_where_their_number_of_runs_is_known(store: Store) -> None:
    """Of 4 runs, s.e.m. 0.5 is sd 1; a population's sd is larger by the root of 4 / 3."""
    shown = view(store, scale="paper")
    one, other = find_side(shown, OURS), find_side(shown, OTHER)
    cell = dict(one.cells["CoLA"]) | {"published_sd": 0.5, "published_n": 4}
    told = {}
    for spread in ("sd", "sem", "population sd"):
        side = replace(one, cells={"CoLA": cell | {"spread": spread}})
        told[spread] = side.sample("CoLA").sd  # type: ignore[union-attr]
    assert told == {"sd": 0.5, "sem": 1.0, "population sd": pytest.approx(0.5 * (4 / 3) ** 0.5)}
    unknown = replace(one, cells={"CoLA": cell | {"published_n": None}})
    assert unknown.lacks("CoLA").endswith("a deviation of an unknown number of runs")
    assert other.lacks("CoLA").endswith("one number without a deviation")


def test_every_format_has_every_column_and_a_plot_is_drawn(trained: Store, tmp_path: Path) -> None:
    found = compare_rows(view(trained), OTHER, OURS)
    for text in (markdown([found]), csv_text([found]), latex([found])):
        assert all(column in text for column in lines(found))
    assert markdown([found]).startswith(found.words[0])
    (png, *_) = write_plot(found, tmp_path)
    assert (tmp_path / png).read_bytes()[:4] == b"\x89PNG"
    with styled():
        drawing = draw(found)
        axes = drawing.axes[0]
        names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [*lines(found), "All tasks"]


def test_nothing_is_drawn_where_nothing_can_be_compared(trained: Store, tmp_path: Path) -> None:
    stored = added(trained, "CoLA\n52\n")
    found = compare_rows(view(stored), "Mine", f"published: {OURS}")
    assert write_plot(found, tmp_path / "o") == []
