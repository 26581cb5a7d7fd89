"""Whether rows are what a set's rows have to be: each one, then all of a split together.

A raw row comes with its place ("train.csv, line 7") and leaves as the set's owner writes it: the
fields that are read, in their order, a class as its published number. A class may be given by its
published name instead; any other name, type or number is refused, never guessed. Tags are IOB2, as
the hub's version of CoNLL-2003 has them: an entity begins with B-. The files of 2003 are IOB1 (I-
begins an entity, too) and are refused, not mended: in a file that claims to be IOB2, such a tag may
as well be a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro.errors import MissingData
from repro.spec.facts import Facts

WITHHELD = -1
MOST_NAMED = 20
"""Labels that an error lists."""
LOST = ("None", "nan", "NaN", "<NA>")
"""What Python and pandas write for a text that is missing."""
PUBLISHED_EMPTY = {("qqp", "train", 310_137), ("qqp", "train", 362_246)}
"""(task, split, idx) of the published rows whose second question is empty (github
huggingface/datasets, issue 277)."""

Row = dict[str, Any]


class Fault(Exception):
    """What is wrong with a row."""


@dataclass
class Checker:
    """Checks the splits of one set, one after the other; ids and labels' texts hold for all."""

    facts: Facts
    ids: dict[str, str] = field(default_factory=dict)
    """Of a row -> where it stands."""
    names: dict[int | float, Any] = field(default_factory=dict)
    """Label -> its text."""

    def rows(self, split: str, found: Iterable[tuple[Any, str]]) -> list[Row]:
        """The rows of a split, in their order.

        Raises MissingData, with the place and what was expected, for a field that is missing, null
        or of a wrong type, an unknown label, an empty text, an answer that does not stand where it
        should, an id that stands twice, or a label's text that contradicts an earlier one.
        """
        seen, made = set[int](), []
        for raw, place in found:
            try:
                made.append(self._checked(raw, split, place, seen))
            except Fault as fault:
                raise bad_row(self.facts, place, str(fault)) from fault
        return made

    def _checked(self, raw: object, split: str, place: str, seen: set[int]) -> Row:
        row = _whole(raw, self.facts)
        if "idx" in self.facts.required:
            _check_idx(row["idx"], seen)
        row |= _KINDS[self.facts.kind](row, self.facts, split)
        self._check_id(row.get("id"), place)
        self._check_name(row.get("label_text"), row[self.facts.label])
        return row

    def _check_id(self, id: object, place: str) -> None:
        if id is None:
            return
        if type(id) not in (int, str):
            raise Fault(f"the id is of type {type(id).__name__}")
        first = self.ids.setdefault(str(id), place)
        if first != place:
            raise Fault(f"the id {id} stands twice (first: {first})")

    def _check_name(self, name: object, label: Any) -> None:
        """A label has one text, and a text one label, all through the set."""
        if name is None or not self.facts.labels or label == WITHHELD:
            return
        if label not in self.names and name in self.names.values():
            other = next(number for number, known in self.names.items() if known == name)
            raise Fault(f"'{name}' is the label {label}, and was {other} before")
        known = self.names.setdefault(label, name)
        if known != name:
            raise Fault(f"the label {label} is '{name}', and was '{known}' before")


def check_usable(rows: Sequence[Row], facts: Facts, split: str, place: str) -> None:
    """Raises MissingData, which names `place`, for a split that nothing can be learned from.

    That is one without rows, without an entity, or of one class; of a test set whose labels may be
    withheld only the first. Questions may be few: the draw says where none is left.
    """
    if facts.kind == "questions":
        return
    labels = [row[facts.label] for row in rows]
    if facts.kind == "tags" and rows and not any(map(any, labels)):
        raise bad_row(facts, place, "every word is O, so there is no entity to learn or to find")
    if not rows or (facts.kind == "sentences" and not may_be_withheld(facts, split)):
        check_labels(labels, facts, place)


def check_labels(labels: Sequence[int | float], facts: Facts, place: str, part: str = "") -> None:
    """Raises MissingData for no row, one row, or rows of one label only.

    `part` names the rows for the reader: "validation ".
    """
    if not labels:
        raise bad_row(facts, place, f"it has no {part}rows")
    if len(labels) == 1:
        raise bad_row(facts, place, f"it has one {part}row only, and needs at least two")
    if len(set(labels)) == 1:
        named = named_label(facts, labels[0])
        raise bad_row(facts, place, f"every {part}row has the label {named}")


def may_be_withheld(facts: Facts, split: str) -> bool:
    """Whether a label of the split may be -1: that of a test set which is not scored."""
    return split.startswith("test") and split not in facts.evaluation


def named_label(facts: Facts, label: int | float) -> str:
    """A label for a reader: "1 (entailment)", or the number of a similarity."""
    return f"{label} ({facts.labels[int(label)]})" if facts.labels else str(label)


def bad_row(facts: Facts, place: str, problem: str) -> MissingData:
    """The error of one row, or of a file: where, what, and what was expected."""
    fields = ", ".join(name for name in facts.required if name != facts.label)
    return MissingData(
        f"{place}: {problem}. Expected rows of {facts.title} with {fields} and {facts.label} "
        f"({_expected(facts)}); replace the file by the published one."
    )


def _expected(facts: Facts) -> str:
    if facts.kind == "questions":
        return "text and answer_start, a list each"
    labels = [named_label(facts, number) for number in range(len(facts.labels))]
    if facts.kind == "tags":
        return f"one a word: {', '.join(labels)}; numbers or names"
    if len(labels) > MOST_NAMED:
        labels = [*labels[:MOST_NAMED], f"... to {len(facts.labels) - 1}"]
    least, most = facts.bounds
    return f"one of {', '.join(labels)}" if labels else f"a number from {least:g} to {most:g}"


def _whole(raw: object, facts: Facts) -> Row:
    """The fields of a row that are read, in their order."""
    if not isinstance(raw, Mapping):
        raise Fault(f"the row is of type {type(raw).__name__}, not an object")
    missing = [f"'{name}'" for name in facts.required if raw.get(name) is None]
    if missing:
        found = ", ".join(map(str, raw)) or "nothing"
        are = "is" if len(missing) == 1 else "are"
        raise Fault(f"{' and '.join(missing)} {are} missing or null (the row has {found})")
    return {name: raw[name] for name in facts.known if name in raw}


def _check_idx(idx: object, seen: set[int]) -> None:
    if type(idx) is not int or not 0 <= idx < 2**63:
        raise Fault(f"'idx' is {idx!r}, not a number of a row")
    if idx in seen:
        raise Fault(f"the idx {idx} stands twice")
    seen.add(idx)


def _check_text(text: object, name: str, *, may_be_empty: bool = False) -> None:
    """Raises Fault for what is no text, or can be no published one."""
    if not isinstance(text, str):
        raise Fault(f"{name} is of type {type(text).__name__}, not text")
    if not text.strip() and not may_be_empty:
        raise Fault(f"{name} is empty")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Fault(f"{name} holds half a character (a lone surrogate)") from error
    if "\0" in text:
        raise Fault(f"{name} holds a NUL character")


def _check_texts(row: Row, facts: Facts, *, may_be_empty: bool = False) -> None:
    for name in facts.texts:
        _check_text(row[name], f"'{name}'", may_be_empty=may_be_empty)
        if row[name] in LOST:
            raise Fault(f"'{name}' is '{row[name]}', as a missing text is written")


def _sentences(row: Row, facts: Facts, split: str) -> Row:
    empty = (facts.name, split, row.get("idx")) in PUBLISHED_EMPTY
    _check_texts(row, facts, may_be_empty=empty)
    return {facts.label: _label(row[facts.label], facts, split)}


def _label(label: Any, facts: Facts, split: str) -> int | float:
    """The number of a class, which may be given by name, or that of a similarity."""
    if isinstance(label, str) and facts.labels:
        if label not in facts.labels:
            raise Fault(f"the label {label!r} is unknown")
        return facts.labels.index(label)
    kinds = (int,) if facts.labels else (int, float)
    if type(label) not in kinds:  # bool is an int to isinstance, never a label
        raise Fault(f"the label {label!r} is of type {type(label).__name__}")
    withheld = label == WITHHELD
    least, most = facts.bounds
    known = label in range(len(facts.labels)) if facts.labels else least <= label <= most
    if not known and not (withheld and may_be_withheld(facts, split)):
        why = " (withheld, as only a test set's may be)" if withheld else ""
        raise Fault(f"the label {label} is unknown{why}")
    return int(label) if facts.labels else float(label)


def _tags(row: Row, facts: Facts, split: str) -> Row:
    words, tags = (_list(row[name], name) for name in facts.required)
    for number, word in enumerate(words, 1):
        _check_text(word, f"word {number}")
    numbers = [_tag(tag, number, facts) for number, tag in enumerate(tags, 1)]
    if len(words) != len(numbers):
        raise Fault(f"{len(words)} words have {len(numbers)} tags")
    before = ""
    for number, (word, tag) in enumerate(zip(words, numbers, strict=True), 1):
        name = facts.labels[tag]
        if name.startswith("I-") and before[2:] != name[2:]:
            after = f"after {before}" if before else "at the beginning"
            raise Fault(
                f"tag {number} ('{word}') is {name} {after}, and an entity begins with "
                f"B-{name[2:]}; turn IOB1 tags into IOB2"
            )
        before = name
    return {facts.label: numbers}


def _list(found: Any, name: str) -> list[Any]:
    if not isinstance(found, list):
        raise Fault(f"'{name}' is of type {type(found).__name__}, not a list")
    if not found:
        raise Fault(f"'{name}' is empty")
    return found


def _tag(tag: Any, number: int, facts: Facts) -> int:
    if type(tag) is int and tag in range(len(facts.labels)):  # bool is an int to isinstance
        return tag
    if isinstance(tag, str) and tag in facts.labels:
        return facts.labels.index(tag)
    raise Fault(f"tag {number} is {tag!r}, which is unknown")


def _questions(row: Row, facts: Facts, split: str) -> Row:
    _check_texts(row, facts)
    answers = row[facts.label]
    if not isinstance(answers, Mapping):
        raise Fault(f"'{facts.label}' is of type {type(answers).__name__}, not an object")
    texts = _items(answers, "text", str, facts)
    starts = _items(answers, "answer_start", int, facts)
    if len(texts) != len(starts):
        raise Fault(f"it has {len(texts)} answer texts but {len(starts)} answer starts")
    if not texts and not any(facts.unanswerable.values()):
        raise Fault(
            f"the question {row['id']} has no answer, and every question of {facts.title} has an "
            "answer"
        )
    for text, start in zip(texts, starts, strict=True):
        _check_answer(row["context"], text, start)
    return {facts.label: {"text": texts, "answer_start": starts}}


def _items(answers: Mapping[str, Any], name: str, kind: type, facts: Facts) -> list[Any]:
    values = answers.get(name)
    # bool is an int to Python, never an answer start
    if not isinstance(values, list) or any(type(value) is not kind for value in values):
        raise Fault(f"'{facts.label}.{name}' is not a list of {kind.__name__}")
    return values


def _check_answer(context: str, answer: str, start: int) -> None:
    if not answer:
        raise Fault("an answer is empty (an unanswerable question has no answers at all)")
    if not 0 <= start < len(context):
        raise Fault(
            f"answer start {start} lies outside the context, which has {len(context)} characters"
        )
    there = context[start : start + len(answer)]
    if there != answer:
        # Copies written by `datasets` before 1.10 lost the contexts' leading spaces
        # (huggingface/datasets#2585), which moves every answer of such a paragraph.
        raise Fault(f"the context has '{there}' at {start}, not the answer '{answer}'")


_KINDS: dict[str, Callable[[Row, Facts, str], Row]] = {
    "sentences": _sentences,
    "questions": _questions,
    "tags": _tags,
}
