"""A store from somebody else: nothing in it is executed, nothing is written outside of it, and
every command that reads it ends with a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_results import request, runs_of, store_all, store_result
from store_samples import forge, result_of, tree

from repro.report.files import request_file, save_request
from repro.spec import canonical_json, run_key
from repro.store import Store, render
from repro.store.entry import digest_of

Call = Callable[..., Any]
DEEP = b"[" * 100_000
STEERING = "\x1b[2J\x1b]0;owned\x07\r<script>alert(1)</script>"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def forge_identity(root: Path, spec: Any) -> None:
    """An entry whose key is the right hash of an identity that no version ever wrote."""
    identity = canonical_json({"schema": 1, "spec": spec})
    key = digest_of(identity.encode())
    document = f'{{"identity":{identity},"spec":{canonical_json(spec)}}}'
    forge(root, key, spec=document.encode(), result=render(result_of(key)))


def write(root: Path, name: str, data: bytes) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data)


def failure(key: str) -> bytes:
    found = {
        "key": key, "kind": "error", "message": STEERING, "log": "../../../etc/passwd", "spec": {}
    }  # fmt: skip
    return json.dumps(found).encode()


def asked_for(**changed: Any) -> bytes:
    _, content = request_file(request(epochs=1))
    return json.dumps(json.loads(content) | changed).encode()


def forge_weights(root: Path, key: str) -> None:
    (root / key[:2] / key / "adapter.safetensors").write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    forge(root, key)


HOSTILE: dict[str, Callable[[Path, str], None]] = {
    "deep environment": lambda root, key: forge(root, key, environment=DEEP),
    "environment of other types": lambda root, key: forge(
        root, key, environment=b'{"seconds":"x","device":[],"threads":{},"versions":5}'
    ),
    "deep result": lambda root, key: forge(root, key, result=DEEP),
    "history that is none": lambda root, key: forge(root, key, history=b'{"step":[]}\n' + DEEP),
    "a number of 5000 digits": lambda root, key: forge(
        root, key, spec=b'{"identity":' + b"9" * 5000 + b"}"
    ),
    "deep identity": lambda root, key: forge_identity(root, nested(940)),
    "identity of other types": lambda root, key: forge_identity(root, {"method": {"kind": ["x"]}}),
    "name that steers a terminal": lambda root, key: forge_identity(
        root, {"method": {"kind": STEERING}}
    ),
    "deep failure": lambda root, key: write(root, f"failures/{'ab' * 32}.json", DEEP),
    "failure that steers a terminal": lambda root, key: write(
        root, f"failures/{'ab' * 32}.json", failure("ab" * 32)
    ),
    "server scores of other types": lambda root, key: write(root, f"server/{key}.json", b"[]"),
    "external numbers of other types": lambda root, key: write(
        root, f"external/{'ab' * 32}.json", b'{"numbers":{}}'
    ),
    "counts of other types": lambda root, key: write(root, f"counts/{'ab' * 8}.json", b"[5]"),
    "speed of other types": lambda root, key: write(root, "calibration.json", b'{"cpu":[]}'),
    "deep job": lambda root, key: write(root, "work/0123456789abcdef/job.json", DEEP),
    "deep request": lambda root, key: write(root, "requests/x.json", DEEP),
    "request that is a list": lambda root, key: write(root, "requests/x.json", b"[[]]"),
    "request of another table": lambda root, key: write(
        root, "requests/x.json", asked_for(id=STEERING)
    ),
    "request of a billion seeds": lambda root, key: write(
        root, "requests/x.json", asked_for(seeds=10**9)
    ),
    "request with code": lambda root, key: write(
        root, "requests/x.json", asked_for(method="../evil.py:Evil")
    ),
    "pickle as weights": forge_weights,
}


VERBS = (
    ("status",),
    ("store", "ls"),
    ("store", "du"),
    ("store", "gc", "--dry-run", "--outdated", "--quarantine"),
    ("store", "verify"),
    ("store", "merge", "runs", "--store", "copy"),
    ("why", "KEY"),
    ("table", "ResAdapters-1", "--scale", "smoke", "--epochs", "1", "--no-run"),
)


@pytest.mark.parametrize("what", sorted(HOSTILE))
def test_every_verb_that_reads_a_hostile_store_ends_with_a_sentence(
    what: str, cli: Call, store: Store, tmp_path: Path
) -> None:
    asked = request(epochs=1)
    save_request(store, asked)
    keys = store_all(store, asked)
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')")
    HOSTILE[what](store.root, keys[0])
    for verb in VERBS:
        answer = cli(*(keys[0] if word == "KEY" else word for word in verb))
        assert answer.code in (0, 1, 2, 3, 4), (verb, answer.err)
        assert "Traceback" not in answer.err, verb
        for text in (answer.out, answer.err):
            assert not {"\x1b", "\x07", "\r"} & set(text), verb
    assert not (tmp_path / "owned").exists()
    others = {name.split("/")[0] for name in tree(tmp_path)}
    assert others <= {"runs", "copy", "tables", "evil.py"}


@pytest.mark.parametrize(
    "name",
    ["7c", "requests", "failures", "quarantine", "claims", "cache", "work", "work/0123456789abcdef",
     "work/0123456789abcdef/log.txt", "unpushed"],
)  # fmt: skip
def test_a_link_that_leads_out_of_a_store_is_refused_before_anything_is_written(
    name: str, cli: Call, store: Store, tmp_path: Path
) -> None:
    store_result(store, runs_of(request(epochs=1))[0])
    (tmp_path / "outside").mkdir()
    path = store.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rename(tmp_path / "outside" / "moved")
    path.symlink_to(tmp_path / "outside" / ("log" if path.suffix else ""))
    before = tree(tmp_path)
    for verb in (("store", "gc"), ("status",)):
        answer = cli(*verb)
        assert answer.code in (1, 2), verb
        assert f"{name} is a link to {tmp_path / 'outside'}" in answer.err
    assert tree(tmp_path) == before


def test_removing_a_run_that_is_a_link_leaves_what_it_leads_to(
    cli: Call, store: Store, tmp_path: Path
) -> None:
    spec = runs_of(request(epochs=1))[0]
    key = store_result(store, spec)
    assert key == run_key(spec)
    folder = store.folder(key)
    assert folder is not None
    folder.rename(tmp_path / "outside")
    folder.symlink_to(tmp_path / "outside")
    before = tree(tmp_path / "outside")
    assert cli("store", "rm", key).code == 0
    assert tree(tmp_path / "outside") == before
    assert not folder.is_symlink()
