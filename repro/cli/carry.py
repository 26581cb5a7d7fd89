"""Copies data sets and models into a folder that a machine without network takes as it is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from repro.backbones import contents
from repro.cli.needs import Need
from repro.errors import ReproError, StoreError
from repro.folders import named_by
from repro.papers.request import Request
from repro.portable import ELSEWHERE, Portable
from repro.report.files import command_line
from repro.spec.backbones import MINILM
from repro.spec.contents import Kind, record_of
from repro.spec.facts import KNOWN
from repro.store.atomic import write_text
from repro.tasks import formats, state
from repro.words import size

README = "README-repro.txt"


def carry(needs: Sequence[Need], root: Path, requests: Sequence[Request]) -> list[str]:
    """Copies what is here into `root`; returns what could not be, a line each. `requests` are those
    whose runs it is for.

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
    write_text(root / README, readme(requests, root), ELSEWHERE)
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
        read = state.hub_content(need.name, splits=need.splits)
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


def readme(requests: Sequence[Request], root: Path) -> str:
    """The text of README-repro.txt: how the other machine uses and checks the carried folders."""
    folders = [name for name in ("data", "models") if (root / name).is_dir()]
    exports = "".join(f'    export REPRO_{name.upper()}="$PWD/{name}"\n' for name in folders)
    sums = "".join(f"    (cd {name} && sha256sum -c SHA256SUMS)\n" for name in folders)
    checks = "".join(f"    {command_line(one, 'doctor')}\n" for one in requests)
    return f"""\
Data sets and models, as `python -m repro prepare` found them. On the machine without network, in
this folder:

{exports}
These commands check that it was copied whole:

{sums}{checks}"""
