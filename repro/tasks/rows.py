"""The rows of every data set: which are here, what identifies them, and the rows themselves.

A set's rows are below $REPRO_DATA, one file or saved folder a split (`formats.py`), or come from
the hub. A plan asks `unavailable` and `data_revision`, which read local files and import neither
`datasets` nor torch; a worker asks `load` and gets a `datasets.Dataset` a split, every row checked
(`checks.py`), with the features that `repro/spec/data_sets.json` declares:

    from repro.tasks.rows import load
    load("rte")["train"].features
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import MissingData, ReproError, UnknownName
from repro.folders import named_by
from repro.spec.contents import ALL, Content, is_of_hub, recorded, rows_digest
from repro.spec.facts import KNOWN, Facts
from repro.tasks import formats, hub
from repro.tasks.checks import Checker, Row, check_usable

if TYPE_CHECKING:
    from datasets import Dataset, Features

FOLDER_VARIABLE = hub.FOLDER_VARIABLE
DIGEST = "sha256:"
_EMPTY_STARTS = re.compile(rb'"answer_start":\s*\[\s*\]')


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows a split has, and how many of its questions have no answer."""

    rows: int
    unanswerable: int | None = None

    def __str__(self) -> str:
        if self.unanswerable is None:
            return f"{self.rows:,} rows"
        return f"{self.rows:,} questions, {self.unanswerable:,} of them unanswerable"


def published(facts: Facts, split: str) -> Size:
    """The size of a published split; of a set that is joined, that of all of its rows."""
    if split == ALL:
        return Size(sum(facts.rows.values()))
    return Size(facts.rows[split], facts.unanswerable.get(split))


# -- what is here ------------------------------------------------------------------------------


def local_folder(facts: Facts) -> Path | None:
    """$REPRO_DATA, if it is set.

    Raises MissingData where it is no folder: a mistyped one is not the hub's data.
    """
    folder = named_by(FOLDER_VARIABLE)
    if folder is not None and not folder.is_dir():
        raise MissingData(
            f"{FOLDER_VARIABLE} is {folder}, and there is no such folder. Set it to the folder "
            f"that holds {facts.folder}{hub.or_hub(facts)}."
        )
    return folder


def here(facts: Facts, splits: Sequence[str]) -> dict[str, Path]:
    """Split -> its file or saved folder, of those that are below $REPRO_DATA.

    Raises MissingData where $REPRO_DATA is no folder, for two files of one split, as either may be
    the one that was meant, and for a folder that was not saved whole.
    """
    root = local_folder(facts)
    if root is None:
        return {}
    folder = root / facts.folder
    found = {split: formats.split_files(folder, split) for split in splits}
    for paths in found.values():
        if len(paths) > 1:
            every = " and ".join(path.name for path in paths)
            raise MissingData(
                f"{folder} holds both {every} for one split. Remove the one that is not meant."
            )
        if paths and paths[0].is_dir() and not (paths[0] / "state.json").is_file():
            raise MissingData(
                f"{paths[0]} is a folder without a state.json, so Dataset.save_to_disk did not "
                "write it, or not to its end. Save it again."
            )
    if (folder / "state.json").is_file():
        raise MissingData(
            f"{folder} is a Dataset saved without the name of its split. Save it to "
            f"{folder / splits[0]}."
        )
    return {split: paths[0] for split, paths in found.items() if paths}


def unavailable(name: str, splits: Sequence[str] = ()) -> str | None:
    """Why a set has no data here, in a few words for a table's gap; None where it may have.

    That is a folder that holds some of the splits (default: all that a run needs), as the rest is
    not taken from the hub, and of a set that is not on the hub an absent one. Whether the hub can
    be reached is not asked.
    """
    facts = KNOWN[name]
    absent = _absent(facts, splits or facts.needed)
    if not absent:
        return None
    whole = len(absent) == len(splits or facts.needed)
    named = [facts.folder] if whole else [f"{facts.folder}/{split}" for split in absent]
    are = "is" if len(named) == 1 else "are"
    gap = f"{' and '.join(named)} {are} not in ${FOLDER_VARIABLE}"
    where = f"; `python -m repro prepare {name}` says where it is published"
    return gap if facts.hub_id else gap + where


def _absent(facts: Facts, splits: Sequence[str]) -> list[str]:
    found = here(facts, splits)
    if (facts.joined and found) or (facts.hub_id and not found):
        return []
    return [split for split in splits if split not in found]


def _local(facts: Facts, splits: Sequence[str]) -> dict[str, Path]:
    """The file of every split; empty where the hub has to give them all.

    Raises MissingData for a folder that holds only some of them, or of a set without a hub none.
    """
    found, absent = here(facts, splits), _absent(facts, splits)
    if absent and not facts.hub_id:
        raise MissingData(f"{facts.title}: {unavailable(facts.name, splits)}.")
    if absent:
        # half from a folder and half from the hub would be data that nothing identifies
        folder = next(iter(found.values())).parent
        every = "both" if len(splits) == 2 else "all of them"
        raise MissingData(
            f"{folder} holds {', '.join(path.name for path in found.values())} but not "
            f"{' or '.join(f'{split}.jsonl.gz' for split in absent)}. Add what is missing"
            f"{hub.or_hub(facts)} for {every}."
        )
    return found


# -- what identifies it ------------------------------------------------------------------------


def data_revision(name: str, splits: Sequence[str] = (), *, whole: bool = False) -> str | None:
    """What identifies a set's local rows: "sha256:..." of their content; None means the hub's.

    The content of a split is that of its .jsonl file, decompressed; rows in another format are
    identified as if they were written as JSON Lines. Files that `prepare` downloaded from the hub
    are the hub's. `whole`: a local folder has to hold the published rows and is then the same data
    as the hub's, None. Raises MissingData for a damaged file, for a folder that holds only some of
    the splits, or for other rows than the published.
    """
    facts = KNOWN[name]
    paths = _local(facts, splits or facts.needed)
    if whole:
        _check_published(facts, sizes(facts, paths), paths)
        return None
    folder = local_folder(facts)
    if folder is not None and is_of_hub(folder, facts.folder, paths):
        return None
    others = {split: path for split, path in paths.items() if not formats.is_lines(path)}
    return _digest(facts, paths, read(facts, others)) if paths else None


def is_digest(revision: str | None) -> bool:
    """Whether a task's revision names a local folder's content."""
    return revision is not None and revision.startswith(DIGEST)


def sizes(facts: Facts, paths: Mapping[str, Path]) -> dict[str, Size]:
    """Split -> rows of the local files; JSON Lines are counted without being parsed."""
    return {split: _size(facts, path) for split, path in paths.items()}


def _size(facts: Facts, path: Path) -> Size:
    if formats.is_lines(path):
        content = formats.content(path, _mend(facts))
        # quotes inside a JSON text are escaped, so the pattern only meets the field itself
        none = len(_EMPTY_STARTS.findall(content)) if facts.unanswerable else None
        return Size(sum(1 for line in content.split(b"\n") if line.strip()), none)
    return _size_of(facts, [row for row, _ in formats.raw_rows(path, facts, _mend(facts))])


def _size_of(facts: Facts, rows: Sequence[Any]) -> Size:
    if not facts.unanswerable:
        return Size(len(rows))
    answers = [row.get(facts.label) for row in rows if isinstance(row, dict)]
    return Size(len(rows), sum(isinstance(one, dict) and not one.get("text") for one in answers))


def _digest(facts: Facts, paths: Mapping[str, Path], rows: Mapping[str, Sequence[Row]]) -> str:
    """'sha256:<64 digits>' over every split's content as JSON Lines, in sorted order."""
    lines = ""
    for split, path in sorted(paths.items()):
        if formats.is_lines(path):
            content = formats.content(path, _mend(facts))
        else:
            content = b"".join(map(_line, rows[split]))
        lines += f"{split} {hashlib.sha256(content).hexdigest()}\n"
    return f"{DIGEST}{hashlib.sha256(lines.encode()).hexdigest()}"


def _line(row: Row) -> bytes:
    """A row as the files of the hub's rows have it."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _check_published(
    facts: Facts, found: Mapping[str, Size], files: Mapping[str, Path | str], mend: str = ""
) -> None:
    """Raises MissingData, which ends with `mend`, unless every split has its published size."""
    if facts.joined and found:
        files = {ALL: " and ".join(map(str, files.values()))}
        found = {ALL: Size(sum(size.rows for size in found.values()))}
    for split, size in found.items():
        wanted = published(facts, split)
        if size != wanted:
            which = f"published {split} set" if split != ALL else "published set"
            replaced = f"Replace it{hub.or_hub(facts)}; the scale 'reduced' accepts any rows"
            raise MissingData(
                f"{files[split]} is not the {which} of {facts.title}: it has {size}; the "
                f"published set has {str(wanted).removesuffix(' rows')}. "
                f"{mend or f'{replaced} in this schema.'}"
            )


def _mend(facts: Facts) -> str:
    return f"Copy the file again{hub.or_hub(facts)}."


# -- the rows ----------------------------------------------------------------------------------


def load(
    name: str,
    revision: str | None = None,
    splits: Sequence[str] = (),
    *,
    wanted: Sequence[str] = (),
) -> dict[str, Dataset]:
    """A set's splits (default: those that a run needs), whole and in the order of their files.

    `revision` is that of a plan: "sha256:..." of the local rows of `splits`, a commit of the hub,
    or None, which are the published rows, here or from the hub. `wanted` are those of the splits
    that are returned (default: all). A set that is joined has one split, "all". Raises MissingData
    where rows cannot be had, are damaged, or are not those of the revision, and UnknownName for a
    set that is none.
    """
    if name not in KNOWN:
        raise UnknownName("data set", name, KNOWN)
    facts = KNOWN[name]
    splits = splits or facts.needed
    paths, wanted = _local(facts, splits), wanted or splits
    if not paths:
        return _from_hub(facts, revision, wanted)
    known = {s: path for s, path in paths.items() if s in wanted or not formats.is_lines(path)}
    rows = read(facts, known)
    if is_digest(revision):
        digest = _digest(facts, paths, rows)
        if digest != revision:
            names = " and ".join(str(path) for path in paths.values())
            raise MissingData(
                f"The run was planned for data with digest {revision}, but {names} have {digest}. "
                "Put the earlier files back, or plan again to train on these."
            )
    else:
        found = {split: _size_of(facts, of) for split, of in rows.items()}
        _check_published(facts, found, paths)
    rows = {split: of for split, of in rows.items() if split in wanted}
    return _loaded(facts, usable(facts, rows))


def read(facts: Facts, paths: Mapping[str, Path]) -> dict[str, list[Row]]:
    """The rows of local files; raises MissingData with file and place for a bad one."""
    checker, mend = Checker(facts), _mend(facts)
    return {
        split: checker.rows(split, formats.raw_rows(path, facts, mend))
        for split, path in paths.items()
    }


def usable(facts: Facts, rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """The splits, or all rows of a set that is joined; raises MissingData for too few to use."""
    if facts.joined:
        rows = {ALL: [row for of in rows.values() for row in of]}
    for split, of in rows.items():
        check_usable(of, facts, split, place_of(facts, split))
    return dict(rows)


def place_of(facts: Facts, split: str = ALL) -> str:
    """The file of a split, for an error: here, or else of the hub. Of "all", every file."""
    paths = here(facts, tuple(facts.rows) if split == ALL else [split])
    return " and ".join(map(str, paths.values())) or hub.place(facts, split)


def _from_hub(facts: Facts, revision: str | None, splits: Sequence[str]) -> dict[str, Dataset]:
    if is_digest(revision):
        names = " and ".join(f"{split}.jsonl.gz" for split in splits)
        raise MissingData(
            f"The run was planned for local data with digest {revision}, but there is no "
            f"{names} in the folder {facts.folder} under ${FOLDER_VARIABLE}. Set "
            f"{FOLDER_VARIABLE} to the folder that was planned with, or plan again to use "
            f"{facts.hub_id} from the hub."
        )
    return hub_rows(facts.name, revision, splits)


def hub_rows(
    name: str, revision: str | None = None, splits: Sequence[str] = ()
) -> dict[str, Dataset]:
    """The same of the hub or its cache, whatever is here; a revision of None is the locked one, the
    pinned one, or the newest.
    """
    facts, found = KNOWN[name], dict[str, list[Row]]()
    checker = Checker(facts)
    for split in splits or facts.needed:
        path, file = hub.fetch(facts, [split], revision)[split], hub.place(facts, split)
        again = f"Delete {path} and give the command again."
        rows = checker.rows(split, formats.raw_rows(path, facts, again, file))
        size, other = {split: _size_of(facts, rows)}, "Plan with another revision of it."
        _check_published(facts, size, {split: file}, other)
        check_usable(rows, facts, split, file)
        found[split] = rows
    return _loaded(facts, found, hub.commit(facts, next(iter(found)), revision))


def generated(name: str, revision: str | None) -> dict[str, Dataset]:
    """The splits that a seed makes; `name` is that of `repro.tasks.generated`.

    Raises ReproError for no revision, one of another form, or for more rows than there are.
    """
    from repro.tasks.generated import WRITTEN, generate

    facts = KNOWN[name.removeprefix(WRITTEN)]
    if revision is None:
        raise ReproError(
            f"Generated rows of {facts.title} need a revision: the generator's seed and sizes."
        )
    return _data_sets(facts, _columns(facts, generate(name, revision)))


def _loaded(
    facts: Facts, found: Mapping[str, list[Row]], commit: str | None = None
) -> dict[str, Dataset]:
    """Checked rows as data sets, which `reading` notes."""
    columns = _columns(facts, found)
    _note(facts, columns, commit)
    return _data_sets(facts, columns)


Columns = dict[str, list[Any]]


def _columns(facts: Facts, found: Mapping[str, list[Row]]) -> dict[str, Columns]:
    """Split -> name -> values, with the idx that a row has, or that its place gives."""
    made, before = {}, 0
    for split, rows in found.items():
        made[split] = {name: [row[name] for row in rows] for name in facts.required}
        if facts.kind != "questions":
            made[split]["idx"] = [row.get("idx", n) for n, row in enumerate(rows, before)]
        before += len(rows) if facts.known_by == "number" else 0
    return made


def _data_sets(facts: Facts, found: Mapping[str, Columns]) -> dict[str, Dataset]:
    import pyarrow as pa
    from datasets import Dataset

    schema = features(facts).arrow_schema
    # not `from_dict`, which encodes every value once more
    return {s: Dataset(pa.Table.from_pydict(of, schema=schema)) for s, of in found.items()}


def features(facts: Facts) -> Features:
    """The columns of a set's rows: its fields, and an idx that identifies a row to a draw."""
    from datasets import ClassLabel, Features, Sequence, Value

    texts: dict[str, Any] = dict.fromkeys(facts.texts, Value("string"))
    if facts.kind == "questions":
        answers = {"text": Value("string"), "answer_start": Value("int32")}
        return Features({**texts, facts.label: Sequence(answers)})
    label = ClassLabel(names=list(facts.labels)) if facts.labels else Value("float64")
    if facts.kind == "tags":
        texts = {name: Sequence(text) for name, text in texts.items()}
        label = Sequence(label)
    return Features({**texts, facts.label: label, "idx": Value("int64")})


# -- what was read -----------------------------------------------------------------------------

_READ: ContextVar[dict[str, Content] | None] = ContextVar("read", default=None)


@contextmanager
def reading() -> Iterator[dict[str, Content]]:
    """Collects what is read within the block: a set's folder -> the digests of its rows."""
    found: dict[str, Content] = {}
    token = _READ.set(found)
    try:
        yield found
    finally:
        _READ.reset(token)


def _note(facts: Facts, splits: Mapping[str, Columns], commit: str | None) -> None:
    """Notes whole splits, before any draw. `commit`: of the hub that they were downloaded at."""
    found = _READ.get()
    if found is None:
        return
    digests = {split: rows_digest(_values(facts, of)) for split, of in splits.items()}
    folder = local_folder(facts)
    if commit is None and folder is not None:  # a folder that `prepare` made says where it is from
        commit = recorded(folder, "data", facts.folder, digests)
    before = found.get(facts.folder)
    if before is not None:
        digests = {**before.digests, **digests}
        commit = commit if commit == before.revision else None
    found[facts.folder] = Content(revision=commit, digests=digests)


def _values(facts: Facts, columns: Columns) -> Iterator[list[Any]]:
    """What a digest of rows is over, whatever format they were read from."""
    labels = columns[facts.label]
    texts = zip(*(columns[name] for name in facts.texts), strict=True)
    if facts.kind == "questions":
        for own, answers in zip(texts, labels, strict=True):
            yield [*own, answers["text"], answers["answer_start"]]
    else:
        for idx, own, label in zip(columns["idx"], texts, labels, strict=True):
            yield [idx, *(own if facts.kind == "tags" else [own]), label]
