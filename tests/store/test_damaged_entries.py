"""A damaged entry is moved to quarantine with one line and its run is missing again."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from store_samples import FULL, forge, listening, result_of, spec_of, tree, write_run

from repro.errors import StoreError
from repro.spec import canonical_json, identity, run_key
from repro.store import render
from repro.store.entry import digest_of, spec_bytes, with_checksum

Damage = Callable[[Path], object]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    """Reading it would wait for ever."""
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", sorted(FULL))
@pytest.mark.parametrize("damage", [truncate, flip, empty, delete, make_folder, make_pipe])
def test_damage_to_any_file_is_quarantined_with_one_line(
    tmp_path: Path, name: str, damage: Damage
) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    damage(store.root / key[:2] / key / name)
    damaged = tree(tmp_path / key[:2] / key)
    assert store.read(key, verify=True) is None
    assert len(lines) == 1
    assert "\n" not in lines[0]
    assert name in lines[0]
    assert key[:12] in lines[0]
    assert store.state(key) == "missing"
    assert store.keys() == []
    assert tree(tmp_path / "quarantine" / f"{key}-1") == damaged
    write_run(store, 0)
    assert store.state(key) == "done"


@pytest.mark.parametrize("name", ["spec.json", "result.json", "environment.json", "MANIFEST.json"])
def test_every_flipped_bit_of_a_small_file_is_found_without_verify(
    tmp_path: Path, name: str
) -> None:
    store, _ = listening(tmp_path)
    key = write_run(store, 0)
    path = tmp_path / key[:2] / key / name
    whole = path.read_bytes()
    places = random.Random(7).sample(range(8 * len(whole)), min(60, 8 * len(whole)))
    for number, place in enumerate(places, start=1):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        assert store.read(key) is None, place
        (tmp_path / "quarantine" / f"{key}-{number}").rename(path.parent)
        path.write_bytes(whole)
        assert store.read(key) is not None
        (tmp_path / "quarantine" / f"{key}-{number}").mkdir()


@pytest.mark.parametrize("name", ["predictions.json", "adapter.safetensors", "history.jsonl"])
def test_other_size_of_a_large_file_is_found_without_verify(tmp_path: Path, name: str) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    truncate(tmp_path / key[:2] / key / name)
    assert store.read(key) is None
    assert name in lines[0]


def spec_file(document: Any, spec: Any) -> bytes:
    return json.dumps({"identity": document, "spec": spec}).encode()


def test_spec_that_does_not_hash_to_its_key_is_quarantined(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key, other = write_run(store, 0), spec_of(1)
    plain = other.model_dump(mode="json")
    forge(store.root, key, spec=spec_file(identity.identity_document(other), plain))
    assert store.read(key) is None
    assert "spec.json does not hash to the key" in lines[0]


def test_spec_beside_another_ones_identity_is_quarantined(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    plain = spec_of(1).model_dump(mode="json")
    forge(store.root, key, spec=spec_file(identity.identity_document(spec_of(0)), plain))
    assert store.read(key) is None
    assert "another spec than the one that was hashed" in lines[0]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"identity": 1}', b"NaN"],
)
@pytest.mark.parametrize("name", ["spec", "result"])
def test_unparsable_content_with_right_checksums_is_quarantined(
    tmp_path: Path, name: str, content: bytes
) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    forge(store.root, key, **{name: content})
    assert store.read(key) is None
    assert len(lines) == 1
    assert f"{name}.json" in lines[0]


def test_result_of_another_run_is_quarantined(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    forge(store.root, key, result=render(result_of("ab" * 32)))
    assert store.read(key) is None
    assert "is of the run abab" in lines[0]


def test_entry_moved_to_another_key_is_quarantined(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key, other = write_run(store, 0), run_key(spec_of(1))
    (tmp_path / other[:2]).mkdir(exist_ok=True)
    (tmp_path / key[:2] / key).rename(tmp_path / other[:2] / other)
    assert store.read(other) is None
    assert f"it holds the run {key}" in lines[0]


def test_file_in_the_place_of_an_entry_is_quarantined(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = run_key(spec_of(0))
    (tmp_path / key[:2]).mkdir()
    (tmp_path / key[:2] / key).write_text("not a folder")
    assert store.read(key) is None
    assert len(lines) == 1
    assert write_run(store, 0) == key
    assert store.state(key) == "done"


def test_entry_of_older_revisions_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, lines = listening(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(identity.REVISIONS, "recipe", 0)
        old = write_run(store, 0)
    new = write_run(store, 0)
    assert old != new
    run, today = store.read(old, verify=True), store.read(new)
    assert run is not None
    assert today is not None
    assert run.spec == today.spec == spec_of(0)
    assert (run.outdated, today.outdated) == (True, False)
    assert run.identity["revisions"]["recipe"] == 0
    assert lines == []


def test_entry_of_an_older_schema_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, lines = listening(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(identity, "SCHEMA", 0)
        old = write_run(store, 0)
    run = store.read(old)
    assert run is not None
    assert run.identity["schema"] == 0
    assert run.outdated
    assert lines == []


def test_entry_whose_spec_a_later_version_wrote_is_left_alone(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    document = identity.identity_document(spec_of(0))
    document["spec"]["later_field"] = 1
    key = digest_of(canonical_json(document).encode())
    spec = spec_of(0).model_dump(mode="json") | {"later_field": 1}
    forge(store.root, key, spec=spec_file(document, spec), result=render(result_of(key)))
    before = tree(tmp_path)
    assert [store.read(key), store.read(key)] == [None, None]
    assert len(lines) == 1
    assert "a newer version of repro wrote spec.json (later_field is not known here)" in lines[0]
    assert tree(tmp_path) == before


def with_a_later_field(document: dict[str, Any]) -> None:
    document["later_field"] = 1


def with_a_later_score(document: dict[str, Any]) -> None:
    document["scores"][0]["deviation"] = 0.5


def with_a_later_choice(document: dict[str, Any]) -> None:
    document["status"] = "ok, of two"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (with_a_later_field, "later_field"),
        (with_a_later_score, "scores.0.deviation"),
        (with_a_later_choice, "status"),
    ],
)
def test_result_of_a_newer_version_is_left_alone_with_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], field: str
) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    document = json.loads(render(result_of(key)))
    change(document)
    forge(store.root, key, result=json.dumps(document).encode())
    before = tree(tmp_path)
    assert [store.read(key), store.read(key, verify=True)] == [None, None]
    assert lines == [
        f"Run {key[:12]} in {tmp_path} is ignored: a newer version of repro wrote result.json "
        f"({field} is not known here). Update repro to use this run."
    ]
    with pytest.raises(StoreError, match=rf"stored 1 run of these .*{key[:12]}.*Update repro"):
        store.check_replaceable([run_key(spec_of(1)), key])
    assert tree(tmp_path) == before


def test_environment_of_a_newer_version_is_read(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    forge(store.root, key, environment=b'{"host": "one", "later": {"field": [1]}}')
    run = store.read(key)
    assert run is not None
    assert run.environment()["later"] == {"field": [1]}
    assert lines == []


def test_manifest_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    path = tmp_path / key[:2] / key / "MANIFEST.json"
    document = json.loads(path.read_bytes())
    document.pop("checksum")
    path.write_bytes(with_checksum(document | {"signed": True}))
    before = tree(tmp_path)
    assert store.read(key) is None
    assert "a newer version of repro wrote MANIFEST.json (signed is not known here)" in lines[0]
    assert tree(tmp_path) == before


def test_file_names_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    (tmp_path / "secret").write_text("x")
    path = tmp_path / key[:2] / key
    document = json.loads((path / "MANIFEST.json").read_bytes())
    document.pop("checksum")
    document["files"]["../../secret"] = {"sha256": digest_of(b"x"), "size": 1}
    (path / "MANIFEST.json").write_bytes(with_checksum(document))
    assert store.read(key) is None
    assert "is not a file name" in lines[0]


@pytest.mark.parametrize("damage", [truncate, flip, empty, delete, make_folder])
@pytest.mark.parametrize("name", ["spec.json", "MANIFEST.json"])
def test_specs_leave_out_a_damaged_one_and_fall_back(
    tmp_path: Path, name: str, damage: Damage
) -> None:
    store, lines = listening(tmp_path / "runs")
    keys = [write_run(store, seed) for seed in range(3)]
    store.pack(keys[:1], tmp_path / "runs" / "one.jsonl.xz", {})
    store, lines = listening(tmp_path / "runs")
    for key in keys[:2]:
        damage(store.root / key[:2] / key / name)
    assert store.specs() == {keys[0]: spec_of(0), keys[2]: spec_of(2)}
    assert all("is ignored" in line for line in lines)


def test_damage_in_a_store_that_is_read_only_is_one_line(small_disk: Path) -> None:
    store, lines = listening(small_disk / "runs")
    key = write_run(store, 0)
    flip(small_disk / "runs" / key[:2] / key / "result.json")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert store.read(key) is None
    assert len(lines) == 1
    assert "result.json has another checksum" in lines[0]
    assert "the file system is read-only" in lines[0]
    assert store.state(key) == "missing"
    for refused in (store.check_writable, lambda: write_run(store, 1)):
        with pytest.raises(StoreError, match="read-only"):
            refused()


def test_entry_that_this_user_may_not_read_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0)
    with monkeypatch.context() as patch:

        def refuse(path: Path) -> bytes:
            raise PermissionError(13, "Permission denied", str(path))

        patch.setattr(Path, "read_bytes", refuse)
        assert store.read(key) is None
    assert "cannot be read (Permission denied)" in lines[0]
    assert store.read(key) is not None


def test_pipes_in_the_place_of_records_are_no_records(tmp_path: Path) -> None:
    store, _ = listening(tmp_path)
    key = write_run(store, 0)
    for name in ("requests/T-1.json", f"failures/{key}.json", "one.jsonl.xz", "counts/x.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    assert store.requests() == {}
    assert store.failure(key) is None
    assert list(store.contents("counts/x.json")) == []
    assert store.keys() == [key]


def test_entry_is_read_with_the_spec_of_the_run_that_is_asked_for(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key, asked = write_run(store, 0), spec_of(0)
    run, alone = store.read(key, asked=asked), store.read(key)
    assert run is not None
    assert alone is not None
    assert run.spec is asked
    assert run == alone
    assert run.identity == alone.identity
    assert lines == []


def test_spec_of_another_run_is_quarantined_whichever_run_is_asked_for(tmp_path: Path) -> None:
    for seed in (0, 1):
        store, lines = listening(tmp_path / str(seed))
        key = write_run(store, 0)
        forge(store.root, key, spec=spec_bytes(spec_of(1)))
        assert store.read(key, asked=spec_of(seed)) is None
        assert [line for line in lines if "does not hash to the key" in line]
