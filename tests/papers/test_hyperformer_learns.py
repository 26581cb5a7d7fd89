"""The committed smoke runs learn: most tasks are scored above what one class for all rows gets."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from committed import RUNS

from repro.papers.hyperformer.runs import BASE_T5, few_shot_runs, table_runs
from repro.papers.hyperformer.setting import DAGGER, HYPER, MULTI, PLUS, SEED, SMOKE_DATA
from repro.papers.request import Request
from repro.spec import RunSpec, TextToText, run_key
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import FEW_SHOT, MIXTURE
from repro.store.bundle import Bundle
from repro.tasks.sentences.rows import generated_rows
from repro.tasks.text_to_text.rows import divided

SMOKE = Bundle(RUNS / "smoke.jsonl.xz", print)
ONE, TWO = Request("Hyperformer-1", "smoke", 1), Request("Hyperformer-2", "smoke", 1)
TASKS = [name for name in MIXTURE if name != "stsb"]


@cache
def majority(name: WrittenName) -> float:
    """The commonest class's share of a task's test rows, in percent: counted in the rows."""
    task = TextToText(tasks=(name,), source="generated", revisions={name: SMOKE_DATA})
    rows = divided(generated_rows(f"text-to-text/{name}", SMOKE_DATA), name, task)["test"]
    return 100 * Counter(row.label for row in rows).most_common(1)[0][1] / len(rows)


def scored(spec: RunSpec, name: WrittenName, metric: str = "accuracy") -> float:
    """What the stored run has on a task's test rows."""
    run = SMOKE.peek(run_key(spec))
    assert run is not None, "the smoke runs are of another setting: train and commit them again"
    place = name, "test", metric
    (found,) = (s.value for s in run.result.scores if (s.task, s.split, s.metric) == place)
    return found


@pytest.mark.parametrize("model", [MULTI, DAGGER, HYPER, PLUS])
def test_a_multi_task_run_is_above_the_majority_class_on_most_tasks(model: str) -> None:
    run = table_runs(model, BASE_T5, "rte", ONE).run(SEED)
    above = [name for name in TASKS if scored(run, name) > majority(name) + 5]
    assert len(above) >= 5, above
    # one number for all rows has 0; HyperFormer++ learns STS-B as little as SST-2 in 800 steps
    assert (scored(run, "stsb", "spearman") > 25) == (model != PLUS)


@pytest.mark.parametrize("model", [MULTI, DAGGER, PLUS])
def test_a_few_shot_run_on_many_samples_is_above_the_majority_class_on_most_tasks(
    model: str,
) -> None:
    above = []
    for name in FEW_SHOT:
        run = few_shot_runs(model, name, 250 if name == "cb" else 1000, TWO)[1].run(SEED)
        above += [name] if scored(run, name) > majority(name) + 5 else []
    assert len(above) >= 3, above
