"""A bundle stands behind a store's own runs: trusted whole or not at all, and never written to."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from store_samples import files_of, listening, result_of, spec_of, tree, unfinished, write_run

from repro.errors import StoreError
from repro.methods.untrained import AblatedSpans
from repro.spec import run_key
from repro.spec.identity import REVISIONS
from repro.store import Store, bundle, render
from repro.store.result import ServedRun

ABSENT = "ab" * 32
REQUEST = {"requests/T-1.json": b'{"seeds": 1}'}


def packed(tmp_path: Path, *values: float) -> tuple[Path, list[str]]:
    """An otherwise empty store's folder with a bundle of one run a value, and the runs' keys."""
    source = Store(tmp_path / "source")
    keys = [write_run(source, seed, value) for seed, value in enumerate(values)]
    source.pack(keys, tmp_path / "runs" / "one.jsonl.xz", REQUEST)
    return tmp_path / "runs", keys


def test_packed_runs_read_as_they_were(tmp_path: Path) -> None:
    root, keys = packed(tmp_path, 10.0, 20.0)
    store, lines = listening(root)
    before = tree(root)
    for key in keys:
        run, whole = store.read(key, verify=True), Store(tmp_path / "source").read(key)
        assert run is not None
        assert whole is not None
        assert (run.spec, run.result, run.digest) == (whole.spec, whole.result, whole.digest)
        assert run.environment() == whole.environment() != {}
        assert set(run.files) == {"spec.json", "result.json", "environment.json"}
        assert store.state(key) == "done"
        assert not store.is_whole(key)
    assert store.keys() == sorted(keys)
    assert store.specs() == {key: spec_of(seed) for seed, key in enumerate(keys)}
    assert store.requests() == {"T-1": {"seeds": 1}}
    assert (tree(root), lines) == (before, [])


def test_an_own_result_and_request_win_and_the_bundle_stays(tmp_path: Path) -> None:
    root, (both, only) = packed(tmp_path, 10.0, 20.0)
    before = (root / "one.jsonl.xz").read_bytes()
    store, lines = listening(root)
    write_run(store, 0, 30.0)
    store.save_request("T-1", {"seeds": 2})
    for reader in (store, Store(root)):
        own, behind = reader.read(both), reader.read(only)
        assert own is not None
        assert behind is not None
        assert (own.result, behind.result) == (result_of(both, 30.0), result_of(only, 20.0))
        assert reader.requests() == {"T-1": {"seeds": 2}}
    assert store.keys() == sorted([both, only])
    assert (root / "one.jsonl.xz").read_bytes() == before
    assert lines == []


def test_a_damaged_own_result_gives_way_to_the_packed_one(tmp_path: Path) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    store, lines = listening(root)
    write_run(store, 0, 30.0)
    (root / key[:2] / key / "result.json").write_bytes(b"{}")
    run = store.read(key)
    assert run is not None
    assert run.result == result_of(key, 10.0)
    assert len(lines) == 1
    assert list((root / "quarantine").iterdir())


def flipped(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 4]) + data[201:]


def content(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    """Lines changed inside a compressed file that is itself undamaged."""
    return lambda data: lzma.compress(b"".join(change(lzma.decompress(data).splitlines(True))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (flipped, "damaged"),
        (lambda data: data[:-20], "damaged (it is cut short)"),
        (lambda data: data[: len(data) // 2], "damaged (it is cut short)"),
        (lambda data: data + b"more", "damaged (something follows its end)"),
        (lambda data: b"", "damaged (it is cut short)"),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\n", "damaged"),
        (lambda data: gzip.compress(lzma.decompress(data)), "damaged"),
        (content(lambda lines: [b'{"bundle":3}\n', *lines[1:]]), "a newer version of repro wrote"),
        (content(lambda lines: lines[1:]), "its first line is not that of a bundle"),
        (content(lambda lines: [*lines[:-1], lines[-1][:-1]]), "its last line is cut short"),
        (content(lambda lines: [*lines, b"{\n"]), "a line is not JSON"),
        (content(lambda lines: [*lines, b"[]\n"]), "a line is not a JSON object"),
        (content(lambda lines: [*lines, b'{"file": "z"}\n']), "not a file's name and text"),
        (content(lambda lines: [lines[0], *lines[:0:-1]]), "does not stand in the order of names"),
        (content(lambda lines: [*lines, lines[-1]]), "does not stand in the order of names"),
        (
            content(lambda lines: [*lines, b'{"file":"server/../../x.json","text":""}\n']),
            "is no file of a bundle",
        ),
    ],
)
def test_a_bundle_that_cannot_be_trusted_is_one_line_and_stays(
    tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    root, (key, other) = packed(tmp_path, 10.0, 20.0)
    path = root / "one.jsonl.xz"
    path.write_bytes(change(path.read_bytes()))
    before = tree(root)
    store, lines = listening(root)
    assert [store.state(key), store.read(key), store.keys()] == ["missing", None, []]
    assert (store.requests(), store.served(key)) == ({}, None)
    assert len(lines) == 1
    assert f"The bundle {path} is ignored" in lines[0]
    assert said in lines[0]
    assert tree(root) == before
    write_run(store, 1, 30.0)
    assert store.keys() == [other]


def test_a_folder_or_an_unreadable_file_of_a_bundles_name_is_one_line(tmp_path: Path) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    (root / "a.jsonl.xz").mkdir()
    (root / "b.jsonl.xz").symlink_to(root / "nowhere")
    store, lines = listening(root)
    assert store.state(key) == "done"  # from one.jsonl.xz
    assert len(lines) == 2


def test_what_unpacks_to_more_than_a_bundle_may_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    monkeypatch.setattr(bundle, "LARGEST", 1000)
    store, lines = listening(root)
    assert store.read(key) is None
    assert len(lines) == 1
    with pytest.raises(StoreError, match="pack fewer tables"):
        Store(tmp_path / "source").pack([key], root / "two.jsonl.xz", {})
    assert not (root / "two.jsonl.xz").exists()


def test_a_damaged_run_in_a_sound_bundle_is_one_line_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    root, (key, other) = packed(tmp_path, 10.0, 20.0)
    path, name = root / "one.jsonl.xz", f"{key[:2]}/{key}/result.json"
    files = bundle.unpacked(path)
    bundle.pack(path, files | {name: files[name].replace(b"11.0", b"12.0")})
    store, lines = listening(root)
    assert [store.state(key), store.state(other)] == ["missing", "done"]
    assert len(lines) == 1
    assert "result.json has another checksum" in lines[0]


def test_the_first_bundle_by_name_that_has_a_good_run_is_read(tmp_path: Path) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    write_run(Store(tmp_path / "later"), 0, 20.0)
    Store(tmp_path / "later").pack([key], root / "two.jsonl.xz", {"requests/T-1.json": b"[]"})
    run = Store(root).read(key)
    assert run is not None
    assert run.result == result_of(key, 10.0)
    assert Store(root).requests() == {"T-1": {"seeds": 1}}
    (root / "one.jsonl.xz").write_bytes(b"")
    again = listening(root)[0].read(key)
    assert again is not None
    assert again.result == result_of(key, 20.0)


def test_parents_are_packed_with_their_children_and_server_scores_with_both(
    tmp_path: Path,
) -> None:
    source, (root, _) = Store(tmp_path / "a"), packed(tmp_path)
    parent = write_run(source, 0)
    found = source.read(parent)
    assert found is not None
    spec = spec_of(0).model_copy(update={"method": AblatedSpans(), "parents": {"trained": parent}})
    result = result_of(run_key(spec)).model_copy(update={"parents": {"trained": found.digest}})
    source.write(run_key(spec), spec, {"result.json": render(result)})
    served = ServedRun(key=parent, result=found.digest, protocol="glue", scores=[])
    source.save(served)
    assert source.pack([run_key(spec)], root / "two.jsonl.xz", {}) == 2
    store, lines = listening(root)
    assert store.keys() == sorted([parent, run_key(spec)])
    assert [store.state(key) for key in (parent, run_key(spec))] == ["done", "done"]
    assert (store.served(parent), store.served(run_key(spec))) == (served, None)
    write_run(store, 0, 60.0)  # another result of the parent, so the packed child holds no longer
    assert store.state(run_key(spec)) == "missing"
    assert lines == []


def test_what_is_packed_from_a_bundle_is_the_same_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(REVISIONS, "recipe", 0)  # an older revision is kept as it was stored
        root, keys = packed(tmp_path, 10.0, 20.0)
    Store(root).pack(reversed(keys), tmp_path / "again.jsonl.xz", REQUEST)
    assert (tmp_path / "again.jsonl.xz").read_bytes() == (root / "one.jsonl.xz").read_bytes()


def test_a_missing_run_is_named_before_anything_is_written(tmp_path: Path) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    before = tree(root)
    with pytest.raises(StoreError, match=r"1 of 2 runs are not in .*abababababab"):
        Store(root).pack([key, ABSENT], root / "one.jsonl.xz", {})
    with pytest.raises(StoreError, match="Cannot write"):
        Store(root).pack([key], root / "one.jsonl.xz" / "two.jsonl.xz", {})
    with pytest.raises(ValueError, match="holds no file"):
        Store(root).pack([key], root / "one.jsonl.xz", {"../x.json": b""})
    assert tree(root) == before
    assert not unfinished(tmp_path)


def test_a_run_trained_here_is_whole_where_only_its_scores_were_packed(tmp_path: Path) -> None:
    root, (key,) = packed(tmp_path, 10.0)
    store = Store(root)
    store.write(key, spec_of(0), files_of(key, 10.0))
    assert store.is_whole(key, weights=True)
