"""Columns of text that line up, on a terminal and in a Markdown file; text escaped for Markdown;
the templates of pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKUP = re.compile(r"\\|\*|(?<![^\W_])_|_(?![^\W_])|~(?=~)|\](?=[(\[:])|`")
"""What Markdown would take for an escape, emphasis, struck-out text, a link or code; of
`snake_case` and an interval [0, 1] nothing.
"""
_BRACKETS = re.compile(_MARKUP.pattern + r"|[\[\]]")
LABEL_MARK = re.compile(r"\^(?P<high>\w+)|_(?P<low>[A-Z]{2,}|\d+)\b")
"""What stands high or low in a row's or column's name: ^uni, _BASE."""
_ENTITY = re.compile(r"&(?=#?\w+;)")


def prose(text: str) -> str:
    """Text that a Markdown page shows as it stands; only code between backticks stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if i % 2 else _escaped(part, _MARKUP) for i, part in enumerate(parts))


def alternative(text: str) -> str:
    """The alternative text of a picture, whose brackets must not end it."""
    return _escaped(text, _BRACKETS)


class Markdown(str):
    """Text that is Markdown already, so that a table does not escape it."""


def link(text: str, target: str) -> str:
    """A link to a file, relative to the page that it stands on."""
    return f"[{alternative(text)}]({quote(target)})"


def plain_label(text: str) -> str:
    """A row's or column's name without the papers' marks: "Adapters † BASE" of "Adapters
    dagger_BASE", "AA-focused uni" of "AA-focused^uni".
    """
    return LABEL_MARK.sub(r" \g<high>\g<low>", text.replace("dagger", "†"))


def _escaped(text: str, markup: re.Pattern[str]) -> str:
    return markup.sub(r"\\\g<0>", _ENTITY.sub("&amp;", text)).replace("<", "&lt;")


def cell(text: str) -> str:
    """Text in a cell of a Markdown table: on one line, without a bar that would end the cell."""
    if isinstance(text, Markdown):
        return text
    return prose(" ".join(text.split())).replace("|", "\\|")


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two spaces apart."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of a Markdown table of plain text; the first `left` columns are left-aligned, the
    others right.
    """
    from tabulate import tabulate

    cells = [[cell(one) for one in row] for row in [head, *rows]]
    text: str = tabulate(
        cells[1:],
        headers=cells[0],
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if place < left else "right" for place in range(len(head))],
    )
    return text.splitlines()


def prose_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table whose cells are sentences: left-aligned and not padded."""
    lines = [[cell(one) for one in row] for row in [head, *rows]]
    lines.insert(1, ["---"] * len(head))
    return [f"| {' | '.join(line)} |" for line in lines]


def templates(package: str, **options: Any) -> Environment:
    """The templates of a package, with Jinja's `options`; a name that is not given is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
