"""One finished run on disk: `<root>/<key[:2]>/<key>/`, its manifest, and what makes it trusted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from repro.spec import RunSpec, canonical_json, run_key
from repro.spec.identity import SCHEMA, identity_document, identity_fields
from repro.store.result import Coordinates, Hex, Result, Score, Stored, parse
from repro.store.strict_json import json_bytes, parse_json

FORMAT = 1
"""Bumped when the files of an entry change shape; entries of another format are left alone."""

MANIFEST, SPEC, RESULT, ENVIRONMENT = (
    "MANIFEST.json",
    "spec.json",
    "result.json",
    "environment.json",
)
ALWAYS_CHECKED = (SPEC, RESULT, ENVIRONMENT)
"""Small files whose checksums every read verifies; of the others it verifies the size."""


class Corrupt(Exception):
    """An entry that cannot be trusted: it is moved to quarantine and its run is missing again."""


class Foreign(Exception):
    """An entry that this program cannot read but that nothing is wrong with: it is left alone."""


class FileEntry(Stored):
    """One line of a manifest."""

    sha256: str = Field(description="digest of the content", pattern=Hex)
    size: int = Field(description="bytes", ge=0)


class Manifest(Stored):
    """`MANIFEST.json`, written last: every other file of the entry, and a checksum of itself."""

    format: int = FORMAT
    key: str = Field(pattern=Hex)
    partial: bool = Field(description="only spec and result were copied, the rest lies elsewhere")
    files: dict[str, FileEntry]

    @field_validator("files")
    @classmethod
    def _inside_the_folder(cls, files: dict[str, FileEntry]) -> dict[str, FileEntry]:
        for name in files:
            if not is_plain(name):
                raise ValueError(f"'{name}' is not a file name")
        return files


@dataclass(frozen=True)
class StoredRun:
    """A verified entry."""

    key: str
    path: Path
    spec: RunSpec
    identity: Mapping[str, Any] = field(repr=False)  # the document that the key is the hash of
    result: Result = field(repr=False)
    digest: str  # SHA-256 of result.json; what a child stores of its parent
    partial: bool  # an exported copy: spec and result only
    files: Mapping[str, FileEntry] = field(repr=False)

    @cached_property
    def _scores(self) -> dict[Coordinates, Score]:
        return {score.coordinates: score for score in self.result.scores}

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks that were scored, sorted."""
        return tuple(sorted({score.task for score in self.result.scores}))

    @property
    def last_epoch(self) -> int:
        """The latest epoch that was scored; 0, the untrained model, where nothing was."""
        return max((score.epoch for score in self.result.scores), default=0)

    @cached_property
    def outdated(self) -> bool:
        """Whether the code's revisions have moved on since: today's key for this spec differs."""
        return run_key(self.spec) != self.key

    def score(
        self,
        split: str,
        protocol: str,
        metric: str,
        group: str,
        epoch: int,
        *,
        task: str | None = None,
    ) -> Score | None:
        """The score at those coordinates, None where there is none.

        `task` may be left out where the run has one task. Raises ValueError where it has several.
        """
        if task is None:
            if len(self.tasks) > 1:
                raise ValueError(f"say which task: run {self.key} has {', '.join(self.tasks)}")
            task = self.tasks[0] if self.tasks else ""
        return self._scores.get((epoch, task, split, protocol, metric, group))

    def environment(self) -> dict[str, Any]:
        """`environment.json`: versions, hardware, timings; empty where the entry has none."""
        if ENVIRONMENT not in self.files:
            return {}
        document: dict[str, Any] = parse_json((self.path / ENVIRONMENT).read_bytes())
        return document


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, which need not fit in memory. Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_plain(name: str) -> bool:
    """Whether `name` names a file of an entry's own folder and not the manifest."""
    return name not in (MANIFEST, ".", "..", "") and not set(name) & set("/\\\0")


def spec_bytes(spec: RunSpec) -> bytes:
    """`spec.json`: the whole spec, and the identity document that its key is the hash of."""
    return json_bytes({"identity": identity_document(spec), "spec": spec.model_dump(mode="json")})


def manifest_bytes(manifest: Manifest) -> bytes:
    """`MANIFEST.json`, with a checksum over the rest of itself."""
    return with_checksum(manifest.model_dump(mode="json"))


def with_checksum(document: dict[str, Any]) -> bytes:
    """A JSON object, with the checksum of the rest as one more member."""
    return json_bytes({**document, "checksum": digest_of(json_bytes(document))})


def read_entry(path: Path, key: str, *, verify: bool) -> StoredRun | None:
    """The entry in folder `path`; None where there is none.

    `verify` checks the content of every file, not only of the small ones. Raises Corrupt for
    anything that cannot be trusted, Foreign for what another version wrote or what this user may
    not read.
    """
    try:
        return _read(path, key, verify)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        if not path.exists():  # absent, or moved away by another process in between
            return None
        raise Corrupt(f"{Path(error.filename or path).name} is missing") from error
    except OSError as error:
        raise Foreign(f"it cannot be read ({error.strerror})") from error


def _read(path: Path, key: str, verify: bool) -> StoredRun:
    manifest = _read_manifest((path / MANIFEST).read_bytes(), key)
    for name in (SPEC, RESULT):
        if name not in manifest.files:
            raise Corrupt(f"{MANIFEST} does not list {name}")
    small = {name: (path / name).read_bytes() for name in ALWAYS_CHECKED if name in manifest.files}
    for name, entry in manifest.files.items():
        if (path / name).stat().st_size != entry.size:
            raise Corrupt(f"{name} has another size than {MANIFEST} says")
        if name in small or verify:
            digest = digest_of(small[name]) if name in small else file_digest(path / name)
            if digest != entry.sha256:
                raise Corrupt(f"{name} has another checksum than {MANIFEST} says")
    result = _read_result(small[RESULT], key)
    identity, spec = _read_spec(small[SPEC], key)
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


def _read_manifest(data: bytes, key: str) -> Manifest:
    """Checks every byte: a manifest that is not exactly what would be written is not trusted.

    The checksum comes first and works alike in every format, so a damaged format number is damage.
    """
    document = _read_object(data, MANIFEST)
    document.pop("checksum", None)
    if data != with_checksum(document):
        raise Corrupt(f"{MANIFEST} does not match its own checksum")
    if document.get("format") != FORMAT:
        raise Foreign("another version of this program wrote it")
    try:
        manifest = Manifest.model_validate(document, strict=True)
    except ValidationError as error:
        raise Corrupt(f"{MANIFEST} is not a manifest ({first_problem(error)})") from error
    if manifest.key != key:
        raise Corrupt(f"it holds the run {manifest.key}")
    return manifest


def _read_result(data: bytes, key: str) -> Result:
    try:
        result = parse(data)
    except ValidationError as error:
        raise Corrupt(f"{RESULT} is not a result ({first_problem(error)})") from error
    if result.key != key:
        raise Corrupt(f"{RESULT} is of the run {result.key}")
    return result


def _read_spec(data: bytes, key: str) -> tuple[dict[str, Any], RunSpec]:
    """The identity document, hashed as it was stored (older revisions included), and the spec."""
    document = _read_object(data, SPEC)
    identity = document.get("identity")
    if not isinstance(identity, dict) or digest_of(canonical_json(identity).encode()) != key:
        raise Corrupt(f"{SPEC} does not hash to the key")
    try:
        spec = RunSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        # The key is right, so this is no damage: a version with other fields wrote it.
        raise Foreign(f"another version of this program wrote {SPEC}") from error
    # What an older schema's document held is not what this version would put there.
    current = identity.get("schema") == SCHEMA
    if current and canonical_json(identity_fields(spec)) != canonical_json(identity.get("spec")):
        raise Corrupt(f"{SPEC} holds another spec than the one that was hashed")
    return identity, spec


def _read_object(data: bytes, name: str) -> dict[str, Any]:
    try:
        document = parse_json(data)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{name} is not JSON") from error
    if not isinstance(document, dict):
        raise Corrupt(f"{name} is not an object")
    return document


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic found wrong, in one line."""
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
