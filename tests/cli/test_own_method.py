"""A method of the user's beside a published table's rows, as docs/extend.md says it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro.cli.requests import make_request
from repro.errors import ReproError
from repro.papers.registry import TABLES

Call = Callable[..., Any]
DOCUMENT = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
ASKED = ("--row", "Ours (3-shared)", "--train-rows", "32", "--epochs", "1", "--seeds", "1")


pytestmark = pytest.mark.usefixtures("in_process", "methods_forgotten")


@pytest.fixture
def begun(cli: Call, tmp_path: Path) -> Path:
    """A folder with the file that docs/extend.md begins with."""
    assert "python -m repro new method my-scales\n" in DOCUMENT
    made = cli("new", "method", "my-scales")
    assert made.code == 0, made.err
    again = cli("new", "method", "my-scales")
    assert (again.code, "is there already" in again.err) == (2, True)
    return tmp_path / "my_scales.py"


def table(cli: Call, *more: str) -> tuple[dict[str, Any], str]:
    """Row -> its cell of RTE; and stderr."""
    (told,) = re.findall(r"python -m repro (table .*--method .*)\n", DOCUMENT)
    done = cli(*told.split(), *ASKED, *more, "--store", "s", "--out", "o", "--json")
    rows = json.loads(done.out)["rows"] if done.out else []
    found = {row["name"]: cell for row in rows for cell in row["cells"] if cell["column"] == "RTE"}
    return found, done.err


@pytest.mark.usefixtures("begun")
def test_the_file_that_new_writes_trains_beside_a_row_of_the_table(cli: Call) -> None:
    cells, said = table(cli)
    assert list(cells) == ["Ours (3-shared)", "my scales (yours)"], said
    assert all(0 <= cell["reproduced"]["mean"] <= 100 for cell in cells.values())
    assert not (cells["my scales (yours)"]["published"] or {}).get("value")


BROKEN = {
    "an error": ("return x * self.scale", "return x * self.scal", "my_scales.py, line"),
    "a frozen weight": (
        "return x * self.scale",
        "W.add_(1.0); return x * self.scale",
        "changed frozen weights of the encoder",
    ),
    "another number": (  # 3 layers of 32, and a head of 2 x 33
        "return backbone.layers * backbone.hidden_size",
        "return 7",
        r"trains 73 parameters, and its modules have 162",
    ),
    "not a number": (
        "return x * self.scale",
        "return x * self.scale * torch.nan",
        "not finite|diverged",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_wrong_with_a_method_is_told_and_the_other_row_goes_on(
    cli: Call, begun: Path, fault: str
) -> None:
    right, wrong, said = BROKEN[fault]
    text = begun.read_text().replace(right, wrong)
    text = text.replace("                self.now = place.now\n",
                        "                self.now = place.now\n                global W\n"
                        "                W = next(place.model.parameters()).data\n")  # fmt: skip
    begun.write_text(text)
    cells, heard = table(cli, "--backbone", "tiny")
    assert re.search(said, heard), heard
    assert cells["Ours (3-shared)"]["reproduced"]
    assert not cells["my scales (yours)"]["reproduced"]


@pytest.mark.parametrize(
    ("table", "method", "said"),
    [
        ("3-shared-2", "top-layers", "needs a setting, layers (how many layers are trained"),
        ("3-shared-2", "top-layers", "Give --set method.layers=1, for example."),
        ("ResAdapters-1", "linear-probe", "Give --set method.layer=1, for example."),
        ("3-shared-2", "linear-probe", "spans"),  # which no layer mends
        ("3-shared-2", "peft", "Give its file: --method peft:FILE."),
    ],
)
def test_a_method_that_needs_a_setting_says_which_with_an_example(
    table: str, method: str, said: str
) -> None:
    request = make_request(TABLES[table], "smoke", method=method)
    with pytest.raises(ReproError) as refused:
        TABLES[table].matrix(request)
    assert said in str(refused.value)
