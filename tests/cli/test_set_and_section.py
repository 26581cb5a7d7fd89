"""`--set` and `--section`: fields set by hand, and parts of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from repro.cli.requests import make_request
from repro.errors import ReproError
from repro.methods.adaptable_adapters import AdaptableAdapters
from repro.papers.adaptable_adapters.setting import LOW, chain_of
from repro.papers.registry import ARTEFACTS
from repro.papers.request import Request, settings_of
from repro.report.files import command_line, table_name
from repro.spec import run_key


def asked(**settings: Any) -> Request:
    return Request("AA-2", "paper", 1, settings=settings)


def method(variant: str, request: Request) -> AdaptableAdapters:
    found = chain_of(variant, "cola", request, LOW[100], 42)[-1].method
    assert isinstance(found, AdaptableAdapters)
    return found


def test_values_are_read_as_json_where_they_are_that() -> None:
    given = [
        "method.form=b",
        "recipe.switch_rate=0.1",
        "recipe.clip_norm=null",
        "method.layers=[0,2]",
    ]
    assert settings_of(given) == {
        "method.form": "b", "recipe.switch_rate": 0.1, "recipe.clip_norm": None,
        "method.layers": (0, 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("method.formm=b", "Did you mean method.form"),
        ("method.form", "wants a field and its value"),
        ("method.kind=linear-probe", "method.kind says what a run is of"),
        ("task.tasks=cola", "by --tasks"),
        ("backbone.id=bert", "or by --backbone"),
        ("recipe.epochs=1_0", "recipe.epochs=1_0: write a number with the digits 0 to 9"),
        ("recipe.learning_rate=inf", "write a number with the digits 0 to 9"),
        ("recipe.epochs=３", "write a number with the digits 0 to 9"),
    ],
)
def test_what_is_no_field_is_refused(given: str, said: str) -> None:
    with pytest.raises(ReproError, match=said):
        settings_of([given])


def test_a_value_that_the_field_cannot_have_names_both() -> None:
    with pytest.raises(ReproError, match=r"--set method.form=c: expected 'a' or 'b'"):
        method("AA", asked(**{"method.form": "c"}))


def test_a_field_that_no_run_has_is_refused(cli: Any) -> None:
    answer = cli("plan", "3-shared-2", "--scale", "smoke", "--set", "method.form=b")
    assert answer.code == 2
    assert "No run of 3-shared-2 has a method.form" in answer.err


def test_layers_are_dropped_or_selected_not_both() -> None:
    with pytest.raises(ReproError, match="not both"):
        method("AA", asked(**{"method.drops": 2}))


def test_a_setting_reaches_the_models_that_it_means_something_to() -> None:
    other = asked(**{"method.form": "b", "method.switch": "paper-no-skip", "method.size": 32})
    assert method("AA", other).form == "b"
    assert method("AA", other).switch == "paper-no-skip"
    assert method("AA-focused^sim", other).switch == "none"
    assert method("Baseline", other) == method("Baseline", asked(**{"method.size": 32}))
    keys = [run_key(chain_of("AA", "cola", r, LOW[100], 42)[0]) for r in (asked(), other)]
    assert len(set(keys)) == 2


def test_the_command_and_the_file_name_say_what_was_set() -> None:
    request = Request("AA-2", "smoke", 1, sections=(LOW[100],), settings={"method.form": "b"})
    assert table_name(request) == "AA-2.smoke.Low-data-100.form-b"
    assert command_line(request) == (
        "python -m repro table AA-2 --scale smoke --set method.form=b --section Low-data-100"
    )


def test_a_section_is_a_part_of_the_table(cli: Any, tmp_path: Any) -> None:
    words = ["table", "AA-2", "--scale", "smoke", "--no-run", "--json"]
    answer = cli(*words, "--section", "low-data-300")
    document = json.loads(answer.out)
    assert {row["section"] for row in document["rows"]} == {"Low-data-300"}
    assert answer.code == 3
    assert len(document["rows"]) == 7 + 1 + 7
    assert "Low-data-100" in cli(*words, "--section", "low-data-10").err
    assert "has no sections" in cli("plan", "3-shared-2", "--section", "x").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--set", "recipe.warmup=0.5", "--set", "recipe.warmup=0.1"],
            "--set recipe.warmup=0.5 and --set recipe.warmup=0.1",
        ),
        (["--epochs", "3", "--set", "recipe.epochs=3"], "--epochs 3 and --set recipe.epochs=3"),
        (["--epochs", "3", "--epochs", "4"], "--epochs 3 and --epochs 4"),
        (
            ["--bottleneck", "16", "--set", "method.size=32"],
            "--bottleneck 16 and --set method.size=32",
        ),
    ],
)
def test_a_field_that_is_set_twice_is_refused(
    cli: Callable[..., Any], words: list[str], said: str
) -> None:
    answer = cli("plan", "3-shared-2", "--scale", "smoke", *words)
    assert answer.code == 2
    assert f"{said} set the same field: leave one of them out." in answer.err


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"epochs": 3}, "recipe.epochs=3"),
        ({"learning_rate": 1}, "recipe.learning_rate=1"),
        ({"bottleneck": 16}, "method.bottleneck=16"),
        ({"precision": "bf16"}, "recipe.precision=bf16"),
        ({"train_rows": 0}, "task.train_rows=0"),
        ({"train_rows": 0}, "task.train_rows=null"),
        ({"evaluation_rows": 12}, "task.evaluation_rows=12"),
    ],
)
@pytest.mark.parametrize("id", ["Houlsby-1", "Hyperformer-1", "AA-2", "tradeoff-glue"])
def test_a_short_name_is_the_field_that_it_stands_for(
    id: str, short: dict[str, Any], long: str
) -> None:
    one, other = (
        make_request(ARTEFACTS[id], "smoke", **short),
        make_request(ARTEFACTS[id], "smoke", settings=[long]),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert len(one.settings) == 1


def test_of_several_artefacts_a_setting_is_left_out_where_no_run_has_it(
    cli: Callable[..., Any],
) -> None:
    words = ["--scale", "smoke", "--tasks", "rte,sick-e", "--set", "method.size=16"]
    answer = cli("plan", "Peters-1", "3-shared-2", *words)
    assert answer.code == 0
    assert "Left out: --set method.size of Peters-1." in answer.err
    answer = cli("plan", "Peters-1", "ResAdapters-1", "--scale", "smoke", *words[4:])
    assert answer.code == 2
    assert "No run of Peters-1, ResAdapters-1 has a method.size" in answer.err


def test_several_sections_and_tasks_are_taken_and_an_option_of_one_value_only_once(
    cli: Callable[..., Any],
) -> None:
    words = ["table", "AA-2", "--scale", "smoke", "--no-run", "--json"]
    several = ["--section", "Low-data-300", "--section", "low-data-100", "--task", "rte"]
    document = json.loads(cli(*words, *several, "--tasks", "cola").out)
    assert [*dict.fromkeys(row["section"] for row in document["rows"])] == list(LOW.values())[:2]
    assert {"CoLA", "RTE"} <= set(document["columns"]) <= {"CoLA", "RTE", "Average", "Avg"}
    for name, value in (("--scale", "paper"), ("--seeds", "2"), ("--device", "cpu")):
        answer = cli(*words, name, value, f"{name}={value}")
        assert answer.code == 2
        assert f"{name} is given {3 if name == '--scale' else 2} times and takes one" in answer.err
