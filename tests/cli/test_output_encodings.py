"""What is printed where the output's encoding lacks a character."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from repro.cli.main import main
from repro.report.render import json_text

PROJECT = Path(__file__).parents[2]
LACKING = "77.4±0.3 — τ = 𝄞 \udcff"
"""In Latin-1, in ASCII, beyond 16 bits, and of a file's name that is no UTF-8."""


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a verb that prints a document writes on an output of this encoding."""

    def call(encoding: str, text: str) -> bytes:
        raw = BytesIO()
        stream = TextIOWrapper(raw, encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "argv", ["repro", "list"])
        monkeypatch.setattr(
            "repro.cli.main.application", lambda asked: lambda **how: stream.write(text)
        )
        main()
        stream.flush()
        return raw.getvalue()

    return call


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "utf-16"])
def test_json_is_json_in_any_encoding(printed: Any, encoding: str) -> None:
    document = {"text": LACKING, "quoted": '"\\', LACKING: 1}
    assert json.loads(printed(encoding, json_text(document)).decode(encoding)) == document


def test_text_has_the_code_of_a_character_that_is_lacking(printed: Any) -> None:
    assert printed("ascii", "±—") == b"\\u00b1\\u2014"
    assert printed("latin-1", "±—") == b"\xb1\\u2014"


def test_a_command_prints_json_in_the_c_locale(tmp_path: Path) -> None:
    words = ["figure", "init-robustness", "--scale", "smoke", "--no-run", "--json"]
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "repro", *words],
        env=os.environ | locale | {"PYTHONPATH": str(PROJECT)}, cwd=tmp_path,
        capture_output=True, check=False,
    )  # fmt: skip
    document = json.loads(done.stdout.decode("ascii"))
    assert not document["caption"].isascii()
