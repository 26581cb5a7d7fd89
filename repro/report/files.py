"""Where artefacts go, and the requests that `report` lays out again."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from repro.errors import StoreError
from repro.papers.registry import ARTEFACTS, FIGURES
from repro.papers.request import (
    OPTIONS,
    SHORT_NAMES,
    Request,
    as_typed,
    option_of,
    run_fields,
    short_name,
)
from repro.papers.sweeps import EPOCHS, Sweep, fields_in_short
from repro.report import latex
from repro.report.render import as_json, csv_text, json_text
from repro.report.view import TableView
from repro.spec import Backbone, canonical_json
from repro.spec.backbones import KNOWN
from repro.spec.identity import identity_fields
from repro.spec.method import file_of, why_unknown
from repro.store.atomic import write_bytes, write_text
from repro.store.entry import first_problem
from repro.store.store import Store
from repro.store.strict_json import json_bytes
from repro.store.temporary import unfinished_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Asked = Request | Sweep
"""What a store remembers: the request of a table or a figure, or a sweep."""
DOCUMENTS: dict[type[Asked], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (Request, Sweep)
}
FIGURES_FOLDER = "figures"
ENDINGS = ("png", "svg", "pdf", "csv", "json")
"""Of a figure's files."""
LATER = ("rows", "columns")
"""Fields that came when tables were stored already: without a value they change no name."""
LONGEST_TABLE = 60
"""Characters of a table's or figure's name."""
LONGEST = 160
"""Characters of any name: endings and the store's temporary names have to fit into 255, too."""
PLAIN = "._-"
"""Beside letters and digits, what a name may hold."""
SHORT_VALUE = re.compile(r"[a-z0-9]{1,16}|-?[0-9.]+(e-[0-9]+)?")
"""A value of a setting that a name holds as it is: no two of them look alike in it."""


def table_name(request: Request) -> str:
    """What the files of a request are called, in at most 60 characters.

    3-shared-2.reduced for the scale's own settings. What else was asked for follows in at most two
    short parts (3-shared-2.reduced.cola.epochs-3); where these do not say all of it, a digest of
    all of it ends the name, so that no two requests share one.
    """
    own = f"{request.id}.{request.scale}"
    differing = list(_differing(request))
    parts = [part for part, _ in differing[:2]]
    whole = ".".join((own, *parts))
    said = len(differing) == len(parts) and all(says_all for _, says_all in differing)
    if said and len(whole) <= LONGEST_TABLE:
        return whole
    asked = {name: value for name, value in request_document(request).items() if name in OPTIONS}
    for name in LATER:
        if asked[name] is None:
            del asked[name]
    ending = digest(canonical_json(asked))[:6]
    room = LONGEST_TABLE - len(f"{own}..{ending}")
    shown = ".".join(parts) if len(".".join(parts)) <= room else parts[0][:room].strip("-.")
    return ".".join(part for part in (own, shown, ending) if part)


def _differing(request: Request) -> Iterator[tuple[str, bool]]:
    """What was asked for beside artefact and scale, each in a few characters, and whether these
    say all of it.
    """
    if request.backbone is not None:
        name, known = request.backbone.name.split("/")[-1], request.backbone.id in KNOWN
        yield name if known else _plain(name)[:16], known
    if request.seeds != ARTEFACTS[request.id].default_seeds[request.scale]:
        yield f"seeds-{request.seeds}", True
    for names in (request.tasks, request.sections, request.rows, request.columns):
        if names is not None:
            yield "-".join(_plain(name) for name in names), all(_plain(n) == n for n in names)
    if request.method is not None:
        yield _plain(request.method), request.method == _plain(request.method).lower()
    for flag in ("as_released", "server", "published_layers"):
        if getattr(request, flag):
            yield flag.replace("_", "-"), True
    order = [option.path for option in SHORT_NAMES.values()]
    order += [path for path in request.settings if path not in order]
    for path in (known for known in order if known in request.settings):
        value, short = request.settings[path], short_name(path)
        name = short or path.partition(".")[2]
        given = "0" if short and value is None else as_typed(value)
        ambiguous = not short and sum(known.endswith(f".{name}") for known in run_fields()) > 1
        says_all = not ambiguous and SHORT_VALUE.fullmatch(given) is not None
        yield _plain(f"{name.replace('_', '-')}-{given}"), says_all


def sweep_name(sweep: Sweep) -> str:
    """What the files of a sweep are called: table, scale, row and fields, and a digest of all that
    was asked for: 3-shared-2.smoke.sweep.Ours-3-shared.size-learning_rate.1a2b3c.
    """
    asked = {name: v for name, v in request_document(sweep.request).items() if name in OPTIONS}
    points = [dict(point) for point in sweep.points]
    if sweep.epochs is not None:  # the others depend on scores
        points = [point for point in points if point[EPOCHS] == points[0][EPOCHS]]
    ending = digest(canonical_json({"request": asked, "points": points}))[:6]
    row = re.sub("-+", "-", _plain(sweep.request.method or "-".join(sweep.request.rows or ())))
    fields = _plain("-".join(fields_in_short(sorted(sweep.fields))))
    lead = f"{sweep.request.id}.{sweep.request.scale}.sweep"
    return f"{lead}.{row.strip('-')[:40]}.{fields[:40]}.{ending}"


def name_of(asked: Asked) -> str:
    """What the files of a request or of a sweep are called."""
    return sweep_name(asked) if isinstance(asked, Sweep) else table_name(asked)


def backbone_label(backbone: Backbone) -> str:
    """BERT-base; of a model folder also the beginning of a digest, because another folder may have
    the same name.
    """
    name = backbone.name.split("/")[-1]
    if backbone.id in KNOWN:
        return name
    return f"{_plain(name)[:60]}-{digest(canonical_json(identity_fields(backbone)))}"


def file_name(text: str) -> str:
    """`text` as a file can be called on any system: other characters become dashes, and what is too
    long is cut. A name that was changed ends with a digest of `text`.
    """
    plain = _plain(text)
    if plain == text and len(text) <= LONGEST:
        return text
    return f"{plain[: LONGEST - 9]}-{digest(text)}"


def _plain(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in PLAIN) else "-" for c in text)


def digest(text: str) -> str:
    """Eight letters that tell one text from another."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]


def write_table(view: TableView, folder: Path, *, anew: bool = True) -> list[Path]:
    """Writes tables/NAME.{csv,json,tex} where their content changed; returns the three paths.

    Without `anew`, the LaTeX file, which takes the longest to make, is left as it is where the
    other two are there and do not change: all three are made of the same cells.
    """
    name = table_name(view.request)
    paths = [folder / "tables" / f"{name}.{ending}" for ending in ("csv", "json", "tex")]
    texts = [csv_text(view), json_text(as_json(view))]
    if anew or not (paths[2].exists() and all(map(_holds, paths, texts))):
        texts.append(latex.latex(view, name))
    for path, text in zip(paths, texts, strict=False):
        write_changed(path, text)
    return paths


def write_tex(views: Sequence[TableView], folder: Path) -> list[Path]:
    """Writes tables/numbers.tex, a command for each number of these tables, and tables/repro.tex,
    the document of them all, if there are any; returns the paths.
    """
    names = [table_name(view.request) for view in views]
    texts = {"numbers.tex": latex.numbers(views), "repro.tex": latex.document(names)}
    return [write_changed(folder / "tables" / name, text) for name, text in texts.items() if names]


def write_changed(path: Path, text: str) -> Path:
    """Writes a file where its content changed; returns its path."""
    if not _holds(path, text):
        write_artefact(path, text)
    return path


def figure_paths(name: str, endings: Sequence[str] = ENDINGS) -> list[Path]:
    """Where the files of a figure are, relative to the folder that is written to."""
    return [Path(FIGURES_FOLDER, f"{name}.{ending}") for ending in endings]


def write_drawing(
    folder: Path, name: str, draw: Callable[[], Drawing], texts: Mapping[str, str]
) -> list[Path]:
    """Writes figures/NAME as a picture in every format and as `texts` (ending -> content), where
    content changed; returns the paths. Raises StoreError, which names --out.
    """
    from repro.report.figures.style import rendered, styled

    with styled():
        contents = rendered(draw())
    contents |= {ending: text.encode() for ending, text in texts.items()}
    paths = [folder / path for path in figure_paths(name, list(contents))]
    for path, content in zip(paths, contents.values(), strict=True):
        if not path.exists() or path.read_bytes() != content:
            write_artefact(path, content)
    return paths


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def stands_fuller(view: TableView, folder: Path) -> bool:
    """Whether the table's files in `folder` show more cells than this view has."""
    path = folder / "tables" / f"{table_name(view.request)}.json"
    try:
        done = int(json.loads(path.read_text(encoding="utf-8"))["complete"].partition("/")[0])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False  # none there, or of another version
    return done > view.done


def write_artefact(path: Path, content: str | bytes) -> None:
    """Writes a file for a reader, whole or not at all. Raises StoreError, which names --out."""
    try:
        if isinstance(content, str):
            write_text(path, content)
        else:
            write_bytes(path, content)
    except StoreError as refusal:
        reason = getattr(refusal.__cause__, "strerror", None) or str(refusal)
        raise StoreError(
            f"Cannot write {path}: {reason}. Mend that or name another folder with --out; the "
            "results themselves are stored."
        ) from refusal


def check_writable(folder: Path) -> None:
    """Raises StoreError, which names --out, where no file can be written to `folder`."""
    probe = folder / unfinished_name(".tmp")
    write_artefact(probe, "")
    probe.unlink(missing_ok=True)


def request_document(asked: Asked) -> dict[str, Any]:
    """The request or the sweep as plain data."""
    document: dict[str, Any] = DOCUMENTS[type(asked)].dump_python(asked, mode="json")
    return document


def request_file(asked: Asked) -> tuple[str, bytes]:
    """The name and the content of the request's file in a bundle."""
    return f"requests/{name_of(asked)}.json", json_bytes(request_document(asked))


def save_request(store: Store, asked: Asked) -> None:
    """Remembers a request or a sweep where it is new, and the file of a further row's method, so
    that the report finds it again. Warns where a request replaces one of its name whose runs are on
    other data.
    """
    name, document = name_of(asked), request_document(asked)
    request = asked.request if isinstance(asked, Sweep) else asked
    own = None if request.id in FIGURES else request.method
    file = file_of(own) if own is not None else None
    if own is not None and file is not None:
        store.save_method(own, file)
    known = store.requests().get(name)
    if known is None or canonical_json(known) != canonical_json(document):
        store.save_request(name, document)
    here, there = request.data_revisions, (known or {}).get("data_revisions", {})
    other = [task for task in here if there.get(task, here[task]) not in (here[task], None)]
    if other:
        store.say(
            f"{name}: the rows of {', '.join(other)} are not those that the table of this name had "
            "before. The report will show the new table; name another --store to keep both."
        )


def saved(store: Store) -> dict[str, Asked]:
    """Name -> everything that was asked for: requests by name, then sweeps. One that this version
    cannot read is left out with a warning.
    """
    read = {name: read_asked(store, name, document) for name, document in store.requests().items()}
    alone = {table_name(one): one for one in read.values() if isinstance(one, Request)}
    sweeps = {name: one for name, one in read.items() if isinstance(one, Sweep)}
    return {**dict(sorted(alone.items())), **sweeps}


def saved_requests(store: Store) -> list[Request]:
    """All remembered requests of tables and figures, by name; see `saved`."""
    return [one for one in saved(store).values() if isinstance(one, Request)]


def saved_sweeps(store: Store) -> list[Sweep]:
    """All remembered sweeps; see `saved`."""
    return [one for one in saved(store).values() if isinstance(one, Sweep)]


def asked_for(store: Store) -> dict[str, Sequence[Request]]:
    """Name -> requests of everything in `saved`: of a sweep one a setting."""
    found = saved(store).items()
    return {name: one.requests if isinstance(one, Sweep) else [one] for name, one in found}


def read_asked(store: Store, name: str, document: Any) -> Asked | None:
    """The request or the sweep that was saved by this name; None, with a warning, where this
    version cannot read it.
    """
    is_sweep = isinstance(document, dict) and "points" in document
    known = {field.name for field in fields(Request)}
    try:
        found: Asked = DOCUMENTS[Sweep if is_sweep else Request].validate_python(document)
    except ValidationError as error:
        problem = first_problem(error)
    else:
        request = found.request if isinstance(found, Sweep) else found
        unknown = sorted(set(document["request"] if is_sweep else document) - known)
        if not unknown:
            lost = _lost(request)
            if lost:
                store.say(f"{name} is left out: {lost} Or delete {store.request_path(name)}.")
            return None if lost else found
        problem = f"it has the unknown field {unknown[0]}"
    store.say(
        f"{store.request_path(name)} was written by another version of this project ({problem}) "
        "and is left out. Give its command again with this version, or delete the file."
    )
    return None


def _lost(request: Request) -> str | None:
    """What a request needs that is not here, and how to bring it back; None where all is."""
    if request.id not in ARTEFACTS:
        mend = "Name the folder of its paper in REPRO_PAPERS."
        return f"there is no table or figure {request.id} here. {mend}"
    if request.id in FIGURES or request.method is None:
        return None
    return why_unknown(request.method)


def command_line(request: Request, verb: str = "") -> str:
    """The command that asks for this artefact again, or another verb about it; a model's folder is
    named without its path.
    """
    verb = verb or ("figure" if request.id in FIGURES else "table")
    words = ["python", "-m", "repro", verb, request.id]
    for name in OPTIONS:
        words += _words(request, name)
    return shlex.join(words)


def _words(request: Request, name: str) -> list[str]:
    """An option and its value, as often as it has to be given; none where it is not needed."""
    option = option_of(name)
    if name in SHORT_NAMES:
        given = request.settings.keys() & {SHORT_NAMES[name].path}
        return [word for path in given for word in (option, str(request.settings[path] or 0))]
    value = getattr(request, name)
    if OPTIONS[name].type is list:
        texts = value or ()
        if name == "settings":
            texts = [f"{p}={as_typed(value[p])}" for p in value if short_name(p) is None]
        return [word for text in texts for word in (option, text)]
    if name == "seeds" and value == ARTEFACTS[request.id].default_seeds[request.scale]:
        return []
    if isinstance(value, bool) or value is None:
        return [option] if value else []
    if isinstance(value, Backbone):
        return [option, value.id if value.id in KNOWN else backbone_label(value)]
    return [option, ",".join(value) if isinstance(value, tuple) else str(value)]
