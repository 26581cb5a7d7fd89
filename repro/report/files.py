"""Where artefacts go, and the requests that `report` lays out again."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repro.errors import StoreError
from repro.papers.registry import ARTEFACTS, FIGURES
from repro.papers.tables import Request
from repro.report import latex
from repro.report.render import as_json, csv_text, json_text, markdown
from repro.report.view import TableView
from repro.spec import Backbone, canonical_json
from repro.spec.backbones import KNOWN
from repro.spec.identity import identity_fields
from repro.store.atomic import write_bytes, write_text
from repro.store.store import Store
from repro.store.strict_json import json_bytes
from repro.store.temporary import unfinished_name

REQUEST = TypeAdapter(Request)
OVERRIDES = ("train_rows", "evaluation_rows", "epochs", "learning_rate", "bottleneck")
"""Numbers that a user may set by hand, whatever the scale says."""
LONGEST = 160
"""Characters of a name: endings and the store's temporary names have to fit into 255, too."""
PLAIN = "._-+=,"
"""Beside letters and digits, what a name may hold."""


def table_name(request: Request) -> str:
    """ResAdapters-1.reduced and all else that was asked for: no setting replaces another's."""
    parts = [request.table, request.scale]
    if request.backbone is not None:
        parts.append(backbone_label(request.backbone))
    if request.as_released:
        parts.append("as-released")
    if request.server:
        parts.append("server")
    if request.seeds != ARTEFACTS[request.table].default_seeds[request.scale]:
        parts.append(f"seeds-{request.seeds}")
    if request.tasks is not None:
        parts.append("-".join(request.tasks))
    if request.method is not None:
        parts.append(request.method)
    if request.sections is not None:
        parts += [section.replace(" ", "-") for section in request.sections]
    if request.published_layers:
        parts.append("published-layers")
    parts += [f"{p.replace('_', '-')}-{_as_given(v)}" for p, v in request.settings.items()]
    values = {name: getattr(request, name) for name in OVERRIDES}
    parts += [f"{n.replace('_', '-')}-{v!r}" for n, v in values.items() if v is not None]
    return file_name(".".join(parts + ([request.precision] if request.precision else [])))


def _as_given(value: Any) -> str:
    """A value of --set as a user gives it: a text as it is, unless it would be read as JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads("null" if value == "None" else value)
    except ValueError:
        return value
    return json.dumps(value)


def backbone_label(backbone: Backbone) -> str:
    """BERT-base; of a model folder also the beginning of a digest, because another folder may have
    the same name.
    """
    name = backbone.name.split("/")[-1]
    if backbone.id in KNOWN:
        return name
    return f"{_plain(name)[:60]}-{_digest(canonical_json(identity_fields(backbone)))}"


def file_name(text: str) -> str:
    """`text` as a file can be called on any system: other characters become dashes, and what is too
    long is cut. A name that was changed ends with a digest of `text`.
    """
    plain = _plain(text)
    if plain == text and len(text) <= LONGEST:
        return text
    return f"{plain[: LONGEST - 9]}-{_digest(text)}"


def _plain(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in PLAIN) else "-" for c in text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]


def write_table(view: TableView, folder: Path) -> list[Path]:
    """Writes tables/NAME.{md,csv,json,tex} where their content changed; returns the four paths."""
    name = table_name(view.request)
    texts = {
        "md": markdown(view),
        "csv": csv_text(view),
        "json": json_text(as_json(view)),
        "tex": latex.latex(view, name),
    }
    return [_write(folder / "tables" / f"{name}.{ending}", text) for ending, text in texts.items()]


def write_tex(views: Sequence[TableView], folder: Path) -> list[Path]:
    """Writes tables/repro.tex, the document of all these tables, if there are any; returns its
    path.
    """
    names = [table_name(view.request) for view in views]
    return [_write(folder / "tables" / "repro.tex", latex.document(names))] if names else []


def _write(path: Path, text: str) -> Path:
    """Writes a file where its content changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_artefact(path, text)
    return path


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


def request_document(request: Request) -> dict[str, Any]:
    """The request as plain data."""
    document: dict[str, Any] = REQUEST.dump_python(request, mode="json")
    return document


def request_file(request: Request) -> tuple[str, bytes]:
    """The name and the content of the request's file in a bundle."""
    return f"requests/{table_name(request)}.json", json_bytes(request_document(request))


def save_request(store: Store, request: Request) -> None:
    """Remembers the last request of this name, where it is new; warns where it replaces one whose
    runs are on other data.
    """
    name, document = table_name(request), request_document(request)
    known = store.requests().get(name)
    if known is not None and canonical_json(known) == canonical_json(document):
        return
    other = _other_data(request, known or {})
    if other:
        store.say(
            f"{name}: the rows of {', '.join(other)} are not those that the table of this name had "
            "before. The report will show the new table; name another --store to keep both."
        )
    store.save_request(name, document)


def _other_data(request: Request, known: Mapping[str, Any]) -> list[str]:
    """The tasks whose data here are not those of a known request of the same name."""
    here = {"squad2": request.data_revision, **request.data_revisions}
    there = {"squad2": known.get("data_revision"), **known.get("data_revisions", {})}
    return [task for task in here if there.get(task, here[task]) not in (here[task], None)]


def saved_requests(store: Store) -> list[Request]:
    """All remembered requests, by name. One that this version cannot read is left out with a
    warning.
    """
    found: dict[str, Request] = {}
    for name, document in sorted(store.requests().items()):
        request = _read_request(store, name, document)
        if request is not None and (
            table_name(request) == name or table_name(request) not in found
        ):
            found[table_name(request)] = request
    return [found[name] for name in sorted(found)]


def _read_request(store: Store, name: str, document: Any) -> Request | None:
    known = {field.name for field in fields(Request)}
    try:
        request = REQUEST.validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        unknown = sorted(set(document) - known)
        if not unknown and request.table in ARTEFACTS:
            return request
        problem = f"it has the unknown field {unknown[0]}" if unknown else f"no {request.table}"
    store.say(
        f"{store.request_path(name)} was written by another version of this project ({problem}) "
        "and is left out. Give its command again with this version, or delete the file."
    )
    return None


def command_line(request: Request) -> str:
    """The command that asks for this artefact again; a model's folder is named without its path."""
    verb = "figure" if request.table in FIGURES else "table"
    words = ["python", "-m", "repro", verb, request.table, "--scale", request.scale]
    values = asdict(request)
    if request.tasks is not None:
        words += ["--tasks", ",".join(request.tasks)]
    if request.method is not None:
        words += ["--method", request.method]
    if request.seeds != ARTEFACTS[request.table].default_seeds[request.scale]:
        words += ["--seeds", str(request.seeds)]
    if request.backbone is not None:
        known = request.backbone.id in KNOWN
        label = request.backbone.id if known else backbone_label(request.backbone)
        words += ["--backbone", label]
    for name in OVERRIDES:
        if values[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(values[name])]
    if request.precision:
        words += ["--precision", request.precision]
    if request.sections is not None:
        words += ["--section", ",".join(request.sections)]
    words += ["--published-layers"] * request.published_layers
    for path, value in request.settings.items():
        words += ["--set", f"{path}={_as_given(value)}"]
    words += ["--as-released"] * request.as_released + ["--server"] * request.server
    return shlex.join(words)
