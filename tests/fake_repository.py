"""A small server that answers like a repository of the hub: listed, read and committed to."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API = re.compile(r"/api/datasets/group/results(?:/(tree|preupload|commit)/main/?(.*))?")
FILE = re.compile(r"/datasets/group/results/resolve/main/(.*)")


class Repository(ThreadingHTTPServer):
    """The data set `group/results`: its files by name, and the first line of every commit."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files: dict[str, bytes] = {}
        self.commits: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].replace("%2F", "/")
        asked, file = API.fullmatch(path), FILE.fullmatch(path)
        if file is not None and file[1] in self.server.files:
            self._send(200, self.server.files[file[1]])
        elif asked is not None and asked[1] == "tree":
            found = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in sorted(self.server.files.items())
                if name.startswith(f"{asked[2]}/")
            ]
            self._send(200 if found else 404, json.dumps(found or {"error": "none"}).encode())
        elif asked is not None and asked[1] is None:
            self._send(200, json.dumps({"id": "group/results", "sha": "a" * 40}).encode())
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = API.fullmatch(self.path.partition("?")[0])
        if asked is not None and asked[1] == "preupload":
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            self._send(200, json.dumps({"files": files}).encode())
            return
        for line in map(json.loads, body.splitlines()):
            about = line["value"]
            if line["key"] == "header":
                self.server.commits.append(about["summary"])
            elif line["key"] == "file":
                self.server.files[about["path"]] = base64.b64decode(about["content"])
            else:
                del self.server.files[about["path"]]
        url = f"{self.server.address}/datasets/group/results/commit/{'b' * 40}"
        self._send(200, json.dumps({"commitOid": "b" * 40, "commitUrl": url}).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keeps the test's output clean."""


@contextmanager
def serving() -> Iterator[Repository]:
    """The repository, empty, closed afterwards."""
    server = Repository()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
