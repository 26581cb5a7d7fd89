"""Runs to store in these tests, and looks at a store from outside its own code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from repro.methods.untrained import AblatedSpans, AlwaysNull
from repro.spec import Backbone, Recipe, RunSpec, SquadTask, run_key
from repro.store import Result, Score, Store, render
from repro.store.entry import FileEntry, Manifest, digest_of, manifest_bytes

Child = subprocess.Popen[bytes]

FULL = {
    "spec.json",
    "result.json",
    "environment.json",
    "history.jsonl",
    "predictions.json",
    "adapter.safetensors",
    "MANIFEST.json",
}


def spec_of(seed: int) -> RunSpec:
    return RunSpec(
        scale="smoke",
        backbone=Backbone(
            id="tiny",
            revision="1",
            layers=2,
            hidden_size=8,
            intermediate_size=16,
            parameters=100,
            name="tiny",
        ),
        task=SquadTask(source="generated", revision="1", train="generated", evaluation="generated"),
        method=AlwaysNull(),
        recipe=Recipe(
            epochs=1,
            batch_size=1,
            learning_rate=0.001,
            schedule="constant",
            bias_correction=True,
            clip_norm=None,
            logit_clamp=(-10.0, 10.0),
        ),
        seed=seed,
    )


def result_of(key: str, value: float = 50.0) -> Result:
    scores = [
        Score(
            task="squad2",
            split="dev",
            protocol="official",
            epoch=epoch,
            metric="f1",
            group="all",
            value=value + epoch,
            n=10,
        )
        for epoch in (2, 1)
    ]
    return Result(key=key, parameters_trained=1, parameters_total=101, scores=scores)


def files_of(key: str, value: float = 50.0, environment: str = "one") -> dict[str, bytes | Path]:
    return {
        "result.json": render(result_of(key, value)),
        "environment.json": json.dumps({"host": environment}).encode(),
        "history.jsonl": b'{"step": 1, "loss": 2.5}\n' * 40,
        "predictions.json": b'{"question": "answer"}' * 500,
        "adapter.safetensors": bytes(range(256)) * 400,
    }


def write_run(store: Store, seed: int, value: float = 50.0, environment: str = "one") -> str:
    spec = spec_of(seed)
    key = run_key(spec)
    store.write(key, spec, files_of(key, value, environment))
    return key


def write_scores(store: Store, seed: int, value: float = 50.0) -> str:
    """The run without its weights, history and predictions."""
    spec = spec_of(seed)
    key = run_key(spec)
    files = files_of(key, value)
    kept = {name: files[name] for name in ("result.json", "environment.json")}
    store.write(key, spec, kept)
    return key


def write_child(store: Store, parent: str) -> str:
    found = store.read(parent)
    assert found is not None
    update = {"method": AblatedSpans(), "parents": {"trained": parent}}
    spec = found.spec.model_copy(update=update)
    key = run_key(spec)
    result = result_of(key).model_copy(update={"parents": {"trained": found.digest}})
    store.write(key, spec, {"result.json": render(result)})
    return key


def listening(root: Path) -> tuple[Store, list[str]]:
    """A store, and the list that its warnings go to."""
    lines: list[str] = []
    return Store(root, warn=lines.append), lines


def unfinished(root: Path) -> list[Path]:
    return [path for path in root.rglob(".*") if path.name.startswith((".tmp", ".staging"))]


def tree(root: Path) -> Mapping[str, bytes]:
    """Every file under `root` but the lock files, by relative path."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def forge(root: Path, key: str, **files: bytes) -> None:
    """Puts other content into an entry, under a manifest that says it is right."""
    path = root / key[:2] / key
    path.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (path / f"{name}.json").write_bytes(data)
    entries = {
        item.name: FileEntry(sha256=digest_of(item.read_bytes()), size=item.stat().st_size)
        for item in path.iterdir()
        if item.name != "MANIFEST.json"
    }
    manifest = Manifest(key=key, partial=False, files=entries)
    (path / "MANIFEST.json").write_bytes(manifest_bytes(manifest))
