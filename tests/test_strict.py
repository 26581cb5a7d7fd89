"""Numbers as a file's text gives them: ASCII digits, finite, without separators. What is said of a
value that is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from repro.strict import number_of, why_refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("87.1", 87.1), ("-3.5", -3.5), ("+0.5", 0.5), ("100", 100.0), (".5", 0.5), ("5.", 5.0),
        ("8.71e1", 87.1), ("1E-3", 0.001), ("0", 0.0), ("007", 7.0),
    ],
)  # fmt: skip
def test_a_decimal_number_is_its_value(text: str, value: float) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "8_7.1", "1_0", "inf", "-inf", "Infinity", "nan", "NaN", "", " ", "87,1", "0x10", "1e", ".",
        "８７.１", "٣", "1e400", "87.1%", "8 7", "--5", "5\n", "½",
    ],
)  # fmt: skip
def test_what_python_reads_beyond_that_is_no_number(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (Annotated[int, Field(ge=2)], 1, "expected at least 2"),
        (Annotated[float, Field(gt=0)], -0.5, "expected more than 0"),
        (Annotated[int, Field(le=1000)], 1001, "expected at most 1000"),
        (int, "zz", "expected a whole number"),
        (int, 1.5, "expected a whole number"),
        (float, "zz", "expected a number"),
        (bool, "zz", "expected true or false"),
        (Literal["fp32", "bf16"], "fp64", "expected 'fp32' or 'bf16'"),
        (tuple[int, ...], 3, "expected a list"),
        (Annotated[str, Field(pattern="^a")], "b", "String should match pattern '^a'"),
    ],
)
def test_a_refused_value_is_answered_with_what_was_expected(
    kind: Any, given: Any, said: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(given)
    assert why_refused(refused.value.errors()[0]) == said
