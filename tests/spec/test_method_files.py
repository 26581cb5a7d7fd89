"""Methods of the user's own, from files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from run_samples import run_spec

from repro.cli import new
from repro.cli.main import main
from repro.cli.requests import bare_request, parsed
from repro.errors import ReproError, UnknownName
from repro.folders import cache_folder
from repro.papers.registry import find_table
from repro.papers.request import Request
from repro.report.files import save_request, saved_requests
from repro.spec import GlueTask, run_key
from repro.spec.method import VARIABLE, load_method, method_called
from repro.store.store import Store

COLA = GlueTask(name="cola", source="generated", revision="by hand")
HEAD = """\
from repro.methods.inside import InsideEncoder
from repro.spec.fields import identity
from repro.spec.method import method

"""
OWN = f'''{HEAD}
@method("own-bias")
class OwnBias(InsideEncoder):
    """One number a layer."""

    start: float = identity(0.5, doc="at first")
    recipe = {{"learning_rate": 0.25}}

    def added_parameters(self, backbone):
        return backbone.layers
'''


pytestmark = pytest.mark.usefixtures("methods_forgotten")


def written(folder: Path, text: str, name: str = "own.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_gives_its_method_and_is_remembered_for_the_processes_that_train(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, OWN)
    assert load_method(f"{path}:OwnBias") == load_method(str(path)) == "own-bias"
    assert os.environ[VARIABLE] == str(path)
    assert method_called("own-bias")().label() == "own bias"
    program = "from repro.spec.method import methods; print('own-bias' in methods())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr


def test_an_edited_file_makes_other_runs(tmp_path: Path) -> None:
    load_method(str(written(tmp_path, OWN)))
    before = run_key(run_spec(method_called("own-bias")(), task=COLA))
    assert run_key(run_spec(method_called("own-bias")(), task=COLA)) == before
    load_method(str(written(tmp_path, OWN + "\n# changed\n")))
    assert run_key(run_spec(method_called("own-bias")(), task=COLA)) != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\nraise KeyError('no such thing')\n", "own.py, line 2: KeyError: 'no such thing'"),
        ("def f(:\n", "own.py, line 1: SyntaxError: invalid syntax"),
        ("x = 1\n  y = 2\n", "own.py, line 2: IndentationError: unexpected indent"),
        ("import absent_package\n", "own.py, line 1: ModuleNotFoundError"),
        (HEAD, 'decorate a class with @method("name")'),
        (OWN.replace("own-bias", "hyperformer"), "Two methods are called 'hyperformer'"),
        (
            OWN + OWN.replace("own-bias", "b").replace("OwnBias", "B"),
            "several methods: name one, as own.py:OwnBias (it has OwnBias, B)",
        ),
    ],
)
def test_a_file_that_gives_no_method_is_refused_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(ReproError) as refused:
        load_method(str(written(tmp_path, text)))
    assert said in str(refused.value)
    assert str(refused.value).count(", line ") <= 1
    assert os.environ[VARIABLE] == ""


def test_two_files_with_one_method_are_refused_and_a_moved_file_is_not(tmp_path: Path) -> None:
    first = written(tmp_path, OWN)
    load_method(str(first))
    with pytest.raises(ReproError, match=r"own-bias.*own\.py and OwnBias in .*copy\.py"):
        load_method(str(written(tmp_path, OWN + "# a copy\n", "copy.py")))
    first.unlink()
    assert load_method(str(tmp_path / "copy.py")) == "own-bias"


def test_set_knows_the_fields_of_the_file_that_method_names(tmp_path: Path) -> None:
    path = written(tmp_path, OWN.replace("start", "slope"))
    with pytest.raises(UnknownName):
        parsed(settings=["method.slope=0.25"])
    asked = parsed(settings=["method.slope=0.25"], method=str(path))
    assert asked["settings"] == {"method.slope": 0.25}


@pytest.mark.parametrize("id", ["Hyperformer-1", "3-shared-1", "AA-1"])
def test_a_table_without_a_row_to_take_the_recipe_from_says_so(id: str) -> None:
    with pytest.raises(ReproError, match=f"recipe from a row of {id}.*another table"):
        find_table(id).matrix(Request(find_table(id).id, "smoke", 1, method="lora"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"learning_rat": 1', "learning_rat: not known"),
        ('"learning_rate": "x"', "learning_rate: .*num"),
    ],
)
def test_a_recipe_that_no_run_can_have_is_named(tmp_path: Path, given: str, said: str) -> None:
    kind = load_method(str(written(tmp_path, OWN.replace('"learning_rate": 0.25', given))))
    request = Request(
        "3-shared-2", "smoke", 1, tasks=("rte",), method=kind, data_revisions={"rte": "made"}
    )
    with pytest.raises(ReproError, match=f"'own-bias' has a field in its `recipe`.*{said}"):
        find_table("3-shared-2").matrix(request)


def test_an_error_in_a_users_file_is_one_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, OWN + "\n    def label(self):\n        return 1 / 0\n")
    words = "plan 3-shared-2 --scale smoke --tasks rte --method"
    monkeypatch.setattr(sys, "argv", ["repro", *words.split(), str(path), "--store", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    line = len(path.read_text().splitlines())
    assert f"repro: own.py, line {line}: ZeroDivisionError" in capsys.readouterr().err


def test_a_stored_table_whose_methods_file_is_gone_is_left_out_with_the_mend(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    store = Store(tmp_path, warn=said.append)
    for method in (None, "gone-method"):
        save_request(store, Request("3-shared-2", "smoke", 1, method=method))
    assert [one.method for one in saved_requests(store)] == [None]
    assert "'gone-method'" in said[0]
    assert f"export {VARIABLE}=" in said[0]


PROGRAM = """\
import sys
from repro.cli.options import open_store
from repro.report.files import saved_requests
store = open_store(None)
print([one.method for one in saved_requests(store)])
"""


def asked_again(store: Path) -> tuple[str, str]:
    """What a process without REPRO_METHODS finds of the requests of a store, and what it says."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
        env={**os.environ, VARIABLE: "", "REPRO_STORE": str(store)},
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


def test_a_store_finds_the_file_of_its_methods_again_and_tells_where_it_is_gone(
    tmp_path: Path,
) -> None:
    path, store = written(tmp_path, OWN), Store(tmp_path / "s")
    save_request(store, Request("3-shared-2", "smoke", 1, method=load_method(str(path))))
    assert asked_again(store.root) == ("['own-bias']", "")
    path.write_text(OWN.replace("own-bias", "other-bias"))
    assert f"{path} has no method 'own-bias' any more" in asked_again(store.root)[1]
    path.unlink()
    found, said = asked_again(store.root)
    assert found == "[]"
    assert f"{path} cannot be read (No such file or directory)" in said
    (cache_folder() / "methods.json").write_text('{"own-bias": 1}')
    assert "methods.json is ignored: it is damaged" in asked_again(store.root)[1]


def test_a_store_of_somebody_else_cannot_name_code_to_run(tmp_path: Path) -> None:
    """What the store remembered once is no more than text in it."""
    path = written(tmp_path, f"{OWN}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    store = Store(tmp_path / "s")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "methods.json").write_text(json.dumps({"own-bias": str(path)}))
    save_request(store, Request("3-shared-2", "smoke", 1, method="own-bias"))
    assert asked_again(store.root)[0] == "[]"
    assert not (tmp_path / "ran").exists()


def test_a_default_that_its_own_rule_forbids_is_named(tmp_path: Path) -> None:
    kind = load_method(str(written(tmp_path, OWN.replace('0.5, doc="', '0.5, gt=5, doc="'))))
    with pytest.raises(ReproError, match=r"method\.start: expected more than 5"):
        request("3-shared-2", kind)


def request(id: str, kind: str, **asked: Any) -> Any:
    """The runs of a table with a row of a method, on data that need not be there."""
    table = find_table(id)
    asked |= {"id": id, "method": kind}
    return table.matrix(Request(scale="smoke", seeds=1, data_revisions={"rte": "made"}, **asked))


def test_the_row_of_a_method_can_be_asked_for_alone() -> None:
    table = find_table("3-shared-2")
    for name in ("yours", "LoRA r4 (yours)"):
        asked = parsed(method="lora", tasks="rte", rows=[name], settings=["method.rank=4"])
        found = table.matrix(bare_request(table, "smoke", asked))
        assert [row.name for row in found.artefact.rows] == ["lora r4 (yours)"]
        assert {spec.method.kind for spec in found.runs.values()} == {"lora"}
    with pytest.raises(UnknownName, match="yours"):
        bare_request(table, "smoke", parsed(method="lora", rows=["lora r8 (yours"]))
    with pytest.raises(UnknownName, match="row of 3-shared-2"):
        bare_request(table, "smoke", parsed(rows=["yours"]))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("t5-adapters", "trains inside T5, and the rows of 3-shared-2 inside an encoder"),
        ("ablated-spans", "scores a run of another method"),
    ],
)
def test_a_method_that_no_setting_makes_fit_is_refused_before_settings_are_asked_for(
    kind: str, said: str
) -> None:
    with pytest.raises(ReproError, match=said):
        request("3-shared-2", kind)


def test_new_gives_the_label_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new.command(what="method", name="two-gates")
    assert method_called(load_method("two_gates.py:TwoGates"))().label() == "two gates"


def test_new_refuses_the_name_of_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReproError, match="a method 'lora' already"):
        new.command(what="method", name="lora")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_a_class_that_it_lacks_and_an_unknown_name(
    tmp_path: Path,
) -> None:
    with pytest.raises(ReproError, match=r"none\.py cannot be read \(No such file"):
        load_method(str(tmp_path / "none.py"))
    with pytest.raises(ReproError, match="has no method Other: it has OwnBias"):
        load_method(f"{written(tmp_path, OWN)}:Other")
    with pytest.raises(ReproError, match=r"bitfit.*--method FILE\.py:CLASS"):
        load_method("bitfti")


def test_a_file_that_loads_torch_is_refused_where_torch_is_not_needed(tmp_path: Path) -> None:
    path = written(tmp_path, "import torch\n" + OWN)
    program = f"""\
from repro.errors import ReproError
from repro.spec.method import load_method
try:
    load_method({str(path)!r})
except ReproError as problem:
    print(problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "imports torch when it is loaded" in done.stdout, done.stderr


def test_a_method_is_a_further_row_with_the_recipe_of_a_tables_own(tmp_path: Path) -> None:
    kind = load_method(str(written(tmp_path, OWN)))
    table = find_table("3-shared-2")
    request = Request(
        table.id, "smoke", 2, tasks=("rte",), method=kind,
        settings={"method.start": 2.0, "recipe.epochs": 3}, data_revisions={"rte": "made"},
    )  # fmt: skip
    matrix = table.matrix(request)
    names = [row.name for row in matrix.artefact.rows]
    assert names == [*(row.name for row in table.rows), "own bias (yours)"]
    own = matrix.of("own bias (yours)", "RTE")
    like = matrix.of("Houlsby (shared in layer)", "RTE")
    assert [spec.seed for spec in own] == [0, 1]
    for mine, theirs in zip(own, like, strict=True):
        assert mine.method.model_dump() == {"kind": "own-bias", "dropout": 0.1, "start": 2.0}
        assert (mine.recipe.learning_rate, mine.recipe.epochs) == (0.25, 3)
        same = theirs.model_copy(update={"method": mine.method, "recipe": mine.recipe})
        assert run_key(same) == run_key(mine)
    assert {run_key(spec) for spec in own} <= set(matrix.wanted)


def test_every_part_of_a_table_gets_the_row(tmp_path: Path) -> None:
    kind = load_method(str(written(tmp_path, OWN)))
    table = find_table("AA-2")
    request = Request(
        table.id, "smoke", 1, tasks=("rte",), method=kind, sections=table.sections[:2],
        data_revisions={"rte": "made"},
    )  # fmt: skip
    matrix = table.matrix(request)
    rows = [row for row in matrix.artefact.rows if row.added]
    assert [row.section for row in rows] == list(table.sections[:2])
    for row in rows:
        (mine,), (like,) = matrix.of(row.name, "RTE"), matrix.of(f"{row.section} / Baseline", "RTE")
        assert mine.task == like.task
    full, few = (matrix.of(row.name, "RTE")[0].task for row in rows)
    assert full != few  # all rows, and 100


@pytest.mark.parametrize(
    ("sections", "lender"), [(None, "Adapter"), (("With Attention",), "Attention")]
)
def test_a_table_whose_sections_only_group_its_rows_gets_one_row(
    sections: tuple[str, ...] | None, lender: str
) -> None:
    table = find_table("ResAdapters-1")
    request = Request(table.id, "smoke", 1, method="lora", sections=sections)
    (row,) = [row for row in table.matrix(request).artefact.rows if row.added]
    assert row.name == "lora r8 (yours)"
    assert row.note.endswith(f"the recipe of {lender}")


def test_beside_a_table_by_epoch_a_method_is_scored_at_the_epoch_that_it_kept() -> None:
    table = find_table("ResAdapters-2")
    matrix = table.matrix(Request(table.id, "smoke", 1, method="lora"))
    assert [row.epoch for row in matrix.artefact.rows if row.added] == [None]


def test_an_edited_file_gives_other_runs_in_a_process_that_goes_on(tmp_path: Path) -> None:
    table, keys = find_table("3-shared-2"), set[str]()
    for text in (OWN, OWN + "# edited\n"):
        kind = load_method(str(written(tmp_path, text)))
        request = Request(
            table.id, "smoke", 1, tasks=("rte",), method=kind, data_revisions={"rte": "made"}
        )
        keys.update(map(run_key, table.matrix(request).of("own bias (yours)", "RTE")))
    assert len(keys) == 2
