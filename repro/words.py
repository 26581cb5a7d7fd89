"""Numbers and runs in words for a person."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import TypeVar

from repro.spec import RunSpec

Key = TypeVar("Key")
Member = TypeVar("Member")

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that steer a terminal; text from a store may come from anybody."""


def shown(text: str) -> str:
    """The text with its control characters escaped: \\x1b."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def wrapped(text: str, width: int, indent: str = "", hang: str = "") -> list[str]:
    """Lines of at most so many characters, the further ones with `hang` before them, too. Names
    with hyphens and addresses stay whole, so that they can be copied.
    """
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + hang,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h, 4.5 d."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.1f} min"
    if seconds < 259_200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.1f} d"


def age(seconds: float) -> str:
    """How long ago, in one unit: 12 s, 5 min, 3 h, 40 d."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name}"
    return f"{max(0, int(seconds))} s"


def size(count: float) -> str:
    """1.2 GB, 340 MB, 25 KB."""
    for unit, name, digits in ((1e9, "GB", 1), (1e6, "MB", 0)):
        if count >= unit:
            return f"{count / unit:.{digits}f} {name}"
    return f"{count / 1e3:.0f} KB"


def counted(number: int, noun: str) -> str:
    """1 job, 2 jobs."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share(number: int, of: int, noun: str) -> str:
    """1 of 1 run is, 2 of 6 runs are."""
    return f"{number} of {counted(of, noun)} {'is' if of == 1 else 'are'}"


def either(values: Iterable[object]) -> str:
    """Each once, in order: "8, 64 or 256"."""
    *most, last = map(str, dict.fromkeys(values))
    return f"{', '.join(most)} or {last}" if most else last


def grouped(pairs: Iterable[tuple[Key, Member]]) -> dict[Key, list[Member]]:
    """Key -> what has it, both in order."""
    found: dict[Key, list[Member]] = {}
    for key, member in pairs:
        found.setdefault(key, []).append(member)
    return found


def run_name(spec: RunSpec) -> str:
    """attention-resnext b100 on MiniLM-L6, seed 0; 3-shared m64 on cola, MiniLM-L6, ..."""
    name, where = spec.method.label(), spec.backbone.name
    if spec.task.noun != "questions":
        rate, long = spec.recipe.learning_rate, training_length(spec)
        drawn = f" ({spec.task.drawn})" if spec.task.drawn else ""
        where = f"{_task(spec)}{drawn}, {where}, rate {rate:g}, {long}"
    return shown(f"{name} on {where}, seed {spec.seed}")


def training_length(spec: RunSpec) -> str:
    """5 epochs; of a run that counts steps 65,536 steps."""
    recipe = spec.recipe
    if recipe.look_steps is None:
        return counted(recipe.epochs, "epoch")
    return f"{recipe.steps or recipe.epochs * recipe.look_steps:,} steps"


def _task(spec: RunSpec) -> str:
    """cola; of a mixture 8 tasks."""
    tasks = spec.task.names
    return tasks[0] if len(tasks) == 1 else counted(len(tasks), "task")
