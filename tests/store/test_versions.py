"""An entry as every version of repro wrote it is read by this one.

`versions.jsonl` holds, for each commit that changed what an entry holds, the files that the code of
that commit wrote of one run. A change of `spec.json`, `result.json` or the manifest adds a line.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from store_samples import listening, result_of, spec_of

from repro.spec import run_key
from repro.store import Store, render
from repro.store.bundle import FORMATS
from repro.store.strict_json import json_bytes

LINES = (Path(__file__).parent / "versions.jsonl").read_text(encoding="utf-8").splitlines()
VERSIONS: dict[str, dict[str, str]] = {
    line["commit"]: line["files"] for line in map(json.loads, LINES)
}
KEY = run_key(spec_of(0))


def check(root: Path) -> None:
    store, said = listening(root)
    run = store.read(KEY, verify=True)
    assert run is not None, said
    assert (run.spec, run.result, run.outdated) == (spec_of(0), result_of(KEY), False)
    assert run.environment() == {"host": "one"}
    assert store.state(KEY) == "done"
    assert said == []


@pytest.mark.parametrize("commit", VERSIONS)
def test_an_entry_of_every_version_is_read(commit: str, tmp_path: Path) -> None:
    folder = tmp_path / KEY[:2] / KEY
    folder.mkdir(parents=True)
    for name, text in VERSIONS[commit].items():
        (folder / name).write_text(text, encoding="utf-8")
    check(tmp_path)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("commit", VERSIONS)
def test_a_bundle_of_every_format_shows_the_entry_of_every_version(
    commit: str, form: int, tmp_path: Path
) -> None:
    lines: list[dict[str, Any]] = [{"bundle": form}]
    for name, text in sorted(VERSIONS[commit].items()):
        lines.append({"file": f"{KEY[:2]}/{KEY}/{name}", "text": text})
    packed = lzma.compress(b"".join(map(json_bytes, lines)))
    (tmp_path / "all.jsonl.xz").write_bytes(packed)
    check(tmp_path)


def test_the_last_version_is_this_one(tmp_path: Path) -> None:
    """Else an entry of this version stands in no test: add the line that is printed."""
    store = Store(tmp_path)
    files = {"result.json": render(result_of(KEY)), "environment.json": b'{"host":"one"}'}
    folder = store.write(KEY, spec_of(0), {**files})
    written = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    print(json.dumps({"commit": "THIS", "files": written}, sort_keys=True))
    assert list(VERSIONS.values())[-1] == written
