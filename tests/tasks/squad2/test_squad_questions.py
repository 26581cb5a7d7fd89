"""Rows are checked before they become questions."""

from __future__ import annotations

from typing import Any

import pytest
from squad_examples import question_of, row

from repro.errors import MissingData
from repro.spec.facts import KNOWN
from repro.tasks.checks import Checker
from repro.tasks.squad2.questions import Question


def checked(given: object, place: str = "f, line 1") -> Question:
    (row,) = Checker(KNOWN["squad2"]).rows("train", [(given, place)])
    return question_of(row)


def test_a_row_becomes_a_question_with_its_answers_in_order() -> None:
    given = row("q1", context="Ann met Bo and Ann left.", answer="Ann")
    given["answers"] = {"text": ["Ann", "Bo", "Ann"], "answer_start": [15, 8, 0]}
    question = checked(given, "f, line 1")
    assert (question.id, question.title, question.question) == ("q1", "T", "Who?")
    assert question.answers == ("Ann", "Bo", "Ann")
    assert question.starts == (15, 8, 0)
    assert question.answerable


def test_a_row_without_answers_is_unanswerable() -> None:
    assert not checked(row("q1"), "f, line 1").answerable


def _with(**changes: Any) -> dict[str, Any]:
    return row("q1", answer="Bo") | changes


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([1, 2], "the row is of type list"),
        (_with(context=None), "'context' is missing or null"),
        (_with(id=7), "'id' is of type int"),
        (_with(answers=None), "'answers' is missing"),
        (_with(answers={"text": ["Bo"]}), "'answers.answer_start' is not a list of int"),
        (_with(answers={"text": "Bo", "answer_start": [8]}), "'answers.text' is not a list of str"),
        (_with(answers={"text": ["Bo"], "answer_start": [True]}), "is not a list of int"),
        (_with(answers={"text": ["Bo"], "answer_start": [8.0]}), "is not a list of int"),
        (_with(answers={"text": ["Bo"], "answer_start": []}), "1 answer texts but 0 answer starts"),
        (_with(answers={"text": ["Bo"], "answer_start": [11]}), "outside the context"),
        (_with(answers={"text": ["Bo"], "answer_start": [-3]}), "outside the context"),
        (
            _with(answers={"text": ["Bo"], "answer_start": [7]}),
            "has ' B' at 7, not the answer 'Bo'",
        ),
        (_with(answers={"text": ["Bo.?"], "answer_start": [8]}), "has 'Bo.' at 8"),
        (_with(answers={"text": [""], "answer_start": [0]}), "an answer is empty"),
    ],
)
def test_a_bad_row_is_refused_with_its_place_and_its_fault(bad: object, says: str) -> None:
    with pytest.raises(MissingData) as caught:
        checked(bad, "train.jsonl.gz, line 7")
    assert str(caught.value).startswith("train.jsonl.gz, line 7: ")
    assert says in str(caught.value)


def test_a_missing_field_is_named() -> None:
    bad = row("q1")
    del bad["question"]
    with pytest.raises(MissingData, match="'question' is missing"):
        checked(bad, "f, line 1")
