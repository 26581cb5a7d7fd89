"""The small JSON files of a store beside its runs: why runs failed, what was asked for, counts,
scores of a test server, numbers from elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from repro.errors import StoreError
from repro.folders import cache_folder
from repro.store.atomic import (
    move_aside,
    store_errors,
    sync_directory,
    write_bytes,
    write_json,
    write_text,
)
from repro.store.bundle import REQUESTS, Bundle, bundles_in
from repro.store.entry import first_problem, lies, plain, read_small, written_later
from repro.store.remote import Remote
from repro.store.result import External, Failure, Record, ServedRun
from repro.store.sharing import Sharing
from repro.store.shelf import KEY, Shelf
from repro.store.strict_json import json_bytes, parse_json
from repro.words import shown

Say = Callable[[str], None]
Found = TypeVar("Found", bound=Record)
METHODS = "methods.json"
"""In the user's cache directory: store -> name -> file of the user's own methods."""
METHOD_FILES = TypeAdapter(dict[str, dict[str, str]])


def to_stderr(line: str) -> None:
    """Where warnings go by default."""
    print(line, file=sys.stderr)


class Records:
    """The records in the folder `root`, and behind them those of the bundles that lie in it.

    One that is damaged is moved to `quarantine/`, one of a newer version left alone; `warn` gets a
    line about each. Of a folder that is the copy of a store elsewhere, what is written is sent
    there. Writing raises StoreError.
    """

    def __init__(self, root: Path | str, warn: Say = to_stderr) -> None:
        self.root, self._folder = Path(root), str(root)
        self._warn, self._warned = warn, set[str]()
        self._shelf = Shelf(self.root, self.say)
        self._sharing = Sharing(self._shelf)

    def say(self, line: str) -> None:
        """Warns of something that lies in this store, once: a table reads a run for many cells."""
        line = shown(" ".join(line.split()))
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)

    @property
    def remote(self) -> Remote | None:
        """The store elsewhere that this folder is the copy of; None where it is its own."""
        return self._sharing.remote

    @property
    def called(self) -> str:
        """What its user calls it: the URL of a store elsewhere, else the folder."""
        return str(self.root) if self.remote is None else self.remote.url

    @cached_property
    def _bundles(self) -> list[Bundle]:
        self._sharing.pull()
        return bundles_in(self.root, self.say)

    def push(self) -> None:
        """Sends what was stored here while the store elsewhere could not be reached."""
        self._sharing.push()

    # Any record, by its name in the store

    def _here(self, name: str) -> Iterator[tuple[bytes, Path, Callable[[str], None]]]:
        """The content of the folder's own, if there is one, its place, and what is to be told what
        is wrong with it.
        """
        path = self.root / name
        data = read_small(path, self.say)
        if data is not None:
            yield data, path, partial(move_damaged, path, self.root, say=self.say)

    def _everywhere(self, name: str) -> Iterator[tuple[bytes, Path, Callable[[str], None]]]:
        """The same of the folder's own and then of those of its bundles."""
        bundles = self._bundles  # which fetches the records that are elsewhere only
        yield from self._here(name)
        for bundle in bundles:
            data = bundle.content(name)
            if data is not None:
                yield data, bundle.place / name, partial(self._ignore, bundle.place / name)

    def _names(self, folder: str) -> list[str]:
        """The names of all records in a folder, without their ending."""
        packed = {Path(name).stem for bundle in self._bundles for name in bundle.names(folder)}
        own = (path.stem for path in (self.root / folder).glob("[!.]*.json"))
        return sorted(packed.union(own))

    def _ignore(self, path: Path, problem: str) -> None:
        self.say(f"{path} is ignored: it is damaged ({problem}).")

    def contents(self, name: str) -> Iterator[bytes]:
        """The content of the record of this name: in the store's folder, then in each bundle."""
        return (data for data, _, _ in self._everywhere(name))

    def save(self, record: Record) -> None:
        """Writes or replaces a record."""
        self.save_record(record.file, record.model_dump(mode="json"))

    def save_record(self, name: str, document: Any) -> None:
        """Writes or replaces a record. Raises ValueError for what is not strict JSON."""
        self.copy_record(name, json_bytes(document))

    def copy_record(self, name: str, data: bytes) -> None:
        """The same of a file's content."""
        with self._sharing.sending(name):
            write_bytes(self.root / name, data)

    def remove_record(self, name: str) -> bool:
        """Removes a record; False where it is in no folder of ours (in a bundle, perhaps)."""
        path = self.root / name
        self._sharing.remove(name)
        with store_errors(path):
            try:
                path.unlink()
            except FileNotFoundError:
                return False
            sync_directory(path.parent)
        return True

    # Each kind of record

    def served(self, key: str) -> ServedRun | None:
        """What a test server said of the run; None: nothing."""
        return self._good(ServedRun, plain(key))

    def external(self) -> list[External]:
        """The rows of numbers from elsewhere."""
        rows = (self._good(External, name) for name in self._names(External.folder))
        found = (row for row in rows if row is not None)
        return sorted(found, key=lambda row: (row.table, row.section, row.added, row.name))

    def _good(self, kind: type[Found], key: str) -> Found | None:
        """The first record of this kind and key that can be trusted."""
        records = (
            checked_record(kind, data, path, self.say, damaged)
            for data, path, damaged in self._everywhere(f"{kind.folder}/{key}.json")
        )
        return next((record for record in records if record is not None), None)

    def save_request(self, name: str, document: Any) -> None:
        """Remembers what was asked for. Raises ValueError for what is not strict JSON."""
        self.save_record(f"{REQUESTS}/{plain(name)}.json", document)

    def requests(self) -> dict[str, Any]:
        """Name -> document of everything that was asked for. A damaged one is left out."""
        found: dict[str, Any] = {}
        for name in self._names(REQUESTS):
            for data, _, damaged in self._everywhere(f"{REQUESTS}/{name}.json"):
                try:
                    found[name] = parse_json(data)
                    break
                except (ValueError, RecursionError):
                    damaged("it is not JSON")
        return found

    def request_path(self, name: str) -> Path:
        """Where the request `name` lies, in a bundle perhaps, for a message about it."""
        file = f"{REQUESTS}/{name}.json"
        return next((path for _, path, _ in self._everywhere(file)), self.root / file)

    def failure(self, key: str) -> Failure | None:
        """Why the run failed; None where it did not, or where the record is damaged."""
        name = f"{Failure.folder}/{plain(key)}.json"
        if not lies(f"{self._folder}/{name}"):  # as of most runs
            return None
        for data, path, damaged in self._here(name):
            return checked_record(Failure, data, path, self.say, damaged)
        return None

    def failed(self) -> set[str]:
        """The keys of all records of failures, unchecked; some may have a result since."""
        names = (path.stem for path in (self.root / Failure.folder).glob("[!.]*.json"))
        return {name for name in names if KEY.fullmatch(name)}

    def failure_path(self, key: str) -> Path:
        """Where the record of a failure lies, if there is one; its log lies beside it."""
        return self.root / Failure.folder / f"{plain(key)}.json"

    def keep_failure(self, failure: Failure, log_text: str) -> None:
        """Writes the log, then the record that names it."""
        write_text(self.root / failure.log, log_text)
        write_json(self.failure_path(failure.key), failure.model_dump(mode="json"))

    def clear_failure(self, key: str) -> None:
        """Forgets that the run failed: removes the record, then its log."""
        path = self.failure_path(key)
        with store_errors(path):
            path.unlink(missing_ok=True)
            path.with_suffix(".log").unlink(missing_ok=True)

    def save_method(self, kind: str, file: Path) -> None:
        """Remembers the file of the user's that a method comes from.

        The user's cache directory says where it is, not the store: a file that is named there is
        executed, and a store may come from anybody.
        """
        known = self._all_method_files()
        own = known.setdefault(str(self.root.resolve()), {})
        if own.get(kind) != str(file):
            own[kind] = str(file)
            write_json(cache_folder() / METHODS, known)

    def method_files(self) -> dict[str, Path]:
        """Name -> file of the methods of the user's that this store was asked for."""
        found = self._all_method_files().get(str(self.root.resolve()), {})
        return {kind: Path(file) for kind, file in found.items()}

    def _all_method_files(self) -> dict[str, dict[str, str]]:
        path = cache_folder() / METHODS
        try:
            return METHOD_FILES.validate_json(read_small(path, self.say) or b"{}")
        except ValidationError as error:
            self._ignore(path, first_problem(error))
            return {}


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


def move_damaged(path: Path, root: Path, problem: str, say: Say) -> None:
    """Moves a record that cannot be trusted to `quarantine/` and says so."""
    try:
        place = move_aside(path, root / "quarantine", path.stem)
        say(f"{path} is damaged ({problem}); moved to {place}.")
    except FileNotFoundError:
        return  # another process moved it, and said so
    except StoreError as refusal:
        say(f"{path} is ignored: it is damaged ({problem}). {refusal}")
