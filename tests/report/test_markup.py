"""Text in a Markdown page reads as it stands, by the parser of another project."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from repro.report.layout import alternative, markdown_table, prose

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NAMES = st.text(st.sampled_from("ab_1 *|<>&;#[](){}!~\\:=/.-±é"), min_size=1).map(
    lambda text: " ".join(text.split())
)


def shown(page: str) -> list[str]:
    """The plain text of each block of a page; anything else in it is an error."""
    texts = []
    for token in PARSER.parse(page):
        assert token.type != "html_block", page
        for child in token.children or []:
            assert child.type in ("text", "text_special"), (child.type, page)
        if token.type == "inline":
            texts.append("".join(child.content for child in token.children or []))
    return texts


@given(NAMES)
@example("a|b")
@example("<b>bold</b>")
@example("*a* __b__ ~~c~~ [d](e) &lt; \\| snake_case")
def test_a_name_reads_as_it_stands_in_a_sentence_and_in_a_cell(name: str) -> None:
    assert shown(prose(f"Encoder: {name}, 6 layers")) == [f"Encoder: {name}, 6 layers"]
    lines = markdown_table(["Model", name], [[name, "1"], ["x", name]], left=1)
    assert shown("\n".join(lines)) == ["Model", name, name, "1", "x", name]


@given(NAMES)
def test_a_name_does_not_end_the_alternative_text_of_a_picture(name: str) -> None:
    (paragraph,) = (t for t in PARSER.parse(f"![{alternative(name)}](a.png)") if t.children)
    (picture,) = paragraph.children or []
    assert picture.type == "image"
    assert "".join(child.content for child in picture.children or []) == name


@pytest.mark.parametrize("text", ["see `a | <b>` there", "`--set x_y=*`"])
def test_code_stays_code(text: str) -> None:
    assert prose(text) == text
