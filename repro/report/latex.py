"""A table as LaTeX, as a paper of two columns prints it: short caption, notes below, 8 pt type.

A table that is wider than a page is cut by columns, one that is longer by parts or rows: it is
never scaled down.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby

from repro.report.captions import caption
from repro.report.render import GAP, Grid, Layout, lay_out, number, without_difference
from repro.report.view import TableView
from repro.stats.verdicts import MEANINGS
from repro.words import counted

NEEDS = ("booktabs", "threeparttable")
"""Packages that the document of a table loads; pdflatex in any encoding of fonts."""
SIZE = r"\fontsize{8}{9.5}\selectfont"
ONE_COLUMN, TWO_COLUMNS = 219.0, 450.0
"""Points across a column and across a page of a paper of two columns (ACL: 219 and 455)."""
MOST_LINES = 46
"""Lines of 9.5 pt that a page holds beside caption and notes."""
GAP_WIDTH = 6.0
"""Points between two columns."""
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
    "Δ": r"\ensuremath{\Delta}",
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


def latex(view: TableView, name: str, layout: Layout | None = None) -> str:
    """The table called `name`, to be read into a document with \\input; `layout`: see `LAYOUTS`."""
    parts, said = list(_parts(view, layout)), view.table.title
    if view.table.scores:
        model, many = view.lead.backbone.name, counted(view.request.seeds, "seed")
        said += f": {view.request.scale} scale, {model}, {many}"
    lines = [rf"% Needs \usepackage{{{','.join(NEEDS)}}}"]
    for place, (section, part) in enumerate(parts):
        named = f": {section}" * bool(section)
        above = [
            rf"\caption[{escape(view.table.title)}]{{{escape(said + named)}.}}",
            rf"\label{{{label(name)}}}",
        ]
        if place:
            above = [rf"Table~\ref{{{label(name)}}}, continued{escape(named)}.\par\smallskip"]
        notes = _notes(view, [part for _, part in parts], layout) if place == len(parts) - 1 else []
        lines += floated(part, above, notes)
    return "\n".join(lines) + "\n"


def _parts(view: TableView, layout: Layout | None) -> Iterator[tuple[str, Grid]]:
    """The table cut to pages, each with the name of its part: by parts, by rows, by columns."""
    transposed = view.table.transposed
    found = view.records
    whole = lay_out(found, transposed, layout)
    sections = list(dict.fromkeys(cell["section"] for cell in found))
    if transposed or len(sections) == 1 or len(whole.lines) <= MOST_LINES:
        pages = [(sections[0] if len(sections) == 1 else None, whole)]
    else:
        of = {one: [own for own in found if own["section"] == one] for one in sections}
        pages = [(section, lay_out(own, False, layout)) for section, own in of.items()]
    for section, page in pages:
        for rows in _by_rows(page.short(section)):
            for columns in _by_columns(rows):
                yield section or "", columns


def _by_rows(page: Grid) -> Iterator[Grid]:
    """About as many lines at a time, no more than a page holds; a row's lines stay together."""
    rows = [tuple(own) for _, own in groupby(page.lines, key=lambda line: line.name)]
    pages = -(-len(page.lines) // MOST_LINES)
    size = -(-len(rows) // max(pages, 1))
    for at in range(0, len(rows), size):
        yield replace(page, lines=tuple(chain.from_iterable(rows[at : at + size])))


def _by_columns(page: Grid) -> Iterator[Grid]:
    """As many columns at a time as a page is wide, about the same number each time."""
    fixed = max(_width(line.name) for line in page.lines) + GAP_WIDTH
    fixed += (max(_width(line.kind) for line in page.lines) + GAP_WIDTH) * page.kinds
    widths = [
        max(_width(name), *(_width(line.texts[place]) for line in page.lines)) + GAP_WIDTH
        for place, name in enumerate(page.columns)
    ]
    room = TWO_COLUMNS - fixed
    chunks = max(1, -int(-math.fsum(widths) // max(room, 1.0)))
    while True:
        size = -(-len(widths) // chunks)
        starts = range(0, len(widths), size)
        if size == 1 or all(math.fsum(widths[at : at + size]) <= room for at in starts):
            break
        chunks += 1
    for at in starts:
        yield page.only(range(at, min(at + size, len(widths))))


def _width(text: str) -> float:
    """Points of a text in 8 pt Computer Modern, or a little more."""
    wide, narrow = "±—%+†mMwW", " .,:;|il()'-"
    return math.fsum(
        6.4 if letter in wide else 2.8 if letter in narrow else 5.9 if letter.isupper() else 4.25
        for letter in text
    )


def floated(page: Grid, above: Sequence[str], notes: Sequence[str]) -> list[str]:
    """A float as wide as one column of a paper, or as two."""
    columns = zip(page.head(), *page.body(), strict=True)
    wide = math.fsum(max(map(_width, column)) + GAP_WIDTH for column in columns)
    star = "*" * (wide > ONE_COLUMN)
    below = [rf"\begin{{tablenotes}}{SIZE}"] * bool(notes)
    below += [rf"\item {escape(note)}" for note in notes]
    below += [r"\end{tablenotes}"] * bool(notes)
    return [
        rf"\begin{{table{star}}}[tp]",
        rf"\centering{SIZE}\setlength{{\tabcolsep}}{{{GAP_WIDTH / 2:g}pt}}",
        r"\begin{threeparttable}",
        *above,
        *_tabular(page),
        *below,
        r"\end{threeparttable}",
        rf"\end{{table{star}}}",
    ]


def _tabular(page: Grid) -> list[str]:
    """The table itself, the best number of each column in bold, with a little room before a row."""
    import pandas

    lead = 1 + page.kinds
    # the library calls `str.format` on labels
    heads = [escape(text).replace("{", "{{").replace("}", "}}") for text in page.head()]
    frame = pandas.DataFrame([list(map(cell, line)) for line in page.body()])
    bold = pandas.DataFrame([(*[False] * lead, *line.best) for line in page.lines])
    styled = (
        frame.style.hide(axis="index")
        .relabel_index(heads, axis=1)
        .apply(lambda _: bold.map(lambda best: "textbf:--rwrap;" if best else ""), axis=None)
    )
    text = styled.to_latex(hrules=True, column_format="l" * lead + "r" * len(page.columns))
    head, rule, rest = text.partition("\\midrule\n")
    body, bottom, end = rest.partition("\\bottomrule")
    rows = body.splitlines()
    for place in range(len(rows) - 1, 0, -1):
        if page.lines[place].first and page.kinds:
            rows.insert(place, r"\addlinespace[2pt]")
    return [*(head + rule).splitlines(), *rows, *(bottom + end).splitlines()]


def cell(text: str) -> str:
    """A cell: escaped, its minus sign as long as a plus sign."""
    return re.sub(r"^-(?=\d)", lambda _: r"\ensuremath{-}", escape(text))


def _notes(view: TableView, pages: Sequence[Grid], layout: Layout | None) -> list[str]:
    """What a reader needs below the table: the setting, and what its signs mean."""
    lines = [line for page in pages for line in page.lines]
    texts = {text for line in lines for text in (line.name, *line.texts)}
    spread = {"sd": "standard deviation", "population sd": "population standard deviation",
              "sem": "standard error of the mean",
              "interval": "of the paper an interval of no stated level, of ours the standard "
              "deviation"}[view.table.spread]  # fmt: skip
    said = [caption(view).removeprefix(f"{view.table.title}. ")]
    said += without_difference(view, layout)
    said += [f"±: {spread} over runs."] * any("±" in text for text in texts)
    said += ["Bold: the best reproduced score of a column."] * any(any(x.best) for x in lines)
    said += [f"†: a run collapsed, {view.table.collapse}."] * any("†" in text for text in texts)
    said += [f"{GAP}: no number."] * any(text.startswith(GAP) for text in texts)
    return said + [f"{word}: {meaning}." for word, meaning in MEANINGS.items() if word in texts]


def label(name: str) -> str:
    """What \\ref calls a table: letters, digits and dots of its name."""
    return "tab:" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


PREAMBLE = [
    r"\documentclass[10pt,twocolumn]{article}",
    r"\usepackage[T1]{fontenc}",
    r"\usepackage[utf8]{inputenc}",
    r"\usepackage[margin=2cm]{geometry}",
    *(rf"\usepackage{{{package}}}" for package in NEEDS),
    r"\begin{document}",
]


def document(names: Sequence[str]) -> str:
    """A document that reads the files of all these tables, and the commands for their numbers."""
    lines = [*PREAMBLE, r"\input{numbers.tex}", r"\listoftables", r"\clearpage"]
    for name in names:
        if READABLE.fullmatch(name):
            lines += [rf"\input{{{name}.tex}}", r"\clearpage"]
        else:
            lines.append(f"\\noindent Left out for the name of its file: {escape(name)}.\\par")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


NUMBERS = [
    r"% \repro{TABLE}{ROW}{COLUMN}: reproduced. \repro[published]{...}: printed.",
    r"% \repro[difference]{...}: reproduced minus printed. An unknown name is set as ??.",
    r"\newcommand{\repro}[4][reproduced]{\ifcsname repro:#1:#2:#3:#4\endcsname"
    r"\csname repro:#1:#2:#3:#4\endcsname\else\textbf{??}\fi}",
]


def numbers(views: Sequence[TableView]) -> str:
    """One command for each number of these tables, for the running text of a paper."""
    lines = list(NUMBERS)
    for view in views:
        for own in view.records:
            named = f"{plain(own['variant'])}:{plain(own['row'])}:{plain(own['column'])}"
            for kind, column in (("reproduced", "mean"), ("published", "published"),
                                 ("difference", "difference")):  # fmt: skip
                if own[column] is not None:
                    value = cell(number(own[column], own["digits"]))
                    called = rf"\csname repro:{kind}:{named}\endcsname"
                    lines.append(rf"\expandafter\newcommand{called}{{{value}}}")
    return "\n".join(lines) + "\n"


def plain(name: str) -> str:
    """A name as the argument of a command: signs that TeX reads as something else are dashes."""
    return re.sub(r"[^A-Za-z0-9 .,;:()+/=*'^_-]", "-", name)
