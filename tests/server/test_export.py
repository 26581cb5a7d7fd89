"""`export glue`: an archive that the GLUE server takes, from stored weights."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from glue_samples import write_lines, write_split
from safetensors.torch import load_file
from server_rules import opened
from server_samples import ASKED, ROW, Answer, Tiny, cohort_of, encoder_of

from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.server.archive import zipped
from repro.server.layout import BY_NAME, FILES
from repro.server.predict import said
from repro.spec import run_key

Call = Callable[..., Answer]
PREDICTED = ["CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QNLI.tsv", "RTE.tsv", "AX.tsv"]
LABELS = ["entailment", "not_entailment"]


def export(cli: Call, tiny: Tiny, *more: object, row: str = ROW) -> Answer:
    words = ("--threads", 1, "--device", "cpu", "--store", tiny.store.root)
    return cli("export", "glue", *ASKED, "--row", row, *words, *more)


@pytest.fixture
def archive(
    cli: Call, tiny: Tiny, real_data: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Answer]:
    """The archive of the real test sets, made once."""
    path = tiny.folder / "row.zip"
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    if not path.exists():
        answer = export(cli, tiny, "--fill", "--out", path)
        (tiny.folder / "answer.json").write_text(json.dumps([answer.code, answer.out, answer.err]))
    return path, Answer(*json.loads((tiny.folder / "answer.json").read_text()))


def test_the_server_takes_the_archive_of_the_real_test_sets(archive: tuple[Path, Answer]) -> None:
    path, answer = archive
    assert answer.code == 0
    found = opened(path)
    for name in set(found) - set(PREDICTED):
        assert len(set(found[name])) == 1, name
        assert f"{name}: filled with {found[name][0]} on every row" in answer.err
    assert {name for name in found if len(set(found[name])) > 1} == set(PREDICTED)
    assert "RTE.tsv: 3,000 rows predicted" in answer.err
    assert "11 files, 7 predicted, 4 filled" in answer.out


def test_the_manifest_says_whose_predictions_they_are(
    archive: tuple[Path, Answer], tiny: Tiny
) -> None:
    path, _ = archive
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (manifest["table"], manifest["row"], manifest["scale"]) == ("3-shared-2", ROW, "smoke")
    entries = {entry["file"]: entry for entry in manifest["files"]}
    assert [name for name in entries if entries[name]["source"] == "predicted"] == PREDICTED
    assert entries["AX.tsv"]["run"] == run_key(tiny.spec("mnli"))
    assert entries["RTE.tsv"]["run"] == run_key(tiny.spec("rte"))
    assert (entries["WNLI.tsv"]["run"], entries["WNLI.tsv"]["constant"]) == (None, "0")
    assert "no network" in entries["QQP.tsv"]["reason"]
    with zipfile.ZipFile(path) as found:
        for name, entry in entries.items():
            assert hashlib.sha256(found.read(name)).hexdigest() == entry["sha256"]


def test_predictions_are_those_of_one_row_at_a_time(
    archive: tuple[Path, Answer], tiny: Tiny, real_data: Path
) -> None:
    """Without padding, sorting or batches, straight from the stored weights."""
    found = opened(archive[0])
    for task, file, trained, pick in (
        ("rte", "RTE.tsv", "rte", LABELS),
        ("stsb", "STS-B.tsv", "stsb", None),
        ("ax", "AX.tsv", "mnli", ["entailment", "neutral", "contradiction"]),
    ):
        spec = tiny.spec(trained)
        cohort, run = cohort_of(spec), tiny.store.read(run_key(spec))
        assert run is not None
        cohort.load_artefact(0, load_file(run.path / "adapter.safetensors"))
        tokenizer: Any = encoder_of(spec).tokenizer
        with gzip.open(real_data / f"glue_{task}" / "test.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line in lines][:6]
        for place, row in enumerate(rows):
            texts = [row[name] for name in row if name not in ("label", "idx")]
            cut = tokenizer(*texts, truncation=True, max_length=128)
            ids, types, mask = (
                torch.tensor([cut[name]])
                for name in ("input_ids", "token_type_ids", "attention_mask")
            )
            inputs = Inputs(ids, mask, types, Layout.of(mask, keep_padding=False), [])
            output = cohort.evaluate(inputs)[0, 0]
            if pick:
                assert found[file][place] == pick[int(output.argmax())]
            else:
                expected = min(5.0, max(0.0, float(output[0])))
                assert float(found[file][place]) == pytest.approx(expected, abs=1e-4)


def test_predictions_are_those_of_the_library_s_own_model(
    archive: tuple[Path, Answer], tiny: Tiny, real_data: Path
) -> None:
    """A second implementation: the report's adapters as hooks on an unchanged BertModel."""
    found, spec = opened(archive[0])["RTE.tsv"], tiny.spec("rte")
    run = tiny.store.read(run_key(spec))
    assert run is not None
    trained = load_file(run.path / "adapter.safetensors")
    model = adapted_bert(tiny.folder / "models" / "tiny", trained)
    tokenizer: Any = encoder_of(spec).tokenizer
    with gzip.open(real_data / "glue_rte" / "test.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][-40:]
    for row, expected in zip(rows, found[-40:], strict=True):
        texts = row["sentence1"], row["sentence2"]
        ids = tokenizer(*texts, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            states = model(**ids).last_hidden_state[:, 0]
        pooled = torch.tanh(affine(trained, "pooler", states))
        assert LABELS[int(affine(trained, "head.scorer", pooled).argmax())] == expected


def affine(trained: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return x @ trained[f"{name}.weight"][0] + trained[f"{name}.bias"][0]


def adapted_bert(folder: Path, trained: dict[str, torch.Tensor]) -> Any:
    """BERT with x + up(gelu(down(x))) after both dense outputs, one adapter per three layers."""
    from transformers import BertModel

    model = BertModel.from_pretrained(folder, add_pooling_layer=False).eval()

    def hook(number: int) -> Callable[..., torch.Tensor]:
        name = f"adapters.{number // 3}"

        def adapt(module: object, given: object, x: torch.Tensor) -> torch.Tensor:
            middle = torch.nn.functional.gelu(affine(trained, f"{name}.down", x))
            return x + affine(trained, f"{name}.up", middle)

        return adapt

    for number, layer in enumerate(model.encoder.layer):
        layer.attention.output.dense.register_forward_hook(hook(number))
        layer.output.dense.register_forward_hook(hook(number))
    return model


def test_the_order_of_lines_in_a_test_set_changes_nothing(
    cli: Call, tiny: Tiny, real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real test set of STS-B, its lines as published and shuffled: the same archive."""
    lines = gzip.decompress((real_data / "glue_stsb" / "test.jsonl.gz").read_bytes()).splitlines()
    shuffled = random.Random(1).sample(lines, len(lines))
    archives = []
    for name, found in (("as-published", lines), ("shuffled", shuffled)):
        write_lines(tmp_path / name, "stsb", "test", found)
        monkeypatch.setenv("REPRO_DATA", str(tmp_path / name))
        path = tmp_path / f"{name}.zip"
        assert export(cli, tiny, "--tasks", "stsb", "--fill", "--out", path).code == 0
        archives.append(path.read_bytes())
    assert archives[0] == archives[1]


def test_numbers_are_clipped_to_what_sts_b_allows() -> None:
    outputs = np.array([[-0.2], [7.5], [2.345678], [5.0], [0.0]], dtype=np.float32)
    written = said(BY_NAME["STS-B.tsv"], outputs)
    assert [float(word) for word in written] == [0, 5, 2.34568, 5, 0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MNLI-mm.tsv", ["entailment", "neutral", "contradiction"]),
        ("AX.tsv", ["entailment", "neutral", "contradiction"]),
        ("QNLI.tsv", ["entailment", "not_entailment"]),
        ("WNLI.tsv", ["0", "1"]),
        ("CoLA.tsv", ["0", "1"]),
    ],
)
def test_classes_become_the_words_of_the_server(name: str, words: list[str]) -> None:
    assert said(BY_NAME[name], np.eye(len(words), dtype=np.float32)) == words


def test_the_same_files_are_the_same_bytes() -> None:
    files = {"CoLA.tsv": b"index\tprediction\n0\t1\n", "AX.tsv": b"index\tprediction\n"}
    assert zipped(files) == zipped(dict(files))
    assert [file.rows for file in FILES if file.task == "mnli"] == [9_796, 9_847]


def test_a_test_set_of_another_size_is_refused(
    cli: Call, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"sentence": f"Text {idx}.", "label": -1, "idx": idx} for idx in range(3)]
    write_split(tmp_path / "data", "cola", "test", rows)
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    answer = export(cli, tiny)
    assert answer.code == 2
    assert "CoLA.tsv" in answer.err
    assert "it has 3 rows; the published set has 1,063" in answer.err
    assert not (tmp_path / "submissions").exists()


def test_every_file_without_predictions_is_listed(cli: Call, tiny: Tiny) -> None:
    answer = export(cli, tiny, "--tasks", "cola,rte")
    assert answer.code == 2
    lines = answer.err.splitlines()
    for name in ("MRPC", "QQP", "MNLI-m", "MNLI-mm", "AX"):
        assert f"  {name}.tsv: not asked for (--tasks)" in lines
    assert any(line.startswith("  CoLA.tsv: no network") for line in lines)
    assert "--fill" in answer.err


def test_deleted_weights_name_the_command_that_keeps_them(cli: Call, tiny: Tiny) -> None:
    answer = export(cli, tiny, "--tasks", "rte", row="full-fine-tuning")
    assert answer.code == 2
    assert "stored without its weights (deleted after scoring)" in answer.err
    command = "python -m repro table 3-shared-2 --scale smoke --backbone tiny-"
    assert re.search(rf"{command}[0-9a-f]{{8}} --tasks rte --keep-weights --store", answer.err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("glue", *ASKED, "--row", "Ours (3-sharde)"), "Did you mean Ours (3-shared)"),
        (("squad", *ASKED, "--row", ROW), "no server called 'squad'"),
        (("glue", "ResAdapters-1", "--row", ROW), "These have: Houlsby-1, 3-shared-2"),
        (("glue", *ASKED, "--row", ROW, "--seed", "2"), "--seeds 3"),
        (("glue", "Houlsby-1", *ASKED[1:], "--row", "BERT-large", "--seed", "0"), "leave out"),
        (("glue", *ASKED, "--row", "Ours (not shared)", "--fill"), "not run"),
        (("glue", *ASKED, "--row", "Ours (not shared)", "--fill"), "No file would be predicted"),
        (("glue", *ASKED, "--row", ROW, "--out", "row.json"), "Expected --out NAME.zip"),
    ],
)
def test_mistakes_name_the_mend(
    cli: Call, tiny: Tiny, words: tuple[str, ...], expected: str
) -> None:
    answer = cli("export", *words, "--store", tiny.store.root)
    assert answer.code == 2
    assert expected in answer.err
