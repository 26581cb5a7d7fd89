"""Runs on the tiny T5, which one run pre-trains and a few-shot one starts from."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from in_process import InProcess
from run_samples import changed
from safetensors import safe_open
from safetensors.torch import load_file

from repro.backbones.load import load_encoder
from repro.cli.main import main
from repro.engine.dispatch import Dispatcher
from repro.engine.jobs import Execution
from repro.engine.parents import frozen_adapters
from repro.engine.plan import jobs_for
from repro.errors import ReproError
from repro.methods.t5 import HyperFormer, T5FineTuning
from repro.spec import Recipe, RunSpec, TextToText, run_key
from repro.spec.backbones import KNOWN, TINY_T5
from repro.spec.method import Method
from repro.store import Store
from repro.store.entry import ADAPTER, StoredRun
from repro.training.batches import collate, placed
from repro.training.cohort import Cohort

RECIPE = Recipe(
    epochs=2, look_steps=3, steps=5, batch_size=4, learning_rate=1e-3, schedule="linear",
    bias_correction=True, clip_norm=1.0, keep="first-best", label_smoothing=0.1, over_tokens="sum",
)  # fmt: skip
PLUS = HyperFormer(generators="stack", reduction=16, task_embedding=8, projected=8)


def run(
    method: Method, *tasks: str, rows: int | None = None, drawn_by: int = 0, **parents: RunSpec
) -> RunSpec:
    """A run of five steps on a few generated rows."""
    sizes = "seed=0,train=20,validation=12"
    task = TextToText.model_validate(
        {
            "tasks": tasks, "source": "generated", "revisions": dict.fromkeys(tasks, sizes),
            "train_rows": rows, "subset_seed": drawn_by,
        }
    )  # fmt: skip
    roles = {role.replace("_", "-"): run_key(parent) for role, parent in parents.items()}
    return RunSpec(
        scale="smoke", backbone=KNOWN[TINY_T5], task=task, method=method, recipe=RECIPE, seed=3,
        parents=roles,
    )  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A pre-trained model, two multi-task runs on it, and a few-shot run from each."""

    pretrained: RunSpec
    tuned: RunSpec
    plus: RunSpec
    few_tuned: RunSpec
    few_plus: RunSpec

    @property
    def all(self) -> list[RunSpec]:
        return [self.few_plus, self.few_tuned, self.plus, self.tuned, self.pretrained]


@pytest.fixture(scope="module")
def family() -> Family:
    first = run(T5FineTuning(), "span-corruption")
    tuned = run(T5FineTuning(), "rte", "cola", pretrained=first)
    plus = run(PLUS, "rte", "cola", pretrained=first)
    like = changed(PLUS, ("starts_from",), "rte")
    return Family(
        first,
        tuned,
        plus,
        run(T5FineTuning(), "cb", rows=4, multi_task=tuned, pretrained=first),
        run(like, "cb", rows=4, multi_task=plus, pretrained=first),
    )


@pytest.fixture(scope="module")
def store(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Everything trained, given in the opposite order."""
    store = Store(tmp_path_factory.mktemp("written") / "store")
    execute(family.all, store)
    return store


def execute(specs: list[RunSpec], store: Store) -> None:
    found = Dispatcher(InProcess()).run(jobs_for(specs, store), store, Execution(threads=1))
    assert [(outcome.kind, outcome.message) for outcome in found] == [(None, "")] * len(found)


def stored(store: Store, spec: RunSpec) -> StoredRun:
    found = store.read(run_key(spec), verify=True)
    assert found is not None
    return found


def weights(run: StoredRun) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = load_file(run.path / ADAPTER)
    return found


def test_a_run_keeps_weights_where_a_child_needs_them(store: Store, family: Family) -> None:
    assert ADAPTER in stored(store, family.pretrained).files
    assert ADAPTER in stored(store, family.tuned).files
    assert ADAPTER not in stored(store, family.few_tuned).files  # fine-tuned, and nobody's parent
    assert ADAPTER in stored(store, family.few_plus).files  # small


def test_a_child_names_the_results_that_it_was_made_from(store: Store, family: Family) -> None:
    few, plus = stored(store, family.few_plus), stored(store, family.plus)
    first = stored(store, family.pretrained)
    assert few.result.parents == {"multi-task": plus.digest, "pretrained": first.digest}
    assert plus.result.parents == {"pretrained": first.digest}


def test_scores_are_of_every_look_and_test_rows_come_at_the_end(
    store: Store, family: Family
) -> None:
    result = stored(store, family.plus).result
    places = {(s.task, s.split, s.epoch) for s in result.scores}
    kept = result.selected_epoch
    assert {(t, "validation", look) for t in ("rte", "cola") for look in (1, 2)} <= places
    assert {place for place in places if place[1] == "test"} == {
        ("rte", "test", kept), ("cola", "test", kept),
    }  # fmt: skip
    assert {s.n for s in result.scores} == {6}  # halves of twelve rows
    assert result.parameters_trained == family.plus.trained_parameters()
    assert set(result.embeddings or {}) == {"rte", "cola"}
    steps = (stored(store, family.plus).path / "history.jsonl").read_text().count('"loss"')
    assert steps == 5  # the last look is short


def test_frozen_weights_are_the_pretrained_ones(store: Store, family: Family) -> None:
    """HyperFormer++ stores no matrix of T5; its norms began as the pre-trained run's."""
    first, plus = weights(stored(store, family.pretrained)), weights(stored(store, family.plus))
    assert not any("SelfAttention" in name for name in plus)
    tuned = weights(stored(store, family.tuned))
    assert set(tuned) == set(first)
    nearer = sum(float((tuned[n] - first[n]).abs().max()) for n in first)
    assert 0 < nearer / len(first) < 5 * 1e-3  # five steps of at most the rate each


def test_a_few_shot_run_starts_from_the_task_that_is_named(store: Store, family: Family) -> None:
    few, plus = stored(store, family.few_plus).result, stored(store, family.plus).result
    assert few.embeddings is not None
    assert plus.embeddings is not None
    ours = torch.tensor(few.embeddings["cb"])
    near, far = (torch.tensor(plus.embeddings[name]) for name in ("rte", "cola"))
    assert (ours - near).abs().max() <= 5 * 1e-3
    assert (ours - far).abs().max() > 0.1


def test_weights_are_kept_for_later_children_or_trained_again_for_them(
    family: Family, tmp_path: Path
) -> None:
    """Kept of what is fine-tuned on the whole rows of a mixture, from which few-shot runs start;
    not of a run on a few rows of its own (Figure 2).
    """
    store = Store(tmp_path / "store")
    few = run(T5FineTuning(), "rte", "cola", rows=8, drawn_by=3, pretrained=family.pretrained)
    child = run(T5FineTuning(), "cb", rows=4, multi_task=few, pretrained=family.pretrained)
    execute([family.pretrained, family.tuned, few], store)
    assert ADAPTER in stored(store, family.tuned).files
    assert ADAPTER not in stored(store, few).files
    before = stored(store, few).digest
    execute([few, child], store)
    assert ADAPTER in stored(store, few).files
    assert stored(store, few).digest == before
    assert stored(store, child).result.parents["multi-task"] == before


def test_each_run_is_a_job_of_its_own(family: Family, tmp_path: Path) -> None:
    jobs = jobs_for(family.all, Store(tmp_path / "store"))
    assert [len(job.specs) for job in jobs] == [1] * 5
    order = [job.keys[0] for job in jobs]
    assert order.index(run_key(family.pretrained)) == 0
    assert order.index(run_key(family.plus)) < order.index(run_key(family.few_plus))


def test_frozen_adapters_answer_as_the_run_that_generated_them(
    store: Store,
    family: Family,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By `python -m repro freeze`: the file alone, put into plain adapters, gives equal tokens."""
    out = tmp_path / "rte.safetensors"
    command = ["freeze", run_key(family.plus)[:10], "--task", "rte", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["repro", *command, "--store", str(store.root)])
    with contextlib.suppress(SystemExit):
        main()
    assert capsys.readouterr().out.startswith(f"Wrote {out}: ")
    with safe_open(out, framework="pt") as file:
        plain = RunSpec.model_validate_json(file.metadata()["run"])
    assert plain.parents == {"pretrained": run_key(family.pretrained)}
    first = stored(store, family.pretrained).path / ADAPTER
    cpu = torch.device("cpu")
    encoder = load_encoder(family.plus.backbone, {}, cpu, pretrained=first)
    cohorts = [Cohort([0], [spec], encoder, cpu, 1) for spec in (family.plus, plain)]
    cohorts[0].load_artefact(0, weights(stored(store, family.plus)))
    cohorts[1].load_artefact(0, load_file(out))
    data = family.plus.task.load(encoder.tokenizer)
    rows = [example for example in data.evaluation if example.task == 0]
    inputs = placed(collate(rows, data.pad_id), cpu)
    generated, frozen = (cohort.evaluate(inputs) for cohort in cohorts)
    assert torch.equal(generated, frozen)
    logits = [cohort.learner(inputs, cohort.dropout) for cohort in cohorts]
    assert torch.equal(*logits)


def test_freezing_what_cannot_be_frozen_names_the_mend(
    store: Store, family: Family, tmp_path: Path
) -> None:
    """First what the run is: to train one of plain adapters again would be of no use."""
    with pytest.raises(ReproError, match="'t5-fine-tuning' are not generated"):
        frozen_adapters(store, run_key(family.tuned), "rte", {})
    copy = Store(tmp_path / "copy")
    plus, first = stored(store, family.plus), stored(store, family.pretrained)
    lack = r"stored here without its weights\. .* --store FOLDER"
    for lost, told in ((plus, lack), (first, lack), (None, f"{first.key[:12]}.* has no result")):
        shutil.rmtree(copy.root, ignore_errors=True)
        for run in (plus, first)[: 1 if lost is None else 2]:
            files = {n: (run.path / n).read_bytes() for n in run.files if n != "spec.json"}
            copy.write(
                run.key,
                run.spec,
                {n: f for n, f in files.items() if run is not lost or n != ADAPTER},
            )
        with pytest.raises(ReproError, match=told):
            frozen_adapters(copy, plus.key, "rte", {})
