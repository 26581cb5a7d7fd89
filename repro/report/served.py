"""Scores of the GLUE test server where a table shows those of validation rows."""

from __future__ import annotations

from repro.papers.tables import Score
from repro.server.layout import of_column
from repro.store.store import Store

NOT_IMPORTED = "no score of the GLUE test server was imported (see python -m repro export --help)"


def server_score(store: Store, key: str, column: Score) -> float | None:
    """What the server said of the run `key` for the test rows that belong to a column.

    None where no score of that metric was imported, where the run was trained again to another
    result since, and where the server has no such test rows.
    """
    served, file = store.served(key), of_column(column.task, column.split)
    run = store.read(key) if served is not None else None
    if served is None or file is None or run is None or run.digest != served.result:
        return None
    return served.value(file.task, file.split, column.metric)
