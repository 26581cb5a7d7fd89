"""Numbers as a file's text gives them: ASCII digits, finite, without separators."""

from __future__ import annotations

import pytest

from repro.strict import number_of


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
