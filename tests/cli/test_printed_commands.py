"""What README, help and REPRODUCE.md print can be typed as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from committed import committed

from repro.cli.requests import make_request
from repro.engine.local import Worker
from repro.papers.registry import ARTEFACTS
from repro.papers.request import OPTIONS, Request
from repro.report.files import command_line, saved_requests
from repro.store import Store

Call = Callable[..., Any]
PROJECT = Path(__file__).parents[2]
COMMAND = re.compile(r"^    (python -m repro .+)$|`(python -m repro [^`]+)`", re.MULTILINE)
RUN = re.compile(r"python -m repro (?:why|freeze) ([0-9a-f]{6,64})\b")


def test_every_run_that_readme_and_help_name_is_in_the_store_that_a_clone_reads(
    tmp_path: Path,
) -> None:
    texts = [PROJECT / "README.md", *(PROJECT / "repro" / "cli").glob("*.py")]
    named = {key for path in texts for key in RUN.findall(path.read_text(encoding="utf-8"))}
    assert named
    keys = committed(tmp_path).keys()
    for prefix in named:
        assert sum(key.startswith(prefix) for key in keys) == 1, prefix


class Reached(Exception):
    """The command knows what to show."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that `table` and `figure` would show; nothing is shown."""
    found: list[Request] = []

    def show(artefact: Any, request: Request, store: Store) -> None:
        found.append(request)
        raise Reached

    monkeypatch.setattr("repro.cli.table.view_table", show)
    monkeypatch.setattr("repro.cli.figure.view_figure", show)
    return found


TYPED: list[tuple[str, dict[str, Any]]] = [
    ("ResAdapters-1", {}),
    ("ResAdapters-1", {"backbone": "google-bert/bert-base-uncased", "bottleneck": 12, "seeds": 2}),
    ("3-shared-2", {"tasks": "rte,cola", "train_rows": 0, "evaluation_rows": 12, "server": True}),
    ("3-shared-2", {"learning_rate": 1e-5, "precision": "bf16", "as_released": True}),
    ("3-shared-2", {"rows": ["Ours (3-shared)"], "columns": ["CoLA", "MNLI(m)"]}),
    ("AA-2", {"sections": "low-data-300,Low-data-100", "published_layers": True}),
    ("AA-2", {"settings": ["method.layers=[0, 2]", "method.form=b", "recipe.epochs=2"]}),
    ("3-shared-2", {"settings": ["recipe.clip_norm=null", "task.train_rows=null"], "epochs": 3}),
    ("ablation-heatmap", {"method": "3-shared", "tasks": "mnli"}),
]


def test_every_option_is_in_a_command_of_this_test() -> None:
    assert {"scale", *(name for _, typed in TYPED for name in typed)} == OPTIONS.keys()


@pytest.mark.parametrize(("id", "typed"), TYPED)
def test_a_printed_command_asks_for_the_same_again(
    cli: Call, asked: list[Request], id: str, typed: dict[str, Any]
) -> None:
    request = make_request(ARTEFACTS[id], "smoke", **typed)
    with pytest.raises(Reached):
        cli(*shlex.split(command_line(request))[3:], "--no-run")
    assert asked == [request]


def printed_commands() -> list[str]:
    """The commands of REPRODUCE.md and its pages, as committed."""
    pages = [PROJECT / "REPRODUCE.md", *(PROJECT / "tables").glob("*.md")]
    found = {
        one for path in pages for pair in COMMAND.findall(path.read_text("utf-8")) for one in pair
    }
    return sorted(found - {""})


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The committed runs, read once."""
    return committed(tmp_path_factory.mktemp("clone"))


@pytest.fixture
def clone(unpacked: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The store of every command: the committed runs. A job that starts fails the test."""
    monkeypatch.setattr("repro.cli.options.open_store", lambda _: unpacked)
    monkeypatch.setattr(Worker, "_started", lambda *_: pytest.fail("a job starts"))
    return unpacked


def test_the_commands_of_the_report_ask_for_what_is_stored(
    cli: Call, asked: list[Request], clone: Store
) -> None:
    """As printed and with --no-run, on a machine without data and model folders; none trains."""
    commands = [command for command in printed_commands() if command != "python -m repro report"]
    stored = saved_requests(clone)
    assert commands == sorted(map(command_line, stored))
    for command in commands:
        for more in ([], ["--no-run"]):
            with pytest.raises(Reached):
                cli(*shlex.split(command)[3:], *more)
    assert asked[::2] == asked[1::2] == sorted(stored, key=command_line)


@pytest.mark.slow
def test_the_commands_of_the_report_end_well_without_training(cli: Call, clone: Store) -> None:
    """All of them with --no-run, every third table and figure also as printed."""
    commands = [shlex.split(command)[3:] for command in printed_commands()]
    laid_out = [words for words in commands if words != ["report"]]
    for words in [["report"], *([*words, "--no-run"] for words in laid_out), *laid_out[::3]]:
        answer = cli(*words)
        assert answer.code == 0, (words, answer.err)
