"""The numbers as pandas frames, for a notebook or a script: `import repro`.

Nothing here trains or loads torch, and nothing is read before a function is called.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from repro.store.store import Store


def list() -> pandas.DataFrame:
    """Every table and figure there is.

    Returns:
        A frame with `id`; `kind`, "table" or the kind of figure; `paper`, its folder under
        repro/papers; `title`; `rows` and `columns` of a table (Int64); and the `tasks` that it can
        show (a list of their names).
    """
    from repro.comparison.columns import Column, typed
    from repro.papers.registry import FIGURES, TABLES

    dtypes = {"id": "string", "kind": "string", "paper": "string", "title": "string",
              "rows": "Int64", "columns": "Int64", "tasks": "object"}  # fmt: skip
    tables = [
        {"kind": "table", "rows": len(table.rows), "columns": len(table.columns)}
        | {name: getattr(table, name) for name in ("id", "paper", "title", "tasks")}
        for table in TABLES.values()
    ]
    figures = [
        {name: getattr(figure, name) for name in ("id", "kind", "paper", "title", "tasks")}
        for figure in FIGURES.values()
    ]
    return typed([*tables, *figures], {name: Column(dtypes[name], "") for name in dtypes})


def published(id: str | None = None) -> pandas.DataFrame:
    """The printed numbers of a table or figure, or of all papers; one row a number.

    Columns: see `published_frame` in repro/comparison/published.py.

    Raises UnknownName for an unknown id.
    """
    from repro.comparison.published import published_frame

    return published_frame(None if id is None else _text("id", id))


def results(
    store: Path | str | None = None, where: Mapping[str, Any] | None = None
) -> pandas.DataFrame:
    """All scores of the runs in a store, with the settings of each run; one row a score.

    Args:
        store: the folder of results; None: $REPRO_STORE, else runs.
        where: column -> value, or a list or tuple of values of which a row must have one, like
            {"task": "rte", "epoch": [1, 2]}. Names of columns and texts in any case.

    Columns: see `results_frame` in repro/comparison/results.py.

    Raises UnknownName for an unknown column or value, ReproError for a store that is not there.
    """
    from repro.comparison.results import results_frame
    from repro.errors import ReproError

    if where is not None and not isinstance(where, Mapping):
        raise ReproError(f'where={where!r}: give columns and values, like {{"task": "rte"}}.')
    return results_frame(_open(store), where)


def comparison(
    id: str, scale: str | None = None, store: Path | str | None = None, **options: Any
) -> pandas.DataFrame:
    """Published and reproduced numbers of a table, and how they compare; one row a cell.

    Args:
        id: the table, in any case.
        scale: paper, reduced or smoke; None: the largest that is stored.
        store: the folder of results; None: $REPRO_STORE, else runs.
        options: the fields of a request and short names of `--set`: tasks="cola,rte", seeds=3,
            epochs=2, rows=["AA"]; several tasks, sections, rows or columns may be a list.
            Without any, the variant at this scale is shown that has the most runs.

    Columns: see `COLUMNS` in repro/comparison/comparison.py.

    Raises UnknownName for an unknown id or option, and ReproError for a value that an option cannot
    have, and for a store that is not there or has nothing of the table.
    """
    from repro.cli.requests import check_scale, parsed
    from repro.cli.scales import requests_at, stored_variants
    from repro.errors import ReproError
    from repro.papers.registry import find_table
    from repro.report.files import saved_requests
    from repro.report.view import view_table

    table, runs = find_table(_text("id", id)), _open(store)
    chosen = None if scale is None else check_scale(_text("scale", scale))
    options = _options(options)
    if options and chosen is None:
        raise ReproError(f"Name the scale of {table.id} beside {', '.join(options)}: scale=...")
    if options and chosen is not None:
        asked = (table, parsed(**options))
        request = requests_at(chosen, [asked], runs, saved_requests(runs))[0]
    else:
        stored = [one.request for one in stored_variants(table, runs)]
        stored = [one for one in stored if chosen in (None, one.scale)]
        if not stored:
            at = f" at {chosen} scale" if chosen else ""
            raise ReproError(
                f"The store {runs.root} has no run of {table.id}{at}. Name another with store=..., "
                f"or train it: python -m repro table {table.id}"
                + (f" --scale {chosen}" if chosen else "")
            )
        request = stored[0]
    return view_table(table, request, runs).frame


def add(
    id: str,
    name: str,
    scores: pandas.DataFrame | Path | str,
    *,
    note: str = "",
    by: str | None = None,
    section: str = "",
    scales: Iterable[str] | None = None,
    server: bool = False,
    fractions: bool | None = None,
    replace: bool = False,
    store: Path | str | None = None,
) -> pandas.DataFrame:
    """Adds a row of your own numbers to a published table, marked as external; see `add --help`.

    Args:
        id: the table, in any case.
        name: what the row is called.
        scores: a frame, or a CSV file. Its columns are names of the table's columns; several lines
            are runs, one a line; one line has means, with columns "NAME sd" and "NAME n" where they
            are known. A missing value was not measured. The index is left out.
        note: a sentence for the notes below the table.
        by: who adds it; None: your user name.
        section: the part of a table that repeats its rows, like Low-data-100.
        scales: where it is shown; None: paper and reduced scale.
        server: the scores are of the GLUE test server.
        fractions: True: from 0 to 1; False: percent, even scores of at most 1; None: percent.
        replace: replace numbers that have this name.
        store: the folder of results; None: $REPRO_STORE, else runs. It is made where it is missing.

    Returns:
        What was stored: one row a column, with `column`, `mean`, `sd`, `n` and `values`.

    Raises ReproError, before anything is stored, for numbers or a name that cannot be right.
    """
    import pandas

    from repro.cli import add as verb
    from repro.cli.options import open_store
    from repro.cli.requests import split_sections
    from repro.comparison.external import frame_bytes, read_row
    from repro.comparison.external_rows import keep, record_of
    from repro.errors import ReproError
    from repro.papers.registry import find_table

    table = find_table(_text("id", id))
    if isinstance(scores, pandas.DataFrame):
        data = frame_bytes(scores)
    elif isinstance(scores, str | Path):
        data = verb.read(Path(scores))
    else:
        raise ReproError(f"scores={scores!r:.60}: give a pandas frame or a CSV file.")
    parts = split_sections(_text("section", section), table) if section else None
    row = read_row(
        data,
        table,
        _text("name", name),
        by=verb.user() if by is None else _text("by", by),
        note=_text("note", note),
        section=parts[0] if parts else "",
        scales=verb.scales(None if scales is None else [_text("scales", one) for one in scales]),
        server=server,
        fractions=fractions,
    )
    keep(row, open_store(None if store is None else Path(store)), replace=replace)
    columns = ["column", "mean", "sd", "n", "values"]
    kept = [{"column": one.column, **record_of(one)} for one in row.numbers]
    return pandas.DataFrame(kept, columns=columns).astype({"n": "Int64", "column": "string"})


def compare(
    first: str,
    second: str,
    table: str,
    scale: str | None = None,
    store: Path | str | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Two rows of a table, column by column; `attrs["words"]` of the frame says it in sentences.

    Args:
        first: a row by its name, external and your own included; "published: NAME" and "reproduced:
            NAME" say which of its numbers are meant. Without: reproduced where there are any.
        second: another row, or the same in the other form.
        table: the table, in any case.
        scale: paper, reduced or smoke; None: where most can be compared.
        store: the folder of results; None: $REPRO_STORE, else runs.
        options: see `comparison`.

    Columns: see `COLUMNS` in repro/comparison/pairs.py.

    Raises UnknownName for an unknown table, row or option, and ReproError for rows that cannot be
    compared and for a store that is not there.
    """
    from repro.cli.compare import find_pair, find_views
    from repro.cli.requests import parsed
    from repro.papers.registry import find_table

    found = find_table(_text("table", table))
    typed = {} if scale is None else {"scale": _text("scale", scale)}
    asked = parsed(**typed, **_options(options))
    names = _text("first", first), _text("second", second)
    return find_pair(find_views(found, asked, _open(store)), *names).frame


def sweep(
    id: str,
    row: str,
    settings: Mapping[str, Sequence[Any]],
    scale: str | None = None,
    store: Path | str | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """The scores of a table's row with every combination of some settings; one row for each
    combination and column.

    Args:
        id: the table, in any case.
        row: the row, as in the table; with method=... the row of that method, "yours".
        settings: field -> its values, like {"method.size": [8, 64], "recipe.epochs": [3]}.
        scale: paper, reduced or smoke; None: the largest at which some of it is stored.
        store: the folder of results; None: $REPRO_STORE, else runs.
        options: the fields of a request and short names of `--set`: tasks="cola,rte", seeds=3.

    Columns: `OF_A_CELL` in repro/report/sweep.py, and the swept fields.

    Raises UnknownName and ReproError as `comparison` does, and for settings that the row cannot be
    trained with.
    """
    from repro.cli.requests import SCALES, check_scale, parsed
    from repro.cli.sweep import find_sweep
    from repro.errors import MissingData, ReproError
    from repro.papers.registry import find_table
    from repro.papers.request import as_typed
    from repro.papers.sweeps import grid_of, points_of
    from repro.report.sweep import view_sweep

    table, runs = find_table(_text("id", id)), _open(store)
    if not isinstance(settings, Mapping):
        raise ReproError(f'settings={settings!r}: give fields and values, {{"method.size": [8]}}.')
    texts = []
    for path, given in settings.items():
        values = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
        texts.append(f"{path}={','.join(as_typed(value) for value in values)}")
    asked = parsed(rows=[_text("row", row)], **_options({**options}))
    points = points_of(grid_of(texts))
    chosen = None if scale is None else check_scale(_text("scale", scale))
    for at in SCALES if chosen is None else [chosen]:
        try:
            found = find_sweep(table, asked | {"scale": at}, points, runs)
        except MissingData:
            if chosen is not None:
                raise
            continue
        view = view_sweep(found, runs)
        if any(cell.values for cell in view.cells):
            return view.frame
    raise ReproError(
        f"The store {runs.root} has no run of this sweep of {table.id}. Name another with "
        f"store=..., or train it: python -m repro sweep {table.id}"
    )


def judged(frame: pandas.DataFrame) -> pandas.DataFrame:
    """A frame of the cells of one table with the verdict on each, by the rule in docs/verdicts.md.

    Args:
        frame: one row a cell, with `column`, `published`, `decimals` and `values` (a list of
            numbers, one a run); `judged` in repro/comparison/verdicts.py says what else is read.

    Raises ReproError where a needed column is not there, or a cell has a value that its column
    cannot have.
    """
    import pandas

    from repro.comparison.verdicts import judged as rule
    from repro.errors import ReproError

    if not isinstance(frame, pandas.DataFrame):
        raise ReproError(f"judged wants a pandas frame, one row a cell, not {frame!r:.60}.")
    return rule(frame)


def history(key: str, store: Path | str | None = None) -> pandas.DataFrame:
    """The course of a run's training: loss and gradient norms by step, scores by look.

    Args:
        key: the run's key, or its first digits.
        store: the folder of results; None: $REPRO_STORE, else runs.

    Columns: see `history_frame` in repro/comparison/results.py.

    Raises ReproError for a run that is not stored, or stored without its history.
    """
    from repro.comparison.results import history_frame
    from repro.errors import ReproError

    runs, key = _open(store), _text("key", key)
    found = [known for known in runs.keys() if known.startswith(key.lower())]  # noqa: SIM118
    run = runs.read(found[0]) if len(found) == 1 else None
    if run is None:
        problem = (
            f"has {len(found)} runs whose keys begin" if found else "has no run whose key begins"
        )
        raise ReproError(
            f"The store {runs.root} {problem} with '{key}'. repro.results() lists them."
        )
    return history_frame(run)


def _open(given: Path | str | None) -> Store:
    """The store asked for, empty perhaps. Raises ReproError where the folder is not there or holds
    something else.
    """
    from repro.cli.options import open_store
    from repro.errors import ReproError
    from repro.store.store import holds_store

    if given is not None and (not isinstance(given, str | Path) or given == ""):
        raise ReproError(f"store={given!r}: give the folder of a store, or leave it out.")
    store = open_store(None if given is None else Path(given))
    if not store.root.exists():
        raise ReproError(
            f"There is no store {store.root}. Name a folder of results with store=..., or with the "
            "environment variable REPRO_STORE."
        )
    if any(store.root.iterdir()) and not holds_store(store.root):
        raise ReproError(
            f"{store.root} is no store: nothing was stored there. Name a folder of results with "
            "store=..., or with the environment variable REPRO_STORE."
        )
    return store


def _text(name: str, given: Any) -> str:
    """Raises ReproError for what is no text."""
    from repro.errors import ReproError

    if not isinstance(given, str):
        raise ReproError(f"{name}={given!r}: give a text.")
    return given


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request, checked. Raises UnknownName, ReproError."""
    from repro.errors import UnknownName
    from repro.papers.request import OPTIONS

    for name in given:
        if name not in OPTIONS:
            raise UnknownName("option", name, OPTIONS)
    return {name: _option(name, value) for name, value in given.items()}


def _option(name: str, given: Any) -> Any:
    """The value of an option of a request, as the command line would hand it over.

    Raises ReproError for one of another type or out of range.
    """
    from repro.errors import ReproError
    from repro.papers.request import OPTIONS

    option, texts = OPTIONS[name], given
    if given is None:
        return None
    if option.type is bool:
        fits, wanted = isinstance(given, bool), "True or False"
    elif option.type in (int, float):
        kind: Any = Integral if option.type is int else Real
        least, most = option.least, option.most
        fits = isinstance(given, kind) and not isinstance(given, bool)
        fits = fits and (least is None or given >= least) and (most is None or given <= most)
        wanted = "a whole number" if option.type is int else "a number"
        wanted += f" from {least}" * (least is not None) + f" to {most}" * (most is not None)
    elif option.type is builtins.list or option.joined:
        texts = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
        fits = texts != [] and all(isinstance(one, str) and one.strip() for one in texts)
        wanted = "a text or a list of texts"
    else:
        fits, wanted = isinstance(given, str | Path) and str(given) != "", "a text"
    if not fits or isinstance(given, Mapping):
        raise ReproError(f"{name}={given!r}: give {wanted}.")
    return ",".join(texts) if texts is not given and option.type is str else texts
