"""What tables, requests and archives are called: told apart, and possible as a file's name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_results import request
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.cli.export import default_path
from repro.papers.registry import TABLES
from repro.papers.request import Request
from repro.report.files import file_name, save_request, saved_requests, table_name
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.spec.types import Backbone
from repro.store import Store

FOLDER = Backbone(
    id="local",
    revision="sha256:512fdb91f6839d91",
    name="checkpoint-500",
    layers=12,
    hidden_size=384,
    intermediate_size=1536,
    parameters=39_796_608,
)
OTHER = FOLDER.model_copy(update={"revision": "sha256:0abc"})


def test_two_model_folders_of_one_name_keep_a_table_a_request_and_an_archive_each(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    asked = [request("3-shared-2", backbone=backbone) for backbone in (FOLDER, OTHER)]
    for one in asked:
        save_request(store, one)
    assert sorted(map(table_name, saved_requests(store))) == sorted(map(table_name, asked))
    assert len(store.requests()) == 2
    row = TABLES["3-shared-2"].rows[0]
    assert len({default_path(one, row, 0) for one in asked}) == 2
    assert all(table_name(one).startswith("3-shared-2.smoke.checkpoint-500.") for one in asked)


def test_a_known_model_has_no_digest_in_its_name() -> None:
    assert table_name(request(backbone=KNOWN[BERT_BASE])) == "ResAdapters-1.smoke.BERT-base"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "seeds": st.integers(1, 1000),
    "backbone": st.builds(
        lambda name, digest: FOLDER.model_copy(update={"name": name, "revision": digest}),
        TEXT,
        st.sampled_from(["sha256:0", "sha256:1"]),
    ),
    "tasks": st.sets(st.sampled_from(["cola", "sst2", "corporate-messaging"]), min_size=1).map(
        lambda found: tuple(sorted(found))
    ),
    "as_released": st.just(True),
    "method": st.sampled_from(["houlsby", "HOULSBY", "3-shared"]),
    "settings": st.dictionaries(
        st.sampled_from(["recipe.epochs", "task.train", "task.train_rows", "method.form"]),
        TEXT | st.integers() | st.floats(1e-9, 1) | st.sampled_from(["rows-5", "a", "1", "true"]),
        min_size=1,
    ),
}


@st.composite
def requests(draw: st.DrawFn) -> Request:
    names = draw(st.sets(st.sampled_from(sorted(CHANGES)), max_size=4))
    return replace(request(), **{name: draw(CHANGES[name]) for name in sorted(names)})


@settings(max_examples=200, deadline=None)
@given(requests(), requests())
def test_whatever_is_asked_for_its_name_is_a_files_and_nobody_elses(
    one: Request, other: Request
) -> None:
    names = table_name(one), table_name(other)
    for name in names:
        assert len(name) <= 60
        assert name.isascii()
        assert not set(name) & set('/\\:*?"<>| \n\0')
        assert not name.startswith(".")
    assert (names[0].lower() == names[1].lower()) == (one == other)


@pytest.mark.parametrize(
    "text",
    ["a.b", "a" * 160, "method-form-b.learning-rate-0.0003"],
)
def test_a_plain_name_stays_as_it_is(text: str) -> None:
    assert file_name(text) == text


def test_numbers_that_differ_in_the_last_digit_have_two_names() -> None:
    rates = (0.12345678, 0.12345679)
    assert len({table_name(request(learning_rate=rate)) for rate in rates}) == 2


def test_a_request_of_another_version_is_left_out_with_a_warning(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path, warn=said.append)
    save_request(store, request())
    document = store.requests()["ResAdapters-1.smoke"]
    store.save_request("newer", document | {"mixture": 2})
    store.save_request("older", {name: document[name] for name in document if name != "seeds"})
    store.save_request("gone", document | {"id": "ResAdapters-9"})
    assert saved_requests(store) == [request()]
    gone = said.pop(0)
    assert gone == (
        "gone is left out: there is no table or figure ResAdapters-9 here. Name the folder of its "
        f"paper in REPRO_PAPERS. Or delete {tmp_path / 'requests' / 'gone.json'}."
    )
    assert len(said) == 2
    for line, (name, problem) in zip(
        said,
        (
            ("newer", "it has the unknown field mixture"),
            ("older", "seeds: "),
        ),
        strict=True,
    ):
        assert line.startswith(
            f"{tmp_path / 'requests' / name}.json was written by another version"
        )
        assert problem in line
        assert "or delete the file" in line


def test_a_table_on_other_rows_does_not_replace_the_old_one_silently(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path, warn=said.append)
    revisions: dict[str, str | None] = {"cola": "sha256:old", "sst2": "sha256:same"}
    asked = request("3-shared-2", "reduced", data_revisions=revisions)
    save_request(store, asked)
    save_request(store, asked)
    more: dict[str, str | None] = {**revisions, "rte": "sha256:new"}  # a task whose data came later
    save_request(store, replace(asked, data_revisions=more))
    assert said == []
    save_request(store, replace(asked, data_revisions=more | {"cola": "sha256:new"}))
    assert len(said) == 1
    assert said[0].startswith("3-shared-2.reduced: the rows of cola are not those")
