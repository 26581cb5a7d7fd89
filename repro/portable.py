"""A folder of data sets or models to carry to a machine without network.

It has the form that REPRO_DATA or REPRO_MODELS takes, a SHA256SUMS as `sha256sum -c` reads it, and
a record of where its content was downloaded from. A file is there whole or not at all, and no file
is replaced by another: what was interrupted continues when the same command is given again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from repro.backbones import contents
from repro.errors import ReproError, StoreError
from repro.folders import named_by
from repro.needs import Need
from repro.spec.backbones import MINILM
from repro.spec.contents import (
    RECORD,
    SUMS,
    Content,
    Kind,
    file_digest,
    lock_text,
    record_of,
    sums_of,
)
from repro.spec.facts import KNOWN
from repro.store.atomic import make_directory, store_errors, sync, sync_directory, write_text
from repro.tasks import catalogue, formats
from repro.words import size

README = "README-repro.txt"
PART = ".part"
ELSEWHERE = "name another folder with --to"


class Portable:
    """The folder at `root`, which need not exist."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sums = sums_of(root)

    def holds(self, name: str) -> bool:
        """Whether the file that was put there is there, undamaged."""
        path = self.root / name
        return name in self.sums and path.is_file() and file_digest(path) == self.sums[name]

    def copy(self, name: str, source: Path) -> None:
        """Puts a copy of a file there.

        Raises ReproError where there is another file; StoreError where the system refuses.
        """
        path = self.root / name
        if path.is_file() and path.samefile(source):
            return
        digest = file_digest(source)
        if self.holds(name) and digest == self.sums[name]:
            return
        if path.exists() and (not path.is_file() or file_digest(path) != digest):
            raise ReproError(
                f"{path} is there with other content. It was left as it is: move it away, or "
                f"{ELSEWHERE}."
            )
        part = path.with_name(path.name + PART)
        with store_errors(path, ELSEWHERE):
            make_directory(path.parent)
            try:
                shutil.copyfile(source, part)
                sync(part)
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)
            sync_directory(path.parent)
            self.sums[name] = digest
            lines = (f"{one}  {file}\n" for file, one in sorted(self.sums.items()))
            write_text(self.root / SUMS, "".join(lines), ELSEWHERE)

    def record(self, kind: Kind, name: str, content: Content) -> None:
        """Notes which commit of the hub a data set or model there is of, and its digests.

        What is noted of its other splits at the same commit stays.
        """
        found = record_of(self.root)
        known: dict[str, Content] = getattr(found, kind)
        before = known.get(name)
        if before is not None and before.revision == content.revision:
            digests = {**before.digests, **content.digests}
            content = content.model_copy(update={"digests": digests})
        if content != before:
            changed = found.model_copy(update={kind: {**known, name: content}})
            write_text(self.root / RECORD, lock_text(changed), ELSEWHERE)


def carry(needs: Sequence[Need], root: Path, checks: Sequence[str]) -> list[str]:
    """Copies what is here into `root`; returns what could not be, a line each. `checks` are the
    commands that tell on the other machine whether all is there.

    Raises StoreError where the folder cannot be written, ReproError where it is too small, or where
    what it says of the origin of its content is damaged.
    """
    for part in ("data", "models"):
        record_of(root / part)
    here = [need for need in needs if need.state == "here" and need.name != MINILM]
    folder = next(one for one in (root, *root.absolute().parents) if one.exists())
    data, models = Portable(root / "data"), Portable(root / "models")
    lacking = sum(need.size or 0 for need in here)
    lacking -= sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    if shutil.disk_usage(folder).free < lacking:
        raise ReproError(
            f"{root} needs about {size(lacking)} more than it holds, and {folder} has "
            f"{size(shutil.disk_usage(folder).free)} free. Name another folder with --to."
        )
    problems = []
    for need in here:
        try:
            if need.backbone is None:
                _carry_data(need, data)
            else:
                _carry_model(need, models)
        except StoreError:
            raise
        except ReproError as problem:
            problems.append(str(problem))
    write_text(root / README, readme(checks, root), ELSEWHERE)
    return problems


def _carry_data(need: Need, target: Portable) -> None:
    """Puts the files of a data set into a prepared folder, as they are here or on the hub."""
    folder = KNOWN[need.name].folder
    for split in need.splits:
        for other in formats.split_files(target.root / folder, split):
            if other.is_file() and other.name not in need.files:
                raise ReproError(
                    f"{other} is there with other content. It was left as it is: move it away, or "
                    f"{ELSEWHERE}."
                )
    for name, path in need.files.items():
        target.copy(f"{folder}/{name}", path)
    if not need.in_cache:
        _carry_record(target, named_by("REPRO_DATA"), "data", folder)
        return
    known = record_of(target.root).data.get(folder)
    if known is None or not set(need.splits) <= known.digests.keys():
        read = catalogue.hub_content(need.name, splits=need.splits)
        if read is not None:
            target.record("data", folder, read)


def _carry_model(need: Need, target: Portable) -> None:
    """Puts the files of a model into a prepared folder, under its id or its name."""
    for name, path in need.files.items():
        target.copy(f"{need.name}/{name}", path)
    if need.in_cache:
        target.record("models", need.name, contents.content_of(need.files))
    else:
        _carry_record(target, named_by("REPRO_MODELS"), "models", need.name)


def _carry_record(target: Portable, source: Path | None, kind: Kind, name: str) -> None:
    """Copies what a prepared folder says of the origin of a data set or model."""
    known = getattr(record_of(source), kind).get(name) if source is not None else None
    if known is not None:
        target.record(kind, name, known)


def readme(checks: Sequence[str], root: Path) -> str:
    """The text of README-repro.txt: how the other machine uses and checks the carried folders."""
    folders = [name for name in ("data", "models") if (root / name).is_dir()]
    exports = "".join(f'    export REPRO_{name.upper()}="$PWD/{name}"\n' for name in folders)
    sums = "".join(f"    (cd {name} && sha256sum -c SHA256SUMS)\n" for name in folders)
    commands = "".join(f"    {check}\n" for check in checks)
    return f"""\
Data sets and models, as `python -m repro prepare` found them. On the machine without network, in
this folder:

{exports}
These commands check that it was copied whole:

{sums}{commands}"""
