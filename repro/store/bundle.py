"""Many runs in one read-only file, which a store shows behind its own.

A bundle `NAME.jsonl.xz` is JSON Lines, compressed by XZ, whose checksum finds damage. Its first
line is {"bundle": 1}, or 2 where it holds external numbers. Each further line is one small file of
a store, {"file": NAME, "text": TEXT}, by its name relative to the store's folder, sorted: spec,
result, environment and manifest of a run, a request, a count, the scores of a test server, external
numbers. So equal content is equal bytes, and a run in a bundle passes the same checks as one in a
folder. Histories, predictions and weights stay in the store that trained the runs.

A bundle is trusted as a whole or not at all, and nothing of it is ever unpacked to the disk.
"""

from __future__ import annotations

import errno
import lzma
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic_core import from_json

from repro.errors import StoreError
from repro.spec import RunSpec
from repro.store.atomic import write_bytes
from repro.store.entry import MANIFEST, Files, StoredRun, read_file
from repro.store.reading import Entries
from repro.store.result import External, ServedRun
from repro.store.strict_json import json_bytes

FORMATS = (1, 2)
"""One more when a line changes shape, or when a bundle may hold another kind of file: 2 holds
external numbers. A bundle without the new kind is written as before, so older versions read it.
"""
SUFFIX = ".jsonl.xz"
REQUESTS, COUNTS = "requests", "counts"
RECORDS = (REQUESTS, COUNTS, ServedRun.folder, External.folder)
"""Folders of small JSON files that are worth as much in another store. Calibration, checkpoints,
claims, token cache and quarantine are a machine's own.
"""
RECORD = re.compile(rf"({'|'.join(RECORDS)})/[^./\\\0][^/\\\0]*\.json")
LARGEST_RECORD = 1 << 26
"""Bytes of such a file."""
NAME = re.compile(
    r"([0-9a-f]{2})/(\1[0-9a-f]{62})/(spec|result|environment|MANIFEST)\.json|" + RECORD.pattern
)
"""What a bundle may hold: no other name is written, and a file with another is refused."""
LARGEST = 1 << 28
"""Bytes of a bundle's content, about 20,000 runs; so a small file cannot fill the memory."""
MEMORY = 1 << 27


class _Refused(Exception):
    """A file that is no bundle of this version, or a damaged one; says what is wrong."""


@dataclass(frozen=True)
class PackedFiles(Files):
    """The files of one run in a bundle."""

    contents: Mapping[str, bytes]
    folder: str

    def exists(self) -> bool:
        """Whether the bundle has the run."""
        return f"{self.folder}/{MANIFEST}" in self.contents

    def read(self, name: str) -> bytes:
        """The content of a file. Raises FileNotFoundError."""
        try:
            return self.contents[f"{self.folder}/{name}"]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "not in the bundle", name) from None


class Bundle(Entries):
    """The bundle at `path`, read when it is first needed.

    One that cannot be trusted counts as empty, and `say` gets one line.
    """

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        super().__init__(path, say)
        self._entries: dict[tuple[str, bool], StoredRun | None] = {}

    def peek(
        self, key: str, *, verify: bool = False, asked: RunSpec | None = None
    ) -> StoredRun | None:
        """The entry of `key`, read and checked once: what is unpacked does not change."""
        if key not in self._keys:
            return None
        if (key, verify) not in self._entries:
            self._entries[key, verify] = super().peek(key, verify=verify, asked=asked)
        return self._entries[key, verify]

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        try:
            return unpacked(self.place)
        except OSError as error:
            problem = f"it cannot be read ({error.strerror})"
        except _Refused as refusal:
            problem = str(refusal)
        self.say(f"The bundle {self.place} is ignored, and its runs count as missing: {problem}.")
        return {}

    def files(self, key: str) -> PackedFiles:
        """The files of the run `key`."""
        return PackedFiles(self._contents, f"{key[:2]}/{key}")

    def keys(self) -> set[str]:
        """The keys of its runs, unchecked."""
        return self._keys

    @cached_property
    def _keys(self) -> set[str]:
        return {name.split("/")[1] for name in self._contents if name.endswith(f"/{MANIFEST}")}

    def content(self, name: str) -> bytes | None:
        """The content of the file `name`, None where there is none."""
        return self._contents.get(name)

    def names(self, folder: str) -> list[str]:
        """The names of the files in `folder`, sorted."""
        return [name for name in self._contents if name.startswith(f"{folder}/")]


def bundles_in(folder: Path, say: Callable[[str], None]) -> list[Bundle]:
    """The bundles that lie in a store's folder, in the order of their names."""
    return [Bundle(path, say) for path in sorted(folder.glob(f"[!.]*{SUFFIX}"))]


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes the bundle `path` with `files` (name -> content), whole or not at all.

    Raises StoreError where the system refuses or the bundle could not be read again.
    """
    newest = any(name.startswith(f"{External.folder}/") for name in files)
    lines = [json_bytes({"bundle": FORMATS[newest]})]
    for name, content in sorted(files.items()):
        if not NAME.fullmatch(name):
            raise ValueError(f"a bundle holds no file {name}")
        lines.append(json_bytes({"file": name, "text": content.decode()}))
    data = b"".join(lines)
    if len(data) > LARGEST:
        raise StoreError(
            f"{path} would hold {len(data) >> 20} MiB, and a bundle holds at most "
            f"{LARGEST >> 20}: pack fewer tables, each from a store of its own."
        )
    preset = 6 | lzma.PRESET_EXTREME  # 9 compresses no better below 8 MiB and needs more memory
    write_bytes(path, lzma.compress(data, preset=preset))


def unpacked(path: Path) -> dict[str, bytes]:
    """Name -> content of every file in the bundle `path`, sorted. Raises OSError, _Refused."""
    first, *lines = _decompressed(path).split(b"\n")
    header = _object(first)
    if "bundle" not in header:
        raise _Refused("its first line is not that of a bundle")
    if header not in [{"bundle": form} for form in FORMATS]:
        raise _Refused("a newer version of repro wrote it. Update repro to use it")
    if not lines or lines.pop() != b"":
        raise _Refused("its last line is cut short")
    contents: dict[str, bytes] = {}
    before = ""
    for line in lines:
        found = _object(line)
        name, text = found.get("file"), found.get("text")
        if found.keys() != {"file", "text"} or not (
            isinstance(name, str) and isinstance(text, str)
        ):
            raise _Refused("a line is not a file's name and text")
        if not NAME.fullmatch(name):
            raise _Refused(f"it holds {name[:80]!r}, which is no file of a bundle")
        if name <= before:
            raise _Refused(f"{name} does not stand in the order of names")
        try:
            contents[name] = text.encode()
        except UnicodeEncodeError as error:
            raise _Refused(f"{name} is not text") from error
        before = name
    return contents


def _decompressed(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise _Refused(f"it is larger than {LARGEST >> 20} MiB")
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
    try:
        data = decompressor.decompress(read_file(path), LARGEST + 1)
    except lzma.LZMAError as error:
        raise _Refused(f"it is damaged ({error}). Put an undamaged copy there") from error
    if len(data) > LARGEST:
        raise _Refused(f"it holds more than {LARGEST >> 20} MiB")
    if not decompressor.eof or decompressor.unused_data:
        problem = "something follows its end" if decompressor.eof else "it is cut short"
        raise _Refused(f"it is damaged ({problem}). Put an undamaged copy there")
    return data


def _object(line: bytes) -> dict[str, object]:
    try:
        found = from_json(line)
    except (ValueError, RecursionError) as error:
        raise _Refused("a line is not JSON") from error
    if not isinstance(found, dict):
        raise _Refused("a line is not a JSON object")
    return found
