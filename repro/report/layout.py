"""Columns of text that line up, on a terminal and in a Markdown file."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two spaces apart."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of a Markdown table; the first `left` columns are left-aligned, the others right."""
    widths = [max(3, *(len(row[i]) for row in [head, *rows])) for i in range(len(head))]
    rule = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return [
        "| "
        + " | ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in [head, rule, *rows]
    ]
