"""The hub's files of GLUE, fetched for real from a small server that answers like the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from glue_samples import row, rows, write_split

from repro.spec.contents import Content, Contents

PATH = "/datasets/nyu-mll/glue/resolve/{}/{}-00000-of-00001.parquet"
OTHER = "0" * 40
PROGRAM = """
import json, sys
from repro.errors import MissingData
from repro.spec import GlueTask
from repro.tasks.sentences.rows import submission_rows, task_rows

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


DIGESTS = """
from repro.spec import GlueTask
from repro.spec.contents import Contents
from repro.tasks.rows import reading
from repro.tasks.sentences.rows import task_rows

with reading() as read:
    task_rows(GlueTask(name="wnli", source="glue", revision=None, train_rows=10))
print(Contents(data=read).model_dump_json())
"""


def _digests(home: Path, endpoint: str, **more: str) -> Content:
    said = Contents.model_validate_json(run_with_hub(DIGESTS, home, endpoint, **more))
    return said.data["glue_wnli"]


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
    assert f"GET {PATH.format(COMMIT, 'wnli/train')}" in hub.asked
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
    assert said[NONE].startswith("MissingData: WNLI's train set is missing.")
    assert "nyu-mll/glue at revision no-such-revision" in said[NONE]


def test_the_diagnostic_set_comes_from_the_hub(said: dict[str, Any]) -> None:
    texts = ["Text 1 of the premise.", "Text 1 of the hypothesis."]
    assert said["ax"] == {"test": [1_104, texts, -1]}


def test_rows_have_one_digest_from_the_hub_and_from_a_folder(hub: Hub, tmp_path: Path) -> None:
    """Of whole splits, whatever a run draws; only the hub's have a commit."""
    data = tmp_path / "data"
    write_split(data, "wnli", "train", [row("wnli", idx) for idx in range(635)])
    write_split(data, "wnli", "validation", [row("wnli", idx) for idx in range(71)])
    known = _digests(tmp_path / "hub", hub.address)
    here = _digests(tmp_path / "hub", hub.address, REPRO_DATA=str(data))
    assert (known.revision, here.revision) == (COMMIT, None)
    assert known.digests == here.digests
    other = [row("wnli", idx, label=0) for idx in range(71)]
    other[3]["label"] = 1
    write_split(data, "wnli", "validation", other)
    changed = _digests(tmp_path / "hub", hub.address, REPRO_DATA=str(data))
    assert changed.digests["train"] == known.digests["train"]
    assert changed.digests["validation"] != known.digests["validation"]


LOCK = """
import sys
from repro.cli import prepare
from repro.errors import ReproError

try:
    prepare.write_lock(sys.argv[1:])
except ReproError as problem:
    print(problem)
"""


def test_prepare_writes_what_the_hub_holds_into_the_lock(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "lock.json"
    lock.write_text('{"data": {"sick": {"digests": {}, "source": "by hand"}}}')
    monkeypatch.setattr("repro.cli.prepare.LOCK", lock)
    read = cache(lambda: Contents.model_validate_json(lock.read_bytes()))
    monkeypatch.setattr("repro.cli.prepare.locked", read)
    said = run_with_hub(LOCK, tmp_path / "hub", hub.address, "glue_wnli", "sick-e")
    assert said.splitlines()[0] == f"glue_wnli: 2 digests at {COMMIT}"
    assert said.splitlines()[1].startswith("sick-e is not on the hub, so nothing can be looked up.")
    found = Contents.model_validate_json(lock.read_bytes())
    assert found.data["glue_wnli"] == _digests(tmp_path / "hub", hub.address)
    assert found.data["sick"].source == "by hand"
