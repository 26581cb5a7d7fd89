"""docs/complaints.md: each of the 37 complaints is impossible here, or named tests show why."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from repro.spec.backbones import KNOWN
from repro.spec.facts import KNOWN as DATA_SETS

PROJECT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (PROJECT / "docs" / "complaints.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d", line)
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_there_are_37_complaints_of_five_to_twelve_words() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 38))
    assert all(5 <= len(row[1].split()) <= 12 for row in ROWS), [
        row[1] for row in ROWS if not 5 <= len(row[1].split()) <= 12
    ]


def test_every_complaint_is_impossible_or_names_tests_that_exist() -> None:
    for number, _, happens, tests in ROWS:
        named = NAMED.findall(tests)
        assert " ".join(f"`{path}::{name}`" for path, name in named) == tests, number
        assert named or happens.startswith("impossible here because"), number
        for path, name in named:
            tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
            assert name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, name


def test_every_id_of_the_hub_has_an_owner() -> None:
    ids = [facts.hub_id for facts in DATA_SETS.values() if facts.hub_id]
    ids += [backbone.id for name, backbone in KNOWN.items() if name not in ("minilm-l6", "tiny-t5")]
    assert len(ids) > 15
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", one) for one in ids), ids
