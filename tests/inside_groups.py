"""Runs inside the tiny BERT on small generated GLUE sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from group_samples import trained
from run_samples import run_spec
from tiny_models import minilm_tokenizer

from repro.methods.bottleneck_adapters import BottleneckAdapters
from repro.spec import GlueTask, RunSpec
from repro.spec.method import Method
from repro.tasks.data import TaskData
from repro.tasks.sentences.task import load_sentences
from repro.training.group import Group


def task_of(name: str = "cola") -> GlueTask:
    revision = "seed=0,train=24,validation=20"
    return GlueTask.model_validate({"name": name, "source": "generated", "revision": revision})


@lru_cache
def data_of(name: str = "cola") -> TaskData:
    return load_sentences(task_of(name), minilm_tokenizer())


def adapters(size: int = 4, **changes: Any) -> BottleneckAdapters:
    fields: dict[str, Any] = {
        "placement": "houlsby",
        "size": size,
        "nonlinearity": "gelu",
        "init_std": 0.02,
        "norms": "all",
        "pooler": "trained",
    }
    return BottleneckAdapters(**(fields | changes))


def inside_spec(method: Method, seed: int = 0, name: str = "cola", **changes: Any) -> RunSpec:
    own: dict[str, Any] = {"backbone__layers": 3, "task": task_of(name)}
    return run_spec(method, seed, **(own | changes))


def inside_group(specs: Sequence[RunSpec], work: Path, **options: Any) -> Group:
    return trained(specs, work, data=data_of(specs[0].task.name), **options)
