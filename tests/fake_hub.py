"""A small server that answers like the hub: downloads are real and never leave the machine."""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

COMMIT = "3ffb306f725f7d2ce8394bc1873b24868140c412"
REVISION = re.compile(r"/(?:resolve|tree)/([^/]+)/")


@dataclass(frozen=True)
class Fault:
    """What befalls a request: an error's `status`, or a connection that is `cut` after n bytes."""

    status: int = 0
    cut: int | None = None


class Hub(ThreadingHTTPServer):
    """Serves bytes by path ("/owner/name/resolve/main/config.json") and notes what was asked.

    "main" is the commit COMMIT, whose files may be given under either name. `faults`: what befalls
    the next requests of a method for files.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files = files
        self.asked: list[str] = []
        self.ranges: list[str] = []
        self.sends_ranges = True
        self.faults: dict[str, list[Fault]] = {"HEAD": [], "GET": []}
        self.etags: dict[str, str] = {}
        """File's name -> the checksum that is said of it, instead of its own."""

    def content(self, path: str) -> bytes | None:
        """What is served at a path."""
        same = path.replace("/resolve/main/", f"/resolve/{COMMIT}/")
        other = path.replace(f"/resolve/{COMMIT}/", "/resolve/main/")
        return next((self.files[name] for name in (same, other) if name in self.files), None)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def error_code(self, path: str) -> str:
        """What the hub calls a path that it lacks: its file, or its whole revision."""
        asked = REVISION.search(path)
        served = {found[1] for found in map(REVISION.search, self.files) if found}
        served |= {"main", COMMIT} if served & {"main", COMMIT} else set()
        known = asked is not None and asked[1] in served
        return "EntryNotFound" if known else "RevisionNotFound"


class _Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        content = self.server.content(self.path)
        begin = self._begin() if body and content is not None else 0
        faults = self.server.faults[self.command] if REVISION.search(self.path) else []
        fault = faults.pop(0) if faults else None
        if fault is not None and fault.status:
            content, begin = None, 0
        whole = content or b""
        self.send_response(fault.status if fault and fault.status else self._status(content, begin))
        if content is None and not (fault and fault.status):
            self.send_header("X-Error-Code", self.server.error_code(self.path))
        if fault is not None and fault.status == 429:
            self.send_header("Retry-After", "7")
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(whole) - 1}/{len(whole)}")
        self.send_header("Content-Length", str(len(whole) - begin))
        name = self.path.rpartition("/")[2]
        etag = self.server.etags.get(name) or hashlib.sha256(whole).hexdigest()
        self.send_header("ETag", f'"{etag}"')
        self.send_header("X-Repo-Commit", self._commit())
        self.end_headers()
        if body:
            cut = fault.cut if fault is not None else None
            self.wfile.write(whole[begin:] if cut is None else whole[begin : begin + cut])
        if fault is not None and fault.cut is not None:
            self.close_connection = True

    def _begin(self) -> int:
        """The first byte that is asked for."""
        asked = self.headers.get("Range", "")
        self.server.ranges.append(asked)
        served = asked and self.server.sends_ranges
        return int(asked.removeprefix("bytes=").rstrip("-")) if served else 0

    @staticmethod
    def _status(content: bytes | None, begin: int) -> int:
        return 404 if content is None else 206 if begin else 200

    def _commit(self) -> str:
        asked = REVISION.search(self.path)
        return asked[1] if asked and len(asked[1]) == len(COMMIT) else COMMIT

    def log_message(self, *_: object) -> None:
        """Keeps the test's output clean."""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Hub]:
    """A hub with these files, closed afterwards."""
    server = Hub(files)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_with_hub(program: str, home: Path, endpoint: str, *arguments: str, **more: str) -> str:
    """What `program` prints where the hub is `endpoint`, its cache `home` and nothing else here."""
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(io.StringIO()) as said:
        use_hub(patched, endpoint, home)
        for name in ("REPRO_DATA", "REPRO_MODELS"):
            patched.delenv(name, raising=False)
        offline = more.pop("HF_HUB_OFFLINE", "0") == "1"
        patched.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline)
        for name, value in more.items():
            patched.setenv(name, value)
        patched.setattr("sys.argv", ["-c", *arguments])
        exec(program, {"__name__": "__main__"})
    return said.getvalue().strip()


def use_hub(patched: pytest.MonkeyPatch, endpoint: str, home: Path) -> list[float]:
    """Makes this process ask `endpoint` and keep files below `home`; no wait takes time.

    Returns the seconds of the waits, as they come.
    """
    from huggingface_hub import constants

    patched.setenv("NO_PROXY", "127.0.0.1")
    patched.setattr(constants, "ENDPOINT", endpoint)
    template = "{repo_id}/resolve/{revision}/{filename}"
    patched.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{endpoint}/{template}")
    patched.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    patched.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    patched.delenv("HF_TOKEN", raising=False)
    waited: list[float] = []
    patched.setattr("repro.hub.time.sleep", waited.append)
    return waited


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """The rows as a file of the hub."""
    import pyarrow as pa
    import pyarrow.parquet

    made = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), made)
    return made.getvalue()
