"""Tokenised rows: the tokenizer's own tokens, mapped once, and read again from whole files only."""

from __future__ import annotations

import errno
import multiprocessing
import os
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from squad_examples import question
from tagging_samples import tagging_task
from tiny_models import minilm_tokenizer
from written_samples import made

from repro.backbones.tiny_t5 import tiny_tokenizer
from repro.spec import GlueTask, SquadTask, Task
from repro.tasks import tokenised
from repro.tasks.data import Answer, Example
from repro.tasks.sentences import task as pairs_task
from repro.tasks.sentences.rows import Row
from repro.tasks.sentences.task import make_examples
from repro.tasks.squad2.features import make_windows

SIZES = "seed=0,train=30,validation=12"
TASKS: dict[str, Task] = {
    "pairs": GlueTask(name="mrpc", source="generated", revision=SIZES),
    "windows": SquadTask(
        source="generated", train="generated", evaluation="generated", revision=SIZES, max_length=48
    ),
    "tags": tagging_task(SIZES, max_length=12),
    "answers": made("cola", "stsb", revision=SIZES),
    "spans": made("span-corruption", revision=SIZES),
}
ROWS = [Row(idx, (f"Ann met Bo number {idx}.", "Who?"), 0) for idx in range(9)]


class Counting:
    """A tokenizer that counts its calls."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.calls = tokenizer, 0

    def __call__(self, *given: Any, **settings: Any) -> Any:
        self.calls += 1
        return self.tokenizer(*given, **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)


@pytest.fixture(autouse=True)
def _small_sets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenised, "KEPT_FROM", 1)
    tokenised._say.cache_clear()


def tokenizer_of(kind: str) -> Counting:
    return Counting(tiny_tokenizer() if kind in ("answers", "spans") else minilm_tokenizer())


def plain(example: Example) -> list[Any]:
    """All that an example holds, to be compared."""
    fields = [getattr(example, name) for name in type(example).__slots__]  # type: ignore[attr-defined]
    tokens = [(f.tokens.tolist(), f.longest) if isinstance(f, Answer) else f for f in fields]
    return [f.tolist() if isinstance(f, np.ndarray) else f for f in tokens]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("kind", TASKS)
def test_a_second_load_calls_no_tokenizer_and_gives_the_same_examples(
    kind: str, tmp_path: Path
) -> None:
    first, second, alone = tokenizer_of(kind), tokenizer_of(kind), tokenizer_of(kind)
    mapped = TASKS[kind].load(first, tmp_path)
    written = files(tmp_path)
    read = TASKS[kind].load(second, tmp_path)
    in_memory = TASKS[kind].load(alone)
    assert first.calls > 0 == second.calls
    assert files(tmp_path) == written
    assert all(name.endswith(".arrow") for name in written)
    for part in ("training", "evaluation"):
        expected = [plain(example) for example in getattr(in_memory, part)]
        assert [plain(example) for example in getattr(mapped, part)] == expected
        assert [plain(example) for example in getattr(read, part)] == expected


def test_examples_of_every_kind_are_the_tokenizer_s_own_row_by_row(tmp_path: Path) -> None:
    from repro.tasks.sentences.rows import task_rows
    from repro.tasks.tagging import task_rows as sentences
    from repro.tasks.text_to_text.formats import input_text
    from repro.tasks.text_to_text.rows import task_rows as written

    def loaded(kind: str) -> Any:
        TASKS[kind].load(tokenizer_of(kind), tmp_path)
        return TASKS[kind].load(tokenizer_of(kind), tmp_path)

    bert, t5 = minilm_tokenizer(), tiny_tokenizer()
    pairs: Any = TASKS["pairs"]
    for row, example in zip(task_rows(pairs)["train"], loaded("pairs").training, strict=True):
        alone = bert(*row.texts, truncation="longest_first", max_length=pairs.max_length)
        assert example.input_ids.tolist() == alone["input_ids"]
        assert example.type_ids.tolist() == alone["token_type_ids"]
    tags: Any = TASKS["tags"]
    for sentence, example in zip(sentences(tags)["train"], loaded("tags").training, strict=True):
        pieces = [bert(word, add_special_tokens=False)["input_ids"] for word in sentence.words]
        ends = np.cumsum([1, *map(len, pieces)])
        assert example.input_ids.tolist() == [101, *list(chain(*pieces))[:10], 102]
        assert example.firsts.tolist() == [first if first < 11 else -1 for first in ends[:-1]]
    answers = loaded("answers")
    texts = {row.idx: row for row in written(answers.task, "cola")["train"]}
    seen = [example for example in answers.training if example.task == 0]
    for example in seen:
        row = texts[example.idx]
        alone = t5(input_text("cola", row.texts, prefix=answers.task.prefix))
        assert example.input_ids.tolist() == alone["input_ids"]
        assert example.target.tokens.tolist() == t5(str(row.label))["input_ids"]
    assert seen


def test_what_the_tokens_follow_from_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(**settings: Any) -> Any:
        other = deepcopy(minilm_tokenizer())
        for name, value in settings.items():
            setattr(other, name, value)
        return other

    added, padded = changed(), changed()
    added.add_tokens(["Bo"])
    padded(["a", "b c"], padding="max_length", truncation=True, max_length=7)

    def made_with(rows: list[Row], tokenizer: Any, max_length: int = 32) -> int:
        make_examples(rows, tokenizer, max_length, tmp_path)
        return len(files(tmp_path))

    assert made_with(ROWS, minilm_tokenizer()) == 1
    assert made_with([replace(row, idx=row.idx + 1, label=1) for row in ROWS], padded) == 1
    assert made_with(ROWS[::-1], minilm_tokenizer()) == 2
    assert made_with(ROWS[:-1], minilm_tokenizer()) == 3
    assert made_with(ROWS, minilm_tokenizer(), 31) == 4
    assert made_with(ROWS, added) == 5
    assert made_with(ROWS, changed(truncation_side="left")) == 6
    assert made_with(ROWS, changed(model_input_names=["input_ids"])) == 7
    later = replace(pairs_task.PAIRS, revision=pairs_task.PAIRS.revision + 1)
    monkeypatch.setattr(pairs_task, "PAIRS", later)
    assert made_with(ROWS, minilm_tokenizer()) == 8


def test_rows_are_known_by_content_however_they_were_selected(tmp_path: Path) -> None:
    from datasets import Dataset, concatenate_datasets

    texts = [f"text {number}" for number in range(8)]
    whole = Dataset.from_dict({"text": texts})
    picked = Dataset.from_dict({"text": [*texts[::-1], "more"]}).select(range(7, -1, -1))
    joined = concatenate_datasets([whole.select(range(3)), whole.select(range(3, 8))])
    digests = {tokenised._rows_digest(rows) for rows in (whole, picked, joined)}
    assert len(digests) == 1
    assert tokenised._rows_digest(whole.rename_column("text", "other")) not in digests
    moved = Dataset.from_dict({"text": [*texts[:6], "text 6text 7", ""]})
    assert tokenised._rows_digest(moved) not in digests


def cut_short(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


def whole_messages_only(content: bytes) -> bytes:
    """Ends where a batch ends: Arrow reads it without an error, with fewer rows."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.ipc.open_stream(content).read_all()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.slice(0, len(table) // 2))
    return bytes(sink.getvalue())


def one_bit(content: bytes) -> bytes:
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage", [cut_short, whole_messages_only, one_bit, lambda _: b"", lambda _: b"no Arrow"]
)
def test_a_damaged_file_is_named_and_made_again(
    damage: Callable[[bytes], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = [plain(one) for one in make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)]
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.unlink()  # the examples above keep theirs
    path.write_bytes(damage(whole))
    found = make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)
    assert [plain(one) for one in found] == expected
    assert capsys.readouterr().err == f"{path} is damaged; it is removed and made again.\n"
    assert path.read_bytes() == whole
    assert files(tmp_path) == {path.name}


def test_a_file_that_is_removed_while_it_is_read_stays_readable(tmp_path: Path) -> None:
    made_now = make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)
    found = make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    assert [plain(one) for one in found] == [plain(one) for one in made_now]


def test_a_set_that_another_process_maps_meanwhile_is_no_harm(tmp_path: Path) -> None:
    """The other one begins and ends while this one is half through."""

    class Slow(Counting):
        def __call__(self, *given: Any, **settings: Any) -> Any:
            assert not list(tmp_path.glob("*.arrow"))
            self.other = make_examples(ROWS, Counting(minilm_tokenizer()), 32, tmp_path)
            return super().__call__(*given, **settings)

    slow: Any = Slow(minilm_tokenizer())
    found = make_examples(ROWS, slow, 32, tmp_path)
    assert [plain(one) for one in found] == [plain(one) for one in slow.other]
    assert {name.split(".")[-1] for name in files(tmp_path)} == {"arrow"}


def _mapped_here(folder: Path) -> list[Any]:
    return [plain(one) for one in make_examples(ROWS, minilm_tokenizer(), 32, folder)]


def test_processes_that_map_the_same_rows_at_once_get_the_same_and_leave_one_file(
    tmp_path: Path,
) -> None:
    expected = _mapped_here(tmp_path / "alone")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(_mapped_here, [tmp_path / "shared"] * 6, chunksize=1) == [expected] * 6
    assert files(tmp_path / "shared") == files(tmp_path / "alone")


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC])
def test_where_nothing_can_be_written_one_sentence_says_so_and_rows_are_mapped_in_memory(
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    expected = [plain(one) for one in make_examples(ROWS, minilm_tokenizer(), 32)]
    monkeypatch.setattr(
        "tempfile.NamedTemporaryFile" if code == errno.ENOSPC else "os.mkdir", refuse
    )
    for _ in range(2):
        found = make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)
        assert [plain(one) for one in found] == expected
    said = f"{tmp_path} cannot be used ({os.strerror(code)}): rows are tokenised anew by every "
    assert capsys.readouterr().err == f"{said}process.\n"
    assert files(tmp_path) == set()


def test_few_rows_are_mapped_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenised, "KEPT_FROM", len(ROWS) + 1)
    assert len(make_examples(ROWS, minilm_tokenizer(), 32, tmp_path)) == len(ROWS)
    assert files(tmp_path) == set()


def test_what_is_said_of_long_questions_is_said_again_of_a_set_that_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        question("long", "word " * 90, text="who " * 40),
        question("short", "word", text="who"),
    ]
    for _ in range(2):
        make_windows(
            asked,
            minilm_tokenizer(),
            "overlap",
            max_length=48,
            stride=8,
            max_query=20,
            cache=tmp_path,
        )
        said = capsys.readouterr().err
        assert said.endswith("and cut to their first 20 pieces: questions long.\n")
    assert len(files(tmp_path)) == 1


def test_neither_the_library_s_own_cache_nor_a_hash_of_the_function_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    def refuse(*_: object) -> str:
        raise AssertionError

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")
    monkeypatch.setattr("datasets.arrow_dataset.update_fingerprint", refuse)
    make_examples(ROWS, minilm_tokenizer(), 32, tmp_path / "ours")
    assert files(tmp_path) == {"ours"}
