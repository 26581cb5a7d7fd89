"""Where artefacts go, and the requests that `report` lays out again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from repro.errors import StoreError
from repro.papers.registry import ARTEFACTS, FIGURES
from repro.papers.tables import Request
from repro.report import latex
from repro.report.render import as_json, csv_text, json_text, markdown
from repro.report.view import TableView
from repro.spec import canonical_json
from repro.spec.backbones import KNOWN
from repro.store.atomic import write_bytes, write_text
from repro.store.store import Store

REQUEST = TypeAdapter(Request)
OVERRIDES = ("train_rows", "evaluation_rows", "epochs", "learning_rate", "bottleneck")
"""Numbers that a user may set by hand, whatever the scale says."""


def table_name(request: Request) -> str:
    """ResAdapters-1.reduced and all else that was asked for: no setting replaces another's."""
    parts = [request.table, request.scale]
    if request.backbone is not None:
        parts.append(request.backbone.name.split("/")[-1])
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
    parts += [f"{path}-{value}".replace("_", "-") for path, value in request.settings.items()]
    values = {name: getattr(request, name) for name in OVERRIDES}
    parts += [f"{n.replace('_', '-')}-{v:g}" for n, v in values.items() if v is not None]
    return ".".join(parts + ([request.precision] if request.precision else []))


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


def request_document(request: Request) -> dict[str, Any]:
    """The request as plain data."""
    document: dict[str, Any] = REQUEST.dump_python(request, mode="json")
    return document


def save_request(store: Store, request: Request) -> None:
    """Remembers the last request of this name, where it is new."""
    document = request_document(request)
    known = store.requests().get(table_name(request))
    if known is None or canonical_json(known) != canonical_json(document):
        store.save_request(table_name(request), document)


def saved_requests(store: Store) -> list[Request]:
    """All remembered requests, by name; one that no longer reads is left out."""
    found = []
    for _, document in sorted(store.requests().items()):
        try:
            request = REQUEST.validate_python(document)
        except ValidationError:
            continue  # of another version of the project
        if request.table in ARTEFACTS:
            found.append(request)
    return found


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
        words += ["--backbone", request.backbone.id if known else request.backbone.name]
    for name in OVERRIDES:
        if values[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(values[name])]
    if request.precision:
        words += ["--precision", request.precision]
    if request.sections is not None:
        words += ["--section", ",".join(request.sections)]
    words += ["--published-layers"] * request.published_layers
    for path, value in request.settings.items():
        words += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
    words += ["--as-released"] * request.as_released + ["--server"] * request.server
    return shlex.join(words)
