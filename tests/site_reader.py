"""Reads pages of the site as a browser would, without one: links, names, words, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from urllib.parse import unquote

VOID = {"meta", "link", "br", "img", "input", "path", "line", "rect", "circle", "polyline"}
LINKS = {"href", "src"}
IDS = {"popovertarget", "for", "data-filter", "aria-labelledby"}


@dataclass
class Tag:
    """An element with its words."""

    name: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The elements of a page, in order; one that is not closed as it was opened is an error."""

    tags: list[Tag] = field(default_factory=list)
    open: list[Tag] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Tag(tag, {name: value or "" for name, value in attrs})
        self.tags.append(found)
        if tag not in VOID:
            self.open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(Tag(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            tag.text += data

    def all(self, name: str) -> list[Tag]:
        """The elements of this name."""
        return [tag for tag in self.tags if tag.name == name]

    @property
    def ids(self) -> list[str]:
        """Every id, in order."""
        return [tag.attributes["id"] for tag in self.tags if "id" in tag.attributes]

    def links(self) -> list[str]:
        """Everything that the page points to."""
        return [tag.attributes[name] for tag in self.tags for name in LINKS & set(tag.attributes)]

    def named_ids(self) -> list[str]:
        """The ids that the page's own attributes name."""
        found = []
        for tag in self.tags:
            for name in IDS & set(tag.attributes):
                found += tag.attributes[name].split()
        return found

    @property
    def words(self) -> str:
        """What is read, without the style and scripts."""
        return next(tag.text for tag in self.tags if tag.name == "body")

    def cell(self, id: str) -> Tag:
        """The cell of a table, by its anchor."""
        return next(tag for tag in self.tags if tag.attributes.get("id") == id)


def read(data: bytes) -> Page:
    """The page, whole."""
    page = Page()
    page.feed(data.decode())
    page.close()
    assert not page.open, f"<{page.open[-1].name}> is not closed"
    return page


def pages(files: Mapping[str, bytes]) -> dict[str, Page]:
    """Path -> page, of every HTML file."""
    return {path: read(data) for path, data in files.items() if path.endswith(".html")}


def target(path: str, link: str) -> tuple[str, str]:
    """The file and the id that a link on the page at `path` leads to."""
    file, _, anchor = link.partition("#")
    return (normpath(join(dirname(path), unquote(file))) if file else path), anchor
