"""Real sets as text to text, where they are at hand."""

from __future__ import annotations

from collections import Counter

import pytest
from written_samples import real, real_folder

from repro.backbones.tiny_t5 import tiny_tokenizer
from repro.errors import MissingData
from repro.spec import TextToText
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.tasks.catalogue import data_revision
from repro.tasks.text_to_text.rows import divided, scored_rows, task_rows, training_rows
from repro.tasks.text_to_text.task import TextToTextData, load_text_to_text

TOKENIZER = tiny_tokenizer()
WHOLE: list[WrittenName] = ["stsb", "sst2", "imdb"]
"""A small set and one of long texts that are halved, a large one whose training rows are."""


@pytest.fixture(autouse=True)
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of real data; skips where it lacks the test's task."""
    name = request.node.callspec.params["name"]
    folder = TEXT_TO_TEXT[name].facts.folder or f"glue_{name}"
    monkeypatch.setenv("REPRO_DATA", str(real_folder(folder)))


def capped(name: WrittenName) -> TextToText:
    """Few rows of it, for long texts are slow to cut byte by byte."""
    revision = data_revision("reduced", name)
    return real(name, revision, train_rows=60, evaluation_rows=30)


def load(name: WrittenName) -> TextToTextData:
    return load_text_to_text(capped(name), TOKENIZER)


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_set_is_divided_as_its_spec_says(name: WrittenName) -> None:
    assert data_revision("paper", name) is None
    task = real(name)
    found = divided(task_rows(task, name), name, task)
    assert training_rows(task) == {name: len(found["train"])}
    assert scored_rows(task) == (len(found["validation"]), len(found["test"]))
    both = {row.idx for row in found["validation"]} & {row.idx for row in found["test"]}
    assert not both or TEXT_TO_TEXT[name].division == "set-aside"


@pytest.mark.parametrize(("name", "rows"), [("rte", (138, 139)), ("cb", (28, 28))])
def test_halves_hold_every_scored_row_once(name: WrittenName, rows: tuple[int, int]) -> None:
    task = real(name)
    splits = task_rows(task, name)
    found = divided(splits, name, task)
    assert (len(found["validation"]), len(found["test"])) == rows
    every = {row.idx: row for row in (*found["validation"], *found["test"])}
    assert [every[row.idx] for row in splits["validation"]] == splits["validation"]


@pytest.mark.parametrize("name", ["cb"])
def test_the_labels_of_cb(name: WrittenName) -> None:
    # 115 entailed, 119 contradicted, 16 neutral in training: the published counts
    rows = task_rows(real(name), name)["train"]
    assert Counter(row.label for row in rows) == {0: 115, 1: 119, 2: 16}


@pytest.mark.parametrize("name", ["yelp-polarity"])
def test_a_partial_set_is_taken_at_reduced_scale_only(name: WrittenName) -> None:
    with pytest.raises(MissingData, match="is not the published train set"):
        data_revision("paper", name)
    data = load(name)
    assert (len(data.training), data.watched, len(data.evaluation)) == (60, 30, 60)


@pytest.mark.parametrize("name", ["mrpc", "stsb", "imdb"])
def test_real_texts_are_cut_to_length_and_nothing_is_unknown(name: WrittenName) -> None:
    data = load(name)
    for example in (*data.training, *data.evaluation):
        assert 2 < len(example.input_ids) <= 128
        assert example.input_ids[-1] == TOKENIZER.eos_token_id
        assert TOKENIZER.unk_token_id not in example.input_ids
    said = {
        TOKENIZER.decode(e.target.tokens, skip_special_tokens=True).strip() for e in data.training
    }
    labels = set(TEXT_TO_TEXT[name].labels)
    assert said == labels if labels else all(float(text) * 5 % 1 < 1e-9 for text in said)


@pytest.mark.parametrize("name", ["imdb"])
def test_long_reviews_with_odd_characters_are_kept_as_they_are(name: WrittenName) -> None:
    rows = task_rows(real(name, data_revision("reduced", name)), name)["test"]
    longest = max(rows, key=lambda row: len(row.texts[0]))
    odd = [row for row in rows if not row.texts[0].isascii()]
    for row in (longest, *odd[:20]):
        ids = TOKENIZER(row.texts[0], add_special_tokens=False).input_ids
        assert TOKENIZER.decode(ids).strip() == row.texts[0].strip()
    assert len(odd) > 50
    assert len(longest.texts[0]) > 10_000
