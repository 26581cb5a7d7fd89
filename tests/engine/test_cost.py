"""The cost model against arithmetic by hand, and against what was measured."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from run_samples import TASK, cells, run_spec

from repro.engine import cost
from repro.engine.cost import (
    Speed,
    calibrated,
    card_speed,
    estimate,
    estimate_all,
    floor,
    is_of,
    method_cost,
    passed_rows,
    store_speed,
    stored_speed,
)
from repro.engine.jobs import Job, make_job
from repro.methods.adaptable_adapters import AdaptableAdapters, LastLayers
from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.methods.fine_tuning import FullFineTuning
from repro.methods.frozen_features import FrozenFeatures
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AlwaysNull
from repro.spec import GlueTask, RunSpec, SquadTask
from repro.store import Store
from repro.store.atomic import write_json

SPEED = Speed(flops=1e6, bytes=1e5, device="a slide rule", measured=True)


@pytest.fixture(autouse=True)
def _round_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that a hand can multiply: 10 tokens a window, as many again of padding."""
    tokens = {"generated": 10, "squad_v2": 100}
    monkeypatch.setattr(SquadTask, "tokens", lambda task: tokens[task.source])
    monkeypatch.setattr(cost, "PADDED", {"dynamic": 2.0, "max": 4.0})


def small(method: object, seed: int = 0) -> RunSpec:
    """Six layers of width 32, feed-forward 64; 100 examples, 50 scored, 2 epochs, batch 4."""
    task = TASK.model_copy(update={"train_rows": 100, "evaluation_rows": 50})
    return run_spec(method, seed, task=task)  # type: ignore[arg-type]


# A token through a layer: 8 d^2 for the four projections, 4 d f for the feed-forward, 4 T d for
# scores and weighted sums: 8 x 1024 + 4 x 32 x 64 + 4 x 10 x 32 = 17,664; six layers 105,984.
ENCODER = 105_984
TRAINED = 100 * 2 * 10  # questions x epochs x tokens
SCORED = 50 * 2 * 10


def test_a_probe_costs_one_pass_of_the_encoder_padding_included() -> None:
    job = make_job([small(LinearProbe(layer=6))])
    assert estimate(job, SPEED).seconds == pytest.approx(ENCODER * (TRAINED * 2 + SCORED) / 1e6)


def test_a_second_probe_shares_the_encoders_pass() -> None:
    one = make_job([small(LinearProbe(layer=6))])
    two = make_job([small(LinearProbe(layer=6)), small(LinearProbe(layer=5))])
    assert estimate(two, SPEED).seconds == estimate(one, SPEED).seconds


def test_cells_cost_their_own_products_and_memory_traffic() -> None:
    job = make_job([small(cells("plain", "relu"))])
    # two stacks, six layers, two projections of 32 x 8 counted twice; three times in training
    own = 2 * 6 * 4 * 32 * 8
    # 6 d + 8 b numbers of four bytes in each of the twelve cells; a third of it without gradients
    moved = 2 * 6 * 4 * (6 * 32 + 8 * 8)
    expected = ENCODER * (TRAINED * 2 + SCORED) / 1e6
    expected += own * (3 * TRAINED + SCORED) / 1e6
    expected += moved * (TRAINED + SCORED / 3) / 1e5
    assert estimate(job, SPEED).seconds == pytest.approx(expected)


def test_features_cost_the_encoders_pass_and_an_lstm_in_two_directions() -> None:
    one, two = (make_job([small(FrozenFeatures(units=8))] * n) for n in (1, 2))
    # two directions, four gates of 8 units that read 32 states and 8 units, counted twice
    own = 2 * 2 * 4 * 8 * (32 + 8)
    found, probe = (
        estimate(job, Speed(1e6, float("inf"), "a slide rule", True)).seconds
        for job in (one, make_job([small(LinearProbe(layer=6))]))
    )
    assert found - probe == pytest.approx(own * (3 * TRAINED + SCORED) / 1e6)
    assert estimate(two, SPEED).seconds < 2 * estimate(one, SPEED).seconds  # one pass serves both


def test_attention_in_the_cell_adds_its_projections_and_scores() -> None:
    relu = estimate(make_job([small(cells("plain", "relu"))]), SPEED).seconds
    attends = estimate(make_job([small(cells("plain", "attention"))]), SPEED).seconds
    own = 2 * 6 * (8 * 8 * 8 + 4 * 10 * 8)  # 8 b^2 + 4 T b
    moved = 2 * 6 * 4 * (22 - 8) * 8
    expected = own * (3 * TRAINED + SCORED) / 1e6 + moved * (TRAINED + SCORED / 3) / 1e5
    assert attends - relu == pytest.approx(expected)


def test_full_fine_tuning_passes_the_encoder_three_times_in_training() -> None:
    job = make_job([small(FullFineTuning())])
    assert estimate(job, SPEED).seconds == pytest.approx(ENCODER * (3 * TRAINED + SCORED) / 1e6)


def test_a_run_that_trains_nothing_costs_nothing() -> None:
    found = estimate(make_job([small(AlwaysNull())]), SPEED)
    assert found.seconds == 0


def test_jobs_of_one_worker_take_the_sum_of_their_time_and_the_memory_of_the_widest() -> None:
    jobs = [make_job([small(LinearProbe(layer=6))]), make_job([small(FullFineTuning())])]
    probe, tuning = (estimate(job, SPEED) for job in jobs)
    alone, together = estimate_all(jobs, SPEED), estimate_all(jobs, SPEED, workers=2)
    assert alone.seconds == probe.seconds + tuning.seconds
    assert alone.memory_bytes == max(probe.memory_bytes, tuning.memory_bytes)
    assert together.seconds == max(probe.seconds, tuning.seconds)
    assert together.memory_bytes == probe.memory_bytes + tuning.memory_bytes


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # published: 130,319 training and 11,873 development questions; CS224N dev has 6,078
        ({"source": "squad_v2", "train": "train", "evaluation": "official-dev"}, (130_319, 11_873)),
        (
            {"source": "squad_v2", "train": "dev-minus-cs224n", "evaluation": "cs224n"},
            (11_873 - 6_078, 6_078),
        ),
        # 3,018 answerable questions are 80% of 3,772
        (
            {
                "source": "squad_v2",
                "train": "dev-minus-cs224n",
                "evaluation": "cs224n",
                "answerable_share": 0.8,
            },
            (3_772, 6_078),
        ),
        ({"train_rows": 7, "evaluation_rows": 3}, (7, 3)),
    ],
)
def test_questions_are_counted_from_the_spec_alone(
    changes: dict[str, object], expected: tuple[int, int]
) -> None:
    task = TASK.model_copy(update=changes)
    assert run_spec(task=task).task.rows() == expected


def test_development_rows_are_scored_after_every_epoch_and_official_rows_once() -> None:
    """100 of RTE's rows are 75 to train on and 25; 277 official ones; two epochs."""
    task = GlueTask(name="rte", source="glue", revision=None, train_rows=100, development=0.25)
    spec = run_spec(FullFineTuning(), task=task)
    assert passed_rows(spec) == (2 * 75, 2 * 25 + 277)
    scored = LastLayers(kept=3)
    assert passed_rows(spec.model_copy(update={"method": scored})) == (0, 277)
    whole = task.model_copy(update={"development": None})
    assert passed_rows(spec.model_copy(update={"task": whole})) == (2 * 100, 2 * 277)


def test_calibration_meets_what_was_measured() -> None:
    jobs: list[tuple[Job, float]] = [
        (make_job([small(cells("plain", "relu"))]), 100.0),
        (make_job([small(FullFineTuning())]), 31.0),
    ]
    speed = calibrated(jobs, SPEED, "this machine")
    assert sum(estimate(job, speed).seconds for job, _ in jobs) == pytest.approx(131.0)
    assert (speed.device, speed.measured) == ("this machine", True)
    assert speed.flops / speed.bytes == pytest.approx(SPEED.flops / SPEED.bytes)


def test_a_job_that_trains_nothing_says_nothing_of_the_machines_speed() -> None:
    null = make_job([small(AlwaysNull())])
    assert calibrated([(null, 8.0)], SPEED, "this machine") == SPEED
    probe = make_job([small(LinearProbe(layer=6))])
    assert calibrated([(probe, 0.0)], SPEED, "this machine") == SPEED


def test_a_measured_speed_is_remembered_a_kind_of_device(store: Store) -> None:
    assert not stored_speed(store.root, "cpu").measured
    store_speed(store.root, "cpu", SPEED)
    faster = Speed(2e12, 1e12, "a GPU", True)
    store_speed(store.root, "cuda", faster)
    assert stored_speed(store.root, "cpu") == SPEED
    assert stored_speed(store.root, "cuda") == faster


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1]",
        b'{"cpu": 3}',
        b'{"cpu": {"flops": 0, "bytes": 0, "device": "x", "measured": true}}',
        b'{"cpu": {"flops": "fast", "bytes": 1, "device": "x", "measured": true}}',
        b'{"cpu": {"flops": NaN, "bytes": 1, "device": "x", "measured": true}}',
        b'{"cpu": {"flops": 1, "bytes": 1, "speed": 3}}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_calibration_is_replaced_never_trusted(store: Store, content: bytes) -> None:
    store.root.mkdir()
    (store.root / "calibration.json").write_bytes(content)
    assert stored_speed(store.root, "cpu") == cost.ASSUMED["cpu"]
    store_speed(store.root, "cpu", SPEED)
    assert stored_speed(store.root, "cpu") == SPEED


def test_a_store_that_is_a_file_has_no_measured_speed(store: Store) -> None:
    store.root.write_text("not a folder")
    assert stored_speed(store.root, "cpu") == cost.ASSUMED["cpu"]


def test_what_is_stored_is_what_speed_holds(store: Store) -> None:
    write_json(store.root / "calibration.json", {"cpu": asdict(SPEED)})
    assert stored_speed(store.root, "cpu") == SPEED


def test_a_gpus_steps_take_their_launches_and_a_measured_job_teaches_which_bound_holds() -> None:
    task = GlueTask(name="cola", source="generated", revision="seed=0,train=64,validation=8")
    method = BottleneckAdapters(
        placement="houlsby", size=4, nonlinearity="gelu", init_std=0.02, norms="none"
    )
    specs = [run_spec(method, seed, task=task, recipe__batch_size=4) for seed in (0, 1)]
    job = make_job(specs)
    # 64 rows in batches of 4, 2 epochs: 32 steps of 6 layers, two seeds of one method at once
    bound = Speed(1e30, 1e30, "endless", False, layer=0.5)
    assert estimate(job, bound).seconds == pytest.approx(32 * 6 * 0.5)
    learnt = calibrated([(job, 48.0)], bound, "measured")
    assert learnt.layer == pytest.approx(0.25)
    assert estimate(job, learnt).seconds == pytest.approx(48.0)
    slow = Speed(1e6, 1e30, "slow", False, layer=1e-3)
    taken = 3 * estimate(job, slow).seconds
    assert estimate(job, calibrated([(job, taken)], slow, "measured")).seconds == pytest.approx(
        taken
    )


def test_a_worker_starts_once_for_all_jobs_and_every_job_takes_a_little_more() -> None:
    jobs = [make_job([small(LinearProbe(layer=6), seed)]) for seed in (0, 1, 2)]
    trained = sum(estimate(job, SPEED).seconds for job in jobs)
    speed = replace(SPEED, start=8.0, job=0.5)
    assert estimate_all(jobs, speed).seconds == pytest.approx(trained + 8.0 + 3 * 0.5)
    assert estimate_all([], speed).seconds == 0


def test_calibration_leaves_what_a_job_takes_beside_its_steps() -> None:
    speed = replace(SPEED, start=8.0, job=0.5)
    job = make_job([small(FullFineTuning())])
    learnt = calibrated([(job, 31.0)], speed, "this machine")
    assert (learnt.start, learnt.job) == (8.0, 0.5)
    assert estimate(job, learnt).seconds == pytest.approx(31.5)


def test_adaptable_adapters_cost_two_products_in_every_layer_that_has_one() -> None:
    task = GlueTask(name="cola", source="generated", revision="seed=0,train=64,validation=8")

    def flops(layers: tuple[int, ...]) -> float:
        method = AdaptableAdapters(size=4, activation="relu", layers=layers)
        return method_cost(run_spec(method, task=task), 10)[0]

    assert flops(()) == ENCODER
    assert flops((1, 3, 5)) - flops(()) == 3 * 2 * (2 * 32 * 4)  # each product is counted twice


def test_a_cards_time_is_that_of_its_datasheet() -> None:
    """H100: 989.4 TFLOP/s in bf16, 66.9 in fp32; A100 312, 156 in TF32; L4 121, 0.3 TB/s; 45 % of
    the arithmetic and 90 % of the traffic are reached.
    """
    assert card_speed("h100").flops == pytest.approx(0.45 * 989.4e12)
    assert card_speed("h100").fp32 == pytest.approx(989.4 / 66.9)
    assert card_speed("a100", tf32=True).fp32 == pytest.approx(2.0)
    assert card_speed("l4").bytes == pytest.approx(0.27e12)
    assert card_speed("t4").fp32 == 1.0  # it computes bf16 in fp32


@pytest.mark.parametrize(
    ("card", "device", "expected"),
    [
        ("h100", "NVIDIA H100 80GB HBM3", True),
        ("a100", "NVIDIA A100-SXM4-80GB", True),
        ("l4", "NVIDIA L40S", False),
        ("t4", "Tesla T4", True),
        (None, "anything", True),
    ],
)
def test_a_card_is_known_by_the_name_of_its_driver(
    card: str | None, device: str, expected: bool
) -> None:
    assert is_of(card, device) is expected


def test_figures_of_another_card_are_not_used(store: Store) -> None:
    measured = Speed(2e12, 1e12, "NVIDIA H100 80GB HBM3", True)
    store_speed(store.root, "cuda", measured)
    assert stored_speed(store.root, "cuda", "h100") == measured
    assert stored_speed(store.root, "cuda", "a100") == card_speed("a100")


def test_the_floor_is_the_arithmetic_without_padding_at_the_matrix_peak() -> None:
    peak = {"fp32": 1e6, "bf16": 2e6}
    tuning, probe = make_job([small(FullFineTuning())]), make_job([small(LinearProbe(layer=6))])
    assert floor(tuning, peak) == pytest.approx(ENCODER * (3 * TRAINED + SCORED) / 1e6)
    assert floor(probe, peak) == pytest.approx(ENCODER * (TRAINED + SCORED) / 1e6)


def test_a_range_says_how_well_the_model_is_known() -> None:
    job = make_job([small(FullFineTuning())])
    known = estimate(job, SPEED)
    assert (known.low, known.high) == (known.seconds / 2, known.seconds * 2)
    unknown = estimate(job, replace(SPEED, measured=False))
    assert (unknown.low, unknown.high) == (unknown.seconds / 4, unknown.seconds * 4)
    both = estimate_all([job, make_job([small(FullFineTuning(), 1)])], SPEED)
    assert (both.low, both.high) == (both.seconds / 2, both.seconds * 2)
