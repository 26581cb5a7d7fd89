"""The generated set: the official schema, the same everywhere, solved by no trivial rule."""

from __future__ import annotations

import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from repro.tasks.generated import generate
from repro.tasks.squad2.questions import Question, question_from_row

SEEDS = (0, 1)
HIGHEST = 62.0
"""ALL F1 that no rule may reach; answering nothing scores about 50."""
PHRASE = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
NUMBER = re.compile(r"\b\d+\b")
Rule = Callable[[Question], str]


@pytest.fixture(scope="module", params=SEEDS)
def splits(request: pytest.FixtureRequest) -> dict[str, list[Question]]:
    made = generate("squad2", f"seed={request.param},train=1200,validation=800")
    return {split: [question_from_row(row, split) for row in rows] for split, rows in made.items()}


def words(text: str) -> list[str]:
    bare = "".join(" " if c in string.punctuation else c for c in text.lower())
    return [word for word in bare.split() if word not in {"a", "an", "the"}]


def f1(prediction: str, question: Question) -> float:
    """The official F1, written again: bag of words, no articles, best over the gold answers."""
    if not question.answers or not prediction:
        return float(not question.answers and not prediction)
    got = Counter(words(prediction))
    best = 0.0
    for answer in question.answers:
        gold = Counter(words(answer))
        best = max(best, 2 * (got & gold).total() / (got.total() + gold.total()))
    return best


def all_f1(rule: Rule, questions: list[Question]) -> float:
    return 100 * sum(f1(rule(question), question) for question in questions) / len(questions)


def first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group() if found else ""


def sentences(question: Question) -> list[str]:
    return re.findall(r"[^.]+\.", question.context)


def overlap(question: Question, sentence: str) -> int:
    return len(set(words(question.question)) & set(words(sentence)))


def last_candidate(question: Question, sentence: str) -> str:
    """The last phrase, number or word of a sentence that the question does not say."""
    asked = set(words(question.question))
    found = re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*|\w+", sentence)
    return next((part for part in reversed(found) if not set(words(part)) & asked), "")


def nearest_sentence(question: Question) -> str:
    best = max(sentences(question), key=lambda sentence: overlap(question, sentence))
    return last_candidate(question, best)


def first_of_type(question: Question) -> str:
    asked = question.question.lower()
    rest = question.context.split(". ", 1)[-1]
    if "when" in asked or "year" in asked or "how" in asked:
        return first(NUMBER, question.context)
    if "who" in asked or "where" in asked or "town" in asked:
        return first(PHRASE, rest)
    return last_candidate(question, sentences(question)[0])


RULES: dict[str, Rule] = {
    "always null": lambda question: "",
    "first capitalised phrase": lambda question: first(PHRASE, question.context),
    "first number": lambda question: first(NUMBER, question.context),
    "most overlapping sentence": nearest_sentence,
    "first phrase of the asked type": first_of_type,
}


@pytest.mark.parametrize("name", RULES)
def test_no_trivial_rule_solves_it(name: str, splits: dict[str, list[Question]]) -> None:
    assert all_f1(RULES[name], splits["validation"]) < HIGHEST


def test_overlap_with_a_threshold_tuned_on_training_does_not_solve_it(
    splits: dict[str, list[Question]],
) -> None:
    def rule(least: int) -> Rule:
        return lambda question: (
            nearest_sentence(question)
            if max(overlap(question, sentence) for sentence in sentences(question)) >= least
            else ""
        )

    best = max(range(8), key=lambda least: all_f1(rule(least), splits["train"]))
    assert all_f1(rule(best), splits["validation"]) < HIGHEST


def test_the_question_alone_does_not_tell_whether_it_has_an_answer(
    splits: dict[str, list[Question]],
) -> None:
    """Naive Bayes over the words and the length of the question."""
    counts: dict[bool, Counter[str]] = defaultdict(Counter)
    for question in splits["train"]:
        counts[question.answerable].update(marks(question))
    known = set(counts[True]) | set(counts[False])

    def log_odds(question: Question) -> float:
        return sum(
            math.log((counts[True][mark] + 1) / (counts[True].total() + len(known)))
            - math.log((counts[False][mark] + 1) / (counts[False].total() + len(known)))
            for mark in marks(question)
        )

    right = [(log_odds(question) > 0) == question.answerable for question in splits["validation"]]
    assert sum(right) / len(right) < 0.62


def marks(question: Question) -> list[str]:
    parts = words(question.question)
    return [*parts, f"{len(parts)} words", f"{len(question.question) // 5} times 5 characters"]


def test_about_half_of_the_questions_have_no_answer(splits: dict[str, list[Question]]) -> None:
    for questions in splits.values():
        share = sum(not question.answerable for question in questions) / len(questions)
        assert 0.45 <= share <= 0.55


def test_every_row_is_in_the_official_schema(splits: dict[str, list[Question]]) -> None:
    for questions in splits.values():
        assert len({question.id for question in questions}) == len(questions)
        for question in questions:
            assert question.question.endswith("?")
            assert len(question.answers) == len(question.starts) <= 1
            for answer, start in zip(question.answers, question.starts, strict=True):
                assert answer
                assert question.context[start : start + len(answer)] == answer


def test_splits_share_no_title_no_passage_and_no_full_name(
    splits: dict[str, list[Question]],
) -> None:
    def taken(name: str) -> tuple[set[str], set[str], set[str]]:
        rows = splits[name]
        names = {phrase for q in rows for phrase in PHRASE.findall(q.context) if " " in phrase}
        return {q.title for q in rows}, {q.context for q in rows}, names

    for train, validation in zip(taken("train"), taken("validation"), strict=True):
        assert not train & validation


def test_more_training_rows_change_neither_the_first_ones_nor_validation() -> None:
    small, large = (generate("squad2", f"seed=0,train={rows},validation=20") for rows in (30, 90))
    assert large["train"][:30] == small["train"]
    assert large["validation"] == small["validation"]
