"""Odd and damaged files of every format: the right rows, or one error that names file and place.

Each case is a training file of RTE as a person might have it, with what must come of it, written by
hand: the labels that are read, or what is said. A good validation file lies beside it.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from format_samples import lines, save, table, write_parquet
from glue_samples import row, rows

from repro.errors import MissingData
from repro.spec.facts import KNOWN
from repro.tasks.rows import data_revision, load

A = '{"sentence1": "One.", "sentence2": "Two.", "label": 0, "idx": 0}'
B = '{"sentence1": "Three.", "sentence2": "Four.", "label": 1, "idx": 1}'
HEAD = "sentence1,sentence2,label,idx\n"
packed = partial(gzip.compress, mtime=0)  # the same bytes in all processes
Case = tuple[bytes, list[int] | str]
"""(content, the labels that are read or what is said)"""


def both(second: str, end: str = "\n") -> bytes:
    return f"{A}{end}{second}{end}".encode("utf-8", "surrogatepass")


def third(line: str) -> bytes:
    """A table of texts with a good row, and then this line."""
    return f"{HEAD}One.,Two.,0,0\n{line}\n".encode()


def changed(old: str, new: str) -> bytes:
    """The two rows with a change in the second one."""
    assert old in B
    return both(B.replace(old, new))


LINES: list[Case] = [
    (both(B), [0, 1]),
    (both(B, "\r\n"), [0, 1]),
    (both(B).rstrip(), [0, 1]),
    (b"\n\n" + both(B) + b"\n \n", [0, 1]),
    (both(B.replace('"idx": 1', '"more": [{"a": null}], "idx": 1')), [0, 1]),
    (changed("Three.", "Thr\\u00e9e \\ud83d\\ude00."), [0, 1]),
    (changed('"label": 1', '"label": "not_entailment"'), [0, 1]),
    (changed("Three.", "None of them."), [0, 1]),
    (changed("Three.", "") , ", line 2: 'sentence1' is empty"),
    (changed("Three.", "\\u00a0 \\t"), ", line 2: 'sentence1' is empty"),
    (changed('"Three."', "null"), ", line 2: 'sentence1' is missing or null"),
    (changed('"Three."', '"None"'), ", line 2: 'sentence1' is 'None', as a missing"),
    (changed('"Three."', '"nan"'), ", line 2: 'sentence1' is 'nan', as a missing"),
    (changed('"Three."', '["Three."]'), ", line 2: 'sentence1' is of type list"),
    (changed("Three.", "a\\u0000b"), ", line 2: 'sentence1' holds a NUL"),
    (changed("Three.", "a\0b"), ", line 2: not JSON (Invalid control character"),
    (changed("Three.", "\\ud800"), ", line 2: 'sentence1' holds half a character"),
    (changed('"label": 1', '"label": 1, "label": 0'), "the key 'label' stands twice"),
    (changed('"label": 1', '"label": NaN'), ", line 2: not JSON (NaN is not a finite"),
    (changed('"label": 1', '"label": 1e999'), ", line 2: the label inf is of type"),
    (changed('"label": 1', '"label": "1"'), ", line 2: the label '1' is unknown"),
    (changed('"label": 1', '"label": 1.0'), ", line 2: the label 1.0 is of type float"),
    (changed('"label": 1', '"label": true'), ", line 2: the label True is of type bool"),
    (changed('"label": 1', '"label": 2'), ", line 2: the label 2 is unknown"),
    (changed('"label": 1', '"label": -1'), ", line 2: the label -1 is unknown (with"),
    (changed('"label": 1', '"label": 0'), "l: every row has the label 0 (entailment)"),
    (changed('"idx": 1', '"idx": 0'), ", line 2: the idx 0 stands twice"),
    (changed('"idx": 1', '"idx": 9223372036854775808'), ", line 2: 'idx' is 9223"),
    (both("[1, 2]"), ", line 2: the row is of type list, not an object"),
    (both(B[:-3]), ", line 2: not JSON"),
    (both(f"{B} {B}"), ", line 2: not JSON (Extra data"),
    (both(B, "\r"), ", line 1: not JSON (Extra data"),
    (b"", "train.jsonl: it has no rows"),
    (f"{A}\n".encode(), "train.jsonl: it has one row only"),
    (b"\xef\xbb\xbf" + both(B), ", line 1: a byte-order mark. Save the file as UTF-8"),
    (both(B).decode().encode("utf-16"), ", line 1: not UTF-8 (byte 1 of the line"),
    (both(B.replace("Th", "caf\udce9")).replace(b"\xed\xb3\xa9", b"\xe9"), "line 2: not UTF-8"),
    (packed(both(B)), ", line 1: not UTF-8"),
]  # fmt: skip
GZIP: list[Case] = [
    (packed(both(A)[: len(A) + 1]) + packed(f"{B}\n".encode()), [0, 1]),
    (packed(both(B))[:-9], "train.jsonl.gz cannot be read"),
    (both(B), "train.jsonl.gz cannot be read (Not a gzipped file"),
]  # fmt: skip
JSON: list[Case] = [
    (f"[{A}, {B}]".encode(), [0, 1]),
    (f" \n[\n {A},\n\n {B}\n]\n".encode(), [0, 1]),
    (both(B), [0, 1]),
    (json.dumps([json.loads(A), json.loads(B)], indent=2).encode(), [0, 1]),
    (b"[]", "train.json: it has no rows"),
    (f"[{A}, {B}".encode(), ", row 2 (line 1): not JSON (',' or ']' has to follow)"),
    (f"[{A},\n{B},]".encode(), ", row 3 (line 2): not JSON"),
    (f"[{A}\n{B}]".encode(), ", row 1 (line 1): not JSON (',' or ']' has to follow)"),
    (f"[{A}, {B}] []".encode(), "train.json: not JSON (more follows the list"),
    (f"[{A}, null]".encode(), ", row 2 (line 1): the row is of type NoneType"),
    (f'{{"data": [{A},\n{B}]}}'.encode(), ", line 1: not JSON"),
    (f"[{A}, {B[:-1]}, \"idx\": 2}}]".encode(), "row 2 (line 1): not JSON (the key 'idx'"),
    (b"[" * 100_000, ", row 1 (line 1): not JSON"),
    (b"\xef\xbb\xbf" + f"[{A}, {B}]".encode(), "train.json: a byte-order mark"),
    (f"[{A},\n".encode() + b'{"sentence1": "caf\xe9"}]', ", line 2: not UTF-8 (byte 19"),
]  # fmt: skip
CSV: list[Case] = [
    (third("Three.,Four.,1,1"), [0, 1]),
    (third("Three.,Four.,1,1").replace(b"\n", b"\r\n"), [0, 1]),
    (f'{HEAD}"One,\n""two""",Two.,0,0\n\nThree.,Four.,not_entailment,1'.encode(), [0, 1]),
    (b"", "train.csv: it has no rows"),
    (HEAD.encode(), "train.csv: it has no rows"),
    (b"\xef\xbb\xbf" + f"{HEAD}One.,Two.,0,0\n".encode(), "train.csv: a byte-order mark"),
    (f"{HEAD}One.,Two.,0\n".encode(), ", line 2: not a row of the table (3 cells of 4"),
    (f"{HEAD}One, more.,Two.,0,0\n".encode(), ", line 2: not a row of the table (5 cells"),
    (f'{HEAD}"One.,Two.,0,0\n'.encode(), ", line 2: not CSV (unexpected end of data)"),
    (f'{HEAD}"One" two.,Two.,0,0\n'.encode(), ", line 2: not CSV ("),
    (third(",Four.,1,1"), ", line 3: 'sentence1' is empty"),
    (third("None,Four.,1,1"), ", line 3: 'sentence1' is 'None'"),
    (third("T\0,Four.,1,1"), ", line 3: 'sentence1' holds a NUL"),
    (third("Three.,Four.,,1"), ", line 3: 'label' is missing"),
    (third("Three.,Four.,1.0,1"), "the label 1.0 is of type float"),
    (third("Three.,Four.,01,1"), "the label 1.0 is of type float"),
    (third("Three.,Four.,\u0661,1"), "the label '\u0661' is unknown"),
    (third("Three.,Four.,Entailment,1"), "'Entailment' is unknown"),
    (b"sms,label\nOne.,0\n", ", line 1: 'sentence1' and 'sentence2' and 'idx' missing"),
    (b"sentence1,sentence1,label,idx\nOne.,Two.,0,0\n", ", line 1: 'sentence1' twice"),
    (f"{HEAD}caf\xe9,Two.,0,0\n".encode("latin-1"), ", line 2: not UTF-8 (byte 4 of the"),
    (table(rows("rte", 4), "\t"), ", line 1: 'sentence1' and 'sentence2' and 'label'"),
]  # fmt: skip
TSV: list[Case] = [
    (table(rows("rte", 4), "\t"), [0, 1, 0, 1]),
    (table(rows("rte", 4)), ", line 1: 'sentence1' and 'sentence2' and 'label' and 'idx' missing"),
    (HEAD.replace(",", "\t").encode() + b'"One" he said.\tTwo.\t0\t0\n', ", line 2: not TSV ("),
]  # fmt: skip
PARQUET: list[Case] = [
    (b"", "train.parquet cannot be read"),
    (b"PAR1 is not all PAR1", "train.parquet cannot be read"),
    (lines(rows("rte", 4)), "train.parquet cannot be read"),
]  # fmt: skip
FILES = {
    "train.jsonl": LINES,
    "train.jsonl.gz": GZIP,
    "train.json": JSON,
    "train.csv": CSV,
    "train.tsv": TSV,
    "train.parquet": PARQUET,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    found = tmp_path / "glue_rte"
    found.mkdir()
    (found / "validation.jsonl").write_bytes(lines(rows("rte", 4)))
    return found


def said() -> str:
    """What is said of the files as they are, to a plan or else to its worker."""
    with pytest.raises(MissingData) as caught:
        load("rte", data_revision("rte"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "outcome"), [(name, *case) for name, of in FILES.items() for case in of]
)
def test_a_file_gives_the_right_rows_or_is_refused_by_its_place(
    folder: Path, name: str, content: bytes, outcome: list[int] | str
) -> None:
    (folder / name).write_bytes(content)
    if isinstance(outcome, list):
        assert list(load("rte", data_revision("rte"))["train"]["label"]) == outcome
        return
    found = said()
    assert found.startswith(str(folder / name))
    assert outcome in found
    assert "\n" not in found.strip()
    with pytest.raises(MissingData):  # whatever was planned
        load("rte", "sha256:any")


Change = Callable[[Any], Any]
COLUMNS: list[tuple[Change, str]] = [
    (lambda t: t.drop_columns(["label"]), ": 'label' missing among the columns"),
    (lambda t: t.append_column("label", t["label"]), ": 'label' twice among the columns"),
    (lambda t: _with(t, "label", [0, None, 0, 1]), ", row 2: 'label' is missing or null"),
    (lambda t: _with(t, "label", [0.0, 1.0, 0.0, 1.0]), ", row 1: the label 0.0 is of type float"),
    (lambda t: _with(t, "label", [False, True] * 2), ", row 1: the label False is of type bool"),
    (lambda t: _with(t, "label", ["a", "b"] * 2), ", row 1: the label 'a' is unknown"),
    (lambda t: _with(t, "label", [0, 0, 0, 2]), ", row 4: the label 2 is unknown"),
    (lambda t: _with(t, "idx", ["0", "1", "2", "3"]), ", row 1: 'idx' is '0', not a number"),
    (lambda t: _with(t, "sentence1", [b"\xff\xfe"] * 4), ", row 1: 'sentence1' is of type bytes"),
    (lambda t: _with(t, "sentence1", ["a", "b", None, "d"]), ", row 3: 'sentence1' is missing"),
    (lambda t: _with(t, "sentence1", ["a", "None", "c", "d"]), ", row 2: 'sentence1' is 'None'"),
    (lambda t: t.slice(0, 0), ": it has no rows"),
    (lambda t: t.slice(0, 1), ": it has one row only"),
]


def _with(found: Any, name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    return found.set_column(found.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(("change", "outcome"), COLUMNS)
@pytest.mark.parametrize("saved", [False, True])
def test_a_table_with_other_columns_is_refused_by_its_row(
    folder: Path, change: Change, outcome: str, saved: bool
) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    made = change(pa.Table.from_pylist(rows("rte", 4)))
    path = folder / ("train" if saved else "train.parquet")
    if saved:
        save(folder, "train", rows("rte", 4))
        (data,) = path.glob("*.arrow")
        with pa.ipc.new_stream(data, made.schema) as writer:
            writer.write_table(made)
    else:
        pyarrow.parquet.write_table(made, path)
    found = said()
    assert found.startswith(f"{path}{outcome}")


def _cut(path: Path, part: str) -> None:
    (found,) = path.glob(part)
    found.write_bytes(found.read_bytes()[: found.stat().st_size // 2])


def _emptied(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: next(path.glob("*.arrow")).unlink(), " cannot be read ("),
    (lambda path: _cut(path, "*.arrow"), " cannot be read ("),
    (lambda path: _cut(path, "state.json"), " cannot be read ("),
    (lambda path: (path / "state.json").write_text("{}"), " cannot be read ("),
    (lambda path: (path / "state.json").write_text("[1]"), " cannot be read ("),
    (lambda path: (path / "dataset_info.json").unlink(), " cannot be read ("),
    (lambda path: (path / "dataset_info.json").write_text('{"features": 1}'), " cannot be read ("),
    (lambda path: (path / "state.json").unlink(), " is a folder without a state.json"),
    (_emptied, " is a folder without a state.json"),
]


@pytest.mark.parametrize(("damage", "outcome"), DAMAGE)
def test_a_damaged_saved_folder_is_refused_by_its_name(
    folder: Path, damage: Callable[[Path], object], outcome: str
) -> None:
    path = save(folder, "train", rows("rte", 6))
    damage(path)
    assert said().startswith(f"{path}{outcome}")


def test_text_that_is_not_utf_8_in_a_table_is_refused(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    raw = pa.array([b"good", b"caf\xe9"], pa.binary())
    text = pa.StringArray.from_buffers(2, *raw.buffers()[1:])
    made = pa.Table.from_pylist(rows("rte", 2)).set_column(0, "sentence1", text)
    pyarrow.parquet.write_table(made, folder / "train.parquet")
    assert said().startswith(f"{folder / 'train.parquet'} cannot be read (")


@pytest.mark.parametrize("write", [save, write_parquet])
def test_a_number_beyond_the_tables_own_classes_is_refused(folder: Path, write: Any) -> None:
    """Three rows of two classes, of which the file declares one."""
    import pyarrow as pa
    import pyarrow.parquet
    from datasets import ClassLabel, Features, Value

    text = {"sentence1": Value("string"), "sentence2": Value("string")}
    of = Features({**text, "label": ClassLabel(names=["entailment"]), "idx": Value("int64")})
    path = write(folder, "train", [row("rte", 0), row("rte", 2)], of)
    data = path if path.is_file() else next(path.glob("*.arrow"))
    if path.is_file():
        made = pyarrow.parquet.read_table(path)
        changed = _with(made, "label", [0, 1]).replace_schema_metadata(made.schema.metadata)
        pyarrow.parquet.write_table(changed, path)
    else:
        made = pa.ipc.open_stream(data.read_bytes()).read_all()
        changed = _with(made, "label", [0, 1])
        with pa.ipc.new_stream(data, changed.schema) as writer:
            writer.write_table(changed)
    assert said().startswith(f"{path}, row 2: the label 1 is none of the table's own 1 classes")


def test_a_data_set_saved_without_its_split_says_where_it_belongs(folder: Path) -> None:
    save(folder.parent, "glue_rte", rows("rte", 6))
    assert said().startswith(f"{folder} is a Dataset saved without the name of its split")
    assert str(folder / "train") in said()


@pytest.mark.parametrize("other", ["train.csv", "train.json", "train.parquet", "train"])
def test_two_files_of_one_split_are_refused_whatever_their_formats(
    folder: Path, other: str
) -> None:
    (folder / "train.jsonl.gz").write_bytes(gzip.compress(lines(rows("rte", 4))))
    (folder / other).mkdir() if other == "train" else (folder / other).write_bytes(b"")
    assert f"{folder} holds both train.jsonl.gz and {other} for one split" in said()


def test_a_long_text_is_read_from_a_table_of_texts(folder: Path) -> None:
    """Python's csv refuses a cell of more than 131,072 characters unless it is told."""
    import csv

    before = csv.field_size_limit()
    long = row("rte", 0, sentence1="long " * 50_000)
    (folder / "train.csv").write_bytes(table([long, row("rte", 1)]))
    found = load("rte", data_revision("rte"))["train"]
    assert found[0]["sentence1"] == long["sentence1"]
    assert csv.field_size_limit() == before


def test_an_id_that_is_no_id_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    path = tmp_path / KNOWN["sms-spam"].folder / "train.jsonl"
    path.parent.mkdir()
    path.write_bytes(lines([{"sms": "One.", "label": 0, "id": [1]}]))
    with pytest.raises(MissingData, match="line 1: the id is of type list"):
        load("sms-spam", data_revision("sms-spam"))
