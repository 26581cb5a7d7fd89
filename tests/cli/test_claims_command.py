"""`claims`: what a person and a program read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fake_results import request, store_all

from repro.papers.names import PAPERS
from repro.report.files import save_request
from repro.store import Store

Call = Callable[..., Any]


def test_claims_are_grouped_by_paper_and_counted(cli: Call) -> None:
    out = cli("claims").out
    places = [
        out.index(f"{title}\n{'=' * len(title)}") for key, title in PAPERS.items() if key != "lora"
    ]
    assert places == sorted(places)
    assert "on the printed numbers: holds: 63.61 against 57.37" in out
    words = " ".join(out.split())
    assert (
        "source (sentence): Houlsby et al. 2019, as on arXiv (1902.00751), section 3.3, last "
        "paragraph; Table 2. "
        "[houlsby-further-within]" in words
    )
    assert (
        "source (reading of a table or figure): Mohebbi & Rajaee, Final Report, Table 1. "
        "[3-shared-third]" in words
    )
    ends = out.splitlines()[-3:]
    assert [line.split(":")[0] for line in ends[1:]] == ["On the printed numbers", "On ours"]
    assert max(map(len, out.splitlines())) <= 100


def test_one_paper_in_any_spelling(cli: Call) -> None:
    out = cli("claims", "THREE_SHARED").out + cli("claims", "three-shared").out
    assert out.count("3-shared-third") == 2
    assert "houlsby-glue-within" not in out


def test_json_names_the_statements_and_what_they_were_judged_on(cli: Call) -> None:
    asked = request(scale="paper", seeds=2, epochs=1)
    store_all(Store("runs"), asked)
    save_request(Store("runs"), asked)
    found = json.loads(cli("claims", "resadapters", "--json").out)["claims"]
    first = found[0]
    assert first["id"] == "resadapters-residual-nonlinear"
    assert first["kind"] == "sentence"
    assert first["published"]["verdict"] == "holds"
    assert first["ours"]["artefacts"] == ["ResAdapters-1.paper.seeds-2.epochs-1"]
    assert first["ours"]["gap"] == 0.0
    assert first["statements"][0]["ours"]["gap"]["runs"] == [2, 2]


def test_mistakes_say_what_there_is(cli: Call) -> None:
    answer = cli("claims", "housby")
    assert (answer.code, "Did you mean houlsby" in answer.err) == (2, True)
    answer = cli("claims", "nope")
    assert (answer.code, "Known: adaptable_adapters, houlsby" in answer.err) == (2, True)
    answer = cli("claims", "houlsby-further-within")
    assert (answer.code, "python -m repro claims houlsby" in answer.err) == (2, True)
    answer = cli("claims", "--scale", "smoke")
    assert (answer.code, "not judged at smoke scale" in answer.err) == (2, True)
