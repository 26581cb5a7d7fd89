"""The claims of Adaptable Adapters on stored runs: which cells, and of how many layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import fake_glue
import pytest
from fake_glue import REVISIONS, store_table

from repro.comparison.claims import sources
from repro.comparison.statements import OnOurs, on_ours
from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.papers.adaptable_adapters.claims import CLAIMS, gain, last
from repro.papers.claims import Claim, Statement
from repro.papers.request import Request
from repro.report.files import save_request
from repro.spec import RunSpec
from repro.spec.backbones import BERT_LARGE, KNOWN
from repro.store import Store

BLOCK = "Low-data-100"


def claim(id: str) -> Claim:
    (found,) = [one for one in CLAIMS if one.id == id]
    return found


def asked(table: str = "AA-2", seeds: int = 2, **changes: Any) -> Request:
    revisions: dict[str, str | None] = dict(REVISIONS.items())
    request = Request(table, "reduced", seeds, data_revisions=revisions, sections=(BLOCK,))
    return replace(request, **changes)


def judged(store: Store, *statements: Statement) -> list[OnOurs]:
    known = sources(store, {"AA-2", "AA-3"})
    chosen = {name: found[0] for name, found in known.items() if found}
    return [on_ours(one, chosen) for one in statements]


def kind_of(spec: RunSpec) -> AdaptableAdapters | None:
    return spec.method if isinstance(spec.method, AdaptableAdapters) else None


def by_activation(spec: RunSpec, epoch: int, split: str, metric: str) -> float:
    """Rationals 60 and a tenth a seed, everything else 50 and a tenth a seed."""
    method = kind_of(spec)
    rational = method is not None and method.activation == "rational" and method.switch == "none"
    return (60 if rational else 50) + 0.1 * (spec.seed != 42)


@pytest.fixture
def store(store: Store) -> Store:
    request = asked()
    store_table(store, request, by_activation)
    save_request(store, request)
    return store


def test_scores_are_judged_on_the_block_of_100_rows(store: Store) -> None:
    """Focused architectures score 60, AA and the baseline 50."""
    for id in ("adaptable-focused-average", "adaptable-focused-every-task"):
        found = judged(store, *claim(id).statements)
        assert {one.outcome for one in found} == {"confirmed"}
        assert found[0].gap is not None
        assert found[0].gap.value == pytest.approx(10)
        assert found[0].gap.runs == (2, 2)
    (par,) = judged(store, *claim("adaptable-on-par").statements)
    assert par.outcome == "confirmed"
    assert par.gap is not None
    assert par.gap.value == pytest.approx(0)


def test_gains_are_differences_of_our_averages(store: Store) -> None:
    first, *others = judged(store, *claim("adaptable-gains").statements)
    assert first.gap is not None
    assert first.gap.value == pytest.approx(60 - 50 - 4.24)
    assert all(one.detail.endswith("Avg: not in it") for one in others)  # blocks not asked for
    (own,) = judged(store, Statement(gain(100), 4.24, "within"))
    assert own.gap is not None
    assert own.gap.value == pytest.approx(60 - 50 - 4.24)


def test_numbers_of_24_layers_are_open_on_six_and_orders_are_judged(store: Store) -> None:
    for id in ("adaptable-layers", "adaptable-half"):
        (found,) = judged(store, *claim(id).statements)
        assert found.outcome == "open"
        assert found.detail == "it is of 24 layers, and this encoder has 6"
    more, _ = judged(store, *claim("adaptable-drop").statements)
    assert more.gap is not None  # half of six layers against round(13 x 6 / 24) = 3
    assert more.gap.value == pytest.approx(0)
    assert more.outcome == "open"


def test_numbers_of_layers_are_judged_on_24(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """AA uses 14 of 24 layers everywhere, so uni has 14; half of 24, and 1.2 more, are 13.2."""
    fourteen = list(range(10, 24))

    def used(spec: RunSpec) -> list[int]:
        method = kind_of(spec)
        whole = method is not None and method.layers is None and method.activation == "relu"
        return list(range(24)) if whole else fourteen

    monkeypatch.setattr(fake_glue, "layers_of", used)
    large = Store(store.root.parent / "large")
    request = asked(backbone=KNOWN[BERT_LARGE])
    store_table(large, request, by_activation)
    save_request(large, request)
    (aa,), (half,) = (
        judged(large, *claim(id).statements) for id in ("adaptable-layers", "adaptable-half")
    )
    assert aa.gap is not None
    assert aa.gap.value == pytest.approx(14 - (13 + 15) / 2)
    assert half.gap is not None
    assert half.gap.value == pytest.approx(14 - 24 / 2)


def test_a_selection_used_by_many_runs_is_one_number_of_layers(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AA selects 15 layers of 24 for every task: AdapterDrop has 15 of them, or 13, in 3 runs."""

    def used(spec: RunSpec) -> list[int]:
        if isinstance(spec.method, LastLayers) and spec.method.kept == 13:
            return list(range(11, 24))
        return list(range(9, 24))

    monkeypatch.setattr(fake_glue, "layers_of", used)
    large = Store(store.root.parent / "large")
    request = asked(seeds=3, backbone=KNOWN[BERT_LARGE])
    store_table(large, request, by_activation)
    save_request(large, request)
    more, _ = judged(large, *claim("adaptable-drop").statements)
    assert more.gap is not None
    assert more.gap.runs == (1, 1)
    assert more.gap.interval is None
    assert more.one  # only a sign
    assert more.gap.value == pytest.approx(2)


def test_the_last_layers_of_few_are_the_same_runs_and_say_nothing(store: Store) -> None:
    """round(13 x 6 / 24) = round(12 x 6 / 24) = 3."""
    request = asked("AA-3")
    store_table(store, request, by_activation)
    save_request(store, request)
    (found,) = judged(store, Statement(last(13), last(12)))
    assert found.outcome == "open"
    assert found.gap is not None
    assert found.gap.value == 0
