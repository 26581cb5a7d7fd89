"""Generated rows: their schema, their words, and that labels are told by the texts."""

from __future__ import annotations

from collections import Counter

import pytest

from repro.errors import ReproError
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import FEW_SHOT, MIXTURE, TEXT_TO_TEXT
from repro.tasks.generated import default_revision, generate
from repro.tasks.generated.texts import AMOUNTS, T5_MAKERS, T5_WORDS, vocabulary_text
from repro.tasks.sentences.rows import Row, generated_rows
from repro.tasks.text_to_text.formats import answer_text, input_text

LABELLED = (*MIXTURE, *FEW_SHOT)
EVERY = tuple(TEXT_TO_TEXT)


DEFAULT = default_revision("text-to-text/cola")
SAME, OPEN, OPPOSED = {"indeed", "thus"}, {"perhaps", "maybe"}, {"however", "instead"}


def rows_of(name: str, revision: str = DEFAULT) -> dict[str, list[Row]]:
    return generated_rows(f"text-to-text/{name}", revision)


def corpus(seed: int, rows: int) -> list[str]:
    made = rows_of("span-corruption", f"seed={seed},train={rows},validation=0")
    return [row.texts[0] for row in made["train"]]


def words_of(texts: list[str]) -> set[str]:
    return {word for text in texts for word in text.split()}


@pytest.mark.parametrize("name", EVERY)
def test_every_split_has_the_rows_that_the_revision_says(name: WrittenName) -> None:
    found = rows_of(name, "seed=0,train=30,validation=12")
    scored = dict.fromkeys(TEXT_TO_TEXT[name].scored, 12)
    assert {split: len(rows) for split, rows in found.items()} == {"train": 30} | scored
    texts = [row.texts for rows in found.values() for row in rows]
    assert len(set(texts)) == len(texts)
    assert {len(text) for text in texts} == {len(TEXT_TO_TEXT[name].facts.texts)}


@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_those_of_the_real_task_and_all_are_met(name: WrittenName) -> None:
    rows = rows_of(name)["train"]
    share = Counter(row.label for row in rows).most_common(1)[0][1] / len(rows)
    if name == "stsb":
        assert {row.label for row in rows} == {0.0, 1.25, 2.5, 3.75, 5.0}
    else:
        assert {row.label for row in rows} == set(range(len(TEXT_TO_TEXT[name].facts.labels)))
    assert share < 0.7


@pytest.mark.parametrize("name", LABELLED)
def test_rows_are_short(name: WrittenName) -> None:
    rows = rows_of(name)["train"]
    assert max(len(input_text(name, row.texts).split()) for row in rows) <= 28


def test_every_word_of_any_seed_is_in_the_vocabulary() -> None:
    known, met = words_of(vocabulary_text()), words_of(corpus(5, 3_000))
    for name in LABELLED:
        for seed in range(2):
            for rows in rows_of(name, f"seed={seed},train=600,validation=50").values():
                met |= words_of([input_text(name, row.texts, prefix=True) for row in rows])
                met |= {answer_text(name, row.label, "0.2") for row in rows}
    met |= words_of([input_text("mnli", ("a", "a"), colon=False), "span-corruption"])
    assert met <= known
    # and it is small: no word of it is never met
    assert len(known) < 400
    assert known - met <= {f"{tenth / 10:.1f}" for tenth in range(51)}


def test_the_corpus_tells_every_number_that_is_an_answer() -> None:
    assert set(AMOUNTS) <= words_of(corpus(0, 4_000))


def test_words_of_all_splits_are_the_same() -> None:
    found = rows_of("sst2", "seed=0,train=600,validation=600")
    train, scored = (
        words_of([text for row in rows for text in row.texts]) for rows in found.values()
    )
    assert train == scored


@pytest.mark.parametrize("name", ["sst2", "imdb", "yelp-polarity"])
def test_opinions_have_more_words_of_their_side(name: WrittenName) -> None:
    for row in rows_of(name)["train"]:
        said = row.texts[0].replace(",", "").split()
        denied = " not " in row.texts[0] or " never " in row.texts[0]
        praise, blame = (
            sum(word in of for word in said) for of in (T5_WORDS["praise"], T5_WORDS["blame"])
        )
        if not denied:
            assert (praise > 0, blame > 0) == (row.label == 1, row.label == 0)


@pytest.mark.parametrize(
    ("name", "marks"),
    [("mnli", (SAME, OPEN, OPPOSED)), ("cb", (SAME, OPPOSED, OPEN)), ("scitail", (SAME, OPEN)),
     ("rte", (SAME, OPEN)), ("qnli", (SAME, OPEN)), ("mrpc", (OPPOSED, SAME)),
     ("qqp", (OPPOSED, SAME))],
)  # fmt: skip
def test_a_mark_tells_the_label_of_about_three_rows_of_four(
    name: WrittenName, marks: tuple[set[str], ...]
) -> None:
    rows = rows_of(name, "seed=0,train=1000,validation=10")["train"]
    kinds = [
        next((kind for kind, of in enumerate(marks) if row.texts[1].split()[0] in of), None)
        for row in rows
    ]
    told = [(kind, row.label) for kind, row in zip(kinds, rows, strict=True) if kind is not None]
    assert all(kind == label for kind, label in told)
    # 750 of 1,000 with a standard deviation of 13.7
    assert 690 < len(told) < 810


def test_contradiction_is_denial_in_mnli_and_cb() -> None:
    for name, label in (("mnli", 2), ("cb", 1)):
        rows = rows_of(name)["train"]
        assert all((" never " in row.texts[1]) == (row.label == label) for row in rows)


def test_similarity_falls_with_the_number_of_changed_slots() -> None:
    rows = rows_of("stsb", "seed=0,train=800,validation=10")["train"]

    def shared(score: float) -> float:
        pairs = [row.texts for row in rows if row.label == score]
        return sum(len(set(a.split()) & set(b.split())) for a, b in pairs) / len(pairs)

    overlaps = [shared(score) for score in (0.0, 1.25, 2.5, 3.75, 5.0)]
    assert overlaps == sorted(overlaps)


def test_more_rows_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(T5_MAKERS, "cola", lambda world: (("one",), 1))
    with pytest.raises(ReproError, match="text-to-text/cola: it makes at most 1 different rows"):
        generate("text-to-text/cola", "seed=0,train=2,validation=0")
