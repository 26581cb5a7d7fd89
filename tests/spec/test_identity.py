"""Every field is declared, identity fields change the key, details never do."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError
from run_samples import METHODS, RECIPE, TYPES, cells, changed, run_spec, specs, values

from repro.methods.untrained import AlwaysNull
from repro.spec import RunSpec, Source, SquadTask, canonical_json, run_key
from repro.spec import identity as identity_module
from repro.spec.fields import MARK, Spec, detail, identity
from repro.spec.identity import flatten, identity_document, identity_fields

ROOT = Path(__file__).parents[2]
FieldPath = tuple[str, ...]


def undeclared(kind: type[Spec]) -> list[str]:
    """The fields of `kind` that say neither identity nor detail."""
    fields = kind.model_fields.items()
    extras = {name: field.json_schema_extra for name, field in fields}
    return [
        n for n, e in extras.items() if not isinstance(e, dict) or type(e.get(MARK)) is not bool
    ]


def in_identity(kind: type[Spec], name: str) -> bool:
    extra = kind.model_fields[name].json_schema_extra
    assert isinstance(extra, dict)
    return bool(extra[MARK])


def paths(kind: type[Spec], method: type[Spec], *, wanted: bool) -> list[FieldPath]:
    """Every leaf field of `kind` that is identity (`wanted`) or a detail, with this method."""
    found: list[FieldPath] = []
    for name, field in kind.model_fields.items():
        inner = method if name == "method" else field.annotation
        nested = isinstance(inner, type) and issubclass(inner, Spec)
        if nested and in_identity(kind, name):
            assert isinstance(inner, type)
            found += [(name, *rest) for rest in paths(inner, method, wanted=wanted)]
        elif not nested and in_identity(kind, name) is wanted:
            found.append((name,))
    return found


def every_path(*, wanted: bool) -> list[Any]:
    """(method class, path) over all methods; fields that all methods share stand once."""
    found = {
        (METHODS[0] if path[0] != "method" else method, path): None
        for method in METHODS
        for path in paths(RunSpec, method, wanted=wanted)
    }
    return [pytest.param(m, p, id=f"{m.__name__}-{'.'.join(p)}") for m, p in found]


def runs_with(method: type[Spec]) -> st.SearchStrategy[RunSpec]:
    return st.tuples(specs(RunSpec), specs(method)).map(
        lambda two: changed(two[0], ("method",), two[1])
    )


def value_at(spec: Spec, path: FieldPath) -> Any:
    for name in path:
        spec = getattr(spec, name)
    return spec


def field_at(kind: type[Spec], method: type[Spec], path: FieldPath) -> Any:
    for name in path[:-1]:
        annotation = method if name == "method" else kind.model_fields[name].annotation
        assert isinstance(annotation, type)
        kind = annotation
    return kind.model_fields[path[-1]]


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_is_declared_identity_or_detail(kind: type[Spec]) -> None:
    assert kind.model_fields
    assert undeclared(kind) == []


def test_a_field_declared_by_neither_is_noticed() -> None:
    class Careless(Spec):
        fine: int = identity(doc="enters the key")
        shown: int = detail(doc="does not")
        bare: int = 3
        described: int = Field(3, description="but not declared")

    assert undeclared(Careless) == ["bare", "described"]


def test_no_spec_type_escapes_these_tests() -> None:
    def leaves(kind: type[Spec]) -> set[type[Spec]]:
        below = kind.__subclasses__()
        return set.union(*map(leaves, below)) if below else {kind}

    ours = {kind for kind in leaves(Spec) if kind.__module__.startswith("repro.")}
    assert ours == set(TYPES)


@pytest.mark.parametrize(("method", "path"), every_path(wanted=True))
@settings(max_examples=4)
@given(data=st.data())
def test_changing_an_identity_field_changes_the_key(
    method: type[Spec], path: FieldPath, data: st.DataObject
) -> None:
    spec = data.draw(runs_with(method))
    old = value_at(spec, path)
    if path[-1] == "kind":
        other = data.draw(specs(METHODS[METHODS.index(method) - 1]))
        assert run_key(changed(spec, ("method",), other)) != run_key(spec)
        return
    options = values(field_at(RunSpec, method, path))
    if path == ("task", "name"):  # the only task so far; the property has nothing to change
        assert {data.draw(options)} == {old}
        return
    new = data.draw(options.filter(lambda value: value != old))
    assert run_key(changed(spec, path, new)) != run_key(spec)


@pytest.mark.parametrize(("method", "path"), every_path(wanted=False))
@settings(max_examples=4)
@given(data=st.data())
def test_changing_a_detail_leaves_the_key(
    method: type[Spec], path: FieldPath, data: st.DataObject
) -> None:
    spec = data.draw(runs_with(method))
    old = value_at(spec, path)
    new = data.draw(values(field_at(RunSpec, method, path)).filter(lambda value: value != old))
    after = changed(spec, path, new)
    assert after != spec
    assert run_key(after) == run_key(spec)


@settings(max_examples=20)
@given(spec=specs(RunSpec))
def test_a_stored_spec_keeps_its_key(spec: RunSpec) -> None:
    again = RunSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert run_key(again) == run_key(spec)


def test_a_default_spelled_out_and_a_whole_number_for_a_float_keep_the_key() -> None:
    spec = run_spec()
    assert run_key(run_spec(method__dropout=0.3, recipe__adam_beta1=0.9)) == run_key(spec)
    assert run_key(run_spec(recipe__clip_norm=1)) == run_key(spec)
    assert run_key(run_spec(recipe__logit_clamp=[0, 384])) == run_key(
        run_spec(recipe__logit_clamp=(0.0, 384.0))
    )


def test_the_order_of_parents_does_not_matter() -> None:
    one = run_spec(parents={"layers": "a", "init": "b"})
    assert run_key(one) == run_key(run_spec(parents={"init": "b", "layers": "a"}))


BY_HAND = (
    '{"revisions":{"method/always-null":1,"recipe":1,"task/generated":1,"task/squad2":1},'
    '"schema":1,"spec":{'
    '"backbone":{"hidden_size":32,"id":"local","layers":6,"revision":"sha256:tiny"},'
    '"method":{"kind":"always-null"},'
    '"parents":{"of":"\\u00e9"},'
    '"recipe":{"adam_beta1":0.9,"adam_beta2":0.999,"adam_eps":1e-08,"batch_size":4,'
    '"bias_correction":false,"clip_norm":1.0,"end_weight":1.0,"epochs":2,"learning_rate":0.001,'
    '"logit_clamp":null,"order":"shuffled","padding":"dynamic","precision":"fp32",'
    '"schedule":"constant","start_weight":1.0,"warmup":0.0,"weight_decay":0.0},'
    '"scale":"smoke","seed":7,'
    '"task":{"answerable_share":null,"evaluation":"generated","evaluation_rows":null,'
    '"features":"legacy","max_length":48,"max_query":64,"name":"squad2","revision":"by hand",'
    '"source":"generated","stride":8,"subset":"shuffled","subset_seed":0,"train":"generated",'
    '"train_rows":null}}}'
)
"""The identity document of the run below, written out; only another schema may change it."""


def test_the_key_is_sha256_over_the_document_written_by_hand() -> None:
    spec = run_spec(
        AlwaysNull(),
        seed=7,
        parents={"of": "é"},
        sources={"recipe": Source(origin="paper", citation="not hashed")},
    )
    assert canonical_json(identity_document(spec)) == BY_HAND
    assert run_key(spec) == hashlib.sha256(BY_HAND.encode("ascii")).hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_the_key_is_the_same_in_another_process(hash_seed: str) -> None:
    program = (
        "import sys; from repro.spec import RunSpec, run_key;"
        "print(run_key(RunSpec.model_validate_json(sys.stdin.read())))"
    )
    spec = run_spec(parents={"b": "2", "a": "1", "c": "3"})
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=spec.model_dump_json(),
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == run_key(spec)


def test_canonical_json_is_sorted_dense_and_ascii() -> None:
    value = {"b": [1, 2.5, None, True], "a": {"ü": "\n", "z": 1e-12}}
    assert canonical_json(value) == '{"a":{"z":1e-12,"\\u00fc":"\\n"},"b":[1,2.5,null,true]}'
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_have_no_canonical_form(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": [number]})
    with pytest.raises(ValidationError, match="finite"):
        changed(RECIPE, ("start_weight",), number)
    with pytest.raises(ValidationError, match="finite"):
        changed(RECIPE, ("logit_clamp",), (0.0, number))


@pytest.mark.parametrize("part", ["task/squad2", "task/generated", "recipe"])
def test_a_new_revision_of_a_part_changes_the_keys_of_runs_that_use_it(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    spec = run_spec(AlwaysNull())
    before = run_key(spec)
    parts = identity_module.REVISIONS if part == "recipe" else SquadTask.code
    monkeypatch.setitem(parts, part, 2)
    assert run_key(spec) != before


def test_a_new_revision_of_another_part_leaves_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = run_spec(
        AlwaysNull(), task__source="squad_v2", task__train="train", task__evaluation="cs224n"
    )
    before = run_key(spec)
    monkeypatch.setitem(SquadTask.code, "task/generated", 2)
    assert run_key(spec) == before


def test_a_new_revision_of_a_method_changes_the_keys_of_its_runs_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [run_key(run_spec(method)) for method in (AlwaysNull(), cells())]
    monkeypatch.setattr(AlwaysNull, "revision", 2)
    after = [run_key(run_spec(method)) for method in (AlwaysNull(), cells())]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]


def test_a_new_schema_changes_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run_key(run_spec())
    monkeypatch.setattr(identity_module, "SCHEMA", 2)
    assert run_key(run_spec()) != before


def test_a_document_is_flattened_to_its_leaves_in_order() -> None:
    document = {"b": {"y": 1, "x": None}, "a": [1, 2], "c": {}}
    assert list(flatten(document)) == [("a", [1, 2]), ("b.x", None), ("b.y", 1)]


def test_specs_inside_lists_and_dicts_lose_their_details_too() -> None:
    source = Source(origin="code", citation="x")
    assert identity_fields({"a": [source], "b": (1, source)}) == {"a": [{}], "b": [1, {}]}


def test_a_spec_is_frozen_and_refuses_a_misspelt_field() -> None:
    spec = run_spec()
    with pytest.raises(ValidationError, match="frozen"):
        spec.seed = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="not permitted"):
        run_spec(recipe__learning_rat=1.0)
