"""All scores of stored runs as one tidy frame, and the history of one run's training."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from repro.comparison.columns import Column, Columns, typed
from repro.errors import ReproError, UnknownName
from repro.papers.request import declared_fields
from repro.report.runs_found import kept_epoch
from repro.spec import RunSpec
from repro.spec.method import methods
from repro.store.entry import StoredRun
from repro.store.store import Store
from repro.store.strict_json import parse_json
from repro.tasks.catalogue import TITLES

if TYPE_CHECKING:
    import pandas
    from pydantic.fields import FieldInfo

HISTORY = "history.jsonl"
"""Loss and gradient norms of every step, and the scores of every look at the validation rows."""
OF_A_RUN: Columns = {
    "key": Column("string", "the run's key"),
    "scale": Column("string", "smoke, reduced or paper"),
    "backbone": Column("string", "short name of the pretrained model"),
    "method": Column("string", "kind of method"),
    "seed": Column("Int64", "draws order, initialisation and dropout"),
    "parents": Column("object", "role -> key of a run that this one was made from"),
}
OF_A_RESULT: Columns = {
    "parameters_trained": Column("Int64", "number of trained parameters"),
    "parameters_total": Column("Int64", "trained and frozen parameters together"),
    "collapsed": Column("boolean", "predicts one class only; <NA> where that was not judged"),
    "outdated": Column("boolean", "stored by an older version, whose numbers may differ"),
}
OF_A_SCORE: Columns = {
    "task": Column("string", "what was scored; a run on a mixture of tasks has several"),
    "split": Column("string", "rows that were scored"),
    "protocol": Column("string", "how outputs became predictions"),
    "metric": Column("string", "name of the metric"),
    "group": Column("string", "part of the rows that the metric is over; ALL: all of them"),
    "epoch": Column("Int64", "passes over the training rows before scoring; 0: none"),
    "kept": Column("boolean", "whether the run kept the weights of this epoch"),
    "value": Column("float64", "the score, in percent where the metric is a share"),
    "n": Column("Int64", "examples that the value is over"),
}


def settings() -> Columns:
    """The columns that hold a run's settings: all fields of its spec, named as `--set` names them
    ("recipe.epochs"). A value is missing where it is None (no cap on the rows, say) and where the
    run's kind of method or task has no such field.
    """
    known = {"method.kind", "backbone.name"}
    return {
        path: Column(_dtype(infos), infos[0].description or "")
        for path, infos in declared_fields().items()
        if path not in known
    }


def columns() -> Columns:
    """Every column of `results_frame` in order."""
    return {**OF_A_RUN, **OF_A_SCORE, **OF_A_RESULT, **settings()}


def results_frame(store: Store, where: Mapping[str, Any] | None = None) -> pandas.DataFrame:
    """One row for each score of each stored run, sorted by run.

    Args:
        store: where the runs are.
        where: column -> the value that a row must have, or a list, tuple or set of such values;
            None stands for a missing value. Columns and texts may be written in any case. Results
            are read of the runs only whose settings fit.

    Returns:
        A frame with the columns of `columns()`: `OF_A_RUN`, `OF_A_SCORE`, `OF_A_RESULT` and
        `settings()`. Numbers are float64 or Int64, words strings, lists and objects Python's own.

    Raises:
        UnknownName: `where` names a column that does not exist, or a text that no stored run has in
            its column and that is none of the column's choices.
        ReproError: `where` has a text for a column of numbers, or the other way round.
    """
    wanted = _wanted(where or {})
    of_a_run = {**OF_A_RUN, **settings()}
    every = typed([_run(key, spec) for key, spec in store.specs().items()], of_a_run)
    frame = _lines(store, every, wanted)
    if any(_absent(frame[name], values) for name, values in wanted.items()):
        _check_known(_lines(store, every, {}), wanted)
    return frame


def _lines(
    store: Store, runs: pandas.DataFrame, wanted: Mapping[str, list[Any]]
) -> pandas.DataFrame:
    runs = _chosen(runs, wanted)
    read = (store.read(key) for key in runs["key"])
    scores = typed(_scores(run for run in read if run is not None), _OF_A_LINE)
    frame = _chosen(scores.merge(runs, on="key"), wanted)
    return frame[list(columns())].reset_index(drop=True)


def _wanted(where: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Column -> the values of which a row must have one."""
    found: dict[str, list[Any]] = {}
    known = {name.lower(): name for name in columns()}
    for given, values in where.items():
        name = known.get(str(given).lower())
        if name is None:
            raise UnknownName("column of results", str(given), columns())
        one = isinstance(values, str) or not isinstance(values, list | tuple | set | frozenset)
        found[name] = [values] if one else [*values]
        dtype = columns()[name].dtype
        for value in found[name]:
            text = isinstance(value, str)
            if value is not None and dtype != "object" and text != (dtype == "string"):
                held = {"string": "texts", "boolean": "True or False"}.get(dtype, "numbers")
                raise ReproError(f"where: {name} holds {held}, not {value!r}.")
    return found


def _absent(column: pandas.Series, values: Sequence[Any]) -> list[str]:
    """The texts among `values` that no row has."""
    texts = [value for value in values if isinstance(value, str)]
    held = {value.lower() for value in column if isinstance(value, str)} if texts else set()
    return [text for text in texts if text.lower() not in held]


def _check_known(every: pandas.DataFrame, wanted: Mapping[str, list[Any]]) -> None:
    """Raises UnknownName for a text that is neither stored nor a choice of its column."""
    for name, values in wanted.items():
        known = {value for value in every[name] if isinstance(value, str)} | _choices(name)
        lowered = {one.lower() for one in known}
        for text in _absent(every[name], values):
            if text.lower() not in lowered:
                raise UnknownName(f"{name} of a stored run", text, known)


def _choices(name: str) -> set[str]:
    """The texts that a column can hold, where they are known."""
    if name in ("task", "method"):
        return set(TITLES if name == "task" else methods())
    fields = declared_fields() | {"scale": [RunSpec.model_fields["scale"]]}
    return {text for info in fields.get(name, ()) for text in _literals(info.annotation)}


def _literals(annotation: Any) -> Iterator[str]:
    """The texts of a field's `Literal`."""
    if get_origin(annotation) is Literal:
        yield from (value for value in get_args(annotation) if isinstance(value, str))
    else:
        for one in get_args(annotation):
            yield from _literals(one)


_OF_A_LINE: Columns = {"key": OF_A_RUN["key"], **OF_A_SCORE, **OF_A_RESULT}


def _run(key: str, spec: RunSpec) -> dict[str, Any]:
    parts = {part: getattr(spec, part) for part in ("backbone", "task", "method", "recipe")}
    values = {f"{part}.{name}": value for part, of in parts.items() for name, value in of}
    return values | {
        "key": key,
        "scale": spec.scale,
        "backbone": spec.backbone.name,
        "method": spec.method.kind,
        "seed": spec.seed,
        "parents": spec.parents,
    }


def _scores(runs: Iterable[StoredRun]) -> Iterator[dict[str, Any]]:
    for run in runs:
        result, kept = run.result, kept_epoch(run)
        shared = {name: getattr(result, name) for name in OF_A_RESULT if name != "outdated"}
        shared |= {"key": run.key, "outdated": run.outdated}
        for score in result.scores:
            yield score.model_dump() | shared | {"kept": score.epoch == kept}


def _chosen(frame: pandas.DataFrame, wanted: Mapping[str, list[Any]]) -> pandas.DataFrame:
    """The rows that have these values in those of these columns that the frame has."""
    for name in frame.columns.intersection(list(wanted)):
        values = [_folded(value) for value in wanted[name]]
        found = frame[name].map(lambda value, of=values: _folded(value) in of, na_action="ignore")
        frame = frame[(found == True) | (frame[name].isna() & (None in values))]  # noqa: E712
    return frame


def _folded(value: Any) -> Any:
    """Texts are compared in any case, lists with tuples."""
    if isinstance(value, str):
        return value.lower()
    return list(value) if isinstance(value, tuple) else value


def _dtype(fields: Iterable[FieldInfo]) -> str:
    """The pandas dtype of a field that several kinds may have."""
    found = {kind for field in fields for kind in _plain_types(field.annotation)}
    if found <= {int, float}:
        return "Int64" if found == {int} else "float64"
    return {frozenset([bool]): "boolean", frozenset([str]): "string"}.get(
        frozenset(found), "object"
    )


def _plain_types(annotation: Any) -> Iterator[type]:
    """The types of a field's values but None; object for what is no plain value."""
    if get_origin(annotation) in (Union, types.UnionType):
        for one in get_args(annotation):
            yield from _plain_types(one)
    elif get_origin(annotation) is Literal:
        yield from (type(value) for value in get_args(annotation))
    elif annotation is not type(None):
        yield annotation if annotation in (int, float, bool, str) else object


def history_frame(run: StoredRun) -> pandas.DataFrame:
    """The course of a run's training: one row a step, and one a look at the validation rows.

    Returns:
        A frame with `epoch` and `step` (Int64), `loss` (float64; missing in a look), one
        `gradient_norm.<i>` for each group of parameters that is clipped by itself (float64), and
        one `score.<name>` for each headline score (float64; missing in a step).

    Raises:
        ReproError: the store has only the scores of the run.
    """
    import pandas

    if HISTORY not in run.files:
        raise ReproError(
            f"The history of run {run.key[:12]} is not stored: committed results hold the scores "
            "only. Train it into a store of your own, or see repro.results() for its scores."
        )
    try:
        lines = [_step(parse_json(line)) for line in run.source.read(HISTORY).splitlines()]
        frame = pandas.DataFrame(lines or [], columns=None if lines else ["epoch", "step", "loss"])
        numbers = [name for name in frame if name not in ("epoch", "step")]
        return frame.astype({"epoch": "Int64", "step": "Int64"} | dict.fromkeys(numbers, "float64"))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ReproError(
            f"The history of run {run.key[:12]} is damaged. Its scores are in repro.results(); to "
            "train it again, remove its folder from the store."
        ) from error


def _step(line: Mapping[str, Any]) -> dict[str, Any]:
    norms = line.get("gradient_norm", [])
    found = {"epoch": line["epoch"], "step": line["step"], "loss": line.get("loss")}
    found |= {f"gradient_norm.{place}": norm for place, norm in enumerate(norms)}
    return found | {f"score.{name}": value for name, value in line.get("scores", {}).items()}
