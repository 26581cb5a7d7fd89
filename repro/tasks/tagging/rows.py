"""Sentences of tagged words, and how a row of a file becomes one.

A row is `tokens`, a list of words, and `ner_tags`, for each its number in `repro.spec.tagging.TAGS`
or its name. Tags are IOB2, as the hub's version of the set has them: an entity begins with B-. The
files of 2003 are IOB1 (I- begins an entity, too) and are refused, not mended: in a file that claims
to be IOB2, such a tag may as well be a mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from repro.errors import MissingData
from repro.spec.tagging import TAGS


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and their tags, as numbers in the order of TAGS; `idx` is its place in the split."""

    idx: int
    words: tuple[str, ...]
    tags: tuple[int, ...]


def checked_sentences(rows: Iterable[tuple[Any, str]], name: str) -> list[Sentence]:
    """The sentences of a file called `name`, in their order; `rows` gives each with its place.

    Raises MissingData with file and line for a missing field, an empty sentence or word, lists of
    different lengths, an unknown tag, or an I- that continues no entity; and for a file without
    rows, or without an entity.
    """
    found = [_sentence(row, number, place) for number, (row, place) in enumerate(rows)]
    if not found:
        raise _bad(name, "it has no rows")
    if not any(any(sentence.tags) for sentence in found):
        raise _bad(name, "every word is O, so there is no entity to learn or to find")
    return found


def _sentence(row: object, number: int, place: str) -> Sentence:
    words = tuple(_word(word, n, place) for n, word in enumerate(_list(row, "tokens", place), 1))
    tags = tuple(_tag(tag, n, place) for n, tag in enumerate(_list(row, "ner_tags", place), 1))
    if len(words) != len(tags):
        raise _bad(place, f"{len(words)} words have {len(tags)} tags")
    _check_begun(words, tags, place)
    return Sentence(number, words, tags)


def _list(row: object, name: str, place: str) -> list[Any]:
    if not isinstance(row, Mapping):
        raise _bad(place, f"the row is of type {type(row).__name__}, not an object")
    found = row.get(name)
    if found is None:
        has = ", ".join(map(str, row)) or "nothing"
        raise _bad(place, f"'{name}' is missing or null (the row has {has})")
    if not isinstance(found, list):
        raise _bad(place, f"'{name}' is of type {type(found).__name__}, not a list")
    if not found:
        raise _bad(place, f"'{name}' is empty")
    return found


def _word(word: object, number: int, place: str) -> str:
    if not isinstance(word, str):
        raise _bad(place, f"word {number} is of type {type(word).__name__}, not text")
    if not word.strip():
        raise _bad(place, f"word {number} is empty")
    if any("\ud800" <= character <= "\udfff" for character in word):
        raise _bad(place, f"word {number} holds half a character (a lone surrogate)")
    return word


def _tag(tag: object, number: int, place: str) -> int:
    if type(tag) is int and tag in range(len(TAGS)):  # bool is an int to isinstance, never a tag
        return tag
    if isinstance(tag, str) and tag in TAGS:
        return TAGS.index(tag)
    raise _bad(place, f"tag {number} is {tag!r}, which is unknown")


def _check_begun(words: tuple[str, ...], tags: tuple[int, ...], place: str) -> None:
    """Every entity begins with B-, as on the hub."""
    before = ""
    for number, (word, tag) in enumerate(zip(words, tags, strict=True), 1):
        name = TAGS[tag]
        if name.startswith("I-") and before[2:] != name[2:]:
            after = f"after {before}" if before else "at the beginning"
            raise _bad(
                place,
                f"tag {number} ('{word}') is {name} {after}, and an entity begins with "
                f"B-{name[2:]}; turn IOB1 tags into IOB2",
            )
        before = name


def _bad(place: str, problem: str) -> MissingData:
    """The error of one row, or of a file: where, what, and what was expected."""
    numbered = ", ".join(f"{number} {tag}" for number, tag in enumerate(TAGS))
    return MissingData(
        f"{place}: {problem}. Expected rows of CoNLL-2003 with tokens (words) and ner_tags (one a "
        f"word: {numbered}; numbers or names); replace the file."
    )
