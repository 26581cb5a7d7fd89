"""A store that several machines share: each works in a folder of its own, the copy."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fake_hub import use_hub
from fake_repository import serving
from fsspec.implementations.memory import MemoryFileSystem
from store_samples import FULL, listening, spec_of, tree, unfinished, write_child, write_run

from repro.errors import ReproError, StoreError
from repro.spec import run_key
from repro.store import Store
from repro.store.entry import with_checksum
from repro.store.remote import copy_of, url_of
from repro.store.result import ServedRun

URL = "memory://group/runs"


@pytest.fixture(autouse=True)
def there() -> Iterator[MemoryFileSystem]:
    """The other side, empty."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


class Machine:
    """One of several that share the store: each has a cache folder of its own."""

    def __init__(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache, self.patch = tmp_path / name, monkeypatch

    def open(self, url: str = URL) -> tuple[Store, list[str]]:
        """The store as a further command on this machine opens it, and what that says."""
        self.patch.setenv("REPRO_CACHE", str(self.cache))
        return listening(copy_of(url))


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine("one", tmp_path, monkeypatch)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine("two", tmp_path, monkeypatch)


def entry(root: Path, key: str) -> dict[str, bytes]:
    return dict(tree(root / key[:2] / key))


def path_there(key: str, name: str = "") -> str:
    return f"/group/runs/{key[:2]}/{key}/{name}".rstrip("/")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        (Path("s3://bucket/a/b/"), "s3://bucket/a/b"),
        (Path("file:///mnt/share"), "file:///mnt/share"),
        ("HF://datasets/group/runs", "hf://datasets/group/runs"),
        (Path("runs"), None),
        (Path("/mnt/s3:/x"), None),
        (Path("c:/runs"), None),
    ],
)
def test_a_url_is_told_from_a_folder_although_a_path_has_one_slash_of_two(
    given: Path | str, url: str | None
) -> None:
    assert url_of(given) == url


@pytest.mark.parametrize("given", ["http://group.org/runs", "memory:/group/runs", "s4://b/runs"])
def test_a_url_under_which_nothing_can_be_kept_is_refused_with_those_that_can(given: str) -> None:
    with pytest.raises(ReproError, match=r"no store can be kept under \w+://.* s3://.* hf://"):
        url_of(Path(given))


def test_a_server_that_does_not_answer_at_once_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ReproError, match=r"cannot be opened: .*refused"):
        copy_of(f"ftp://127.0.0.1:{port}/runs")


def test_a_run_stored_on_one_machine_is_read_on_another_byte_by_byte(
    one: Machine, two: Machine
) -> None:
    here, said = one.open()
    key = write_run(here, 1)
    assert not (here.root / "unpushed" / key).exists()
    other, said_there = two.open()
    assert other.folder(key) is None
    run = other.read(key, verify=True)
    assert run is not None
    assert set(entry(other.root, key)) == FULL
    assert entry(other.root, key) == entry(here.root, key)
    assert (said, said_there, unfinished(other.root)) == ([], [], [])


def test_what_lies_on_a_share_is_itself_a_store(one: Machine, tmp_path: Path) -> None:
    here, _ = one.open(f"file://{tmp_path}/share")
    key = write_run(here, 1)
    here.save_request("T-1", {"seeds": 1})
    share, said = listening(tmp_path / "share")
    assert share.read(key, verify=True) is not None
    assert share.requests() == {"T-1": {"seeds": 1}}
    assert said == []


def test_the_listing_is_asked_for_once_however_many_runs_are_missing(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [write_run(one.open()[0], seed) for seed in range(3)]
    asked: list[str] = []
    find = MemoryFileSystem.find

    def counted(self: MemoryFileSystem, path: str, **options: Any) -> Any:
        asked.append(path)
        return find(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "find", counted)
    store, _ = two.open()
    store.fetch([*keys[:2], run_key(spec_of(8))])
    assert [store.state(key) for key in keys] == ["done"] * 3
    assert [store.state(run_key(spec_of(seed))) for seed in range(10, 20)] == ["missing"] * 10
    assert asked == ["/group/runs"]


@pytest.mark.parametrize("count", range(len(FULL)))
def test_a_machine_that_dies_while_it_sends_leaves_no_run_there_and_sends_it_later(
    count: int, one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, left = MemoryFileSystem.put_file, [None] * count

    def dying(self: MemoryFileSystem, lpath: str, rpath: str, **options: Any) -> Any:
        if not left:
            raise KeyboardInterrupt  # nothing of the program goes on after it
        left.pop()
        return put(self, lpath, rpath, **options)

    store, _ = one.open()
    with monkeypatch.context() as patched:
        patched.setattr(MemoryFileSystem, "put_file", dying)
        with pytest.raises(KeyboardInterrupt):
            write_run(store, 1)
    key = run_key(spec_of(1))
    other, said = two.open()
    assert other.read(key) is None
    one.open()[0].push()
    other, said_later = two.open()
    assert other.read(key, verify=True) is not None
    assert (said, said_later) == ([], [])


def test_a_damaged_run_there_is_one_line_and_the_run_trained_anew_takes_its_place(
    one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    key = write_run(one.open()[0], 1)
    there.pipe_file(path_there(key, "predictions.json"), b'{"question": "answeR"}' * 500)
    store, said = two.open()
    assert store.read(key) is None
    assert store.read(key) is None
    (line,) = said
    assert "predictions.json has another checksum" in line
    assert unfinished(store.root) == []
    assert not (store.root / "quarantine").exists()
    write_run(store, 1)
    three, said = one.open()
    assert three.remote is not None
    assert three.remote.fetch(key) is not None
    assert said == []


@pytest.mark.parametrize("name", ["../../../stolen", "/tmp/stolen", "a/b", ".."])
def test_names_there_that_leave_the_folder_are_not_followed(
    name: str, one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    here, _ = one.open()
    key = write_run(here, 1)
    run = here.read(key)
    assert run is not None
    manifest = {
        "format": 1, "key": key, "partial": False,
        "files": {n: e.model_dump() for n, e in run.files.items()} | {
            name: run.files["history.jsonl"].model_dump()
        },
    }  # fmt: skip
    there.pipe_file(path_there(key, "MANIFEST.json"), with_checksum(manifest))
    there.pipe_file(path_there(key, name), b'{"step": 1, "loss": 2.5}\n' * 40)
    store, said = two.open()
    before = tree(two.cache.parent)
    assert store.read(key) is None
    assert "is not a file name" in said[0]
    assert tree(two.cache.parent) == before


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b"\x80\x04\x95pickle", b"{}" * 10, b" " * (2 << 20), b'{"format": NaN}'],
    ids=["deep", "pickle", "two", "huge", "nan"],
)
def test_what_is_no_manifest_there_is_one_line(
    content: bytes, one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    key = write_run(one.open()[0], 1)
    there.pipe_file(path_there(key, "MANIFEST.json"), content)
    store, said = two.open()
    assert store.read(key) is None
    assert len(said) == 1
    assert "\n" not in said[0]


def test_without_the_other_side_training_goes_on_with_one_line_and_the_next_command_sends(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ConnectionError("no route to host")

    before = write_run(one.open()[0], 1)
    with monkeypatch.context() as patched:
        for name in ("find", "cat_file", "put_file", "pipe_file", "rm_file", "get"):
            patched.setattr(MemoryFileSystem, name, refused)
        store, said = one.open()
        key = write_run(store, 2)
        store.save_request("T-1", {"seeds": 1})
        assert store.state(before) == store.state(key) == "done"
        assert store.state(run_key(spec_of(3))) == "missing"
        (line,) = said
        assert "memory://group/runs cannot be reached (ConnectionError: no route to host)" in line
        assert "sent by the next command" in line
        with pytest.raises(StoreError, match="Nothing was removed"):
            store.remove(before)
    assert two.open()[0].read(key) is None
    store, said = one.open()
    assert store.requests() == {"T-1": {"seeds": 1}}
    store.push()
    assert said == []
    other, _ = two.open()
    assert other.read(key) is not None
    assert other.requests() == {"T-1": {"seeds": 1}}


def test_a_store_that_may_only_be_read_is_read_whatever_waits_to_be_sent(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's results, shared with everybody."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Access Denied")

    keys = [write_run(one.open()[0], seed) for seed in range(2)]
    for name in ("put_file", "pipe_file", "rm_file"):
        monkeypatch.setattr(MemoryFileSystem, name, refused)
    store, said = two.open()
    assert store.state(keys[0]) == "done"
    own = write_run(store, 5)
    (line,) = said
    assert "memory://group/runs cannot be written (PermissionError" in line
    store, said = two.open()
    store.push()
    assert [store.state(key) for key in (*keys, own)] == ["done"] * 3
    assert len(said) == 1


def test_of_two_results_of_one_run_the_first_stays_there_and_each_machine_keeps_its_own(
    one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    late, said = two.open()
    assert late.state(run_key(spec_of(1))) == "missing"  # its listing is from before
    key = write_run(one.open()[0], 1, value=50.0)
    first = dict(there.store)
    write_run(late, 1, value=60.0)
    (line,) = said
    assert "has another result in memory://group/runs" in line
    assert {name: file.getvalue() for name, file in there.store.items()} == {
        name: file.getvalue() for name, file in first.items()
    }
    own = late.read(key)
    assert own is not None
    assert max(score.value for score in own.result.scores) == 62.0
    kept = json.loads((late.root / "quarantine" / f"{key}-1" / "result.json").read_bytes())
    assert max(score["value"] for score in kept["scores"]) == 52.0
    late, said = two.open()
    late.push()
    assert said == []  # it was said


def test_equal_results_of_two_machines_are_stored_once(
    one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    late, said = two.open()
    assert late.keys() == []
    key = write_run(one.open()[0], 1, environment="one")
    write_run(late, 1, environment="two")
    assert said == []
    assert json.loads(there.cat_file(path_there(key, "environment.json"))) == {"host": "one"}


def test_a_child_is_fetched_with_what_it_was_made_from(one: Machine, two: Machine) -> None:
    here, _ = one.open()
    child = write_child(here, write_run(here, 1))
    other, said = two.open()
    found = other.read(child)
    assert found is not None
    assert other.folder(found.spec.parents["trained"]) is not None
    assert said == []


def test_records_there_are_the_truth_but_for_those_that_wait_to_be_sent(
    one: Machine, two: Machine
) -> None:
    here, _ = one.open()
    key = write_run(here, 1)
    here.save_request("T-1", {"seeds": 1})
    here.save(ServedRun(key=key, result="ab" * 32, protocol="glue", scores=[]))
    other, _ = two.open()
    assert other.requests() == {"T-1": {"seeds": 1}}
    assert other.served(key) is not None
    here.save_request("T-1", {"seeds": 3})
    assert two.open()[0].requests() == {"T-1": {"seeds": 3}}
    here.remove_record("requests/T-1.json")
    assert one.open()[0].requests() == {}


def test_a_bundle_there_shows_its_runs(one: Machine, two: Machine, there: MemoryFileSystem) -> None:
    here, _ = one.open()
    key = write_run(here, 1)
    here.pack([key], one.cache / "shared.jsonl.xz", {})
    packed = (one.cache / "shared.jsonl.xz").read_bytes()
    there.store.clear()
    there.pipe_file("/group/runs/shared.jsonl.xz", packed)
    other, said = two.open()
    run = other.read(key)
    assert run is not None
    assert run.partial
    assert said == []


def test_weights_are_fetched_where_only_scores_are_here(
    one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    here, _ = one.open()
    key = write_run(here, 1)
    here.pack([key], one.cache / "scores.jsonl.xz", {})
    other, _ = two.open()
    shutil.copy(one.cache / "scores.jsonl.xz", other.root / "scores.jsonl.xz")
    run = other.read(key)
    assert run is not None
    assert run.partial
    assert other.folder(key) is None
    assert other.is_whole(key, weights=True)


def test_a_removed_run_is_gone_here_and_there(
    one: Machine, two: Machine, there: MemoryFileSystem
) -> None:
    here, _ = one.open()
    key, other_key = write_run(here, 1), write_run(here, 2)
    here, _ = one.open()
    assert here.remove(key)
    assert there.find(path_there(key)) == []
    store, _ = two.open()
    assert store.read(key) is None
    assert store.read(other_key) is not None
    assert one.open()[0].read(key) is None


def test_a_copy_that_cannot_be_written_is_one_line_a_run(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = write_run(one.open()[0], 1)
    store, said = two.open()

    def refused(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr(Path, "mkdir", refused)
    assert store.read(key) is None
    (line,) = said
    assert "cannot be fetched" in line
    assert "read-only" in line


def test_a_missing_package_is_one_line_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ReproError, match=r"pip install 'repro\[s3\]'") as refused:
        copy_of("s3://bucket/runs")
    assert "\n" not in str(refused.value)
    with pytest.raises(ReproError, match=r"s4://bucket/runs cannot be opened: Protocol not known"):
        copy_of("s4://bucket/runs")
    assert list(tmp_path.iterdir()) == []


# A real object store on this machine


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 server on loopback with one bucket; its URL. fsspec reads the usual variables."""
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    server_of = pytest.importorskip("moto.server", reason="moto is not installed")
    server = server_of.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("NO_PROXY", host)
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.mkdir(f"results-{port}")
    yield f"s3://results-{port}/group"
    server.stop()
    fsspec.filesystem("s3").clear_instance_cache()


def test_two_machines_share_a_bucket_of_an_s3_server(
    bucket: str, one: Machine, two: Machine
) -> None:
    here, said = one.open(bucket)
    keys = [write_run(here, seed) for seed in range(3)]
    here.save_request("T-1", {"seeds": 3})
    other, said_there = two.open(bucket)
    other.fetch(keys)
    assert [entry(other.root, key) for key in keys] == [entry(here.root, key) for key in keys]
    assert other.requests() == {"T-1": {"seeds": 3}}
    late = write_run(other, 5)
    assert one.open(bucket)[0].read(late, verify=True) is not None
    again, _ = two.open(bucket)
    assert again.remove(late)
    assert Machine("three", one.cache, one.patch).open(bucket)[0].read(late) is None
    assert (said, said_there) == ([], [])


def test_a_bucket_that_does_not_answer_is_one_line(
    bucket: str, one: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        fsspec.filesystem("s3").clear_instance_cache()
        store, said = one.open(bucket)
        key = write_run(store, 1)
        assert store.state(key) == "done"
        assert store.state(run_key(spec_of(2))) == "missing"
    (line,) = said
    assert f"{bucket} cannot be reached" in line


def test_two_machines_share_a_repository_of_the_hub_where_a_run_is_one_commit(
    one: Machine, two: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "hf://datasets/group/results/runs"
    with serving() as repository:
        use_hub(monkeypatch, repository.address, tmp_path)
        monkeypatch.setenv("HF_TOKEN", "hf_token")
        fsspec.filesystem("hf").clear_instance_cache()
        here, said = one.open(url)
        key = write_run(here, 1)
        assert repository.commits == [f"Add run {key[:12]}"]
        here.save_request("T-1", {"seeds": 1})
        other, said_there = two.open(url)
        assert other.read(key, verify=True) is not None
        assert entry(other.root, key) == entry(here.root, key)
        assert other.requests() == {"T-1": {"seeds": 1}}
        assert other.remove(key)
        assert list(repository.files) == ["runs/requests/T-1.json"]
    fsspec.filesystem("hf").clear_instance_cache()
    assert (said, said_there) == ([], [])


def test_a_full_disk_while_runs_are_fetched_is_one_line_a_run_and_leaves_no_part(
    one: Machine, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = one.open()
    keys = [write_run(here, seed) for seed in range(6)]  # of some 120 KB each
    store, said = Machine("cache", small_disk, monkeypatch).open()
    states = [store.state(key) for key in keys]
    assert "done" in states
    assert "missing" in states
    assert len(said) == states.count("missing")
    assert all("the disk is full" in line for line in said)
    assert not unfinished(store.root)
    assert one.open()[0].read(keys[0]) is not None


def test_where_no_credentials_are_found_the_variables_and_the_file_are_named(
    one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store, said = one.open("s3://bucket-without-credentials/runs")
    assert store.read(run_key(spec_of(1))) is None
    (line,) = said
    assert "cannot be reached (NoCredentialsError" in line
    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in line
    assert "~/.aws/credentials" in line
