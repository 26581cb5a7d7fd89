"""A site is written whole or not at all, and never over files that are not its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from repro.errors import ReproError
from repro.store.temporary import unfinished_name

FILES = "site-files.txt"
"""Stands in every site: the names of its other files, one a line."""


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replaces `folder` by these files (relative path -> content).

    The new site is complete beside the old one before it takes its place. Raises ReproError where
    the folder holds anything else than a site, or cannot be written.
    """
    target = folder.resolve()
    check_replaceable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staged = target.with_name(unfinished_name(".staging"))
        try:
            listed = {FILES: "".join(f"{name}\n" for name in sorted(files)).encode()}
            for name, content in {**files, **listed}.items():
                path = staged / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            _swap(staged, target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as refusal:
        raise ReproError(
            f"Cannot write the site {folder}: {refusal.strerror or refusal}. Mend that or name "
            "another folder with --site."
        ) from refusal


def check_replaceable(folder: Path) -> None:
    """Raises ReproError where `folder` is no folder, or holds files that are of no site."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ReproError(f"{folder} is a file: name a folder with --site.")
    held = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    if not held:
        return
    known = folder / FILES
    own = set(known.read_text("utf-8", "replace").splitlines()) if known.is_file() else set()
    foreign = sorted(held - own - {FILES})
    if FILES not in held or foreign:
        named = ", ".join(foreign[:3]) + (", ..." if foreign[3:] else "")
        raise ReproError(
            f"{folder} holds files that are not of a site written here ({named}), and a site "
            "replaces its whole folder: name an empty or new folder with --site, or move them away."
        )


def _swap(staged: Path, target: Path) -> None:
    """Puts the staged folder in the place of `target`; the old one comes back if that fails."""
    if not target.exists():
        os.rename(staged, target)
        return
    old = target.with_name(unfinished_name(".tmp"))
    os.rename(target, old)
    try:
        os.rename(staged, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old)
