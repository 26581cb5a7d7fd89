"""`prepare`: where each data set is published, and what is here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from text_samples import text_folder, text_rows, write_texts

from repro.spec.facts import KNOWN
from repro.spec.tasks import TextName
from repro.tasks.catalogue import TITLES

Call = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, cli: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "data"
    found.mkdir()
    monkeypatch.setenv("REPRO_DATA", str(found))
    return found


def line_of(out: str, name: str) -> str:
    return next(line for line in out.splitlines() if line.startswith(f"{name} "))


def test_every_task_has_an_owner_and_an_address() -> None:
    owners = [KNOWN[name].owner for name in TITLES]
    assert all(owner.name and owner.terms for owner in owners)
    assert all(owner.url.startswith(("https://", "http://")) for owner in owners)


def test_all_sets_are_listed_with_their_rows_and_what_is_here(cli: Call, folder: Path) -> None:
    write_texts(folder, "airline", "train", text_rows("airline", 30))
    found = cli("prepare")
    assert found.code == 0
    assert len(found.out.splitlines()) == 2 + len(TITLES) + 2
    # Houlsby et al., Table 3: 11,712 + 1,464 + 1,464
    named = " ".join(line_of(found.out, "airline").split())
    assert named == "airline Crowdflower airline 14,640 3 other rows: 30 here, 14,640 published"
    assert line_of(found.out, "political-message").endswith("not here")


def test_a_named_set_is_read_and_its_splits_are_counted(cli: Call, folder: Path) -> None:
    write_texts(folder, "airline", "train", text_rows("airline", 30))
    found = cli("prepare", "airline")
    assert found.code == 0
    assert "0 negative, 1 neutral, 2 positive" in found.out
    assert "other rows: 30 here, 14,640 published (train 24, validation 3, test 3)" in found.out
    assert "https://data.world/crowdflower/" in found.out


def test_an_absent_set_ends_with_the_code_of_what_is_incomplete(cli: Call, folder: Path) -> None:
    found = cli("prepare", "political-audience")
    assert found.code == 3
    assert "here       not here" in found.out


def test_a_damaged_set_ends_with_file_and_line(cli: Call, folder: Path) -> None:
    rows = text_rows("airline", 30)
    path = write_texts(folder, "airline", "train", [*rows[:7], rows[7] | {"label": 9}])
    found = cli("prepare", "airline")
    assert found.code == 2
    assert f"repro: {path}, line 8: the label 9 is unknown" in found.err


def test_a_set_that_is_here_in_part_is_checked_and_incomplete(cli: Call, folder: Path) -> None:
    path = write_texts(folder, "sick-e", "train", text_rows("sick-e", 12))
    found = cli("prepare", "sick-e")
    assert found.code == 3
    assert "in part: 12 here, 9,927 published (train 12)" in found.out
    write_texts(folder, "sick-e", "train", [*text_rows("sick-e", 12), {"label": 1}])
    found = cli("prepare", "sick-e")
    assert found.code == 2
    assert f"repro: {path}, line 13: 'sentence_A' and 'sentence_B' are missing" in found.err


def test_a_damaged_file_is_named_below_the_list(cli: Call, folder: Path) -> None:
    path = write_texts(folder, "airline", "train", text_rows("airline", 30))
    path.write_bytes(b"no gzip")
    found = cli("prepare")
    assert found.code == 0
    assert line_of(found.out, "airline").endswith("damaged")
    assert f"airline: {path} cannot be read" in found.out


def test_two_files_of_one_split_are_named_below_the_list(cli: Call, folder: Path) -> None:
    path = write_texts(folder, "airline", "train", text_rows("airline", 30))
    path.with_suffix("").write_bytes(b"{}")
    found = cli("prepare")
    assert found.code == 0
    assert line_of(found.out, "airline").endswith("damaged")
    assert "airline holds both train.jsonl.gz and train.jsonl for one split" in found.out
    assert "\nsms-spam" in found.out


def test_a_folder_that_is_none_is_told(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRO_DATA", "nowhere")
    for words in (["prepare"], ["prepare", "airline"]):
        found = cli(*words)
        assert found.code == 2
        assert found.err.startswith("repro: REPRO_DATA is nowhere, and there is no such folder.")


def test_an_unknown_set_names_the_closest(cli: Call) -> None:
    found = cli("prepare", "airlines")
    assert found.code == 2
    assert "Did you mean airline" in found.err


SHARED: dict[str, TextName] = {"rte": "sick-r", "sms-spam": "sms-spam", "sick-r": "sick-r"}
"""Set -> one that is in the same folder of real sets."""


@pytest.mark.parametrize("name", SHARED)
def test_a_real_set_is_told_to_have_the_published_rows(
    name: str, cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(text_folder(SHARED[name])))
    found = cli("prepare", name)
    assert found.code == 0
    assert "here       published rows" in found.out
