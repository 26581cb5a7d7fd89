"""What a shell completes: verbs, options, ids, scales, rows, backbones; all without torch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.cli.main import GROUPS, VERBS
from repro.papers.registry import FIGURES, TABLES, find_table
from repro.report.files import save_request
from repro.store import Store

Call = Callable[..., Any]
PROJECT = Path(__file__).parents[2]
COMPLETE = "_REPRO_COMPLETE"


@pytest.fixture
def complete(cli: Call, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The answers to a tab after these words, as bash asks for them."""

    def call(*words: str) -> list[str]:
        monkeypatch.setenv(COMPLETE, "complete_bash")
        monkeypatch.setenv("COMP_WORDS", "\n".join(("repro", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        answer = cli()
        assert answer.err == ""
        return [line for line in answer.out.splitlines() if line]

    return call


def test_verbs_and_the_verbs_of_a_verb_are_completed(complete: Callable[..., list[str]]) -> None:
    assert complete("") == [*VERBS, *GROUPS]
    assert complete("ta") == ["table"]
    assert complete("store", "") == ["ls", "du", "gc", "rm", "pack", "merge", "verify"]
    assert complete("nosuch", "") == [*VERBS, *GROUPS]


def test_options_are_those_of_the_verb(complete: Callable[..., list[str]]) -> None:
    assert complete("table", "ResAdapters-1", "--sc") == ["--scale"]
    assert complete("store", "gc", "--older") == ["--older-than"]
    assert complete("store", "gc", "--sc") == []


def test_ids_are_completed_in_any_case_and_once(complete: Callable[..., list[str]]) -> None:
    assert complete("table", "") == list(TABLES)
    assert complete("figure", "") == list(FIGURES)
    assert complete("table", "resad") == ["ResAdapters-1", "ResAdapters-2"]
    assert complete("run", "ResAdapters-1", "ResAd") == ["ResAdapters-2"]
    assert complete("export", "glue", "3-shared-") == [n for n in TABLES if n.startswith("3-sh")]


def test_values_of_options_are_completed(
    complete: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert complete("table", "--scale", "") == ["paper", "reduced", "smoke", "auto"]
    assert complete("run", "--device", "c") == ["cpu", "cuda"]
    assert complete("table", "AA-2", "--section", "low-data-1") == ["Low-data-100"]
    assert complete("table", "3-shared-2", "--tasks", "cola,r") == ["cola,rte"]
    assert complete("table", "3-shared-2", "--column", "MN") == ["MNLI\\(m\\)", "MNLI\\(mm\\)"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path))
    assert complete("table", "--backbone", "mi") == ["minilm-l6", "mine"]
    assert "google-t5/t5-small" in complete("table", "--backbone", "google")


def test_rows_are_the_tables_own_and_one_word_for_the_shell(
    complete: Callable[..., list[str]],
) -> None:
    names = [row.name for row in find_table("3-shared-2").rows]
    assert complete("table", "3-shared-2", "--row", '"') == names
    assert complete("table", "3-shared-2", "--row", "ours") == [
        "Ours\\ \\(not\\ shared\\)", "Ours\\ \\(3-shared\\)",
    ]  # fmt: skip
    for typed in ("Ours\\ \\(3", "'Ours (3", '"ours (3'):
        (found,) = complete("table", "3-shared-2", "--row", typed)
        assert found in ("Ours (3-shared)", "Ours\\ \\(3-shared\\)")
        assert ("\\" in found) == ("\\" in typed)
    assert complete("table", "3-shared-2", "--row", "=", "Full") == ["Full\\ fine-tuning"]
    assert len(complete("table", "3-shared-2", "--row", "=")) == len(names)


def test_compare_completes_tables_and_then_their_rows(complete: Callable[..., list[str]]) -> None:
    assert complete("compare", "--table", "AA-") == [n for n in TABLES if n.startswith("AA-")]
    assert complete("compare", "--table", "3-shared-2", "Full") == ["Full\\ fine-tuning"]


def test_saved_requests_and_states_are_completed(
    complete: Callable[..., list[str]], store: Store
) -> None:
    from fake_results import request

    save_request(store, request())
    assert complete("store", "rm", "--request", "Res") == ["ResAdapters-1.smoke"]
    assert complete("store", "ls", "--state", "f") == ["failed"]


def test_a_mistake_in_what_is_typed_is_no_message_in_the_middle_of_the_line(
    complete: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert complete("table", "--scale", "smoke", "--scale", "sm") == ["smoke"]
    assert complete("table", "Nope-1", "--row", "") == []
    monkeypatch.setenv("REPRO_METHODS", str(tmp_path / "absent.py"))
    complete("table", "3-shared-2", "--method", "")


def test_a_completion_imports_no_torch(run: Call, tmp_path: Path) -> None:
    words = "repro\ntable\n3-shared-2\n--method\nbit"
    asked = {COMPLETE: "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    answer = run(at=tmp_path, torch=False, **asked)
    assert (answer.code, answer.out, answer.err) == (0, "bitfit\n", "")


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., str]:
    """Runs a script in a shell that finds the console script `repro` and has a home of its own."""
    program = tmp_path / "bin" / "repro"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m repro "$@"\n')
    program.chmod(0o755)

    def call(name: str, *words: str) -> str:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed here")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("REPRO_", COMPLETE))}
        own = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT),
            "HOME": str(tmp_path),
        }
        done = subprocess.run(
            [name, *words],
            check=True,
            env=kept | own,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    return call


def test_bash_completes_by_the_function_that_is_installed(
    shell: Callable[..., str], tmp_path: Path
) -> None:
    shell("bash", "--norc", "-c", "repro --install-completion; true")
    found = shell(
        "bash", "--norc", "-c",
        ". ~/.bashrc; complete -p repro; COMP_WORDS=(repro table 3-shared-2 --row Ours); "
        'COMP_CWORD=4; _repro_completion repro; printf "%s\\n" "${COMPREPLY[@]}"',
    ).splitlines()  # fmt: skip
    assert found[0].endswith("-F _repro_completion repro")
    assert found[1:] == ["Ours\\ \\(not\\ shared\\)", "Ours\\ \\(3-shared\\)"]


def test_zsh_gets_values_with_blanks_as_one_word(shell: Callable[..., str]) -> None:
    script = (
        'compdef() { print $@ }; eval "$(_REPRO_COMPLETE=source_zsh repro)"; '
        "_arguments() { print -l -- $@ }; "
        "words=(repro table 3-shared-2 --row Full); CURRENT=5; _repro_completion"
    )
    name, *answer = shell("zsh", "-f", "-c", script).splitlines()
    assert name == "_repro_completion repro"
    assert answer == ['*: :(("Full fine-tuning"))']


def test_fish_completes_options_and_rows(shell: Callable[..., str]) -> None:
    script = (
        "_REPRO_COMPLETE=source_fish repro | source; "
        'complete -C "repro table Res"; complete -C "repro table 3-shared-2 --row Ou"'
    )
    found = shell("fish", "--no-config", "-c", script).splitlines()
    assert set(found) == {"ResAdapters-1", "ResAdapters-2", "Ours (3-shared)", "Ours (not shared)"}
