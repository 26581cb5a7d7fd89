"""One file at a time: old content or new, never a part, and a sentence for the person."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import pytest
from store_samples import tree, unfinished

from repro.errors import StoreError
from repro.store.atomic import (
    move_aside,
    publish_directory,
    write_bytes,
    write_json,
    write_text,
)
from repro.store.strict_json import parse_json


def refuse(code: int) -> Any:
    def refusal(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return refusal


def test_json_is_sorted_and_ends_with_a_newline(tmp_path: Path) -> None:
    write_json(tmp_path / "new" / "a.json", {"b": 1.5, "a": [None, "é"]})
    assert (tmp_path / "new/a.json").read_bytes() == b'{"a":[null,"\\u00e9"],"b":1.5}\n'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_non_finite_number_is_refused_and_the_old_file_stays(tmp_path: Path, number: float) -> None:
    path = tmp_path / "a.json"
    write_json(path, 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"score": number})
    assert path.read_bytes() == b"1\n"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "{'a': 1}", "", "[1"])
def test_what_is_not_strict_json_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the parser's words differ)
        parse_json(text.encode())


def test_log_with_undecodable_text_is_still_written(tmp_path: Path) -> None:
    write_text(tmp_path / "log", "bad \udc80 byte")
    assert (tmp_path / "log").read_bytes() == b"bad \\udc80 byte"


@pytest.mark.parametrize("call", ["write", "fsync", "open", "replace"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full. Free some space"),
        (errno.EDQUOT, "quota is used up. Free some space"),
        (errno.EACCES, "permission denied. Allow this user"),
        (errno.EROFS, "read-only. Name another store with --store"),
        (errno.EIO, "Input/output error. Mend that or name another store"),
    ],
)
def test_refused_write_keeps_the_old_content_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, words: str
) -> None:
    path = tmp_path / "a.json"
    write_bytes(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse(code))
        with pytest.raises(StoreError) as caught:
            write_bytes(path, b"new")
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "nothing stored before was lost" in str(caught.value)
    assert tree(tmp_path) == {"a.json": b"old"}


def watch_order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is synced and renamed, in order: names of files and folders, "->" for a rename."""
    order: list[str] = []
    for call in ("rename", "replace"):
        whole = getattr(os, call)

        def renamed(source: Path, target: Path, whole: Any = whole) -> None:
            order.append("->")
            whole(source, target)

        monkeypatch.setattr(os, call, renamed)

    def synced(descriptor: int) -> None:
        order.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fsync", synced)
    return order


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the system has no /proc to name a descriptor"
)


@needs_proc
def test_content_is_synced_before_it_gets_its_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = watch_order(monkeypatch)
    write_bytes(tmp_path / "new" / "a", b"x")
    assert order[0] == tmp_path.name
    assert order[1].startswith(".tmp-")
    assert order[2:] == ["->", "new"]


@needs_proc
def test_folder_is_synced_whole_before_it_gets_its_name_and_its_parents_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = folder(tmp_path / "staging", a="1", b="2")
    order = watch_order(monkeypatch)
    publish_directory(staging, tmp_path / "new" / "target", tmp_path / "q")
    assert order == ["a", "b", "staging", tmp_path.name, "->", "new"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda file, data: whole(file, bytes(data[:3])))
    write_bytes(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_disk_that_is_really_full_keeps_the_old_content(small_disk: Path) -> None:
    path = small_disk / "a"
    write_bytes(path, b"old" * 1000)
    with pytest.raises(StoreError, match="the disk is full"):
        write_bytes(path, b"new" * 1_000_000)
    assert path.read_bytes() == b"old" * 1000
    assert not unfinished(small_disk)


def test_path_under_a_file_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="a file, not a folder"):
        write_bytes(tmp_path / "file" / "deeper" / "a", b"x")


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_text(content)
    return path


def test_first_publisher_wins_and_an_equal_second_is_dropped(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"

    def publish(staging: Path) -> Path | None:
        return publish_directory(staging, target, tmp_path / "q", {"time"})

    assert publish(folder(tmp_path / "s1", a="1", time="5")) is None
    assert publish(folder(tmp_path / "s2", a="1", time="7")) is None
    assert publish(folder(tmp_path / "s3", time="9")) is None
    assert tree(tmp_path) == {"deep/target/a": b"1", "deep/target/time": b"5"}


@pytest.mark.parametrize("files", [{"a": "2"}, {"a": "1", "b": "1"}])
def test_second_publisher_with_other_content_is_kept_aside(
    tmp_path: Path, files: dict[str, str]
) -> None:
    target, quarantine = tmp_path / "target", tmp_path / "q"
    publish_directory(folder(tmp_path / "s1", a="1"), target, quarantine)
    kept = publish_directory(folder(tmp_path / "s2", **files), target, quarantine)
    assert kept == quarantine / "target-1"
    assert tree(kept) == {name: text.encode() for name, text in files.items()}
    assert tree(target) == {"a": b"1"}


def test_moving_aside_numbers_what_has_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("file")
    places = [
        move_aside(folder(tmp_path / "x", a="1"), tmp_path / "q", "x"),
        move_aside(tmp_path / "x.json", tmp_path / "q", "x"),
        move_aside(folder(tmp_path / "x", a="2"), tmp_path / "q", "x"),
    ]
    assert [str(place.relative_to(tmp_path)) for place in places] == [
        "q/x-1",
        "q/x-2/x.json",
        "q/x-3",
    ]
    with pytest.raises(FileNotFoundError):
        move_aside(tmp_path / "x", tmp_path / "q", "x")
