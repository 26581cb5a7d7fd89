"""A site is written whole or not at all, and takes the place of nothing but a site."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.site.folder import FILES, write_site

ONE = {"index.html": b"one", "runs/a.html": b"a"}
TWO = {"index.html": b"two"}


def held(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != FILES
    }


def test_a_site_replaces_an_older_one_whole(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "site"
    write_site(folder, ONE)
    assert held(folder) == ONE
    write_site(folder, TWO)
    assert held(folder) == TWO
    assert list(folder.parent.iterdir()) == [folder]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    write_site(tmp_path / "site", ONE)
    empty = tmp_path / "empty"
    empty.mkdir()
    write_site(empty, ONE)
    assert held(empty) == ONE


def test_other_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ReproError, match=r"not of a site written here \(thesis.tex\).*--site"):
        write_site(tmp_path, ONE)
    assert held(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_file_that_somebody_put_into_a_site_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    write_site(folder, ONE)
    (folder / "CNAME").write_text("example.org")
    with pytest.raises(ReproError, match="CNAME"):
        write_site(folder, TWO)
    assert held(folder) == ONE | {"CNAME": b"example.org"}


def test_a_list_of_files_that_is_no_text_makes_no_site(tmp_path: Path) -> None:
    (tmp_path / FILES).write_bytes(b"\xff\xfe")
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ReproError, match=r"thesis\.tex"):
        write_site(tmp_path, ONE)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("")
    with pytest.raises(ReproError, match="is a file"):
        write_site(tmp_path / "site", ONE)


def test_a_refused_swap_leaves_the_old_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    write_site(folder, ONE)
    rename, calls = os.rename, []

    def refuse(source: Path, target: Path) -> None:
        calls.append(source)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ReproError, match="No space left on device"):
        write_site(folder, TWO)
    assert held(folder) == ONE
    assert list(tmp_path.iterdir()) == [folder]
