"""What goes in comes out: runs, states, failures, requests, exports."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from hashlib import sha256
from pathlib import Path

import pytest
from store_samples import (
    FULL,
    files_of,
    listening,
    result_of,
    spec_of,
    tree,
    write_run,
    write_scores,
)

from repro.errors import StoreError
from repro.spec import run_key
from repro.store import Score, Store, render
from repro.store.result import ServedRun

ABSENT = "ab" * 32


def test_the_store_is_read_without_torch() -> None:
    code = "import sys, repro.store; print(*{'torch', 'transformers', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_written_run_comes_back(tmp_path: Path) -> None:
    store, lines = listening(tmp_path / "runs")
    assert store.keys() == []
    assert not store.root.exists()
    key = write_run(store, 3)
    run = store.read(key, verify=True)
    assert run is not None
    assert (run.spec, run.result, run.partial) == (spec_of(3), result_of(key), False)
    assert run.environment() == {"host": "one"}
    assert run.digest == sha256(render(result_of(key))).hexdigest()
    assert {path.name for path in run.path.iterdir()} == FULL
    assert run.path == tmp_path / "runs" / key[:2] / key
    assert store.keys() == [key]
    assert store.specs() == {key: spec_of(3)}
    assert lines == []


def test_key_is_the_hash_of_the_stored_identity_document(tmp_path: Path) -> None:
    key = write_run(Store(tmp_path), 3)
    document = json.loads((tmp_path / key[:2] / key / "spec.json").read_bytes())["identity"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert sha256(text.encode()).hexdigest() == key


def test_manifest_lists_size_and_checksum_of_every_other_file(tmp_path: Path) -> None:
    key = write_run(Store(tmp_path), 3)
    folder = tmp_path / key[:2] / key
    manifest = json.loads((folder / "MANIFEST.json").read_bytes())
    data = {name: (folder / name).read_bytes() for name in FULL - {"MANIFEST.json"}}
    assert manifest["files"] == {
        name: {"sha256": sha256(content).hexdigest(), "size": len(content)}
        for name, content in data.items()
    }


def test_files_are_copied_from_paths(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_bytes(os.urandom(3_000_000))
    key = run_key(spec_of(0))
    files: dict[str, bytes | Path] = {
        "result.json": render(result_of(key)),
        "adapter.safetensors": weights,
    }
    path = Store(tmp_path / "runs").write(key, spec_of(0), files)
    assert (path / "adapter.safetensors").read_bytes() == weights.read_bytes()
    assert weights.exists()


def test_score_is_looked_up_by_its_coordinates(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = store.read(write_run(store, 0))
    assert run is not None
    assert run.last_epoch == 2
    found = run.score("dev", "official", "f1", "all", 2)
    assert found is not None
    assert found.value == 52.0
    assert run.score("dev", "official", "f1", "all", 3) is None
    assert run.score("dev", "official", "f1", "all", 2, task="other") is None


def test_score_of_a_mixture_needs_its_task(tmp_path: Path) -> None:
    key = run_key(spec_of(0))
    result = result_of(key)
    other = Score(**(result.scores[0].model_dump() | {"task": "cola", "value": 7.0}))
    mixed = result.model_copy(update={"scores": [*result.scores, other]})
    store = Store(tmp_path)
    store.write(key, spec_of(0), {"result.json": render(mixed)})
    run = store.read(key)
    assert run is not None
    assert run.score("dev", "official", "f1", "all", 1, task="cola") == other
    with pytest.raises(ValueError, match="cola, squad2"):
        run.score("dev", "official", "f1", "all", 1)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"result.json": None}, "without result.json"),
        ({"result.json": b"{}"}, "validation error"),
        ({"result.json": render(result_of(ABSENT))}, "of the run abab"),
        ({"spec.json": b"{}"}, "spec.json"),
        ({"MANIFEST.json": b"{}"}, "MANIFEST.json"),
        ({"../x": b""}, "cannot be the name"),
        ({"a/b": b""}, "cannot be the name"),
        ({".staging-x": b""}, "cannot be the name"),
        ({"environment.json": b'{"seconds": NaN}'}, "not a finite number"),
        ({"environment.json": b"[]"}, "not an object"),
    ],
)
def test_what_is_not_one_runs_files_is_refused(
    tmp_path: Path, files: dict[str, bytes | None], words: str
) -> None:
    key = run_key(spec_of(0))
    given = {name: data for name, data in (files_of(key) | files).items() if data is not None}
    with pytest.raises(ValueError, match=words):
        Store(tmp_path).write(key, spec_of(0), given)
    assert tree(tmp_path) == {}


def test_key_of_another_spec_is_refused(tmp_path: Path) -> None:
    key = run_key(spec_of(0))
    with pytest.raises(ValueError, match="the spec is not of the run"):
        Store(tmp_path).write(key, spec_of(1), files_of(key))


@pytest.mark.parametrize("key", ["", "..", "abc", "AB" * 32, "../" + "a" * 61])
def test_what_is_no_key_is_no_path(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="not a run key"):
        Store(tmp_path).read(key)


def test_states_are_derived_from_what_lies_on_disk(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key, spec = run_key(spec_of(0)), spec_of(0)
    assert store.state(key) == "missing"
    with store.claim([key]):
        assert store.state(key) == "running"
    assert store.state(key) == "missing"
    store.record_failure(key, spec, "diverged", "loss is not finite", "log")
    with store.claim([key]):
        assert store.state(key) == "failed"
    write_run(store, 0)
    assert store.state(key) == "done"
    assert store.failure(key) is None


def test_failure_and_its_log_come_back_until_cleared(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = run_key(spec_of(0))
    store.record_failure(key, spec_of(0), "out-of-memory", "too \udc80 big", "line 1\nline 2\n")
    failure = store.failure(key)
    assert failure is not None
    assert (failure.key, failure.kind, failure.message) == (key, "out-of-memory", "too \\udc80 big")
    assert (tmp_path / failure.log).read_text() == "line 1\nline 2\n"
    assert failure.spec["seed"] == 0
    store.clear_failure(key)
    store.clear_failure(key)
    assert store.failure(key) is None
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 100_000])
def test_damaged_failure_or_request_is_moved_away_with_one_line(
    tmp_path: Path, data: bytes
) -> None:
    store, lines = listening(tmp_path)
    key = run_key(spec_of(0))
    store.record_failure(key, spec_of(0), "error", "m", "log")
    (tmp_path / "failures" / f"{key}.json").write_bytes(data)
    assert [store.failure(key), store.failure(key)] == [None, None]
    assert len(lines) == 1
    assert (tmp_path / "quarantine" / f"{key}-1" / f"{key}.json").read_bytes() == data
    store.save_request("good", {"id": "T-1"})
    (tmp_path / "requests" / "bad.json").write_bytes(data[:1] + b"{")
    assert store.requests() == {"good": {"id": "T-1"}}
    assert len(lines) == 2
    assert store.requests() == {"good": {"id": "T-1"}}


def test_failure_and_server_scores_of_a_newer_version_are_left_alone(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = run_key(spec_of(0))
    store.record_failure(key, spec_of(0), "error", "m", "log")
    store.save(ServedRun(key=key, result="ab" * 32, protocol="glue", scores=[]))
    for folder in ("failures", "server"):
        path = tmp_path / folder / f"{key}.json"
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"later_field": 1}))
    before = tree(tmp_path)
    assert (store.failure(key), store.served(key)) == (None, None)
    assert tree(tmp_path) == before
    assert len(lines) == 2
    assert all("a newer version of repro wrote it (later_field" in line for line in lines)


def test_request_is_strict_json_and_the_latest_counts(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.requests() == {}
    store.save_request("T-1", {"seeds": 1})
    store.save_request("T-1", {"seeds": 3})
    with pytest.raises(ValueError, match="JSON compliant"):
        store.save_request("T-1", {"seeds": float("nan")})
    with pytest.raises(ValueError, match="cannot be the name"):
        store.save_request("../T-1", {})
    assert store.requests() == {"T-1": {"seeds": 3}}


def test_whole_run_takes_the_place_of_one_with_fewer_files(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_scores(store, 0)
    write_run(store, 0)
    run = store.read(key, verify=True)
    assert run is not None
    assert set(run.files) == FULL - {"MANIFEST.json"}
    assert lines == []
    assert not (tmp_path / "quarantine" / f"{key}-1").exists()


def test_run_with_fewer_files_and_another_result_is_kept_in_quarantine(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_scores(store, 0, 1.0)
    write_run(store, 0, 2.0)
    run = store.read(key)
    assert run is not None
    assert run.result == result_of(key, 2.0)
    assert len(lines) == 1
    kept = tmp_path / "quarantine" / f"{key}-1" / "result.json"
    assert kept.read_bytes() == render(result_of(key, 1.0))


def test_second_result_of_a_run_is_kept_in_quarantine(tmp_path: Path) -> None:
    store, lines = listening(tmp_path)
    key = write_run(store, 0, 1.0)
    write_run(store, 0, 1.0, environment="two")
    assert lines == []
    write_run(store, 0, 2.0)
    run = store.read(key)
    assert run is not None
    assert (run.result, run.environment()) == (result_of(key, 1.0), {"host": "one"})
    assert len(lines) == 1
    kept = tmp_path / "quarantine" / f"{key}-1" / "result.json"
    assert kept.read_bytes() == render(result_of(key, 2.0))


def test_work_of_a_job_lies_in_the_store(tmp_path: Path) -> None:
    assert Store(tmp_path).work_dir("job-1") == tmp_path / "work" / "job-1"
    assert not (tmp_path / "work").exists()
    with pytest.raises(ValueError, match="cannot be the name"):
        Store(tmp_path).work_dir("../job")


def test_store_that_can_be_written_says_nothing(tmp_path: Path) -> None:
    Store(tmp_path / "new" / "runs").check_writable(1000)
    assert tree(tmp_path) == {}


def test_too_little_space_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**10, 0, 12_000_000))
    with pytest.raises(StoreError, match=r"12 MB free and needs about 340 MB\. Free some"):
        Store(tmp_path).check_writable(340_000_000)
    Store(tmp_path).check_writable(12_000_000)


@pytest.mark.parametrize("call", ["open", "mkdir"])
@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.EACCES, "permission denied"), (errno.EROFS, "read-only")],
)
def test_store_that_may_not_be_written_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, words: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    store = Store(tmp_path / "runs")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        for refused in (store.check_writable, lambda: write_run(store, 0)):
            with pytest.raises(StoreError, match=words):
                refused()
    assert tree(tmp_path) == {}


def test_store_under_a_file_is_told_and_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "file", tmp_path / "file" / "runs"):
        store, lines = listening(root)
        key = run_key(spec_of(0))
        assert (store.read(key), store.state(key), store.keys()) == (None, "missing", [])
        assert (store.requests(), store.sweep(), lines) == ({}, 0, [])
        for refused in (store.check_writable, lambda store=store: write_run(store, 0)):
            with pytest.raises(StoreError, match="a file, not a folder"):
                refused()
