"""The published counts inside T5, from formulas and from modules of T5-small's and -base's shape.

Numbers: methods/hyperformer.md, "Counts"; percentages and totals: the paper's Table 1.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

import pytest
from run_samples import written
from writer_samples import SMALL, hyperformer, plain, small_t5, written_run

import repro.papers.hyperformer as paper
from repro.methods.modules.counting import count_modules
from repro.methods.t5 import HyperFormer, T5Adapters, T5FineTuning, t5_norms
from repro.report.counted import _counted, _name
from repro.spec import RunSpec
from repro.spec.backbones import KNOWN, T5_BASE, T5_SMALL, t5_parameters
from repro.spec.method import Method
from repro.spec.text_to_text import MIXTURE

ADAPTERS = T5Adapters(reduction=32)
SLOT = HyperFormer(generators="slot", reduction=32, task_embedding=512)
STACK = HyperFormer(generators="stack", reduction=32, task_embedding=64)
KIND = HyperFormer(generators="kind", reduction=32, task_embedding=64)
ROWS = csv.DictReader(
    (Path(paper.__file__).parent / "published" / "HF21-T1.csv").read_text().splitlines()
)
PUBLISHED = {(row["row"], row["column"]): row["value"] for row in ROWS}


def paper_run(method: Method, backbone: str, tasks: tuple[str, ...] = MIXTURE) -> RunSpec:
    return written_run(method, backbone=KNOWN[backbone], task=written(*tasks))


@lru_cache
def counted(method: Method, backbone: str, tasks: int = 8) -> dict[str, int]:
    """What the modules of the first `tasks` tasks of GLUE have, by part."""
    return count_modules(paper_run(method, backbone, MIXTURE[:tasks]))


COUNTS = [
    pytest.param(ADAPTERS, T5_SMALL, 1, 446_848, id="adapters-small"),
    pytest.param(ADAPTERS, T5_BASE, 1, 1_928_832, id="adapters-base"),
    pytest.param(SLOT, T5_SMALL, 8, 28_074_560, id="hyperformer-small"),
    pytest.param(SLOT, T5_BASE, 8, 122_404_672, id="hyperformer-base"),
    pytest.param(STACK, T5_SMALL, 8, 2_415_776, id="hyperformer++-small"),
    pytest.param(STACK, T5_BASE, 8, 5_211_056, id="hyperformer++-base"),
    pytest.param(KIND, T5_BASE, 8, 10_289_376, id="released-base"),
    pytest.param(T5FineTuning(), T5_SMALL, 8, 60_506_624, id="t5-small"),
    pytest.param(T5FineTuning(), T5_BASE, 1, 222_903_552, id="t5-base"),
]


@pytest.mark.parametrize(("method", "backbone", "tasks", "expected"), COUNTS)
def test_formula_and_modules_have_the_published_count(
    method: Method, backbone: str, tasks: int, expected: int
) -> None:
    spec = paper_run(method, backbone, MIXTURE[:tasks])
    assert spec.trained_parameters() == expected
    assert sum(counted(method, backbone, tasks).values()) == expected


def test_t5s_norms_are_counted_on_their_own() -> None:
    for backbone, norms in ((T5_SMALL, 16_384), (T5_BASE, 47_616)):
        assert t5_norms(KNOWN[backbone]) == norms
        assert counted(STACK, backbone)["layer norms"] == norms


def test_hyperformer_plus_plus_by_part_is_what_its_equations_say() -> None:
    """T5-base, by hand: h = 768, d = 24, t = 64, L = 12."""
    assert counted(STACK, T5_BASE) == {
        "model": 0,
        "layer norms": 62 * 768,
        "task embeddings": 8 * 64,
        "layer and slot embeddings": 2 * (12 + 2) * 64,
        "projector": 2 * (192 * 128 + 128 + 128 * 64 + 64 + 2 * 64),
        "generators": 2 * 65 * (2 * 768 * 24 + 24 + 768 + 2 * 768),
        "adapters": 0,
    }


def test_adapters_of_eight_tasks_share_the_norms_by_part() -> None:
    """T5-small, by hand: 24 slots, h = 512, d = 16."""
    found = counted(ADAPTERS, T5_SMALL)
    each = 2 * 512 * 16 + 16 + 512
    assert found["adapters"] == 24 * (8 * each + 2 * 512)
    assert found["layer norms"] == 16_384
    assert sum(found.values()) == found["adapters"] + found["layer norms"]


PRINTED = [
    ("Single-task / Adapters_{}", ADAPTERS, 1),
    ("Multi-task / Adapters_{} dagger", ADAPTERS, 8),
    ("Multi-task / HYPERFORMER_{}", SLOT, 8),
    ("Multi-task / HYPERFORMER++_{}", STACK, 8),
    ("Multi-task / T5_{} (multi-task)", T5FineTuning(), 8),
    ("Single-task / T5_{}", T5FineTuning(), 1),
]


@pytest.mark.parametrize("size", ["SMALL", "BASE"])
@pytest.mark.parametrize(("row", "method", "tasks"), PRINTED)
def test_printed_percentages_a_task_are_those_of_the_modules(
    row: str, method: Method, tasks: int, size: str
) -> None:
    backbone = {"SMALL": T5_SMALL, "BASE": T5_BASE}[size]
    printed = PUBLISHED[row.format(size), "#Trained params / per task"].removesuffix("%")
    digits = len(printed.partition(".")[2])
    trained = sum(counted(method, backbone, tasks).values())
    share = 100 * trained / tasks / KNOWN[backbone].parameters
    assert f"{share:.{digits}f}" == printed


TOTALS = [
    # times T5, from methods/hyperformer.md; HyperFormer's are printed as 1.45 and 1.54
    (ADAPTERS, T5_SMALL, 1.054, "Multi-task / Adapters_SMALL dagger"),
    (ADAPTERS, T5_BASE, 1.065, "Multi-task / Adapters_BASE dagger"),
    (SLOT, T5_SMALL, 1.464, None),
    (SLOT, T5_BASE, 1.549, None),
    (STACK, T5_SMALL, 1.040, "Multi-task / HYPERFORMER++_SMALL"),
    (STACK, T5_BASE, 1.023, "Multi-task / HYPERFORMER++_BASE"),
    (KIND, T5_BASE, 1.046, None),
    (T5FineTuning(), T5_SMALL, 1.0, None),
]


@pytest.mark.parametrize(("method", "backbone", "times", "row"), TOTALS)
def test_the_whole_model_is_t5_and_what_is_added(
    method: Method, backbone: str, times: float, row: str | None
) -> None:
    found = paper_run(method, backbone).total_parameters() / KNOWN[backbone].parameters
    assert found == pytest.approx(times, abs=6e-4)
    if row is not None:
        printed = float(PUBLISHED[row, "#Total params"].removesuffix("x"))
        assert found == pytest.approx(printed, abs=0.0055)


VARIANTS = [
    plain(),
    T5FineTuning(),
    *(
        hyperformer(kind, **changes)
        for kind in ("slot", "stack", "kind")
        for changes in (
            {},
            {"blocks": False},
            {"norm": "shared"},
            {"norm": "none"},
            {"t5_norms": False},
            {"projected": 5, "projector": 7},
        )
    ),
    hyperformer("slot", projector=None),
]


@pytest.mark.parametrize("tasks", [("cola",), ("cola", "rte", "mnli")])
@pytest.mark.parametrize("method", VARIANTS)
def test_formulas_equal_the_modules_of_every_ablation(
    method: Method, tasks: tuple[str, ...]
) -> None:
    spec = written_run(method, tasks)
    assert sum(count_modules(spec).values()) == spec.trained_parameters()


def test_the_formula_for_t5_equals_the_librarys_model() -> None:
    model = small_t5()
    count = sum(parameter.numel() for parameter in model.parameters())
    assert SMALL.parameters == count
    assert t5_parameters(512, 6, 2048, 32_128, 8) == 60_506_624
    assert t5_parameters(768, 12, 3072, 32_128, 12) == 222_903_552


def test_a_tables_counts_tell_one_task_from_many() -> None:
    one, many = paper_run(ADAPTERS, T5_SMALL, ("cola",)), paper_run(ADAPTERS, T5_SMALL)
    assert _counted("modules", one) == count_modules(one)
    assert _name("modules", one) != _name("modules", many)
