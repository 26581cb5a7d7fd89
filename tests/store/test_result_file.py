"""`result.json`: equal results are equal bytes, and nothing loose is read."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from store_samples import result_of

from repro.store.result import Failure, Result, Score, parse, render

KEY = "0123456789abcdef" * 4
GOLDEN = b"""{
"key": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
"status": "ok",
"parameters_trained": 1,
"parameters_total": 101,
"collapsed": null,
"selected_epoch": null,
"parents": {},
"notes": [],
"scores": [
{"epoch":1,"group":"all","metric":"f1","n":10,"protocol":"official","split":"dev","task":"squad2","value":51.0},
{"epoch":2,"group":"all","metric":"f1","n":10,"protocol":"official","split":"dev","task":"squad2","value":52.0}
]
}
"""


def test_result_is_one_score_a_line_in_a_fixed_order() -> None:
    assert render(result_of(KEY)) == GOLDEN
    assert parse(GOLDEN) == result_of(KEY)


def test_order_of_scores_and_parents_does_not_change_the_bytes() -> None:
    one = result_of(KEY).model_copy(update={"parents": {"a": KEY, "b": KEY}})
    fields = one.model_dump() | {"parents": {"b": KEY, "a": KEY}, "scores": one.scores[::-1]}
    assert render(Result(**fields)) == render(one)


@given(value=st.floats(allow_nan=False, allow_infinity=False), text=st.text())
def test_every_finite_value_and_every_text_comes_back_as_it_was(value: float, text: str) -> None:
    text = text.encode(errors="ignore").decode()
    result = result_of(KEY, 0.0)
    scores = [result.scores[0].model_copy(update={"value": value, "group": text})]
    stored = Result(**(result.model_dump() | {"scores": scores, "notes": [text]}))
    back = parse(render(stored))
    assert back == stored
    assert repr(back.scores[0].value) == repr(value)


def test_result_without_scores_is_valid() -> None:
    empty = Result(key=KEY, parameters_trained=0, parameters_total=0, scores=[])
    assert render(empty).endswith(b'"scores": []\n}\n')
    assert parse(render(empty)) == empty


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"51.0", b"NaN"),
        (b"51.0", b"Infinity"),
        (b"51.0", b"1e999"),
        (b"51.0", b"null"),
        (b"51.0", b'"51.0"'),
        (b'"epoch":1', b'"epoch":1.5'),
        (b'"epoch":1', b'"epoch":-1'),
        (b'"epoch":1', b'"epoch":2'),
        (b'"n":10', b'"n":true'),
        (b'"status": "ok"', b'"status": "diverged"'),
        (b'"notes"', b'"comments"'),
        (b'"notes": [],\n', b'"notes": [], "more": 1,\n'),
        (b"0123", b"012"),
        (b"]\n}\n", b"]\n"),
    ],
)
def test_loose_result_is_not_read(old: bytes, new: bytes) -> None:
    assert old in GOLDEN
    with pytest.raises(ValidationError):
        parse(GOLDEN.replace(old, new, 1))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_score_that_is_not_finite_cannot_be_made(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        result_of(KEY, value)


def test_two_scores_of_the_same_thing_are_refused() -> None:
    score = result_of(KEY).scores[0]
    other = Score(**(score.model_dump() | {"value": 1.0}))
    with pytest.raises(ValidationError, match="two scores for"):
        Result(key=KEY, parameters_trained=0, parameters_total=0, scores=[score, other])


def test_embeddings_come_back_to_the_last_bit_and_stand_on_a_line() -> None:
    """A value of fp32 is one of fp64, whose shortest decimals come back as it was."""
    tenth = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    learned = result_of(KEY).model_copy(update={"embeddings": {"rte": [tenth], "cola": [-2.0]}})
    line = b'"embeddings": {"cola":[-2.0],"rte":[0.10000000149011612]},\n'
    assert render(learned) == GOLDEN.replace(b'"notes"', line + b'"notes"')
    assert parse(render(learned)) == learned


@pytest.mark.parametrize(
    "found", [{}, {"rte": []}, {"rte": [1.0], "cola": [1.0, 2.0]}, {"rte": [float("nan")]}]
)
def test_embeddings_of_several_widths_of_none_or_not_finite_are_refused(
    found: dict[str, list[float]],
) -> None:
    with pytest.raises(ValidationError, match="embeddings"):
        Result(key=KEY, parameters_trained=0, parameters_total=0, embeddings=found, scores=[])


def test_failure_of_unknown_kind_is_refused() -> None:
    with pytest.raises(ValidationError, match="out-of-memory"):
        Failure.model_validate({"key": KEY, "kind": "bad", "message": "", "log": "", "spec": {}})
