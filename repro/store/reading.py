"""What makes an entry trusted: doubts about its files are found here, before anything uses it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from repro.spec import RunSpec, canonical_json, run_key
from repro.spec.identity import SCHEMA, document_json, identity_fields
from repro.spec.method import why_unknown
from repro.store.entry import (
    ENVIRONMENT,
    FORMAT,
    MANIFEST,
    RESULT,
    SPEC,
    Files,
    Manifest,
    StoredRun,
    digest_of,
    first_problem,
    written_later,
)
from repro.store.result import Result, parse
from repro.store.strict_json import parse_json
from repro.words import shown

Found = TypeVar("Found")
ALWAYS_CHECKED = (SPEC, RESULT, ENVIRONMENT)
"""Small files whose checksums every read verifies; of the others it verifies the size."""

UPDATE = "Update repro to use this run"
CHECKSUM = re.compile(rb'\{"checksum":"([0-9a-f]{64})",')
"""How a manifest begins: the checksum is that of the same object without it."""


class Doubt(Exception):
    """Why an entry is not used; it may quote what the entry holds."""

    def __str__(self) -> str:
        return shown(super().__str__())


class Corrupt(Doubt):
    """An entry that cannot be trusted: it is moved to quarantine and its run is missing again."""


class Foreign(Doubt):
    """An entry that this program cannot read but that nothing is wrong with: it is left alone."""


class Newer(Foreign):
    """An entry with what only a newer version of this program knows."""


class Entries(ABC):
    """The finished runs of `place`, a folder or a bundle; `say` gets one line about each that is
    not trusted.
    """

    def __init__(self, place: Path, say: Callable[[str], None]) -> None:
        self.place = place
        self.say = say

    @abstractmethod
    def files(self, key: str) -> Files:
        """The files of a run. Raises ValueError where `key` is no run key."""

    @abstractmethod
    def keys(self) -> set[str]:
        """The keys of all entries, unchecked."""

    def peek(
        self, key: str, *, verify: bool = False, asked: RunSpec | None = None
    ) -> StoredRun | None:
        """The entry of `key`, None where there is no good one; moves nothing. `asked`: see
        `read_entry`.
        """
        return self._trusted(key, lambda: read_entry(self.files(key), key, asked, verify=verify))

    def spec(self, key: str) -> RunSpec | None:
        """The spec alone of an entry, without reading its result; None where it is not good."""
        return self._trusted(key, lambda: read_spec(self.files(key), key))

    def identity(self, key: str) -> Mapping[str, Any] | None:
        """The document that the key is the hash of, unchecked; None where it cannot be read."""
        try:
            document = parse_json(self.files(key).read(SPEC))
        except (OSError, ValueError, RecursionError):
            return None
        identity = document.get("identity") if isinstance(document, dict) else None
        return identity if isinstance(identity, dict) else None

    def _trusted(self, key: str, look: Callable[[], Found | None]) -> Found | None:
        try:
            return look()
        except (Corrupt, Foreign) as problem:
            self.say(f"Run {key[:12]} in {self.place} is ignored: {problem}.")
            return None


def read_entry(
    files: Files, key: str, asked: RunSpec | None = None, *, verify: bool
) -> StoredRun | None:
    """The entry that consists of `files`; None where there is none.

    `asked` is the run of this key, where the caller has it: the entry of the same run has it as its
    spec, in place of the stored one, which could differ in details at most and takes half of the
    time. `verify` checks the content of every file, not only of the small ones. Raises Corrupt for
    anything that cannot be trusted, Foreign for what another version wrote or what this user may
    not read.
    """
    return _looked_at(files, lambda: _read(files, key, asked, verify))


def read_spec(files: Files, key: str) -> RunSpec | None:
    """The spec alone of the entry, as `read_entry` would give it.

    Costs a tenth of a whole entry with hundreds of scores; says nothing about its other files.
    """
    return _looked_at(files, lambda: _read_spec(files, key, checked_manifest(files, key)))


def _looked_at(files: Files, look: Callable[[], Found]) -> Found | None:
    try:
        return look()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        if not files.exists():  # absent, or moved away by another process in between
            return None
        raise Corrupt(f"{Path(error.filename or MANIFEST).name} is missing") from error
    except OSError as error:
        raise Foreign(f"it cannot be read ({error.strerror})") from error


def _read(files: Files, key: str, asked: RunSpec | None, verify: bool) -> StoredRun:
    manifest = checked_manifest(files, key)
    for name in manifest.files:
        if verify and name not in ALWAYS_CHECKED:
            _check(name, manifest, files.digest(name))
        elif files.size(name) != manifest.files[name].size:
            raise Corrupt(f"{name} has another size than {MANIFEST} says")
    if ENVIRONMENT in manifest.files:
        _checked(files, ENVIRONMENT, manifest)
    result = _read_result(_checked(files, RESULT, manifest), key)
    return StoredRun(
        key=key,
        source=files,
        spec=_read_spec(files, key, manifest, asked),
        result=result,
        digest=manifest.files[RESULT].sha256,
        partial=manifest.partial,
        files=manifest.files,
    )


def _checked(files: Files, name: str, manifest: Manifest) -> bytes:
    """The content of a file that is what the manifest says."""
    data = files.read(name)
    _check(name, manifest, digest_of(data))
    return data


def _check(name: str, manifest: Manifest, digest: str) -> None:
    if digest != manifest.files[name].sha256:
        raise Corrupt(f"{name} has another checksum than {MANIFEST} says")


def checked_manifest(files: Files, key: str) -> Manifest:
    """The manifest of an entry, which lists spec and result. Raises Corrupt, Newer, OSError."""
    manifest = _read_manifest(files.read(MANIFEST), key)
    for name in (SPEC, RESULT):
        if name not in manifest.files:
            raise Corrupt(f"{MANIFEST} does not list {name}")
    return manifest


def _read_manifest(data: bytes, key: str) -> Manifest:
    """Checks every byte: a manifest that is not exactly what would be written is not trusted.

    The checksum comes first and works alike in every format, so a damaged format number is damage.
    """
    begins = CHECKSUM.match(data)
    rest = b"{" + data[begins.end() :] if begins else b""
    if begins is None or digest_of(rest).encode() != begins[1]:
        _read_object(data, MANIFEST)
        raise Corrupt(f"{MANIFEST} does not match its own checksum")
    problem: ValidationError | None = None
    try:
        manifest = Manifest.model_validate_json(rest, strict=True)
        form = manifest.format
    except ValidationError as error:
        problem, form = error, _read_object(rest, MANIFEST).get("format")
    if form != FORMAT:
        raise Newer(f"a newer version of repro wrote it. {UPDATE}")
    if problem is not None:
        _check_newer(problem, MANIFEST)
        raise Corrupt(f"{MANIFEST} is not a manifest ({first_problem(problem)})") from problem
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


def _read_spec(files: Files, key: str, manifest: Manifest, asked: RunSpec | None = None) -> RunSpec:
    """The spec, whose identity document is hashed as it was stored (older revisions included)."""
    data = _checked(files, SPEC, manifest)
    if asked is not None and run_key(asked) == key and data.startswith(_begins(asked)):
        return asked
    document = _read_object(data, SPEC)
    identity = document.get("identity")
    hashed = canonical_json(identity)
    if not isinstance(identity, dict) or digest_of(hashed.encode()) != key:
        raise Corrupt(f"{SPEC} does not hash to the key")
    try:
        spec = RunSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        # The key is right, so this is no damage: a version with other fields wrote it.
        _check_method(document.get("spec"))
        _check_newer(error, SPEC)
        raise Foreign(f"another version of repro wrote {SPEC} ({first_problem(error)})") from error
    # What an older schema's document held is not what this version would put there.
    current = identity.get("schema") == SCHEMA
    if current and canonical_json(identity | {"spec": identity_fields(spec)}) != hashed:
        raise Corrupt(f"{SPEC} holds another spec than the one that was hashed")
    return spec


def _begins(spec: RunSpec) -> bytes:
    """How the file of the spec begins: with its identity document."""
    return f'{{"identity":{document_json(spec)},'.encode()


def _check_method(spec: Any) -> None:
    """Raises Foreign where the method of a stored run is in no file that is known here."""
    method = spec.get("method") if isinstance(spec, dict) else None
    kind = method.get("kind") if isinstance(method, dict) else None
    if isinstance(kind, str) and (problem := why_unknown(kind)):
        raise Foreign(problem.removesuffix("."))


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
