"""What the audit finds in the published numbers, without being told."""

from __future__ import annotations

import re

import pytest

from repro.audit.numbers import Finding
from repro.audit.run import SEVERITIES, findings
from repro.errors import UnknownName
from repro.papers.names import PAPERS, find_paper

ALL = findings()
COMPUTED = {
    # ResAdapters
    "resadapters-evaluation-mix", "resadapters-mix-ra-t1-with-attention-attention-resnext-f1",
    "resadapters-parameter-share", "resadapters-parameter-counts", "resadapters-below-no-answer",
    "copy-ra-probe-ra-t2",
    # Houlsby et al.
    "houlsby-average-unrounded", "houlsby-share-of-layers", "houlsby-about-top-layer",
    "houlsby-total-no-mean", "houlsby-total-table-2-variable-ft-bert-base",
    "houlsby-text-share-variable", "houlsby-text-share-blog",
    # 3-shared
    "three-shared-total-ours-not-shared", "three-shared-total-unrounded",
    "three-shared-average-unrounded", "three-shared-all-layers", "three-shared-gain-of-few",
    "copy-sr20-t3-h19-t2",
    # Peters et al.
    "peters-delta-elmo-sick-e", "copy-prs19-t-reprint-sr20-t2",
    # HyperFormer
    "hyperformer-eleven-numbers", "hyperformer-items-mrpc", "hyperformer-items-rte",
    "hyperformer-released-configuration", "hyperformer-totals-low",
    # Adaptable Adapters
    "adaptable-all-tasks", "adaptable-average-unrounded", "adaptable-aa-wnli-impossible",
    "adaptable-adapterdrop-13-wnli-impossible", "adaptable-counts-without-biases",
    "adaptable-last-13", "adaptable-mrpc-constant", "adaptable-deviations-wnli",
    "adaptable-fewest-layers", "adaptable-layers-wnli-impossible", "adaptable-repeated-rte",
    # LoRA
    "lora-1-average-roberta-base-fine-tune", "lora-1-counts-lora",
}  # fmt: skip


def one(id: str) -> Finding:
    return next(found for found in ALL if found.id == id)


def test_arithmetic_finds_these_and_no_others() -> None:
    assert {found.id for found in ALL if found.computed} == COMPUTED


def test_each_finding_is_told_once_with_arithmetic_and_source() -> None:
    assert len({found.id for found in ALL}) == len(ALL)
    for found in ALL:
        assert found.says.endswith(".")
        assert found.arithmetic
        assert found.source
        assert found.paper in PAPERS
        assert re.fullmatch(r"[a-z0-9-]+", found.id)


def test_findings_stand_by_paper_and_severity() -> None:
    order = [(list(PAPERS).index(f.paper), SEVERITIES.index(f.severity)) for f in ALL]
    assert order == sorted(order)
    assert findings() == ALL
    assert findings("peters") == [found for found in ALL if found.paper == "peters"]


@pytest.mark.parametrize(
    ("id", "severity", "parts"),
    [
        ("resadapters-evaluation-mix", "doubt",
         ["27 of 28", "3,168 of 6,078 = 52.12%", "5,945 of 11,873 = 50.07%"]),
        ("resadapters-mix-ra-t1-with-attention-attention-resnext-f1", "error",
         ["42.8", "60.0", "= 51.03, printed 51.4", "have to be 60.8"]),
        ("resadapters-parameter-share", "doubt", ["7,000,000 / 110,000,000 = 6.36 %"]),
        ("resadapters-parameter-counts", "doubt",
         ["3,726,433", "7,452,866", "5,660,833", "11,321,666"]),
        ("resadapters-below-no-answer", "doubt",
         ["RA-T1: 10 of 10, at most 51.4", "RA-T2: 1 of 18"]),
        ("houlsby-about-top-layer", "doubt", ["7,087,872", "7,678,464"]),
        ("copy-ra-probe-ra-t2", "doubt", ["68.427", "75.499"]),
        ("houlsby-total-no-mean", "note", ["= 82.02", "= 81.54", "= 81.10"]),
        ("houlsby-total-table-2-variable-ft-bert-base", "note", ["1 + 17 x 52.9% = 9.993"]),
        ("houlsby-share-of-layers", "note", ["6,343,680", "1.89 % of 335,141,888", "2.10 %"]),
        ("houlsby-average-unrounded", "note", ["74.076, printed 74.0"]),
        ("three-shared-total-ours-not-shared", "error", ["= 79.54", "place 4 of 4 as printed, 2"]),
        ("three-shared-average-unrounded", "note", ["74.975, printed 74.9"]),
        ("three-shared-all-layers", "doubt", ["0.368"]),
        ("three-shared-gain-of-few", "doubt",
         ["(+42.7) / 12 = +3.56", "political message +40.4", "(-7.5) / 10 = -0.75"]),
        ("copy-sr20-t3-h19-t2", "doubt", ["crowdflower airline 83.6"]),
        ("peters-delta-elmo-sick-e", "error", ["83.3 - 86.3 = -3.0"]),
        ("hyperformer-eleven-numbers", "note",
         ["/ 11 = 86.48", "over tasks 85.20", "12 of 12 rows"]),
        ("hyperformer-released-configuration", "doubt",
         ["122,404,672 = 6.86 %", "10,289,376 = 0.58 %"]),
        ("adaptable-all-tasks", "error",
         ["SST-2 AA-focused^spec 52.94 against 56.01", "CoLA AA-focused^uni 4.75 against 5.20",
          "MRPC AA-focused^sim 74.77 against 74.80", "WNLI AA-focused^sim 51.83 against 55.21"]),
        ("lora-1-average-roberta-base-fine-tune", "error", ["91.2) / 8 = 86.35"]),
        ("lora-1-counts-lora", "doubt",
         ["0.8M: all that is trained, 887,042", "0.3M: what is added to the encoder, 294,912"]),
        ("adaptable-mrpc-constant", "doubt", ["279/408 = 0.6838", "p = 0.597"]),
        ("adaptable-layers-wnli-impossible", "doubt", ["12.3 x 5 = 61.5"]),
        ("adaptable-deviations-wnli", "note", ["by 5 gives 7 of 7", "by 4 gives 0"]),
        ("adaptable-fewest-layers", "note", ["QQP 13, RTE 13"]),
        ("adaptable-repeated-rte", "doubt", ["49.39 +/- 2.86"]),
        ("adaptable-last-13", "doubt", ["63.61 against 51.28"]),
        ("adaptable-counts-without-biases", "note", ["73,728", "3,145,728"]),
    ],
)  # fmt: skip
def test_the_arithmetic_is_shown(id: str, severity: str, parts: list[str]) -> None:
    found = one(id)
    assert found.severity == severity
    for part in parts:
        assert part in found.arithmetic


def test_the_rule_of_an_average_is_told() -> None:
    """Cutting gives 79.7, 79.4, 79.3 of 79.74, 79.43, 79.39; rounding not the last."""
    assert "rounding gives 2 of 4 rows, cutting 3" in one("three-shared-total-unrounded").says
    assert "rounding gives 1 of 2 rows, cutting 2" in one("three-shared-average-unrounded").says
    assert "rounding gives 3 of 4 rows, cutting 4" in one("houlsby-average-unrounded").says
    assert "before these were rounded" in one("adaptable-average-unrounded").says


def test_a_paper_is_known_by_its_folder_and_its_tables() -> None:
    assert find_paper("ResAdapters") == "resadapters"
    assert find_paper("3-shared") == find_paper("three_shared") == "three_shared"
    assert find_paper("AA") == "adaptable_adapters"
    assert find_paper(None) is None
    with pytest.raises(UnknownName, match="resadapters"):
        find_paper("resadapter")
