"""`verify` finds every damage, by checksums and by scores made anew, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from store_samples import files_of, listening, spec_of, tree, write_child, write_run

from repro.engine.verify import Checked, other_results, runs_to_verify, verify_files, verify_run
from repro.spec import RunSpec, SquadTask, run_key
from repro.store import Result, Score, Store, render
from repro.store.entry import FileEntry, Manifest, digest_of, manifest_bytes
from repro.tasks.squad2.questions import evaluation_questions


def checks(store: Store, *, rescore: bool = False) -> dict[str, Checked]:
    found = [verify_run(*one, rescore=rescore) for one in runs_to_verify(store)]
    return {one.what: one for one in (*found, *verify_files(store))}


def problems(store: Store) -> dict[str, str]:
    return {what: one.problem for what, one in checks(store).items() if one.problem is not None}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_a_sound_store_has_no_problem_and_stays_as_it_is(store: Store) -> None:
    parent = write_run(store, 0)
    child = write_child(store, parent)
    store.record_failure(run_key(spec_of(1)), spec_of(1), "error", "m", "log")
    store.save_request("T-1", {"seeds": 1})
    before = tree(store.root)
    found = checks(store)
    assert {parent, child, "requests/T-1.json"} < set(found)
    assert problems(store) == {}
    assert tree(store.root) == before


def damage_content(folder: Path) -> None:
    path = folder / "predictions.json"
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def damage_size(folder: Path) -> None:
    (folder / "adapter.safetensors").write_bytes(b"")


def remove_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").unlink()


def remove_history(folder: Path) -> None:
    (folder / "history.jsonl").unlink()


@pytest.mark.parametrize(
    "damage",
    [damage_content, damage_size, remove_manifest, remove_history],
    ids=lambda f: f.__name__,
)
def test_each_damage_of_a_run_is_named_with_its_mend_and_left_there(
    store: Store, damage: Callable[[Path], None]
) -> None:
    key, good = write_run(store, 0), write_run(store, 1)
    damage(store.root / key[:2] / key)
    before = tree(store.root)
    found = checks(store)
    assert found[key].problem is not None
    assert f"store rm {key[:12]} --force" in found[key].mend
    assert found[good].problem is None
    assert tree(store.root) == before


def test_damaged_records_and_bundles_are_named(store: Store) -> None:
    key = write_run(store, 0)
    store.pack([key], store.root / "good.jsonl.xz", {})
    (store.root / "bad.jsonl.xz").write_bytes((store.root / "good.jsonl.xz").read_bytes()[:-4])
    spec = spec_of(1)
    store.record_failure(run_key(spec), spec, "error", "m", "log")
    store.failure_path(run_key(spec)).write_text("{}")
    for folder, text in (("requests", "{"), ("counts", "NaN"), ("server", "{}"), ("external", "[")):
        (store.root / folder).mkdir(exist_ok=True)
        (store.root / folder / "x.json").write_text(text)
    names = {f"{folder}/x.json" for folder in ("requests", "counts", "server", "external")}
    assert problems(store).keys() == {
        "runs/bad.jsonl.xz", f"failures/{run_key(spec)}.json", *names,
    }  # fmt: skip


def test_results_that_were_set_aside_are_named_where_they_are_sound(store: Store) -> None:
    key = write_run(store, 0, value=50.0)
    write_run(store, 0, value=60.0)
    (store.root / "quarantine" / f"{key}-2").mkdir()
    (store.root / "quarantine" / f"{key}-2" / "MANIFEST.json").write_text("{}")
    assert other_results(store) == [store.root / "quarantine" / f"{key}-1"]


SIZES = "seed=0,train=30,validation=12"


def scored_spec() -> RunSpec:
    task = SquadTask(source="generated", train="generated", evaluation="generated", revision=SIZES)
    return spec_of(0).model_copy(update={"task": task})


def write_scored(store: Store) -> str:
    """A run that answers every question with the first right answer, and one wrongly."""
    spec = scored_spec()
    questions = evaluation_questions(spec.task)  # type: ignore[arg-type]
    texts = {q.id: (q.answers or ("",))[0] for q in questions}
    texts[next(q.id for q in questions if q.answers)] = "quite another thing"
    one = {"text": texts, "margin": dict.fromkeys(texts, 0.5), "span_text": texts}
    document = {"legacy/argmax-pair": one}
    made = [Score(**score, epoch=1) for score in spec.task.rescored(document)]
    key = run_key(spec)
    result = Result(key=key, parameters_trained=1, parameters_total=2, scores=made)
    (exact,) = (s for s in made if (s.metric, s.group) == ("em", "ALL"))
    assert exact.value == pytest.approx(100 * 11 / 12)  # by hand: one of twelve is wrong
    store.write(
        key,
        spec,
        files_of(key) | {"result.json": render(result), "predictions.json": _bytes(document)},
    )
    return key


def _bytes(document: object) -> bytes:
    return json.dumps(document).encode()


def replace_file(store: Store, key: str, name: str, data: bytes) -> None:
    """As somebody would who also makes the checksums anew."""
    folder = store.root / key[:2] / key
    (folder / name).write_bytes(data)
    files = {
        path.name: FileEntry(sha256=digest_of(path.read_bytes()), size=path.stat().st_size)
        for path in folder.iterdir()
        if path.name != "MANIFEST.json"
    }
    manifest = manifest_bytes(Manifest(key=key, partial=False, files=files))
    (folder / "MANIFEST.json").write_bytes(manifest)


def test_scores_that_the_predictions_give_are_counted(store: Store) -> None:
    key = write_scored(store)
    found = checks(store, rescore=True)[key]
    assert (found.problem, found.unscored) == (None, None)
    assert found.scores == len(Store(store.root).read(key).result.scores)  # type: ignore[union-attr]


def test_a_score_that_was_raised_by_hand_is_found_though_all_checksums_are_right(
    store: Store,
) -> None:
    key = write_scored(store)
    run = store.read(key)
    assert run is not None
    raised = [
        s.model_copy(update={"value": 100.0}) if (s.metric, s.group) == ("em", "ALL") else s
        for s in run.result.scores
    ]
    replace_file(
        store, key, "result.json", render(run.result.model_copy(update={"scores": raised}))
    )
    assert problems(store) == {}
    found = checks(store, rescore=True)[key]
    assert found.problem is not None
    assert "squad2 generated legacy/argmax-pair em ALL, epoch 1, is 91.66666667" in found.problem
    assert "100 over 12 is stored" in found.problem


@pytest.mark.parametrize(
    "data",
    [b"[]", b"{}", b"{}x", b'{"legacy/argmax-pair": 1}', b'{"legacy/argmax-pair": {"text": {}}}'],
)
def test_predictions_that_are_none_are_a_problem_and_no_traceback(
    store: Store, data: bytes
) -> None:
    key = write_scored(store)
    replace_file(store, key, "predictions.json", data)
    found = checks(store, rescore=True)[key]
    assert found.problem is not None
    assert found.problem.startswith("predictions.json does not give its scores")


def test_a_run_whose_data_is_not_here_says_so_and_is_no_damage(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "absent"))
    task = SquadTask(source="squad_v2", train="train", evaluation="cs224n", revision="1")
    spec = spec_of(0).model_copy(update={"task": task})
    key = run_key(spec)
    store.write(key, spec, files_of(key) | {"predictions.json": b'{"legacy/argmax-pair": {}}'})
    quiet, _ = listening(store.root)
    found = checks(quiet, rescore=True)[key]
    assert found.problem is None
    assert found.unscored is not None
    assert "REPRO_DATA" in found.unscored
