"""The standard streams: what a terminal cannot show is escaped, and a refused write is no crash."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

from repro.errors import RUN_FAILED, ReproError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ESCAPED = "repro.escaped"
"""The error handler of both output streams."""
READER_GONE = 128 + 13
"""The exit code of a program that SIGPIPE ends, as `head` ends what it reads from."""


class OutputLost(ReproError):
    """Standard output takes no more: its reader is gone, or its disk is full."""

    def __init__(self, problem: OSError) -> None:
        self.quiet = problem.errno == errno.EPIPE
        self.exit_code = READER_GONE if self.quiet else RUN_FAILED
        super().__init__(
            f"Cannot write the output: {problem.strerror}. Free some space or send the output "
            "elsewhere, then give the command again; what was stored is not lost."
        )


class _Descriptor(io.FileIO):
    """A standard stream's descriptor; after its first refusal it takes everything and drops it.

    What is lost on standard error, but for a reader that is gone, is not worth a run: it goes on.
    """

    lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        if not self.lost:
            try:
                return super().write(data)
            except OSError as problem:
                self.lost = True
                if self.fileno() == 1 or problem.errno == errno.EPIPE:
                    raise OutputLost(problem) from problem
        return memoryview(data).nbytes


def _escaped(problem: UnicodeError) -> tuple[str, int]:
    """What the output's encoding lacks, as `\\uXXXX`: Python's `\\xXX` would not be JSON."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return json.dumps(lacking)[1:-1], problem.end


codecs.register_error(ESCAPED, _escaped)


def prepare() -> None:
    """Gives both output streams these manners; a closed one writes to nowhere.

    Streams that something else put in the place of the standard ones are only made to escape.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # else the next file that is opened would get its number
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _prepared(sys.stdout, sys.__stdout__, 1)
    sys.stderr = _prepared(sys.stderr, sys.__stderr__, 2)


def _prepared(stream: TextIO | None, standard: TextIO | None, number: int) -> TextIO:
    if stream is not standard:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPED)
        assert stream is not None
        return stream
    if stream is not None:
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(number, "w", closefd=False)),
        encoding=None if stream is None else stream.encoding,
        errors=ESCAPED,
        line_buffering=number == 2 or os.isatty(number),
        write_through=getattr(stream, "write_through", False),
    )
