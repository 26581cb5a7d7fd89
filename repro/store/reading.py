"""What makes an entry trusted: doubts about its files are found here, before anything uses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from repro.spec import RunSpec, canonical_json
from repro.spec.identity import SCHEMA, identity_fields
from repro.store.entry import (
    ENVIRONMENT,
    FORMAT,
    MANIFEST,
    RESULT,
    SPEC,
    Manifest,
    StoredRun,
    digest_of,
    file_digest,
    first_problem,
    with_checksum,
    written_later,
)
from repro.store.result import Result, parse
from repro.store.strict_json import parse_json

Found = TypeVar("Found")
ALWAYS_CHECKED = (SPEC, RESULT, ENVIRONMENT)
"""Small files whose checksums every read verifies; of the others it verifies the size."""

UPDATE = "Update repro to use this run"


class Corrupt(Exception):
    """An entry that cannot be trusted: it is moved to quarantine and its run is missing again."""


class Foreign(Exception):
    """An entry that this program cannot read but that nothing is wrong with: it is left alone."""


class Newer(Foreign):
    """An entry with what only a newer version of this program knows."""


def read_entry(path: Path, key: str, *, verify: bool) -> StoredRun | None:
    """The entry in folder `path`; None where there is none.

    `verify` checks the content of every file, not only of the small ones. Raises Corrupt for
    anything that cannot be trusted, Foreign for what another version wrote or what this user may
    not read.
    """
    return _looked_at(path, lambda: _read(path, key, verify))


def read_spec(path: Path, key: str) -> RunSpec | None:
    """The spec alone of the entry in folder `path`, as `read_entry` would give it.

    Costs a tenth of a whole entry with hundreds of scores; says nothing about its other files.
    """
    return _looked_at(path, lambda: _read_identity(path, key, _checked_manifest(path, key))[1])


def _looked_at(path: Path, look: Callable[[], Found]) -> Found | None:
    try:
        return look()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        if not path.exists():  # absent, or moved away by another process in between
            return None
        raise Corrupt(f"{Path(error.filename or path).name} is missing") from error
    except OSError as error:
        raise Foreign(f"it cannot be read ({error.strerror})") from error


def _read(path: Path, key: str, verify: bool) -> StoredRun:
    manifest = _checked_manifest(path, key)
    for name in manifest.files:
        if verify and name not in ALWAYS_CHECKED:
            _check(name, manifest, file_digest(path / name))
        elif (path / name).stat().st_size != manifest.files[name].size:
            raise Corrupt(f"{name} has another size than {MANIFEST} says")
    if ENVIRONMENT in manifest.files:
        _checked(path, ENVIRONMENT, manifest)
    result = _read_result(_checked(path, RESULT, manifest), key)
    identity, spec = _read_identity(path, key, manifest)
    return StoredRun(
        key=key,
        path=path,
        spec=spec,
        identity=identity,
        result=result,
        digest=manifest.files[RESULT].sha256,
        partial=manifest.partial,
        files=manifest.files,
    )


def _checked(path: Path, name: str, manifest: Manifest) -> bytes:
    """The content of a file that is what the manifest says."""
    data = (path / name).read_bytes()
    _check(name, manifest, digest_of(data))
    return data


def _check(name: str, manifest: Manifest, digest: str) -> None:
    if digest != manifest.files[name].sha256:
        raise Corrupt(f"{name} has another checksum than {MANIFEST} says")


def _checked_manifest(path: Path, key: str) -> Manifest:
    manifest = _read_manifest((path / MANIFEST).read_bytes(), key)
    for name in (SPEC, RESULT):
        if name not in manifest.files:
            raise Corrupt(f"{MANIFEST} does not list {name}")
    return manifest


def _read_manifest(data: bytes, key: str) -> Manifest:
    """Checks every byte: a manifest that is not exactly what would be written is not trusted.

    The checksum comes first and works alike in every format, so a damaged format number is damage.
    """
    document = _read_object(data, MANIFEST)
    document.pop("checksum", None)
    if data != with_checksum(document):
        raise Corrupt(f"{MANIFEST} does not match its own checksum")
    if document.get("format") != FORMAT:
        raise Newer(f"a newer version of repro wrote it. {UPDATE}")
    try:
        manifest = Manifest.model_validate(document, strict=True)
    except ValidationError as error:
        _check_newer(error, MANIFEST)
        raise Corrupt(f"{MANIFEST} is not a manifest ({first_problem(error)})") from error
    if manifest.key != key:
        raise Corrupt(f"it holds the run {manifest.key}")
    return manifest


def _read_result(data: bytes, key: str) -> Result:
    try:
        result = parse(data)
    except ValidationError as error:
        _check_newer(error, RESULT)
        raise Corrupt(f"{RESULT} is not a result ({first_problem(error)})") from error
    if result.key != key:
        raise Corrupt(f"{RESULT} is of the run {result.key}")
    return result


def _read_identity(path: Path, key: str, manifest: Manifest) -> tuple[dict[str, Any], RunSpec]:
    """The identity document, hashed as it was stored (older revisions included), and the spec."""
    document = _read_object(_checked(path, SPEC, manifest), SPEC)
    identity = document.get("identity")
    if not isinstance(identity, dict) or digest_of(canonical_json(identity).encode()) != key:
        raise Corrupt(f"{SPEC} does not hash to the key")
    try:
        spec = RunSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        # The key is right, so this is no damage: a version with other fields wrote it.
        _check_newer(error, SPEC)
        raise Foreign(f"another version of repro wrote {SPEC} ({first_problem(error)})") from error
    # What an older schema's document held is not what this version would put there.
    current = identity.get("schema") == SCHEMA
    if current and canonical_json(identity_fields(spec)) != canonical_json(identity.get("spec")):
        raise Corrupt(f"{SPEC} holds another spec than the one that was hashed")
    return identity, spec


def _check_newer(error: ValidationError, name: str) -> None:
    """Raises Newer where a file whose checksum is right has what this version does not know."""
    unknown = written_later(error)
    if unknown is not None:
        problem = f"a newer version of repro wrote {name} ({unknown} is not known here). {UPDATE}"
        raise Newer(problem) from error


def _read_object(data: bytes, name: str) -> dict[str, Any]:
    try:
        document = parse_json(data)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{name} is not JSON") from error
    if not isinstance(document, dict):
        raise Corrupt(f"{name} is not an object")
    return document
