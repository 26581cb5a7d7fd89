"""Which runs share a job, and how a job that was cut short is found again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TINY, cells, run_spec

from repro.engine.jobs import (
    Execution,
    group_runs,
    make_job,
    read_job,
    split_job,
    unfinished_jobs,
    write_job,
)
from repro.engine.plan import jobs_for
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AblatedSpans, AlwaysNull
from repro.spec import GlueTask, RunSpec, run_key
from repro.spec.identity import REVISIONS
from repro.spec.method import Method
from repro.store import Store

METHODS: list[Method] = [
    cells("plain", "relu"),
    cells("resnext", "attention"),
    LinearProbe(layer=6),
    FullFineTuning(),
    AlwaysNull(),
]
OTHER = TINY.model_copy(update={"revision": "sha256:other"})


@st.composite
def runs(draw: st.DrawFn) -> list[RunSpec]:
    """Runs of few kinds, so that some share a job, none twice."""
    choices = st.tuples(
        st.sampled_from(METHODS),
        st.integers(0, 1),  # seed
        st.sampled_from([2, 3]),  # epochs
        st.sampled_from(["dynamic", "max"]),
        st.sampled_from([TINY, OTHER]),
        st.sampled_from([1e-3, 2e-3]),
    )
    drawn = draw(st.lists(choices, max_size=12, unique_by=repr))
    return [
        run_spec(
            method,
            seed,
            backbone=backbone,
            recipe__epochs=epochs,
            recipe__padding=padding,
            recipe__learning_rate=rate,
        )
        for method, seed, epochs, padding, backbone, rate in drawn
    ]


@given(runs())
def test_every_run_is_in_exactly_one_job(specs: list[RunSpec]) -> None:
    jobs = group_runs(specs)
    trained = [key for job in jobs for key in job.keys]
    assert sorted(trained) == sorted(run_key(spec) for spec in specs)
    assert len(set(trained)) == len(trained)
    assert len({job.id for job in jobs}) == len(jobs)


@given(runs())
def test_members_read_the_same_batches_of_the_same_states(specs: list[RunSpec]) -> None:
    for job in group_runs(specs):
        shared = {
            (
                spec.backbone.revision,
                spec.task.model_dump_json(),
                spec.seed,
                spec.recipe.epochs,
                spec.recipe.batch_size,
                spec.recipe.padding,
                spec.recipe.order,
                spec.recipe.precision,
            )
            for spec in job.specs
        }
        assert len(shared) == 1


@given(runs())
def test_runs_that_can_share_a_pass_do(specs: list[RunSpec]) -> None:
    frozen = [spec for spec in specs if not isinstance(spec.method, FullFineTuning)]
    kinds = {(s.backbone.revision, s.seed, s.recipe.epochs, s.recipe.padding) for s in frozen}
    assert len(group_runs(frozen)) == len(kinds)


@given(runs())
def test_full_fine_tuning_stays_alone(specs: list[RunSpec]) -> None:
    for job in group_runs(specs):
        if any(isinstance(spec.method, FullFineTuning) for spec in job.specs):
            assert len(job.specs) == 1


def test_the_rate_is_each_runs_own_and_does_not_part_them() -> None:
    slow = run_spec(recipe__learning_rate=1e-3)
    fast = run_spec(recipe__learning_rate=2e-3)
    assert [len(job.specs) for job in group_runs([slow, fast])] == [2]


def test_a_job_is_named_by_its_members_in_their_order() -> None:
    one, two = run_spec(), run_spec(AlwaysNull())
    assert make_job([one, two]).id == make_job([one, two]).id
    assert make_job([one, two]).id != make_job([two, one]).id
    assert make_job([one, two]).keys == (run_key(one), run_key(two))


def test_a_job_splits_into_halves_that_keep_their_order() -> None:
    specs = [run_spec(recipe__learning_rate=rate) for rate in (1.0, 2.0, 3.0)]
    assert [job.specs for job in split_job(make_job(specs))] == [(specs[0],), tuple(specs[1:])]


def test_a_job_file_gives_back_members_and_execution(store: Store) -> None:
    job = make_job([run_spec(), run_spec(AlwaysNull())])
    execution = Execution(threads=1, micro_batch=2, folders={"sha256:tiny": "/somewhere"})
    found = read_job(write_job(store, job, execution))
    assert found is not None
    assert (found.specs, found.execution) == (list(job.specs), execution)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"specs": [], "other": 1}', b"\xff"])
def test_a_damaged_job_file_is_no_job(store: Store, content: bytes) -> None:
    folder = write_job(store, make_job([run_spec()]), Execution())
    (folder / "job.json").write_bytes(content)
    assert read_job(folder) is None
    assert unfinished_jobs(store) == []
    assert read_job(folder / "nowhere") is None


def test_an_unfinished_job_keeps_all_its_members(store: Store) -> None:
    """Its checkpoint holds all of them, so a request for one of them continues the whole."""
    one, two = run_spec(), run_spec(AlwaysNull())
    job = make_job([one, two])
    write_job(store, job, Execution())
    third = run_spec(LinearProbe(layer=6))
    assert jobs_for([two, third], store) == [job, make_job([third])]


def test_an_unfinished_job_that_nobody_asks_for_is_left_alone(store: Store) -> None:
    write_job(store, make_job([run_spec()]), Execution())
    other = run_spec(seed=1)
    assert jobs_for([other], store) == [make_job([other])]


def test_a_job_of_another_revision_is_never_continued(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint was trained by other code; under today's key it would be a wrong result."""
    spec = run_spec()
    write_job(store, make_job([spec]), Execution())
    monkeypatch.setitem(REVISIONS, "recipe", REVISIONS["recipe"] + 1)
    assert unfinished_jobs(store) == []
    assert jobs_for([spec], store)[0].id == make_job([spec]).id


def test_a_job_file_is_plain_json(store: Store) -> None:
    folder = write_job(store, make_job([run_spec()]), Execution())
    assert set(json.loads((folder / "job.json").read_text())) == {"specs", "execution", "code"}


def adapted(size: int, seed: int, **changes: Any) -> RunSpec:
    method = BottleneckAdapters(
        placement="houlsby", size=size, nonlinearity="gelu", init_std=0.02, norms="none"
    )
    task = GlueTask(name="cola", source="generated", revision="by hand")
    return run_spec(method, seed, task=task, **changes)


def shapes(specs: list[RunSpec]) -> list[list[tuple[int, int]]]:
    """Each job's runs as (size, seed)."""
    return [
        [(spec.method.size, spec.seed) for spec in job.specs]  # type: ignore[attr-defined]
        for job in group_runs(specs)
    ]


def test_few_runs_inside_the_encoder_are_joined_and_many_kept_by_method() -> None:
    one_seed = [adapted(size, 0) for size in (2, 4, 8)]
    assert shapes(one_seed) == [[(2, 0), (4, 0), (8, 0)]]
    three = [adapted(size, seed) for seed in (0, 1, 2) for size in (2, 4)]
    assert shapes(three) == [[(2, 0), (2, 1), (2, 2)], [(4, 0), (4, 1), (4, 2)]]
    rates = [adapted(2, s, recipe__learning_rate=r) for s in range(5) for r in (1e-4, 1e-3, 1e-2)]
    assert [len(job) for job in shapes(rates)] == [12, 3]


def test_runs_that_keep_other_epochs_do_not_share_a_job() -> None:
    assert len(group_runs([adapted(2, 0), adapted(2, 0, recipe__keep="best")])) == 2


def test_a_child_is_a_job_of_its_own_after_its_parent() -> None:
    parent = adapted(2, 0)
    update = {"method": AblatedSpans(), "parents": {"trained": run_key(parent)}}
    child = parent.model_copy(update=update)
    assert [job.specs for job in group_runs([parent, child])] == [(parent,), (child,)]
