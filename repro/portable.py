"""A folder of data sets or models to carry to a machine without network.

It has the form that REPRO_DATA or REPRO_MODELS takes, a SHA256SUMS as `sha256sum -c` reads it, and
a record of where its content was downloaded from. A file is there whole or not at all, and no file
is replaced by another: what was interrupted continues when the same command is given again.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from repro.errors import ReproError
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
from repro.store.atomic import make_directory, store_errors, sync, sync_directory, write_text

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
