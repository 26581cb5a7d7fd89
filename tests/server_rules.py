"""Opens a submission as the GLUE server does: written from its instructions, not from the code."""

from __future__ import annotations

import zipfile
from pathlib import Path

BINARY, NLI = {"0", "1"}, {"entailment", "neutral", "contradiction"}
RTE = {"entailment", "not_entailment"}
RULES: dict[str, tuple[int, set[str] | None]] = {
    "CoLA.tsv": (1_063, BINARY),
    "SST-2.tsv": (1_821, BINARY),
    "MRPC.tsv": (1_725, BINARY),
    "STS-B.tsv": (1_379, None),
    "QQP.tsv": (390_965, BINARY),
    "MNLI-m.tsv": (9_796, NLI),
    "MNLI-mm.tsv": (9_847, NLI),
    "QNLI.tsv": (5_463, RTE),
    "RTE.tsv": (3_000, RTE),
    "WNLI.tsv": (146, BINARY),
    "AX.tsv": (1_104, NLI),
}
"""File -> rows of the published test set, and what may stand there (None: a number, 0 to 5)."""


def opened(path: Path) -> dict[str, list[str]]:
    """File -> predictions in order. Raises AssertionError where a rule is broken."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(RULES)
        texts = {name: archive.read(name).decode("ascii") for name in archive.namelist()}
    return {name: _checked(name, text) for name, text in texts.items()}


def _checked(name: str, text: str) -> list[str]:
    rows, allowed = RULES[name]
    header, *lines = text.split("\n")
    assert header.split("\t") == ["index", "prediction"]
    assert lines.pop() == ""  # the file ends with a newline
    pairs = [line.split("\t") for line in lines]
    assert [index for index, _ in pairs] == [str(number) for number in range(rows)], name
    said = [prediction for _, prediction in pairs]
    if allowed is not None:
        assert set(said) <= allowed, name
    else:
        assert all(0 <= float(prediction) <= 5 for prediction in said)
    return said
