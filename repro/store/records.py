"""Small JSON records beside the results: why a run failed, and what was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from repro.errors import StoreError
from repro.spec import RunSpec
from repro.store.atomic import move_aside, store_errors, write_json, write_text
from repro.store.entry import first_problem, read_file, written_later
from repro.store.result import Failure, FailureKind, Record
from repro.store.strict_json import parse_json

Say = Callable[[str], None]
Found = TypeVar("Found", bound=Record)


def failure_of(key: str, spec: RunSpec, kind: FailureKind, message: str) -> Failure:
    """The record of a run that failed."""
    readable = message.encode(errors="backslashreplace").decode()  # a lone surrogate is not UTF-8
    plain = spec.model_dump(mode="json")
    return Failure(key=key, kind=kind, message=readable, log=log_of(key), spec=plain)


def record_failure(root: Path, failure: Failure, log_text: str) -> None:
    """Writes the log, then `failures/<key>.json` that names it. Raises StoreError."""
    write_text(root / failure.log, log_text)
    write_json(failure_path(root, failure.key), failure.model_dump(mode="json"))


def read_failure(root: Path, key: str, say: Say) -> Failure | None:
    """The record of `key`; see `read_record`."""
    return read_record(Failure, failure_path(root, key), root, say)


def read_record(kind: type[Found], path: Path, root: Path, say: Say) -> Found | None:
    """The record in `<key>.json`, None where there is none.

    A damaged one is moved away, one of a newer version left alone; `say` gets a line about it.
    """
    data = read_small(path, say)
    if data is None:
        return None
    return checked_record(
        kind, data, path, say, lambda problem: move_damaged(path, root, problem, say)
    )


def checked_record(
    kind: type[Found], data: bytes, path: Path, say: Say, damaged: Callable[[str], None]
) -> Found | None:
    """The record in `data`, which lies at `path`; `damaged` gets what is wrong with it.

    One of a newer version is ignored, and `say` gets a line about it.
    """
    try:
        record = kind.model_validate_json(data, strict=True)
        if record.key == path.stem:
            return record
        problem = f"it is of the run {record.key}"
    except ValidationError as error:
        unknown = written_later(error)
        if unknown is not None:
            say(f"{path} is ignored: a newer version of repro wrote it ({unknown} is not known).")
            return None
        problem = first_problem(error)
    damaged(problem)
    return None


def clear_failure(root: Path, key: str) -> None:
    """Removes the record, then the log that it names. Raises StoreError."""
    path = failure_path(root, key)
    with store_errors(path):
        path.unlink(missing_ok=True)
        path.with_suffix(".log").unlink(missing_ok=True)


def read_requests(root: Path, say: Say) -> dict[str, Any]:
    """Name -> document of every request, sorted by name; a damaged one is moved away."""
    found: dict[str, Any] = {}
    for path in sorted((root / "requests").glob("[!.]*.json")):
        data = read_small(path, say)
        if data is None:
            continue
        try:
            found[path.stem] = parse_json(data)
        except (ValueError, RecursionError):
            move_damaged(path, root, "it is not JSON", say)
    return found


def log_of(key: str) -> str:
    """Where the log of a failure lies, relative to the store's root."""
    return f"failures/{key}.log"


def failed(root: Path) -> set[str]:
    """The keys of all records of failures."""
    return {path.stem for path in (root / "failures").glob("[!.]*.json")}


def failure_path(root: Path, key: str) -> Path:
    """Where the record of `key` lies, if there is one."""
    return root / "failures" / f"{key}.json"


def read_small(path: Path, say: Say) -> bytes | None:
    """A record's bytes; None where there is none, or it cannot be read, which is said."""
    try:
        return read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        say(f"{path} is ignored: it cannot be read ({error.strerror}).")
        return None


def move_damaged(path: Path, root: Path, problem: str, say: Say) -> None:
    """Moves a record that cannot be trusted to `quarantine/` and says so."""
    try:
        place = move_aside(path, root / "quarantine", path.stem)
        say(f"{path} is damaged ({problem}); moved to {place}.")
    except FileNotFoundError:
        return  # another process moved it, and said so
    except StoreError as refusal:
        say(f"{path} is ignored: it is damaged ({problem}). {refusal}")
