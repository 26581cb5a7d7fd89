"""The generated questions: the official schema, no give-away, no trivial rule that answers them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from repro.errors import ReproError
from repro.tasks.squad2.generated import DEFAULT_REVISION, generate
from repro.tasks.squad2.questions import Question

SETS = generate(DEFAULT_REVISION)
CAPITALISED = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def f1(answer: str, gold: str) -> float:
    """Token F1 of the official script, for texts without articles and punctuation."""
    if not answer or not gold:
        return float(answer == gold)
    ours, theirs = Counter(words(answer)), Counter(words(gold))
    common = sum((ours & theirs).values())
    return 2 * common / (sum(ours.values()) + sum(theirs.values()))


def score(rule: Callable[[Question], str]) -> float:
    rows = SETS["validation"]
    return 100 * sum(f1(rule(q), q.answers[0] if q.answers else "") for q in rows) / len(rows)


def first_capitalised(question: Question) -> str:
    found = CAPITALISED.search(question.context)
    return found.group() if found else ""


def first_number(question: Question) -> str:
    found = re.search(r"\d+", question.context)
    return found.group() if found else ""


def best_sentence(question: Question) -> str:
    asked = set(words(question.question))
    sentences = [part.strip() for part in question.context.split(".") if part.strip()]
    return max(sentences, key=lambda sentence: len(asked & set(words(sentence))))


def last_word_of_best_sentence(question: Question) -> str:
    return words(best_sentence(question))[-1]


def phrase_of_question_word(question: Question) -> str:
    kind = words(question.question)[0]
    if kind == "when":
        return first_number(question)
    if kind in ("who", "where", "by"):
        names = [n for n in CAPITALISED.findall(question.context) if " " in n or kind == "where"]
        return names[0] if names else ""
    return last_word_of_best_sentence(question)


@pytest.mark.parametrize(
    "rule",
    [
        lambda question: "",
        first_capitalised,
        first_number,
        last_word_of_best_sentence,
        phrase_of_question_word,
    ],
)
def test_a_trivial_rule_stays_below_62(rule: Callable[[Question], str]) -> None:
    assert score(rule) < 62


def test_half_of_the_questions_have_no_answer() -> None:
    for rows in SETS.values():
        share = sum(not question.answerable for question in rows) / len(rows)
        assert 0.45 <= share <= 0.55


def test_the_question_alone_does_not_tell_whether_it_has_an_answer() -> None:
    """Naive Bayes on the question's words, with one added to every count."""
    counts = {True: Counter[str](), False: Counter[str]()}
    for question in SETS["train"]:
        counts[question.answerable].update(set(words(question.question)))
    totals = {label: sum(count.values()) for label, count in counts.items()}

    def evidence(label: bool, question: Question) -> float:
        found = counts[label]
        return sum(math.log((found[w] + 1) / totals[label]) for w in set(words(question.question)))

    rows = SETS["validation"]
    right = sum((evidence(True, q) > evidence(False, q)) == q.answerable for q in rows)
    assert right / len(rows) < 0.62


def test_answers_stand_where_they_are_said_to() -> None:
    for rows in SETS.values():
        assert len({question.id for question in rows}) == len(rows)
        for question in rows:
            for answer, start in zip(question.answers, question.starts, strict=True):
                assert question.context[start : start + len(answer)] == answer


def test_training_and_validation_share_no_person_and_no_title() -> None:
    names = [
        {name for q in rows for text in (q.context, q.question) for name in NAMES.findall(text)}
        for rows in SETS.values()
    ]
    titles = [{question.title for question in rows} for rows in SETS.values()]
    assert not names[0] & names[1]
    assert not titles[0] & titles[1]


NAMES = re.compile(
    r"\b(?:Ada|Bruno|Clara|Dario|Elsa|Felix|Greta|Hugo|Irene|Jonas|Karin|Leo|Mara|Nils|Olga|Paul)\b"
)


def test_a_passage_often_holds_two_values_of_the_kind_asked_for() -> None:
    """Otherwise the kind of a phrase would give the answer away."""
    years = [q for q in SETS["train"] if len(re.findall(r"\b1[789]\d\d\b", q.context)) == 2]
    assert len({question.context for question in years}) >= 3


def test_the_set_is_the_same_in_every_process() -> None:
    program = (
        "import hashlib; from repro.tasks.squad2.generated import generate, DEFAULT_REVISION\n"
        "print(hashlib.sha256(repr(generate(DEFAULT_REVISION)).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_another_seed_gives_another_set_and_sizes_are_met() -> None:
    other = generate("seed=1,train=50,validation=30")
    assert [len(other["train"]), len(other["validation"])] == [50, 30]
    assert other["train"] != SETS["train"][:50]


@pytest.mark.parametrize("revision", ["", "seed=0", "seed=a,train=1,validation=1", "seed=0;train=1"])
def test_a_revision_of_another_form_is_refused_with_the_form(revision: str) -> None:
    with pytest.raises(ReproError, match="seed=0,train=1000,validation=200"):
        generate(revision)
