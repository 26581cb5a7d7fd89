"""The hub's files of GLUE, fetched for real from a small server that answers like the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from glue_samples import row, rows

PATH = "/datasets/nyu-mll/glue/resolve/{}/{}-00000-of-00001.parquet"
OTHER = "0" * 40
PROGRAM = """
import json, sys
from repro.errors import MissingData
from repro.spec import GlueTask
from repro.tasks.glue.sources import submission_rows, task_rows

def read(asked):
    if asked in ("ax", "rte"):
        return submission_rows(asked)
    return task_rows(GlueTask(name="wnli", source="glue", revision=asked or None))

said = {}
for asked in sys.argv[1:]:
    try:
        found = read(asked)
    except MissingData as error:
        said[asked] = f"MissingData: {error}"
    else:
        said[asked] = {
            split: [len(rows), rows[1].texts, rows[1].label] for split, rows in found.items()
        }
print(json.dumps(said))
"""
PAIR = ["Text 1 of the sentence1.", "Text 1 of the sentence2."]
WNLI = {"train": [635, PAIR, 1], "validation": [71, PAIR, 1]}
NONE = "no-such-revision"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("parquet")
    train, scored = (_parquet(folder, rows("wnli", count)) for count in (635, 71))
    short = _parquet(folder, rows("wnli", 634))
    diagnostic = _parquet(folder, [row("mnli", idx, label=-1) for idx in range(1_104)])
    repeated = _parquet(folder, [*rows("rte", 2_999), row("rte", 0)])
    files = {
        PATH.format("main", "ax/test"): diagnostic,
        PATH.format("main", "rte/test"): repeated,
    }
    for revision, content in (("main", train), (COMMIT, train), (OTHER, short)):
        files[PATH.format(revision, "wnli/train")] = content
        files[PATH.format(revision, "wnli/validation")] = scored
    with serving(files) as server:
        yield server


def _parquet(folder: Path, found: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    path = folder / "made.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(found), path)
    return path.read_bytes()


def _read(home: Path, endpoint: str, *asked: str, **more: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(run_with_hub(PROGRAM, home, endpoint, *asked, **more))
    return said


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def said(hub: Hub, home: Path) -> dict[str, Any]:
    """What one process reads or says of the newest revision, of an absent one and of test sets."""
    return _read(home, hub.address, "", NONE, "ax", "rte")


def test_rows_come_from_the_endpoint_then_from_the_cache_without_it(
    hub: Hub, home: Path, said: dict[str, Any]
) -> None:
    assert said[""] == WNLI
    assert f"GET {PATH.format('main', 'wnli/train')}" in hub.asked
    assert _read(home, "http://127.0.0.1:9", "", HF_HUB_OFFLINE="1") == {"": WNLI}


def test_a_pinned_revision_with_other_rows_is_refused(hub: Hub, tmp_path: Path) -> None:
    said = _read(tmp_path, hub.address, OTHER)[OTHER]
    assert f"HEAD {PATH.format(OTHER, 'wnli/train')}" in hub.asked
    assert "wnli/train-00000-of-00001.parquet is not the published train set of WNLI" in said
    assert "it has 634 rows; the published set has 635. Plan with another revision" in said


def test_a_bad_row_of_the_hub_is_named(said: dict[str, Any]) -> None:
    place = "nyu-mll/glue rte/test-00000-of-00001.parquet, row 3000"
    assert f"{place}: the idx 0 stands twice" in said["rte"]


def test_what_the_hub_lacks_is_missing_data(said: dict[str, Any]) -> None:
    assert said[NONE].startswith("MissingData: WNLI (GLUE)'s train set is missing.")
    assert "nyu-mll/glue at revision no-such-revision" in said[NONE]


def test_the_diagnostic_set_comes_from_the_hub(said: dict[str, Any]) -> None:
    texts = ["Text 1 of the premise.", "Text 1 of the hypothesis."]
    assert said["ax"] == {"test": [1_104, texts, -1]}
