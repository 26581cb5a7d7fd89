"""`--executor` and `--profile`, and jobs for a scheduler that this project does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.engine.clusters import read_profiles
from repro.engine.jobs import make_job, read_job
from repro.store import Store

Call = Callable[..., Any]
SECTION = ["AA-2", "--scale", "smoke", "--section", "Low-data-100", "--tasks", "rte"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--executor", "slrum"], "There is no executor called 'slrum'. Did you mean slurm?"),
        (["--profile", "site.toml"], "--profile is for --executor slurm or ray"),
        (["--executor", "ray", "--workers", "2"], "--workers is for this machine"),
        (["--executor", "slurm", "--profile", "none.toml"], "none.toml: No such file"),
    ],
)
def test_options_that_do_not_go_together_are_one_sentence(
    cli: Call, options: list[str], said: str
) -> None:
    answer = cli("run", "ResAdapters-1", "--scale", "smoke", *options)
    assert answer.code == 2
    assert answer.err.startswith("repro: ")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[slurm]\npartitoin = 'gpu'",
            "no setting in [slurm] called 'partitoin'; known: partition",
        ),
        ("[slurm]\ngpus = -1", "[slurm] gpus = -1: expected at least 0."),
        ("[slurm]\ngpus = 'two'", '[slurm] gpus = "two": expected a whole number.'),
        ("[slurm]\npartition = 3", "[slurm] partition = 3: expected text in quotes."),
        ("[slurm]\nextra = '--mem=3G'", '[slurm] extra = "--mem=3G": expected a list.'),
        ("[ray]\nresources = {a = 'b'}", '[ray] resources.a = "b": expected a number.'),
        ("slurm = 3", "slurm = 3: expected a table"),
        ("[pbs]\n", "pbs"),
        ("partition", "Expected '='"),
    ],
)
def test_bad_profile_is_named_with_its_field(
    cli: Call, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "site.toml").write_text(text)
    answer = cli(
        "run", "ResAdapters-1", "--scale", "smoke", "--executor", "slurm", "--profile", "site.toml"
    )
    assert answer.code == 2
    assert answer.err.startswith("repro: --profile site.toml: ")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_profile_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scheduling.md").read_text()
    example = page.split("```toml\n")[1].split("```")[0]
    (tmp_path / "site.toml").write_text(example)
    found = read_profiles(tmp_path / "site.toml")
    assert found.slurm.options()
    assert found.ray.address


def test_jobs_are_written_for_another_scheduler_parents_first(cli: Call, store: Store) -> None:
    ids = cli("run", *SECTION, "--threads", "3", "--write-jobs").out.split()
    planned = {job["id"]: job for job in json.loads(cli("plan", *SECTION, "--json").out)["jobs"]}
    assert set(ids) == set(planned)
    assert any(job["after"] for job in planned.values())
    holders = {key: job["id"] for job in planned.values() for key in job["runs"]}
    for place, id in enumerate(ids):
        file = read_job(store.work_dir(id))
        assert file is not None
        job = make_job(file.specs)
        assert job.id == id
        assert file.execution.threads == 3
        assert sorted({holders[key] for key in job.parents}) == planned[id]["after"]
        assert set(planned[id]["after"]) <= set(ids[:place])
    assert store.keys() == []
