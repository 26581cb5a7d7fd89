"""A small server that answers like the hub: downloads are real and never leave the machine."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "3ffb306f725f7d2ce8394bc1873b24868140c412"
ROOT = Path(__file__).parents[1]
REVISION = re.compile(r"/(?:resolve|tree)/([^/]+)/")


class Hub(ThreadingHTTPServer):
    """Serves bytes by path ("/owner/name/resolve/main/config.json") and notes what was asked."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files = files
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def error_code(self, path: str) -> str:
        """What the hub calls a path that it lacks: its file, or its whole revision."""
        asked = REVISION.search(path)
        served = {found[1] for found in map(REVISION.search, self.files) if found}
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
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        if content is None:
            self.send_header("X-Error-Code", self.server.error_code(self.path))
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("ETag", f'"{hashlib.sha256(content or b"").hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body and content:
            self.wfile.write(content)

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
    """What `program` prints in a process whose hub is `endpoint` and whose cache is `home`."""
    keep = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    settings = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
        "HOME": str(home),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=keep | settings | more,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
