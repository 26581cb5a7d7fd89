"""The hub's files of GLUE, fetched for real from a small server that answers like the hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from glue_samples import row, rows

PATH = "/datasets/nyu-mll/glue/resolve/{}/{}-00000-of-00001.parquet"
OTHER, DAMAGED = "0" * 40, "1" * 40
PROGRAM = """
import sys
from repro.errors import MissingData
from repro.spec import GlueTask
from repro.tasks.glue.sources import submission_rows, task_rows
try:
    if sys.argv[1] == "ax":
        found = submission_rows("ax")
    else:
        found = task_rows(GlueTask(name="wnli", source="glue", revision=sys.argv[1] or None))
except MissingData as error:
    print("MissingData:", error)
else:
    print({split: (len(rows), rows[1].texts, rows[1].label) for split, rows in found.items()})
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("parquet")
    train, scored = (_parquet(folder, rows("wnli", count)) for count in (635, 71))
    short = _parquet(folder, rows("wnli", 634))
    repeated = _parquet(folder, [*rows("wnli", 634), row("wnli", 0)])
    diagnostic = _parquet(folder, [row("mnli", idx, label=-1) for idx in range(1_104)])
    files = {PATH.format("main", "ax/test"): diagnostic}
    for revision, content in (("main", train), (COMMIT, train), (OTHER, short)):
        files[PATH.format(revision, "wnli/train")] = content
        files[PATH.format(revision, "wnli/validation")] = scored
    files[PATH.format(DAMAGED, "wnli/train")] = repeated
    with serving(files) as server:
        yield server


def _parquet(folder: Path, found: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    path = folder / "made.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(found), path)
    return path.read_bytes()


def _read(home: Path, endpoint: str, asked: str = "", **more: str) -> str:
    return run_with_hub(PROGRAM, home, endpoint, asked, **more)


def test_rows_come_from_the_endpoint_then_from_the_cache_without_it(
    hub: Hub, tmp_path: Path
) -> None:
    one = "('Text 1 of the sentence1.', 'Text 1 of the sentence2.'), 1)"
    expected = f"{{'train': (635, {one}, 'validation': (71, {one}}}"
    assert _read(tmp_path, hub.address) == expected
    assert f"GET {PATH.format('main', 'wnli/train')}" in hub.asked
    assert _read(tmp_path, "http://127.0.0.1:9", HF_HUB_OFFLINE="1") == expected


def test_a_pinned_revision_with_other_rows_is_refused(hub: Hub, tmp_path: Path) -> None:
    said = _read(tmp_path, hub.address, OTHER)
    assert f"HEAD {PATH.format(OTHER, 'wnli/train')}" in hub.asked
    assert "wnli/train-00000-of-00001.parquet is not the published train set of WNLI" in said
    assert "it has 634 rows; the published set has 635. Plan with another revision" in said


def test_a_bad_row_of_the_hub_is_named(hub: Hub, tmp_path: Path) -> None:
    said = _read(tmp_path, hub.address, DAMAGED)
    assert "wnli/train-00000-of-00001.parquet, row 635: the idx 0 stands twice" in said


def test_what_the_hub_lacks_is_missing_data(hub: Hub, tmp_path: Path) -> None:
    said = _read(tmp_path, hub.address, "no-such-revision")
    assert said.startswith("MissingData: WNLI (GLUE)'s train set is missing.")
    assert "nyu-mll/glue at revision no-such-revision" in said


def test_the_diagnostic_set_comes_from_the_hub(hub: Hub, tmp_path: Path) -> None:
    one = "('Text 1 of the premise.', 'Text 1 of the hypothesis.'), -1)"
    assert _read(tmp_path, hub.address, "ax") == f"{{'test': (1104, {one}}}"
