"""Claims on printed numbers and on stores that no training made."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import fake_glue
import fake_spans
import pytest
from committed import committed
from fake_results import request, runs_of, store_all, store_result

from repro.comparison.claims import OF_A_CELL, JudgedClaim, judge_all, judge_claims
from repro.comparison.columns import typed
from repro.comparison.statements import Source, on_ours
from repro.errors import UnknownName
from repro.methods.resadapters import PipelinedCells
from repro.papers.claims import Claim, Ours, Printed, Quantity, Statement
from repro.papers.registry import CLAIMS
from repro.papers.request import Request
from repro.report.files import save_request
from repro.spec import RunSpec, Scale, run_key
from repro.spec.spans import Span
from repro.store import Store

NONLINEAR = "resadapters-residual-nonlinear"


def judged(store: Store, id: str, scale: str | None = None) -> JudgedClaim:
    return next(one for one in judge_all(store, scale=scale) if one.claim.id == id)


def store_wirings(
    store: Store, scale: Scale = "paper", seeds: int = 3, gain: float = 5.0, **asked: Any
) -> Request:
    """Runs of ResAdapters-1 of which a residual one scores 40 + seed + `gain`, others 40 + seed."""

    def value(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
        residual = isinstance(spec.method, PipelinedCells) and spec.method.wiring != "plain"
        return 40.0 + spec.seed + gain * residual

    epochs = None if scale == "paper" else 1
    made = request(scale=scale, seeds=seeds, **({"epochs": epochs} | asked))
    store_all(store, made, value)
    save_request(store, made)
    return made


# -- on the printed numbers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "names"),
    [
        # read off the papers' tables by hand
        ("resadapters-bold-attention", ["ALL EM", "42.6 against 45.0"]),
        ("resadapters-similar-to-bert", ["73.0 against 59.8"]),
        ("3-shared-outperforms-glue", ["0 of 2", "79.2 against 79.7"]),
        ("3-shared-adapters-outperform", ["0 of 3"]),
        (
            "adaptable-focused-every-task",
            ["19 of 27", "spec, WNLI", "uni, WNLI", "sim, WNLI", "uni, CoLA", "uni, SST-2",
             "spec, SST-2", "sim, MRPC", "spec, MRPC > Baseline, MRPC (a tie"],
        ),
    ],
)  # fmt: skip
def test_claims_that_the_papers_own_numbers_do_not_bear_out(
    store: Store, id: str, names: list[str]
) -> None:
    one = judged(store, id)
    assert one.published == "does not hold"
    assert [name for name in names if name not in one.published_detail] == []


@pytest.mark.parametrize(
    "id",
    [
        NONLINEAR, "resadapters-residual-attention", "resadapters-resnext-hasans",
        "resadapters-noans-high", "houlsby-glue-within", "houlsby-further-within",
        "houlsby-lower-layers", "3-shared-third", "3-shared-almost-same", "3-shared-single-layers",
        "peters-elmo-pairs", "peters-bert-fine-tuning", "peters-elmo-behind",
        "hyperformer-glue-adapters", "hyperformer-few-shot-adapters",
        "hyperformer-few-shot-fine-tuning", "hyperformer-low-resource", "hyperformer-ablation-each",
        "adaptable-fewest", "adaptable-layers", "adaptable-gains", "adaptable-thirteen",
    ],
)  # fmt: skip
def test_claims_that_the_papers_own_numbers_bear_out(store: Store, id: str) -> None:
    assert judged(store, id).published == "holds"


def test_the_lower_half_of_the_printed_grid_costs_less(store: Store) -> None:
    """The mean of the 21 spans within either half, straight from the file."""
    text = (files("repro.papers") / "three_shared/published/SR20-F8.csv").read_text()
    halves: dict[int, list[float]] = {0: [], 1: []}
    for line in csv.DictReader(text.splitlines()):
        layers = [int(n) for n in re.findall(r"layer (\d+)", line["row"] + line["column"])]
        if layers and layers[0] // 6 == layers[1] // 6:
            halves[layers[0] // 6].append(float(line["value"]))
    assert [len(values) for values in halves.values()] == [21, 21]
    low, high = (sum(values) / 21 for values in halves.values())
    found = judged(store, "houlsby-lower-layers").published_detail
    assert found == f"{high:.4f} against {low:.4f}"
    assert low < high


def test_curves_without_printed_numbers_are_not_printed(store: Store) -> None:
    ids = [one.claim.id for one in judge_all(store) if one.published == "not printed"]
    assert ids == ["houlsby-fewer-layers", "houlsby-layer-norms", "houlsby-initialisation"]


# -- on ours ----------------------------------------------------------------------------------


def test_an_empty_store_leaves_every_claim_open(store: Store) -> None:
    found = judge_all(store)
    assert {one.ours for one in found} == {"open"}
    assert all(one.ours_detail and one.gap is None and not one.artefacts for one in found)


@pytest.mark.parametrize(
    ("gain", "verdict"), [(5.0, "confirmed"), (-5.0, "reversed"), (0.5, "open")]
)
def test_three_seeds_at_the_papers_scale_give_a_verdict(
    store: Store, gain: float, verdict: str
) -> None:
    store_wirings(store, gain=gain)
    one = judged(store, NONLINEAR)
    assert one.ours == verdict
    assert one.gap == pytest.approx(gain)
    # sd 1 and n = 3 on both sides: t(2) at 95 %, 2.91999, times sqrt(2/3)
    assert one.interval == pytest.approx((gain - 2.38416, gain + 2.38416), abs=1e-4)
    assert one.artefacts == ("ResAdapters-1.paper",)


def test_a_failed_seed_is_not_got_rid_of_by_asking_for_fewer(store: Store) -> None:
    """Of five seeds asked for one diverged; the first three alone would confirm the claim."""
    asked = store_wirings(store, gain=5.0)
    more = replace(asked, seeds=5)
    for spec in runs_of(more):
        if spec.seed == 3:
            store_result(store, spec, lambda spec, *_: 40.0)
        if spec.seed == 4:
            store.record_failure(run_key(spec), spec, "diverged", "it diverged", "log")
    assert judged(store, NONLINEAR).ours == "confirmed"
    save_request(store, more)
    one = judged(store, NONLINEAR)
    assert one.ours == "open"
    assert "1 of 5 seeds diverged" in one.ours_detail


def test_one_of_two_statements_is_reversed_at_half_the_level(store: Store) -> None:
    """t(2) at 95 % is 2.92 and at 97.5 % 4.30: times sqrt(2/3), 3 lies between them."""
    store_wirings(store, gain=-3.0)
    one = judged(store, NONLINEAR)
    assert one.ours == "open"
    assert "against the claim only before the correction for 2 statements" in one.ours_detail
    assert one.statements[0].ours.gap is not None
    assert one.statements[0].ours.gap.adjusted == pytest.approx((-6.51318, 0.51318), abs=1e-4)


@pytest.mark.parametrize(
    ("apart", "outcome"),
    [(0.42, "confirmed"), (0.52, "open"), (1.68, "open"), (1.80, "reversed")],
)
def test_rounding_is_allowed_beyond_a_bound_on_our_runs_too(apart: float, outcome: str) -> None:
    """Within 1 point of numbers with one decimal is within 1.1: half a digit on either side.

    Two runs a side that score the same deviate by one digit: t(1) at 95 %, 6.314, times 0.1.
    """
    (statement,) = next(one for one in CLAIMS if one.id == "3-shared-almost-same").statements
    left, right = statement.left, statement.right
    assert isinstance(right, Quantity)
    cells = typed(
        (
            {"row": side.ours[0].row, "column": side.ours[0].column, "values": [value, value],
             "runs": [f"{value} a", f"{value} b"]}
            for side, value in ((left, 80.0 + apart), (right, 80.0))
        ), OF_A_CELL,
    ).set_index(["row", "column"])  # fmt: skip
    source = Source(fake_glue.request(scale="paper"), cells)
    assert on_ours(statement, {"3-shared-2": source}).outcome == outcome


def test_probability_counts_pairs_of_runs(store: Store) -> None:
    store_wirings(store, gain=1.0)  # 41, 42, 43 against 40, 41, 42: six wins, two ties of nine
    assert judged(store, NONLINEAR).probability == pytest.approx(7 / 9)


@pytest.mark.parametrize(
    ("gain", "seeds", "verdict"),
    [
        (5.0, 3, "direction holds"),
        (-5.0, 3, "direction reversed"),
        (0.5, 3, "open"),
        (5.0, 1, "direction holds (one seed)"),
        (-5.0, 1, "direction reversed (one seed)"),
        (0.0, 1, "open"),
    ],
)
def test_reduced_scale_says_the_direction_only(
    store: Store, gain: float, seeds: int, verdict: str
) -> None:
    store_wirings(store, "reduced", seeds, gain)
    assert judged(store, NONLINEAR).ours == verdict


def test_one_run_at_the_papers_scale_is_open_and_its_sign_is_said(store: Store) -> None:
    store_wirings(store, seeds=1)
    one = judged(store, NONLINEAR)
    assert one.ours == "open"
    assert "one run, whose sign is as claimed" in one.ours_detail


def test_smoke_scale_is_not_judged(store: Store) -> None:
    store_wirings(store, "smoke")
    assert judged(store, NONLINEAR).ours_detail == (
        "ResAdapters-1 was not run at paper or reduced scale"
    )


def test_the_papers_scale_and_more_runs_come_first(store: Store) -> None:
    store_wirings(store, "reduced", 5, gain=-5.0)
    store_wirings(store, "paper", 2, gain=9.0, learning_rate=1e-4)
    store_wirings(store, "paper", 3, gain=5.0)
    assert judged(store, NONLINEAR).gap == 5.0
    assert judged(store, NONLINEAR, "reduced").gap == -5.0


def test_runs_of_other_settings_than_declared_never_confirm_at_the_papers_scale(
    store: Store,
) -> None:
    store_wirings(store, "paper", 3, gain=5.0, learning_rate=1e-4)
    one = judged(store, NONLINEAR)
    assert one.ours == "direction holds"
    assert "not of the paper's runs: recipe.learning_rate 0.0001, declared" in one.ours_detail


def test_signs_of_single_runs_that_disagree_leave_a_claim_open(store: Store) -> None:
    def value(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
        """The residual adapter is ahead in F1 and behind in exact match."""
        residual = isinstance(spec.method, PipelinedCells) and spec.method.wiring != "plain"
        return 40.0 + residual * (2 if metric == "f1" else -3)

    asked = request(scale="reduced", epochs=1)
    store_all(store, asked, value)
    save_request(store, asked)
    one = judged(store, NONLINEAR)
    assert (one.ours, one.gap) == ("open", -3.0)
    assert one.ours_detail.startswith("1 of 2 statements as claimed, 1 against it; Adapter ResNet")


def test_models_that_give_a_constant_answer_decide_nothing(store: Store) -> None:
    asked = request(scale="reduced", epochs=1)
    for spec in runs_of(asked):
        store_result(store, spec, collapsed=True)
    save_request(store, asked)
    one = judged(store, NONLINEAR)
    assert one.ours == "open"
    assert "every run gives a constant answer" in one.ours_detail


def test_a_missing_run_is_named(store: Store) -> None:
    asked = request(scale="paper", epochs=1)
    save_request(store, asked)
    assert judged(store, NONLINEAR).ours_detail.endswith("Adapter ResNet, ALL EM: not run")


def test_a_missing_seed_leaves_a_claim_open_and_is_said(store: Store) -> None:
    """The two seeds that are left would confirm it, but the third may have failed for its score."""

    def value(spec: RunSpec, epoch: int, metric: str, group: str) -> float:
        residual = isinstance(spec.method, PipelinedCells) and spec.method.wiring != "plain"
        return 40.0 + 30 * residual

    asked = request(scale="paper", seeds=3, epochs=1)
    _, *others = runs_of(asked)  # the first is a seed of the adapter without residual paths
    for spec in others:
        store_result(store, spec, value)
    save_request(store, asked)
    one = judged(store, NONLINEAR)
    assert one.ours == "open"
    assert "2 of 3 seeds" in one.ours_detail or "1 of 3 seeds" in one.ours_detail


def test_the_halves_of_a_heat_map_are_compared_within_each_run(store: Store) -> None:
    """A span loses its last layer, and seed 1 twice that: far apart, but the same contrast."""

    def value(seed: int, metric: str, span: Span | None) -> float:
        return 60.0 - (span[1] * (1 + seed) if span and metric == "matthews" else 0)

    asked = fake_spans.request(12, scale="paper", seeds=2)
    for seed in range(2):
        fake_spans.store_chain(store, asked, seed, value)
    save_request(store, asked)
    one = judged(store, "houlsby-lower-layers")
    # the mean last layer of the spans within 0..5 is 70 / 21, within 6..11 six more: 6 and 12
    assert one.gap == pytest.approx(9.0)
    assert one.probability == 1.0
    whole = judged(store, "3-shared-single-layers")
    assert whole.ours_detail.startswith("0 of 12")  # layer 11 alone costs as much as all
    assert whole.ours == "open"


def test_an_encoder_of_another_depth_has_no_such_layers(store: Store) -> None:
    asked = fake_spans.request(6, scale="reduced")
    fake_spans.store_chain(store, asked)
    save_request(store, asked)
    one = judged(store, "houlsby-lower-layers")
    assert one.ours == "open"
    assert one.ours_detail.startswith("6, 6: not in it")


def test_a_claim_of_ones_own(store: Store) -> None:
    """More by a factor, and by an offset, on the numbers of Table 1 of the 3-shared report."""
    column = "# All trainable parameters without last classifier"
    sizes = [
        Quantity(
            row,
            (Printed("three_shared", "SR20-T1", row, column, "parameters"),),
            (Ours("3-shared-1", row, "Parameters without last classifier"),),
        )
        for row in ("Ours (3-shared)", "Houlsby")
    ]
    statements = (
        Statement(sizes[0], sizes[1], "within", times=1 / 3),
        Statement(sizes[1], sizes[0], plus=700_000),
        Statement(sizes[1], sizes[0], plus=800_000),
    )
    claims = [
        Claim(str(n), "three_shared", "reading", ".", "", (one,))
        for n, one in enumerate(statements)
    ]
    found = judge_claims(claims, store)
    assert [one.published for one in found] == ["holds", "holds", "does not hold"]
    assert found[1].statements[0].says == "Houlsby > Ours (3-shared) + 700000"


def test_the_committed_runs_are_judged_the_same_every_time(tmp_path: Path) -> None:
    results = committed(tmp_path, "reference")
    first, second = judge_all(results), judge_all(results)
    assert first == second
    third = next(one for one in first if one.claim.id == "3-shared-third")
    assert third.ours == "confirmed"
    assert third.ours_detail == "counted: 396,544 against 1,189,632"


def test_an_unknown_paper_names_the_known_ones(store: Store) -> None:
    with pytest.raises(UnknownName, match="Did you mean houlsby"):
        judge_all(store, "housby")


def test_neither_torch_nor_scipys_tests_are_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from repro.comparison.claims import judge_all;"
        f"from repro.store import Store; judge_all(Store(Path({str(tmp_path)!r})));"
        "print([name for name in ('torch', 'transformers', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
