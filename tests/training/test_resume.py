"""A group cut short anywhere that goes on leaves, byte for byte, what an unbroken one leaves."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import group_of, remains, spec_of
from run_samples import cells
from safetensors import safe_open
from safetensors.torch import save
from tiny_models import tiny_data

from repro.methods.fine_tuning import FullFineTuning
from repro.methods.linear_probe import LinearProbe
from repro.methods.untrained import AlwaysNull
from repro.spec import RunSpec
from repro.training import checkpoint as checkpoint_module
from repro.training import group as group_module
from repro.training.checkpoint import Checkpoint, Damaged, write_artefact
from repro.training.group import Group

DATA = tiny_data(train=9, evaluated=4)
STEPS_AN_EPOCH = -(-len(DATA.training) // 4)


class Cut(Exception):
    """Stands for a kill: nothing in the project catches it."""


def mixed() -> list[RunSpec]:
    """A stacked cohort of two, a cohort with attention, a probe, and one that trains nothing."""
    return [
        spec_of(cells("resnet"), recipe__learning_rate=1e-2),
        spec_of(cells("resnext", "attention")),
        spec_of(LinearProbe(layer=3), recipe__learning_rate=0.1),
        spec_of(cells("resnet"), recipe__learning_rate=1e-3, recipe__clip_norm=0.1),
        spec_of(AlwaysNull()),
    ]


def released() -> list[RunSpec]:
    """As released: padded windows, batch norm over positions."""
    changes: dict[str, Any] = {"recipe__padding": "max", "recipe__logit_clamp": (0.0, 384.0)}
    method = cells("plain", "attention", norm_axis="position", attention_mask=False)
    return [spec_of(method, **changes)]


GROUPS: dict[str, Callable[[], list[RunSpec]]] = {
    "mixed": mixed,
    "released": released,
    "fine-tuning": lambda: [spec_of(FullFineTuning())],
    "bf16": lambda: [spec_of(cells("resnext", "attention"), recipe__precision="bf16")],
    "diverging": lambda: [
        spec_of(cells("resnet")),
        spec_of(cells("resnet"), recipe__learning_rate=1e30, recipe__clip_norm=None),
    ],
}


@pytest.fixture(autouse=True)
def _several_evaluation_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_module, "EVALUATION_TOKENS", {"cpu": 80})
    # what is synced or not shows only when the power fails
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def unbroken(specs: list[RunSpec], work: Path) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """What an unbroken group leaves, and what it reported."""
    events: list[dict[str, Any]] = []
    group = group_of(specs, work, data=DATA, report=events.append, checkpoint_steps=2)
    group.train()
    return remains(group), events


@pytest.mark.parametrize("name", ["mixed", "released", "fine-tuning"])
def test_taking_the_largest_batches_first_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a GPU's memory is tried with: no later batch of training or scoring is larger."""
    expected, _ = unbroken(GROUPS[name](), tmp_path / "unbroken")
    group = group_of(GROUPS[name](), tmp_path / "probed", data=DATA)
    keep = group.feed.keep_states

    def keep_and_probe(tell: Any) -> None:
        keep(tell)
        group._probe()

    monkeypatch.setattr(group.feed, "keep_states", keep_and_probe)
    sizes: dict[bool, list[int]] = {True: [], False: []}
    plain = group.feed.inputs

    def inputs(part: dict[int, list[Any]], *, training: bool) -> Any:
        rows = part[0]
        sizes[training].append(len(rows) * max(len(row.input_ids) for row in rows))
        return plain(part, training=training)

    monkeypatch.setattr(group.feed, "inputs", inputs)
    group.train()
    assert remains(group) == expected
    for taken in sizes.values():
        assert taken[0] == max(taken)
        assert len(taken) > 2


def run_until(specs: list[RunSpec], work: Path, cut: int | None, steps: int = 2) -> Group:
    """A new group on the same folder, cut at its event number `cut` (from 0)."""
    seen = 0

    def report(event: dict[str, Any]) -> None:
        nonlocal seen
        if seen == cut:
            raise Cut
        seen += 1

    group = group_of(specs, work, data=DATA, report=report, checkpoint_steps=steps)
    try:
        group.train()
    except Cut:
        assert cut is not None
    return group


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_cut_at_any_event_continues_byte_for_byte(name: str, tmp_path: Path) -> None:
    specs = GROUPS[name]()
    expected, events = unbroken(specs, tmp_path / "unbroken")
    kinds = [event["event"] for event in events]
    assert {"step", "evaluation", "scored"} <= {*kinds}
    first = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    more = range(0, len(events), 2) if name == "mixed" else [len(events) // 2]
    for cut in sorted({*first, *more}):
        work = tmp_path / str(cut)
        run_until(specs, work, cut)
        assert remains(run_until(specs, work, None)) == expected, events[cut]


@pytest.mark.parametrize("steps", [1, STEPS_AN_EPOCH])
def test_a_checkpoint_on_an_epochs_last_step_does_not_lose_its_evaluation(
    steps: int, tmp_path: Path
) -> None:
    specs = [spec_of(LinearProbe(layer=3))]
    expected, events = unbroken(specs, tmp_path / "unbroken")
    for epoch in (1, 2):
        last = events.index(
            next(e for e in events if e["event"] == "evaluation" and e["epoch"] == epoch)
        )
        work = tmp_path / str(epoch)
        run_until(specs, work, last, steps)
        assert remains(run_until(specs, work, None, steps)) == expected


def test_a_group_cut_again_and_again_arrives(tmp_path: Path) -> None:
    specs = mixed()
    expected, _ = unbroken(specs, tmp_path / "unbroken")
    work = tmp_path / "cut"
    resumed: list[dict[str, Any]] = []
    for cut in (9, 8, 12, 7, 10):
        resumed.append({"step": run_until(specs, work, cut, steps=1).step})
    group = run_until(specs, work, None, steps=1)
    assert remains(group) == expected
    assert [r["step"] for r in resumed] == sorted(r["step"] for r in resumed)


def test_a_finished_group_given_again_does_nothing(tmp_path: Path) -> None:
    specs = mixed()
    expected, _ = unbroken(specs, tmp_path)
    events: list[dict[str, Any]] = []
    group = group_of(specs, tmp_path, data=DATA, report=events.append)
    group.train()
    assert [event["event"] for event in events] == ["resumed"]
    assert remains(group) == expected


def test_a_kill_between_history_and_checkpoint_repeats_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = mixed()
    expected, _ = unbroken(specs, tmp_path / "unbroken")
    write = checkpoint_module.Checkpoint.write
    for fatal in range(1, 5):
        calls = 0

        def dying(self: checkpoint_module.Checkpoint, work: Path, fatal: int = fatal) -> None:
            nonlocal calls
            calls += 1
            if calls == fatal:
                raise Cut
            write(self, work)

        work = tmp_path / str(fatal)
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint_module.Checkpoint, "write", dying)
            with pytest.raises(Cut):
                group_of(specs, work, data=DATA, checkpoint_steps=2).train()
        assert remains(run_until(specs, work, None)) == expected


def test_a_checkpoint_is_json_and_tensors_only(tmp_path: Path) -> None:
    group = run_until(mixed(), tmp_path, None)
    stored = checkpoint_module.Checkpoint.read(tmp_path)
    assert stored is not None
    progress = json.loads(stored.progress)
    assert progress["step"] == group.steps
    assert [member["key"] for member in progress["members"]] == [m.key for m in group.members]
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors", ".json", ".jsonl"}


def test_a_folder_without_a_checkpoint_starts_over(tmp_path: Path) -> None:
    specs = mixed()
    expected, _ = unbroken(specs, tmp_path / "unbroken")
    work = tmp_path / "cut"
    work.mkdir()
    key = group_of(specs, work, data=DATA).members[0].key
    (work / f"history-{key}.jsonl").write_text('{"left":"by a run that saved nothing"}\n')
    assert remains(run_until(specs, work, None)) == expected


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    """As some file systems leave what a power cut kept from the disk."""
    path.write_bytes(bytes(path.stat().st_size))


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(bytes(content))


@pytest.fixture(scope="module")
def cut_once_and_finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Work folders of runs that keep their best epoch: one cut after an epoch, one finished."""
    folder = tmp_path_factory.mktemp("work")
    specs = keeping_the_best()
    _, events = unbroken(specs, folder / "finished")
    scored = [number for number, event in enumerate(events) if event["event"] == "scored"]
    run_until(specs, folder / "cut", scored[0] + 3, steps=1)
    return folder / "cut", folder / "finished"


def keeping_the_best() -> list[RunSpec]:
    changes = {"recipe__keep": "best", "recipe__epochs": 3}
    return [spec_of(LinearProbe(layer=3), recipe__learning_rate=0.1, **changes)]


CONTINUED_FROM = [
    (False, "checkpoint.safetensors"),
    (False, "history-*"),
    (False, "adapter-*"),
    (True, "adapter-*"),
    (True, "predictions-*"),
]


@pytest.mark.parametrize(
    ("finished", "pattern", "damage"),
    [
        *((*file, how) for file in CONTINUED_FROM for how in (cut_short, emptied, zeroed, one_bit)),
        *((*file, Path.unlink) for file in CONTINUED_FROM[1:]),
    ],
)
def test_a_damaged_file_is_named_and_never_continued_from(
    cut_once_and_finished: tuple[Path, Path],
    tmp_path: Path,
    finished: bool,
    pattern: str,
    damage: Callable[[Path], None],
) -> None:
    work = tmp_path / "work"
    shutil.copytree(cut_once_and_finished[finished], work)
    path = next(work.glob(pattern))
    damage(path)
    with pytest.raises(Damaged, match=path.name):
        group_of(keeping_the_best(), work, data=DATA, checkpoint_steps=1).train()


def test_a_checkpoint_of_another_shape_is_refused(tmp_path: Path) -> None:
    """A GPU's generators have states of another size than a CPU's."""
    run_until(mixed(), tmp_path, 9, steps=1)
    stored = checkpoint_module.Checkpoint.read(tmp_path)
    assert stored is not None
    changed = stored.tensors | {"0.dropout.0": stored.tensors["0.dropout.0"][:16]}
    checkpoint_module.Checkpoint(changed, stored.progress).write(tmp_path)
    with pytest.raises(Damaged, match="another device or version"):
        group_of(mixed(), tmp_path, data=DATA).train()


def test_a_checkpoint_is_the_librarys_file_without_a_copy_of_its_tensors(tmp_path: Path) -> None:
    tensors = {
        "0.values": torch.randn(2, 3, 700_000),
        "0.turned": torch.randn(4, 6).T,
        "0.kept": torch.tensor([True, False, True]),
        "0.half": torch.randn(5).bfloat16(),
        "0.count": torch.arange(3),
        "0.dropout.0": torch.Generator().get_state(),
    }
    tracemalloc.start()
    Checkpoint(tensors, '{"name": "Größe"}').write(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000  # of 16.8 MB
    found = Checkpoint.read(tmp_path)
    assert found is not None
    assert found.progress == '{"name": "Größe"}'
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in tensors.items())
    path = tmp_path / "adapter.safetensors"
    write_artefact(path, tensors)
    with safe_open(path, framework="pt") as stored:
        notes = stored.metadata()
    assert path.read_bytes() == save({n: t.contiguous() for n, t in tensors.items()}, notes)
