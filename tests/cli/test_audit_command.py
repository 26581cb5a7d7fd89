"""`audit` as a user types it."""

from __future__ import annotations

import json
import re

from typer.testing import CliRunner

from repro.audit.run import findings
from repro.cli.main import application
from repro.errors import UnknownName
from repro.papers.names import PAPERS

RUN = CliRunner()


def test_findings_stand_by_paper_with_their_arithmetic() -> None:
    text = RUN.invoke(application(), ["audit"]).output
    assert [line for line in text.splitlines() if line in PAPERS.values()] == list(PAPERS.values())
    assert "0.5213 x 42.8 + 0.4787 x 60.0 = 51.03, printed 51.4" in text
    numbers = re.findall(r"(\d+) errors?, (\d+) doubts?, (\d+) notes? in 7 papers\.", text)[0]
    assert sum(map(int, numbers)) == len(findings())
    assert max(map(len, text.splitlines())) <= 100


def test_one_paper_by_any_of_its_names() -> None:
    texts = {
        RUN.invoke(application(), ["audit", name]).output for name in ("3-shared", "three_shared")
    }
    assert len(texts) == 1
    assert "Houlsby et al. 2019\n" not in texts.pop()


def test_json_has_the_findings_and_their_counts() -> None:
    document = json.loads(RUN.invoke(application(), ["audit", "peters", "--json"]).output)
    assert document["counts"] == {"error": 1, "doubt": 1, "note": 0}
    assert [found["id"] for found in document["findings"]] == [
        "peters-delta-elmo-sick-e", "copy-prs19-t-reprint-sr20-t2",
    ]  # fmt: skip
    assert set(document["findings"][0]) == {
        "id", "paper", "severity", "says", "arithmetic", "source", "computed",
    }  # fmt: skip


def test_an_unknown_paper_names_those_there_are() -> None:
    result = RUN.invoke(application(), ["audit", "resadapter"])
    assert isinstance(result.exception, UnknownName)
    assert "resadapters" in str(result.exception)
