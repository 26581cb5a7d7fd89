"""Every generated set: named by its seed and sizes, and the same each time."""

from __future__ import annotations

import pytest

from repro.errors import ReproError
from repro.tasks.generated import SCORED, default_revision, generate


@pytest.mark.parametrize("name", SCORED)
def test_a_revision_names_the_rows_of_every_split(name: str) -> None:
    revision = "seed=1,train=30,validation=20"
    found = generate(name, revision)
    sizes = {split: len(rows) for split, rows in found.items()}
    assert sizes == {"train": 30} | dict.fromkeys(SCORED[name], 20)
    assert generate(name, revision) == found
    assert generate(name, "seed=2,train=30,validation=20")["train"] != found["train"]


def test_a_row_has_the_fields_of_the_published_set() -> None:
    def fields(name: str) -> list[str]:
        return list(generate(name, "seed=0,train=1,validation=0")["train"][0])

    assert fields("qqp") == ["question1", "question2", "label", "idx"]
    assert fields("sick-r") == ["sentence_A", "sentence_B", "relatedness_score", "idx"]
    assert fields("squad1") == ["id", "title", "context", "question", "answers"]
    assert fields("conll2003") == ["tokens", "ner_tags"]
    assert fields("text-to-text/scitail") == ["premise", "hypothesis", "label", "idx"]


@pytest.mark.parametrize(
    "revision",
    ["", "by hand", "seed=0", "train=1,seed=0", "seed=a,train=1,validation=1",
     "seed=0,train=1,validation=1,test=1", "seed=0,train=\u0661,validation=1"],
)  # fmt: skip
def test_a_revision_of_another_form_is_refused_with_the_form(revision: str) -> None:
    for name in ("cola", "airline", "squad2", "conll2003", "text-to-text/cola"):
        with pytest.raises(ReproError, match=f"write it like {default_revision(name)}"):
            generate(name, revision)


def test_the_smoke_scale_has_its_own_sizes_for_each_kind_of_task() -> None:
    assert default_revision("cola") == "seed=0,train=300,validation=120"
    assert default_revision("squad1") == "seed=0,train=1200,validation=200"
    assert default_revision("conll2003") == "seed=0,train=240,validation=60"
    assert default_revision("text-to-text/cola") == "seed=0,train=400,validation=120"
