"""`prepare ID` against a small server that answers like the hub, and jobs on what it fetched."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_hub import COMMIT, Fault, Hub, parquet, serving, use_hub
from glue_samples import rows
from text_samples import text_rows, write_texts

from repro.spec.backbones import BERT_BASE
from repro.spec.contents import Content, Contents, file_digest, record_of
from repro.tasks.catalogue import data_revision

PROJECT = Path(__file__).parents[2]
Call = Callable[..., Any]
GLUE = "/datasets/nyu-mll/glue/resolve/{}/rte/{}-00000-of-00001.parquet"
RTE = {"train": 2_490, "validation": 277}
ASKED = ["3-shared-2", "--tasks", "rte", "--scale", "reduced", "--backbone", "tiny"]


@pytest.fixture(scope="module")
def model(models: Path) -> dict[str, bytes]:
    """Files in the place of BERT-base's."""
    return {path.name: path.read_bytes() for path in (models / "tiny").iterdir()}


@pytest.fixture(scope="module")
def served(model: dict[str, bytes]) -> dict[str, bytes]:
    """A model, and RTE with the published number of rows."""
    data = {GLUE.format(COMMIT, s): parquet(rows("rte", n)) for s, n in RTE.items()}
    return data | {f"/{BERT_BASE}/resolve/{COMMIT}/{name}": text for name, text in model.items()}


@pytest.fixture
def hub(served: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(dict(served)) as server:
        use_hub(monkeypatch, server.address, tmp_path / "home")
        yield server


@pytest.fixture
def tiny(cli: Call, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the model `tiny` known."""
    monkeypatch.setenv("REPRO_MODELS", str(models))


def needs(answer: Any) -> dict[str, dict[str, Any]]:
    return {need["name"]: need for need in json.loads(answer.out)["needs"]}


@pytest.mark.usefixtures("tiny")
def test_a_dry_run_says_the_sizes_and_fetches_nothing(
    hub: Hub, cli: Call, served: dict[str, bytes]
) -> None:
    answer = cli("prepare", *ASKED, "--dry-run", "--json")
    assert answer.code == 0
    found = needs(answer)
    size = sum(len(served[GLUE.format(COMMIT, split)]) for split in RTE)
    assert (found["rte"]["state"], found["rte"]["bytes"]) == ("to fetch", size)
    assert found["tiny"]["state"] == "here"
    assert not [line for line in hub.asked if line.startswith("GET /datasets")]


@pytest.mark.usefixtures("tiny")
def test_without_the_hub_a_dry_run_says_what_is_known(
    hub: Hub, cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hub(monkeypatch, "http://127.0.0.1:9", tmp_path / "home")
    answer = cli("prepare", *ASKED, "--dry-run")
    assert answer.code == 0
    assert "The hub did not say the sizes: " in answer.out
    assert "refused" in answer.out
    answer = cli("prepare", *ASKED)
    assert answer.code == 2
    assert "RTE's train set is missing." in answer.err
    assert "HF_ENDPOINT names a mirror" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.usefixtures("tiny")
def test_a_broken_download_is_continued_by_the_same_command(hub: Hub, cli: Call) -> None:
    hub.faults["GET"] = [Fault(cut=3000), *[Fault(cut=0)] * 5]
    assert cli("prepare", *ASKED).code == 2
    hub.ranges.clear()
    hub.faults |= {"HEAD": [Fault(429)], "GET": [Fault(503)]}
    answer = cli("prepare", *ASKED, "--json")
    assert answer.code == 0
    assert hub.ranges == ["bytes=3000-", "bytes=3000-", ""]
    assert needs(answer)["rte"]["state"] == "here"
    asked = len(hub.asked)
    assert cli("prepare", *ASKED).code == 0
    assert cli("doctor", *ASKED).code in (0, 3)  # 3: a disk that is too small for the runs
    assert len(hub.asked) == asked  # nothing is asked for what is here


def test_a_model_is_fetched_and_a_damaged_copy_replaced(
    hub: Hub, cli: Call, tmp_path: Path, model: dict[str, bytes]
) -> None:
    assert cli("prepare", BERT_BASE).code == 0
    (weights,) = (tmp_path / "home").rglob(f"snapshots/{COMMIT}/model.safetensors")
    weights.resolve().write_bytes(b"damaged")
    answer = cli("prepare", BERT_BASE, "--dry-run", "--json")
    assert needs(answer)[BERT_BASE]["state"] == "damaged"
    assert cli("prepare", BERT_BASE).code == 0
    assert weights.read_bytes() == model["model.safetensors"]


@pytest.mark.usefixtures("hub")
def test_content_that_is_not_the_locked_one_is_refused(
    cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Content(digests={"model.safetensors": "1" * 64})
    lock = Contents(
        models={BERT_BASE: other}, data={"glue_rte": Content(digests={"train": "2" * 64})}
    )
    monkeypatch.setattr("repro.needs.locked", lambda: lock)
    answer = cli("prepare", BERT_BASE, "rte", "--to", "carried")
    assert answer.code == 2
    assert f"model.safetensors of {BERT_BASE} is not the one that the lock file names" in answer.err
    assert "train of rte is not the one that the lock file names" in answer.err


def test_a_set_of_no_hub_is_named_with_its_owner_and_copied_where_it_is_here(
    hub: Hub, cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    path = write_texts(tmp_path / "data", "airline", "train", text_rows("airline", 30))
    answer = cli("prepare", "airline", "disasters", "--to", "carried")
    assert answer.code == 3
    assert "disasters: published by Figure Eight (CrowdFlower)" in answer.out
    assert "rows that nobody could decide left out" in answer.out
    copied = tmp_path / "carried/data/crowdflower_airline" / path.name
    assert copied.read_bytes() == path.read_bytes()
    assert not hub.asked


# -- a folder to carry ---------------------------------------------------------------------------


@pytest.fixture
def carried(hub: Hub, cli: Call, tmp_path: Path) -> Path:
    assert cli("prepare", BERT_BASE, "rte", "--to", "carried").code == 0
    return tmp_path / "carried"


def test_a_carried_folder_has_checksums_and_says_where_it_is_from(
    carried: Path, model: dict[str, bytes]
) -> None:
    """As `sha256sum -c` reads them, file by file."""
    for part, names in (
        ("data", ["glue_rte/train.parquet", "glue_rte/validation.parquet"]),
        ("models", sorted(f"{BERT_BASE}/{name}" for name in model)),
    ):
        lines = (carried / part / "SHA256SUMS").read_text().splitlines()
        expected = [f"{file_digest(carried / part / name)}  {name}" for name in names]
        assert lines == expected
    copy = (carried / "data" / names_of("train")).read_bytes()
    assert copy == parquet(rows("rte", RTE["train"]))
    assert record_of(carried / "data").data["glue_rte"].revision == COMMIT
    assert record_of(carried / "models").models[BERT_BASE].revision == COMMIT
    text = (carried / "README-repro.txt").read_text()
    assert 'export REPRO_DATA="$PWD/data"\n' in text
    assert 'export REPRO_MODELS="$PWD/models"\n' in text


def test_the_note_in_a_folder_of_data_alone_names_no_models(
    cli: Call, tmp_path: Path, hub: Hub
) -> None:
    assert cli("prepare", "rte", "--to", "carried").code == 0
    text = (tmp_path / "carried" / "README-repro.txt").read_text()
    assert "(cd data && sha256sum -c SHA256SUMS)" in text
    assert "models" not in text.partition("folder:")[2]


def names_of(split: str) -> str:
    return f"glue_rte/{split}.parquet"


def test_a_second_command_continues_and_replaces_nothing(
    carried: Path, hub: Hub, cli: Call
) -> None:
    train, other = carried / "data" / names_of("train"), carried / "data/glue_rte/validation.jsonl"
    before = train.read_bytes()
    train.unlink()
    train.with_name(f"{train.name}.part").write_bytes(before[:100])  # it was killed while it wrote
    (carried / "data" / names_of("validation")).rename(other.with_suffix(".mine"))
    other.write_text("another file\n")
    asked = len(hub.asked)
    answer = cli("prepare", BERT_BASE, "rte", "--to", "carried")
    assert answer.code == 2
    assert (
        f"{Path('carried/data/glue_rte/validation.jsonl')} is there with other content"
        in answer.err
    )
    assert other.read_text() == "another file\n"
    other.unlink()
    assert cli("prepare", BERT_BASE, "rte", "--to", "carried").code == 0
    assert train.read_bytes() == before
    assert not list(carried.rglob("*.part"))
    assert len(hub.asked) == asked


@pytest.mark.parametrize("part", ["data", "models"])
def test_a_damaged_record_in_a_carried_folder_is_named_and_the_mend_writes_it_anew(
    carried: Path, cli: Call, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what is carried comes from a folder, whose origin is not asked for again."""
    record = carried / part / "lock.json"
    whole = record.read_bytes()
    record.write_bytes(whole[:-20])
    monkeypatch.setenv("REPRO_DATA", str(carried.with_name("empty")))
    carried.with_name("empty").mkdir()
    answer = cli("prepare", BERT_BASE, "--to", "carried")
    assert answer.code == 2
    assert f"{Path('carried') / part / 'lock.json'} cannot be read" in answer.err
    assert "Delete it, and give the command again" in answer.err
    monkeypatch.delenv("REPRO_DATA")
    record.unlink()
    assert cli("prepare", BERT_BASE, "rte", "--to", "carried").code == 0
    assert record.read_bytes() == whole


def test_a_damaged_copy_is_found_by_doctor(
    carried: Path, cli: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_DATA", str(carried / "data"))
    path = carried / "data" / names_of("train")
    assert data_revision("reduced", "rte") is None  # as with the hub
    found = rows("rte", RTE["train"])
    path.write_bytes(parquet([*found[:7], found[7] | {"sentence1": "Another."}, *found[8:]]))
    assert str(data_revision("reduced", "rte")).startswith("sha256:")
    words = ["3-shared-2", "--tasks", "rte", "--scale", "paper"]
    answer = cli("doctor", *words)
    assert answer.code == 3
    (line,) = [line for line in answer.out.splitlines() if line.startswith("data set rte")]
    assert "DAMAGED" in line
    assert "train.parquet has another checksum than when it was put there. Copy it again." in line
    (line,) = [line for line in answer.out.splitlines() if line.startswith(f"model {BERT_BASE}")]
    assert "ok" in line


def test_a_disk_that_is_full_leaves_no_part_of_a_file(
    hub: Hub, cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("repro.portable.shutil.copyfile", full)
        answer = cli("prepare", BERT_BASE, "--to", "carried")
    assert answer.code == 1
    assert "the disk is full. Free some space there or name another folder with --to" in answer.err
    assert not [path for path in (tmp_path / "carried").rglob("*") if path.is_file()]
    assert cli("prepare", BERT_BASE, "--to", "carried").code == 0


def test_the_commands_of_the_documentation_do_what_they_say(
    hub: Hub, cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The five lines of docs/data.md, of one task of the table."""
    text = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")][:5]
    commands = [shlex.split(line, comments=True) for line in lines]
    for words in commands[:3]:
        assert words[:3] == ["python", "-m", "repro"]
        assert cli(*words[3:], "--tasks", "rte").code == 0
    text = (tmp_path / "carried" / "README-repro.txt").read_text()
    assert "    python -m repro doctor 3-shared-2 --scale paper --tasks rte\n" in text
    asked = len(hub.asked)
    shutil.rmtree(tmp_path / "home")  # the other machine
    for word in commands[3][1:]:
        name, _, value = word.partition("=")
        monkeypatch.setenv(name, value.replace("$PWD", str(tmp_path)))
    said = cli(*commands[4][3:], "--tasks", "rte").out.splitlines()
    for what in ("data set rte", f"model {BERT_BASE}"):
        (line,) = [line for line in said if line.startswith(what)]
        assert line.split()[3 if what.startswith("data") else 2] == "ok"
    assert len(hub.asked) == asked
