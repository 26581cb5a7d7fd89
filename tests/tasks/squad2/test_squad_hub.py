"""The hub's files, fetched for real from a small server that answers like the hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from squad_examples import row

PATH = "/datasets/rajpurkar/squad_v2/resolve/{}/squad_v2/validation-00000-of-00001.parquet"
OTHER = "0" * 40
PROGRAM = """
from repro.errors import MissingData
from repro.tasks.rows import load
from repro.tasks.squad2.questions import questions_of
import sys
try:
    found = load("squad2", sys.argv[1] or None, ["validation"])
    questions = questions_of(found["validation"])
except MissingData as error:
    print("MissingData:", error)
else:
    print(len(questions), questions[0].answers, questions[0].starts, questions[-1].answers)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("parquet")
    rows = [row(f"d{number}", answer="Bo" if number < 5_928 else "") for number in range(11_873)]
    whole, short = _parquet(folder / "whole", rows), _parquet(folder / "short", rows[:-1])
    files = {PATH.format(name): whole for name in ("main", COMMIT)} | {PATH.format(OTHER): short}
    with serving(files) as server:
        yield server


def _parquet(path: Path, rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    answers = pa.struct({"text": pa.list_(pa.string()), "answer_start": pa.list_(pa.int32())})
    text = {name: pa.string() for name in ("id", "title", "context", "question")}
    schema = pa.schema(text | {"answers": answers})
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path.read_bytes()


def _read(home: Path, endpoint: str, revision: str = "", **more: str) -> str:
    return run_with_hub(PROGRAM, home, endpoint, revision, **more)


def test_rows_come_from_the_endpoint_then_from_the_cache_without_it(
    hub: Hub, tmp_path: Path
) -> None:
    expected = "11873 ('Bo',) (8,) ()"
    assert _read(tmp_path, hub.address) == expected
    assert f"GET {PATH.format(COMMIT)}" in hub.asked
    before = len(hub.asked)
    assert _read(tmp_path, hub.address, HF_HUB_OFFLINE="1") == expected
    assert _read(tmp_path, "http://127.0.0.1:9", COMMIT, HF_HUB_OFFLINE="1") == expected
    assert len(hub.asked) == before


def test_a_pinned_revision_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    assert _read(tmp_path, hub.address, COMMIT).startswith("11873 ")
    assert f"HEAD {PATH.format(COMMIT)}" in hub.asked


def test_a_revision_with_other_rows_is_refused(hub: Hub, tmp_path: Path) -> None:
    said = _read(tmp_path, hub.address, OTHER)
    assert "11,872 questions, 5,944 of them unanswerable" in said
    assert "11,873 questions, 5,945 of them unanswerable" in said
