"""The generated sets of GLUE: the same everywhere, balanced, solved by no trivial rule."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName
from repro.tasks.generated import default_revision
from repro.tasks.generated.texts import WORDS
from repro.tasks.sentences.rows import Row, generated_rows

NAMES: list[GlueName] = list(GLUE)
CLASSES = [name for name in NAMES if GLUE[name].labels]
PAIRS = [name for name in CLASSES if len(GLUE[name].texts) == 2]
DEFAULT = default_revision("cola")
Splits = dict[str, list[Row]]


def words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text.lower())


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest) -> tuple[GlueName, Splits]:
    return request.param, generated_rows(request.param, "seed=0,train=600,validation=300")


def test_every_scored_split_has_its_rows_in_the_schema(made: tuple[GlueName, Splits]) -> None:
    name, splits = made
    glue = GLUE[name]
    sizes = {split: len(rows) for split, rows in splits.items()}
    assert sizes == {"train": 600} | dict.fromkeys(glue.evaluation, 300)
    for rows in splits.values():
        assert [row.idx for row in rows] == list(range(len(rows)))
        assert all(len(row.texts) == len(glue.texts) for row in rows)
        assert all(text == text.strip() and text for row in rows for text in row.texts)
        kinds = {type(row.label) for row in rows}
        assert kinds == ({int} if glue.labels else {float})


def test_no_label_is_rare_and_none_prevails(made: tuple[GlueName, Splits]) -> None:
    name, splits = made
    labels = len(GLUE[name].labels) or 5
    for rows in splits.values():
        counts = Counter(row.label for row in rows)
        assert len(counts) == labels
        assert min(counts.values()) / len(rows) > 0.6 / labels
        assert max(counts.values()) / len(rows) < 1.4 / labels
        if name == "stsb":
            assert set(counts) == {0.0, 1.25, 2.5, 3.75, 5.0}


def test_rows_hardly_repeat_and_no_text_is_in_two_splits(made: tuple[GlueName, Splits]) -> None:
    _, splits = made
    for rows in splits.values():
        assert len({row.texts for row in rows}) > 0.9 * len(rows)
    train = {row.texts for row in splits["train"]}
    for split in splits.keys() - {"train"}:
        assert not train & {row.texts for row in splits[split]}


def test_people_and_things_differ_between_training_and_validation() -> None:
    for name in NAMES:
        if name == "sst2":
            continue
        splits = generated_rows(name, DEFAULT)
        train = nouns(splits.pop("train"))
        for rows in splits.values():
            assert not nouns(rows) & train
            assert nouns(rows)


def nouns(rows: list[Row]) -> set[str]:
    """The people and the things of a home that the rows tell of."""
    found = {word for row in rows for text in row.texts for word in words(text)}
    return found & {*WORDS["person"], *WORDS["thing"]}


def test_mnlis_mismatched_rows_are_of_another_genre() -> None:
    splits = generated_rows("mnli", DEFAULT)
    told = {
        split: {words(row.texts[0].split(" the ")[1])[0] for row in rows}
        for split, rows in splits.items()
    }
    assert not told["validation_mismatched"] & (told["train"] | told["validation_matched"])
    assert not told["validation_matched"] & told["train"]


def naive_bayes(marks: Callable[[Row], list[str]], splits: Splits) -> float:
    """The share of the first scored split that a naive Bayes over marks gets right."""
    train, scored = list(splits.values())[:2]
    counts: dict[float, Counter[str]] = defaultdict(Counter)
    prior = Counter(row.label for row in train)
    for row in train:
        counts[row.label].update(marks(row))
    known = {mark for counter in counts.values() for mark in counter}

    def log_odds(row: Row, label: float) -> float:
        total = counts[label].total() + len(known)
        parts = [
            math.log((counts[label][mark] + 1) / total) for mark in marks(row) if mark in known
        ]
        return math.log(prior[label]) + sum(parts)

    right = [max(prior, key=lambda label: log_odds(row, label)) == row.label for row in scored]
    return sum(right) / len(right)


@pytest.mark.parametrize("name", PAIRS)
def test_the_second_text_alone_does_not_tell(name: GlueName) -> None:
    """Of MNLI it tells more than chance, as in the real set, but not all."""
    splits = generated_rows(name, "seed=0,train=1200,validation=600")
    chance = 1 / len(GLUE[name].labels)
    highest = 0.9 if name == "mnli" else chance + 0.15
    assert naive_bayes(lambda row: words(row.texts[1]), splits) < highest


def test_the_words_of_a_sentence_do_not_tell_whether_it_is_acceptable() -> None:
    splits = generated_rows("cola", "seed=0,train=1200,validation=600")
    assert naive_bayes(lambda row: words(row.texts[0]), splits) < 0.65


def test_an_unacceptable_sentence_has_an_article_without_its_noun() -> None:
    nouns = {
        word
        for row in generated_rows("cola", DEFAULT)["train"]
        if row.label == 1
        for word in re.findall(r"the (\w+)", row.texts[0].lower())
    }
    for row in generated_rows("cola", DEFAULT)["train"]:
        tokens = words(row.texts[0])
        after = [b for a, b in zip(tokens, [*tokens[1:], ""], strict=True) if a == "the"]
        assert all(word in nouns for word in after) == (row.label == 1)


def test_similarity_falls_with_every_part_that_differs() -> None:
    """Rewording keeps people, things and places, so shared words say how much is the same."""
    shared = defaultdict(list)
    for row in generated_rows("stsb", "seed=0,train=600,validation=1")["train"]:
        first, second = (set(words(text)) - {"the", "was", "by"} for text in row.texts)
        shared[row.label].append(len(first & second))
    means = [sum(shared[label]) / len(shared[label]) for label in sorted(shared)]
    assert means == sorted(means)
    assert len(set(means)) == 5
