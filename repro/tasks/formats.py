"""A split's file as raw rows, each with its place for errors: whatever format a person has.

JSON Lines (also gzipped), JSON, CSV, TSV, parquet, and folders that `datasets` saved. Nothing is
said here of what a row has to hold, which `checks.py` does; a format's own rules are kept strictly:
UTF-8 without a byte-order mark, a key once in a row, finite numbers, as many cells as columns.
Imports pyarrow where a file needs it, and never `datasets`: a plan identifies files with it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import MissingData, first_line
from repro.spec.facts import Facts
from repro.strict import no_constant, number_of, unique_keys

if TYPE_CHECKING:
    import pyarrow as pa

LINES = (".jsonl.gz", ".jsonl")
SUFFIXES = (*LINES, ".json", ".csv", ".tsv", ".parquet")
NUMBERS = ("label", "relatedness_score", "idx", "id")
"""Columns of a table of texts whose cells may be numbers, unless the set calls them texts."""
NESTED = ("answers", "tokens", "ner_tags")
"""Columns of a table of texts whose cells are JSON."""
STRICT: dict[str, Any] = {"object_pairs_hook": unique_keys, "parse_constant": no_constant}
"""How `json.loads` reads a row."""
BOM = b"\xef\xbb\xbf"
UNREADABLE = (OSError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What the parts of a damaged table raise, beside pyarrow's own."""
_WHOLE = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_SPACE = re.compile(r"[ \t\r\n]*")

Rows = Iterator[tuple[Any, str]]
"""(row, its place: "train.csv, line 7")."""


def split_files(folder: Path, split: str) -> list[Path]:
    """What holds the rows of a split: the files of its name, or the folder that was saved so."""
    named = [folder / f"{split}{suffix}" for suffix in SUFFIXES]
    found = [path for path in named if path.is_file()]
    return [*found, folder / split] if (folder / split).is_dir() else found


def is_lines(path: Path) -> bool:
    """Whether the file is JSON Lines, whose bytes identify its rows."""
    return path.name.endswith(LINES)


def content(path: Path, mend: str) -> bytes:
    """The file's decompressed bytes; raises MissingData, which ends in `mend`, if damaged."""
    try:
        found = path.read_bytes()
        return gzip.decompress(found) if path.suffix == ".gz" else found
    except (OSError, EOFError, zlib.error) as error:
        raise MissingData(f"{path} cannot be read ({error}). {mend}") from error


def raw_rows(path: Path, facts: Facts, mend: str, name: str = "") -> Rows:
    """The rows of a file as they stand, called `name` in errors (default: its path).

    Raises MissingData with the place of what is damaged, or is not the format that the name says.
    """
    name = name or str(path)
    if path.is_dir() or path.suffix == ".parquet":
        return _table_rows(path, facts, name, mend)
    if is_lines(path):
        return json_rows(content(path, mend), name)
    text = _text(content(path, mend), name)
    if path.suffix == ".json":
        return _json(text, name)
    return _cells(text, facts, name, "\t" if path.suffix == ".tsv" else ",")


def json_rows(content: bytes, name: str) -> Rows:
    """The rows of a .jsonl file called `name`.

    Raises MissingData for a line that is not UTF-8, no strict JSON, or gives a key twice.
    """
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        text = _text(line, place, of="the line")
        try:
            yield json.loads(text, **STRICT), place
        except (ValueError, RecursionError) as error:
            raise _not("JSON", place, error) from error


def _not(form: str, place: str, error: Exception | str) -> MissingData:
    said = error if isinstance(error, str) else first_line(error)
    return MissingData(f"{place}: not {form} ({said}). Replace the file by the published one.")


def _text(content: bytes, place: str, of: str = "the file") -> str:
    """The content as text; raises MissingData for a byte-order mark, and for other than UTF-8."""
    if content.startswith(BOM):
        raise MissingData(f"{place}: a byte-order mark. Save the file as UTF-8 without one.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        begin = content.rfind(b"\n", 0, error.start) + 1
        place = f"{place}, line {line}" if of == "the file" else place
        raise MissingData(
            f"{place}: not UTF-8 (byte {error.start - begin + 1} of the line is "
            f"0x{content[error.start]:02x}). Replace the file by the published one."
        ) from error


def _json(text: str, name: str) -> Rows:
    """Of a .json file: a list of rows, or one row a line."""
    if not text.lstrip().startswith("["):
        yield from json_rows(text.encode(), name)
        return
    decoder = json.JSONDecoder(**STRICT)
    at, number, place = text.index("[") + 1, 0, name
    while True:
        at = _after(text, at)
        if text[at : at + 1] == "]" and not number:
            break
        number += 1
        place = f"{name}, row {number} (line {text.count(chr(10), 0, at) + 1})"
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _not("JSON", place, error) from error
        yield row, place
        at = _after(text, at)
        mark, at = text[at : at + 1], at + 1
        if mark == "]":
            at -= 1
            break
        if mark != ",":
            raise _not("JSON", place, "',' or ']' has to follow")
    if text[at + 1 :].strip():
        raise _not("JSON", name, "more follows the list of rows")


def _after(text: str, at: int) -> int:
    """Where the white space ends that stands at a place."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _cells(text: str, facts: Facts, name: str, delimiter: str) -> Rows:
    """Of a table of texts, whose first line names the columns."""
    before = csv.field_size_limit(len(text) + 1)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        lines, begins = [], 1
        for cells in reader:
            lines.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error as error:
        kind = "TSV" if delimiter == "\t" else "CSV"
        raise _not(kind, f"{name}, line {reader.line_num}", error) from error
    finally:
        csv.field_size_limit(before)
    if not lines:
        return
    _, columns = lines[0]
    check_columns(facts, columns, f"{name}, line 1")
    for number, cells in lines[1:]:
        if not cells:
            continue
        place = f"{name}, line {number}"
        if len(cells) != len(columns):
            problem = f"{len(cells)} cells of {len(columns)} columns"
            raise _not("a row of the table", place, problem)
        found = zip(columns, cells, strict=True)
        yield {column: _cell(cell, column, facts, place) for column, cell in found}, place


def _cell(cell: str, column: str, facts: Facts, place: str) -> Any:
    if column in NESTED:
        try:
            return json.loads(cell, **STRICT) if cell else None
        except (ValueError, RecursionError) as error:
            raise _not("JSON", f"{place}, '{column}'", error) from error
    if column not in NUMBERS or column in facts.texts:
        return cell
    if not cell:
        return None
    if _WHOLE.fullmatch(cell):
        return int(cell)
    number = number_of(cell)
    return cell if number is None else number


def check_columns(facts: Facts, columns: Sequence[str], place: str) -> None:
    """Raises MissingData for a table that names a column twice, or lacks one."""
    twice = {f"'{name}'" for name in columns if list(columns).count(name) > 1}
    absent = [f"'{name}'" for name in facts.required if name not in columns]
    if twice or absent:
        problem = f"{' and '.join(sorted(twice) or absent)} {'twice' if twice else 'missing'}"
        raise MissingData(
            f"{place}: {problem} among the columns {', '.join(columns)}. Expected are "
            f"{', '.join(facts.required)} of {facts.title}."
        )


def _table_rows(path: Path, facts: Facts, name: str, mend: str) -> Rows:
    """Of a parquet file, or of a folder that `Dataset.save_to_disk` wrote."""
    import pyarrow as pa

    try:
        table, features = _saved(path) if path.is_dir() else _parquet(path)
        check_columns(facts, table.column_names, name)
        table = table.select([n for n in table.column_names if n in facts.known])
        table.validate(full=True)
        rows, classes = _shortest(table).to_pylist(), _classes(dict(features).get(facts.label))
    except (*UNREADABLE, pa.ArrowException) as error:
        raise MissingData(f"{name} cannot be read ({first_line(error)}). {mend}") from error
    for number, row in enumerate(rows, start=1):
        place = f"{name}, row {number}"
        if classes is not None:
            row[facts.label] = _named(row[facts.label], classes, facts, place)
        yield row, place


def _parquet(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The table, and the features that `datasets` noted in it."""
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(path).read()
    noted = (table.schema.metadata or {}).get(b"huggingface")
    return table, json.loads(noted)["info"]["features"] if noted else {}


def _saved(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The same of a folder; its files are those that its state names."""
    import pyarrow as pa

    state = json.loads((path / "state.json").read_bytes())
    info = json.loads((path / "dataset_info.json").read_bytes())
    parts = [path / Path(part["filename"]).name for part in state["_data_files"]]
    tables = [pa.ipc.open_stream(part.read_bytes()).read_all() for part in parts]
    return pa.concat_tables(tables), info["features"]


def _shortest(table: pa.Table) -> pa.Table:
    """Numbers of 32 bits as the shortest decimals that name them: 3.8, not 3.799999952316284."""
    import numpy as np
    import pyarrow as pa

    for place, column in enumerate(table.schema):
        if column.type == pa.float32():
            found = table[place].to_pylist()
            values = [None if value is None else float(str(np.float32(value))) for value in found]
            table = table.set_column(place, column.name, pa.array(values, pa.float64()))
    return table


def _classes(feature: Any) -> list[str] | None:
    """The names of a column's classes, or of those in its lists; None where it has none."""
    while isinstance(feature, list) and feature:
        feature = feature[0]
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        return list(feature["names"])
    return _classes(feature.get("feature"))


def _named(value: Any, classes: Sequence[str], facts: Facts, place: str) -> Any:
    """A class's name, as the set's owner has it, for its number in a table; for each of a list."""
    if isinstance(value, list):
        return [_named(one, classes, facts, place) for one in value]
    if type(value) is not int or value == -1:
        return value
    if value not in range(len(classes)):
        raise MissingData(
            f"{place}: the label {value} is none of the table's own {len(classes)} classes. "
            "Replace the file by the published one."
        )
    name = classes[value]
    return dict(zip(facts.hub_labels, facts.labels, strict=False)).get(name, name)
