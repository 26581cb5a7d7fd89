"""The hub's files of few-shot sets, fetched for real from a server that answers like the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Hub, run_with_hub, serving
from written_samples import hub_row

PATH = "/datasets/{}/resolve/{}/{}-00000-of-00001.parquet"
OTHER = "0" * 40
PROGRAM = """
import json, sys
from repro.errors import MissingData
from repro.spec import TextToText
from repro.tasks.text_to_text.rows import task_rows

said = []
for asked in sys.argv[1:]:
    name, _, revision = asked.partition("@")
    fields = {"tasks": [name], "source": "published", "revisions": {name: revision or None}}
    try:
        found = task_rows(TextToText.model_validate(fields), name)
    except MissingData as error:
        said.append(f"MissingData: {error}")
    else:
        said.append({split: [len(r), r[1].texts, r[1].label] for split, r in found.items()})
print(json.dumps(said))
"""
CB = ["Text 1 of the premise.", "Text 1 of the hypothesis."]
SCITAIL = {"train": 23_596, "validation": 1_304, "test": 2_126}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("parquet")
    files = {}
    for revision, sizes in (
        (COMMIT, {"train": 250, "validation": 56}),
        (OTHER, {"train": 250, "validation": 57}),
    ):
        for split, count in sizes.items():
            rows = [hub_row("cb", number) | {"idx": number} for number in range(count)]
            files[PATH.format("aps/super_glue", revision, f"cb/{split}")] = _parquet(folder, rows)
    for split, count in SCITAIL.items():
        rows = [hub_row("scitail", number) for number in range(count)]
        address = PATH.format("allenai/scitail", "main", f"tsv_format/{split}")
        files[address] = _parquet(folder, rows)
    with serving(files) as server:
        yield server


def _parquet(folder: Path, found: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    path = folder / "made.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(found), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def said(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What one process reads, in the order that it is asked."""
    home = tmp_path_factory.mktemp("home")
    asked = (f"cb@{COMMIT}", "scitail")
    found: list[Any] = json.loads(run_with_hub(PROGRAM, home, hub.address, *asked))
    return found


def test_rows_come_from_the_hub_at_a_pinned_revision(hub: Hub, said: list[Any]) -> None:
    assert said[0] == {"train": [250, CB, 1], "validation": [56, CB, 1]}
    assert f"GET {PATH.format('aps/super_glue', COMMIT, 'cb/train')}" in hub.asked
    # its withheld test labels are not asked for
    assert not any("cb/test" in asked for asked in hub.asked)


def test_another_revision_with_other_rows_is_refused(hub: Hub, tmp_path: Path) -> None:
    (told,) = json.loads(run_with_hub(PROGRAM, tmp_path, hub.address, f"cb@{OTHER}"))
    assert told.startswith("MissingData: aps/super_glue cb/validation-00000-of-00001.parquet")
    assert "it has 57 rows; the published set has 56. Plan with another revision" in told


def test_scitail_comes_in_its_tsv_format_with_names_as_labels(said: list[Any]) -> None:
    assert said[1] == {split: [count, CB, 1] for split, count in SCITAIL.items()}
