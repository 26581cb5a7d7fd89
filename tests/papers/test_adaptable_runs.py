"""The runs behind the tables of Adaptable Adapters: how many, which, and what they need first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from request_samples import made

from repro.errors import ReproError
from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.papers.adaptable_adapters.setting import (
    AA,
    ARCHITECTURE,
    DROP,
    DROP_13,
    DROP_AA,
    LOW,
    SEEDS,
    SIM,
    SPEC,
    TRAINED,
    UNI,
    chain_of,
    last_of,
)
from repro.papers.adaptable_adapters.tables import FIVE, FOUR, THREE, TWO
from repro.papers.published import load_published
from repro.papers.request import Request
from repro.papers.tables import Table
from repro.spec import GlueTask, RunSpec, Scale, run_key
from repro.spec.backbones import BERT_BASE, BERT_LARGE, KNOWN, MINILM

LOW_100 = LOW[100]


def asked(table: Table = TWO, scale: Scale = "paper", **changes: Any) -> Request:
    own = {"id": table.id, "scale": scale, "seeds": table.default_seeds[scale]}
    return made(**(own | changes))


def method_of(chain: Sequence[RunSpec]) -> AdaptableAdapters:
    method = chain[-1].method
    assert isinstance(method, AdaptableAdapters)
    return method


def runs(table: Table = TWO, **changes: Any) -> list[RunSpec]:
    return [*table.matrix(asked(table, **changes)).runs.values()]


def test_the_block_of_100_rows_is_355_runs() -> None:
    """Nine tasks, five seeds. Trained: Baseline, AdapterDrop (one training for both of its rows),
    AA, spec, uni and sim; evaluated only: AdapterDrop with AA's number of layers, and with 13. On
    QQP spec and uni have the same parent, so they are the same five runs.
    """
    found = runs(sections=(LOW_100,))
    trained = 9 * 5 * 6 - 5
    evaluated = 9 * 5 * 2
    assert len(found) == trained + evaluated == 355
    kinds = Counter(spec.method.kind for spec in found)
    assert kinds == {"adaptable-adapters": trained, "last-layers": evaluated}
    keys = [run_key(spec) for spec in found]
    assert len(set(keys)) == len(keys)


def test_whole_tables_are_as_many_runs_as_their_rows_say() -> None:
    """Other blocks share no run with that one, but for uni's parent. All data: the first seed."""
    low_300 = low_500 = 9 * 5 * 6 + 9 * 5 * 2
    full = 9 * 6 + 9 * 2
    assert len(runs()) == 355 + low_300 + low_500 + full
    # AA-3: rationals in the last 13, 12 and 11 layers, nine tasks, three blocks, five seeds
    assert len(runs(THREE)) == 3 * 9 * 3 * 5
    # AA-4: six models
    assert len(runs(FOUR)) == 6 * 9 * 3 * 5
    assert len(runs(FIVE)) == len(runs())


def test_parents_stand_before_their_children() -> None:
    placed = {run_key(spec): place for place, spec in enumerate(runs())}
    for spec in runs():
        assert all(placed[parent] < placed[run_key(spec)] for parent in spec.parents.values())


def test_what_each_model_needs() -> None:
    request, seed = asked(), SEEDS[2]
    (selector,) = chain_of(AA, "cola", request, LOW_100, 42)
    (chosen,) = chain_of(AA, "qqp", request, LOW_100, 42)
    (trained,) = chain_of(DROP, "cola", request, LOW_100, seed)
    spec, uni = (chain_of(name, "cola", request, LOW_100, seed)[-1] for name in (SPEC, UNI))
    assert spec.parents == {ARCHITECTURE: run_key(selector)}
    assert uni.parents == {ARCHITECTURE: run_key(chosen)}
    aa, thirteen = (
        chain_of(name, "cola", request, LOW_100, seed)[-1] for name in (DROP_AA, DROP_13)
    )
    assert aa.parents == {TRAINED: run_key(trained), ARCHITECTURE: run_key(selector)}
    assert thirteen.parents == {TRAINED: run_key(trained)}
    assert aa.method == LastLayers(kept="selected")
    assert thirteen.method == LastLayers(kept=13)


def test_uni_comes_from_qqp_at_100_rows_whatever_is_asked_for() -> None:
    found = runs(tasks=("cola",), sections=(LOW[300],))
    (chosen,) = chain_of(AA, "qqp", asked(), LOW_100, 42)
    assert run_key(chosen) in {run_key(spec) for spec in found}
    assert "qqp" in TWO.also


def test_the_published_layers_need_no_parent() -> None:
    request = asked(published_layers=True)
    chain = chain_of(UNI, "cola", request, LOW_100, 42)
    assert len(chain) == 1
    method = method_of(chain)
    assert isinstance(method.layers, tuple)
    cells = load_published("adaptable_adapters", "AA22-text").values()
    halves = next(c for c in cells if c.row == "layers from first / second half").text
    first = sum(layer < 12 for layer in method.layers)
    assert f"{first} / {len(method.layers) - first}" == halves
    with pytest.raises(ReproError, match="leave out --published-layers"):
        chain_of(UNI, "cola", asked(published_layers=True, scale="smoke"), LOW_100, 42)


def test_another_recipe_of_a_parent_is_another_child() -> None:
    one, other = (chain_of(SPEC, "cola", asked(epochs=epochs), LOW_100, 92) for epochs in (20, 19))
    assert one[-1].parents != other[-1].parents
    changed = one[0].model_copy(update={"recipe": one[0].recipe.model_copy(update={"epochs": 1})})
    child = one[-1].model_copy(update={"parents": {ARCHITECTURE: run_key(changed)}})
    assert run_key(child) != run_key(one[-1])


def test_rows_are_drawn_by_the_runs_own_seed() -> None:
    for spec in runs(sections=(LOW_100,)):
        assert isinstance(spec.task, GlueTask)
        assert spec.task.subset_seed == spec.seed
        assert spec.task.train_rows == 100
        assert spec.task.development == 0.25
    assert {spec.seed for spec in runs()} == set(SEEDS)


@pytest.mark.parametrize(("layers", "kept"), [(24, 13), (12, 6), (6, 3)])
def test_sim_is_the_last_13_of_24_layers_scaled(layers: int, kept: int) -> None:
    """13 L / 24 is 13, 6.5 and 3.25; halves go to the even number."""
    backbone = {24: BERT_LARGE, 12: BERT_BASE, 6: MINILM}[layers]
    assert last_of(13, KNOWN[backbone]) == kept
    request = asked(backbone=KNOWN[backbone])
    sim = method_of(chain_of(SIM, "rte", request, LOW_100, 42))
    assert sim.layers == tuple(range(layers - kept, layers))
    twelve = method_of(chain_of("last 12", "rte", request, LOW_100, 42))
    assert twelve.layers == tuple(range(layers // 2, layers))


def test_the_released_reading_keeps_the_defects() -> None:
    request = asked(as_released=True)
    aa, drop = (method_of(chain_of(name, "cola", request, LOW_100, 42)) for name in (AA, DROP))
    assert (aa.switch, aa.restored) == ("released", "last")
    assert drop.drops == 10
    assert method_of(chain_of(DROP, "cola", asked(), LOW_100, 42)).drops == 23


def test_recipes_are_those_of_the_released_code() -> None:
    text = {c.row: c.text for c in load_published("adaptable_adapters", "AA22-text").values()}
    chain = chain_of(AA, "cola", asked(), LOW_100, 42)
    recipe = chain[-1].recipe
    assert recipe.learning_rate == float(text["learning rate, adapters"])
    assert recipe.switch_rate == float(text["learning rate, switches"])
    assert recipe.rational_rate == float(text["learning rate, rationals"])
    assert recipe.batch_size == int(text["batch size"])
    assert recipe.epochs == int(text["low-data epochs"])
    assert ", ".join(map(str, SEEDS)) == text["random seeds used"]
    assert method_of(chain).temperature == float(text["Gumbel-softmax temperature"])


def test_epochs_are_the_papers_for_low_data_and_the_codes_for_all_rows() -> None:
    """Section 4.4 states 20 epochs for the low-data setting alone; run.py's default is 20, too."""
    for block, origin in ((LOW_100, "paper"), ("Full data", "code")):
        spec = chain_of(AA, "cola", asked(), block, 42)[-1]
        assert spec.recipe.epochs == 20
        assert spec.sources["recipe.epochs"].origin == origin


def test_every_value_of_every_run_has_a_source() -> None:
    for spec in runs(tasks=("cola",)):
        method = {"method"} if isinstance(spec.method, LastLayers) else set()
        for path in ("recipe.learning_rate", "task.development", "task.subset_seed", *method):
            assert path in spec.sources


def test_runs_that_differ_in_their_seed_share_their_parts_and_draw_rows_of_their_own() -> None:
    first, second = (chain_of(AA, "cola", asked(), LOW_100, seed)[-1] for seed in SEEDS[:2])
    assert [first.seed, first.task.subset_seed] == [SEEDS[0]] * 2
    assert [second.seed, second.task.subset_seed] == [SEEDS[1]] * 2
    for part in ("backbone", "method", "recipe", "sources"):
        assert getattr(first, part) is getattr(second, part)
    for run in (first, second):  # a copy is what a spec of its own would be
        assert RunSpec.model_validate(run.model_dump()) == run


def test_rows_drawn_by_a_number_set_by_hand_are_the_same_for_every_seed() -> None:
    by_hand = asked(settings={"task.subset_seed": 7})
    runs = [chain_of(AA, "cola", by_hand, LOW_100, seed)[-1] for seed in SEEDS[:2]]
    assert [run.task.subset_seed for run in runs] == [7, 7]
    assert [run.seed for run in runs] == list(SEEDS[:2])
