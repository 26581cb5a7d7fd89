"""A table as LaTeX with booktabs: the cells say what they say in Markdown, escaped for TeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from repro.papers.tables import Score
from repro.report.captions import caption
from repro.report.notes import notes
from repro.report.render import grid, verdict
from repro.report.view import TableView
from repro.stats.verdicts import MEANINGS
from repro.tasks.catalogue import TITLES

NEEDS = ("booktabs", "adjustbox", "float")
"""Packages that the document of a table loads; pdflatex in any encoding of fonts."""
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedblright{}",
    "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textquoteleft{}",
    "±": r"\ensuremath{\pm}", "×": r"\ensuremath{\times}", "·": r"\ensuremath{\cdot}",
    "−": r"\ensuremath{-}", "–": r"\textendash{}", "—": r"\textemdash{}",
    "†": r"\ensuremath{\dagger}", "‡": r"\ensuremath{\ddagger}",
    "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "≈": r"\ensuremath{\approx}",
    "→": r"\ensuremath{\rightarrow}", "⊕": r"\ensuremath{\oplus}",
    "√": r"\ensuremath{\surd}", "∞": r"\ensuremath{\infty}", "§": r"\S{}", "…": r"\ldots{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}", "²": r"\textsuperscript{2}", "³": r"\textsuperscript{3}",
    "α": r"\ensuremath{\alpha}", "β": r"\ensuremath{\beta}", "δ": r"\ensuremath{\delta}",
    "ε": r"\ensuremath{\varepsilon}", "λ": r"\ensuremath{\lambda}", "μ": r"\ensuremath{\mu}",
    "ρ": r"\ensuremath{\rho}", "σ": r"\ensuremath{\sigma}", "τ": r"\ensuremath{\tau}",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip
_LETTER = re.compile(r"(?s).[\u0300-\u036f]*")
"""With the accents that follow it."""
_LIGATURE = re.compile(r"--+|''+|,,+")
"""What TeX's fonts print as another sign."""
MOST_ROWS = 20
"""Rows that a page holds, three or four lines each."""
READABLE = re.compile(r"[A-Za-z0-9_+. -]+")
"""Names of files that TeX reads as they are."""


def escape(text: str) -> str:
    """Text that TeX prints as it stands; a letter that it has no sign for by its code."""
    letters = _LETTER.findall(unicodedata.normalize("NFC", " ".join(text.split())))
    escaped = "".join(map(_letter, letters))
    return _LIGATURE.sub(lambda found: f"{{{found[0][0]}}}" * len(found[0]), escaped)


def _letter(letter: str) -> str:
    """A letter with its accents, in their composed form where there is one."""
    if letter in SPECIAL:
        return SPECIAL[letter]
    if letter.isascii():
        return letter if letter.isprintable() else " "
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and re.match("[A-Za-z]", parts) and parts[1] in ACCENTS:
        return rf"\{ACCENTS[parts[1]]}{{{parts[0]}}}"
    if len(letter) > 1:
        return "".join(map(_letter, letter))
    return f"U+{ord(letter):04X}"


def number(text: str) -> str:
    """A cell: escaped, its minus sign as long as a plus sign."""
    found = escape(text)
    return re.sub(r"^-(?=\d)", lambda _: r"\ensuremath{-}", found)


def latex(view: TableView, name: str) -> str:
    """The table called `name`, to be read into a document with \\input.

    One of many rows comes section by section, a page each: all of them on one would be too small
    to read.
    """
    title = escape(view.table.title)
    said = rf"\caption[{title}]{{\textbf{{{escape(view.table.id)}.}} {escape(caption(view))}}}"
    lines = [rf"% Needs \usepackage{{{','.join(NEEDS)}}}"]
    for number, (section, part) in enumerate(_parts(view)):
        if number:
            named = rf"\textbf{{{escape(view.table.id)}}}, continued: {escape(section)}."
            said = rf"\caption[]{{{named}}}"
        lines += _float(part, [said, *[rf"\label{{{label(name)}}}"] * (not number)])
    return "\n".join([*lines, *_notes([*notes(view), *_meanings(view)])]) + "\n"


def _parts(view: TableView) -> list[tuple[str, TableView]]:
    """The whole table, or one of many rows by its sections; one printed with columns as rows by
    its tasks. Each with its name.
    """
    if view.table.transposed:
        return _by_task(view) if len(view.table.columns) > MOST_ROWS else [("", view)]
    if len(view.rows) <= MOST_ROWS:
        return [("", view)]
    sections = dict.fromkeys(row.row.section for row in view.rows)
    return [
        (section, replace(view, rows=tuple(r for r in view.rows if r.row.section == section)))
        for section in sections
    ]


def _by_task(view: TableView) -> list[tuple[str, TableView]]:
    """The columns of each task; what is of no task stands with those before it."""
    of: list[str] = []
    for column in view.table.columns:
        of.append(column.task if isinstance(column, Score) else of[-1] if of else "")
    return [(TITLES.get(task, task), _columns(view, of, task)) for task in dict.fromkeys(of)]


def _columns(view: TableView, of: Sequence[str], task: str) -> TableView:
    kept = [place for place, own in enumerate(of) if own == task]
    columns = tuple(view.table.columns[place] for place in kept)
    rows = (replace(row, cells=tuple(row.cells[place] for place in kept)) for row in view.rows)
    return replace(view, table=replace(view.table, columns=columns), rows=tuple(rows))


def _float(view: TableView, caption: Sequence[str]) -> list[str]:
    head, body = grid(view)
    return [
        r"\begin{table}[H]",
        r"\centering\footnotesize",
        *caption[:-1],
        caption[-1] + r"\medskip",
        r"\begin{adjustbox}{max width=\linewidth, max totalheight=0.7\textheight}",
        rf"\begin{{tabular}}{{@{{}}ll{'r' * (len(head) - 2)}@{{}}}}",
        r"\toprule",
        _row(head),
        r"\midrule",
        *_spaced(body),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{adjustbox}",
        r"\end{table}",
    ]


def label(name: str) -> str:
    """What \\ref calls a table: letters, digits and dots of its name."""
    return "tab:" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def document(names: Sequence[str]) -> str:
    """A document of these tables, which stand beside it; `names` without ending.

    A name that TeX would read as a command is left out, and said so.
    """
    lines = [
        r"\documentclass{article}",
        r"\usepackage[margin=2cm]{geometry}",
        *(rf"\usepackage{{{package}}}" for package in NEEDS),
        r"\begin{document}",
    ]
    for name in names:
        if READABLE.fullmatch(name):
            lines += [rf"\input{{{name}.tex}}", r"\clearpage"]
        else:
            lines.append(f"\\noindent Left out for the name of its file: {escape(name)}.\\par")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(number, cells)) + r" \\"


def _spaced(body: Sequence[Sequence[str]]) -> list[str]:
    """The lines, with a little room before each that begins a row."""
    found: list[str] = []
    for line in body:
        if line[0] and found:
            found.append(r"\addlinespace")
        found.append(_row(line))
    return found


def _meanings(view: TableView) -> list[str]:
    """What the verdicts in the table mean."""
    words = {verdict(cell) for row in view.rows for cell in row.cells}
    return [f"{word}: {meaning}." for word, meaning in MEANINGS.items() if word in words]


def _notes(said: Sequence[str]) -> list[str]:
    """A list below the table, which may go on on the next page."""
    if not said:
        return []
    items = [rf"\item {escape(note)}" for note in said]
    return [
        r"\begingroup\footnotesize\sloppy\renewcommand{\labelitemi}{\ensuremath{\bullet}}",
        r"\begin{itemize}\setlength{\itemsep}{0pt}",
        *items,
        r"\end{itemize}",
        r"\endgroup",
    ]
