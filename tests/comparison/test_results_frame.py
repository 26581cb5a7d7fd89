"""All scores of stored runs as a tidy frame, and a run's history."""

from __future__ import annotations

import json

import pytest
from fake_results import PROTOCOL, request, runs_of, store_all, store_result
from store_samples import files_of, spec_of

from repro.comparison.results import columns, history_frame, results_frame
from repro.errors import ReproError, UnknownName
from repro.papers.request import run_fields
from repro.spec import run_key
from repro.store import Store


def test_each_score_is_a_row_with_the_settings_of_its_run(store: Store) -> None:
    """Two epochs, two metrics, three groups of questions: see `fake_results.by_epoch`."""
    spec = runs_of(request(epochs=2))[0]
    key = store_result(store, spec)
    frame = results_frame(store)
    declared = {name: column.dtype for name, column in columns().items()}
    assert frame.dtypes.astype(str).replace("str", "string").to_dict() == declared
    assert len(frame) == 2 * 2 * 3
    found = frame.set_index(["epoch", "metric", "group"])
    assert found.loc[(2, "f1", "NoAns"), "value"] == 21.01
    assert found.loc[(1, "em", "ALL"), "value"] == 10.0
    assert found["kept"].to_dict()[(2, "em", "ALL")]
    assert not found["kept"].to_dict()[(1, "em", "ALL")]
    line = found.iloc[0]
    assert (line["key"], line["method"], line["protocol"]) == (key, "pipelined-cells", PROTOCOL)
    assert (line["task"], line["seed"], line["n"]) == ("squad2", 0, 12)
    assert (line["backbone"], line["recipe.epochs"]) == ("MiniLM-L6", 2)
    assert line["parameters_trained"] == 939_794
    assert line["recipe.logit_clamp"] == spec.recipe.logit_clamp
    assert line.isna()["method.span"]  # of another kind of method


def test_every_setting_has_a_column_that_says_what_it_is() -> None:
    assert run_fields().keys() <= columns().keys()
    assert all(column.doc for column in columns().values())
    assert columns()["recipe.epochs"].dtype == "Int64"
    assert columns()["recipe.learning_rate"].dtype == "float64"
    assert columns()["task.prefix"].dtype == "boolean"
    assert columns()["method.layers"].dtype == "object"  # a number, a list or a word


def test_where_chooses_by_setting_and_by_score(store: Store) -> None:
    store_all(store, request(epochs=2, seeds=2))

    def chosen(**where: object) -> int:
        return len(results_frame(store, where))

    each = 2 * 2 * 3
    assert chosen() == 12 * each
    assert chosen(seed=1) == 6 * each
    assert chosen(**{"method.wiring": ["plain", "resnext"], "seed": 0}) == 3 * each
    assert chosen(**{"method.wiring": None, "seed": 0}) == each  # the row that always says null
    assert chosen(metric="em", group="ALL", epoch=2) == 12
    assert chosen(seed=7) == 0
    assert chosen(epoch=(1, 2), metric="em") == chosen(epoch={1, 2}, metric="em") == 12 * 2 * 3
    assert chosen(Metric="EM", group="all", epoch=2) == 12
    assert chosen(scale="paper") == 0  # a choice that no run has
    assert chosen(group="HasAns", seed=7) == 0


def test_a_value_that_a_column_cannot_have_is_refused(store: Store) -> None:
    store_result(store, runs_of(request(epochs=2))[0])
    with pytest.raises(UnknownName, match=r"recipe\.epochs"):
        results_frame(store, {"recipe.epoch": 2})
    with pytest.raises(UnknownName, match=r"no metric .* 'f2'. Did you mean f1"):
        results_frame(store, {"metric": ["em", "f2"]})
    with pytest.raises(UnknownName, match=r"no scale .* 'papers'. Did you mean paper"):
        results_frame(store, {"scale": "papers"})
    with pytest.raises(ReproError, match="epoch holds numbers, not '2'"):
        results_frame(store, {"epoch": "2"})
    with pytest.raises(ReproError, match="metric holds texts, not 2"):
        results_frame(store, {"metric": 2})


def test_a_history_has_a_row_a_step_and_a_row_a_look(store: Store) -> None:
    spec = spec_of(0)
    key = run_key(spec)
    lines = [
        {"epoch": 1, "step": 1, "loss": 2.5, "gradient_norm": [0.5, 1.5]},
        {"epoch": 1, "step": 2, "loss": 2.25, "gradient_norm": [0.25, 1.0]},
        {"epoch": 1, "step": 2, "scores": {"f1": 50.0}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    store.write(key, spec, files_of(key) | {"history.jsonl": text})
    run = store.read(key)
    assert run is not None
    frame = history_frame(run)
    assert frame["loss"].dropna().tolist() == [2.5, 2.25]
    assert frame["gradient_norm.1"].dropna().tolist() == [1.5, 1.0]
    assert frame["score.f1"].dropna().tolist() == [50.0]
    assert frame["step"].tolist() == [1, 2, 2]
    (store.root / "small").mkdir()
    store.pack([key], store.root / "small" / "small.jsonl.xz", {})
    small = Store(store.root / "small").read(key)
    assert small is not None
    with pytest.raises(ReproError, match=rf"history of run {key[:12]} is not stored"):
        history_frame(small)
