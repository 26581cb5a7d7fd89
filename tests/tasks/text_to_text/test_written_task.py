"""Tasks of text to text as the training loop meets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from written_samples import SMALL, made

from repro.backbones.tiny_t5 import tiny_tokenizer
from repro.errors import ReproError
from repro.spec.text_to_text import MIXTURE
from repro.tasks.text_to_text.formats import answer_text
from repro.tasks.text_to_text.rows import scored_rows, task_rows, training_rows
from repro.tasks.text_to_text.task import TextToTextData, load_text_to_text

TOKENIZER = tiny_tokenizer()
END = TOKENIZER.eos_token_id


@pytest.fixture(scope="module")
def mixture() -> TextToTextData:
    return load_text_to_text(made(*MIXTURE), TOKENIZER)


def say(data: TextToTextData, texts: list[str], *, watched: bool = False) -> list[dict[str, Any]]:
    """The scores of a run that answers each row with one of the texts, in turn."""
    collector = data.collector()
    for index in range(data.watched if watched else len(data.evaluation)):
        tokens = TOKENIZER(texts[index % len(texts)]).input_ids
        collector.add([index], np.array([tokens + [TOKENIZER.pad_token_id] * 3]))
    return collector.scores(2)


def say_right(data: TextToTextData) -> list[dict[str, Any]]:
    collector = data.collector()
    for index, example in enumerate(data.evaluation):
        collector.add([index], example.target.tokens[None].astype(np.int64))
    return collector.scores(1)


def value(scores: list[dict[str, Any]], task: str, split: str, metric: str) -> float:
    key = (task, split, metric)
    (found,) = (s["value"] for s in scores if (s["task"], s["split"], s["metric"]) == key)
    return float(found)


def test_the_loop_gets_the_examples_of_every_task(mixture: TextToTextData) -> None:
    loaded = made(*MIXTURE).load(TOKENIZER)
    assert isinstance(loaded, TextToTextData)
    assert sorted({example.task for example in mixture.training}) == list(range(8))
    # 60 training rows, of which large sets lose a fifth; 20 scored rows in halves, whole or twice
    counts = [sum(e.task == number for e in mixture.training) for number in range(8)]
    assert counts == [60, 48, 60, 48, 60, 60, 48, 60]
    assert mixture.watched == 4 * 10 + 3 * 12 + 20
    assert len(mixture.evaluation) - mixture.watched == 4 * 10 + 3 * 20 + 20


def test_sizes_from_the_spec_alone_are_those_of_the_rows(mixture: TextToTextData) -> None:
    counts = [sum(e.task == number for e in mixture.training) for number in range(8)]
    assert training_rows(mixture.task) == dict(zip(MIXTURE, counts, strict=True))
    tested = len(mixture.evaluation) - mixture.watched
    assert scored_rows(mixture.task) == (mixture.watched, tested)


def test_inputs_and_answers_are_the_tokens_of_their_texts(mixture: TextToTextData) -> None:
    (rows,) = (task_rows(mixture.task, "cola")["train"],)
    for row, example in list(zip(rows, mixture.training, strict=False))[:5]:
        assert example.idx == row.idx
        assert example.input_ids.tolist() == TOKENIZER(f"sentence: {row.texts[0]}").input_ids
        wanted = answer_text("cola", row.label, "0.2")
        assert example.target.tokens.tolist() == TOKENIZER(wanted).input_ids
        assert not example.type_ids.any()
        assert len(example.type_ids) == len(example.input_ids)


def test_the_longest_answer_of_a_task_is_that_of_its_labels(mixture: TextToTextData) -> None:
    longest = {example.task: example.target.longest for example in mixture.training}
    # a digit and the end of text; STS-B: "3.8" in three pieces
    assert longest == dict.fromkeys(range(8), 2) | {MIXTURE.index("stsb"): 4}


def test_right_answers_score_100_everywhere(mixture: TextToTextData) -> None:
    scores = say_right(mixture)
    assert mixture.monitor(scores) == pytest.approx(100)
    assert {s["value"] for s in scores if s["metric"] == "invalid_share"} == {0.0}
    assert not mixture.collapsed(scores)
    assert mixture.headline(scores) == pytest.approx({"validation/mean": 100, "test/mean": 100})
    first = scores[0]
    assert (first["protocol"], first["group"], first["epoch"]) == ("text-to-text", "ALL", 1)
    assert first["n"] == 10


def test_the_monitor_is_the_mean_of_eleven_printed_validation_metrics(
    mixture: TextToTextData,
) -> None:
    scores = say(mixture, ["1", "0"], watched=True)
    printed = {
        "cola": ["matthews"], "sst2": ["accuracy"], "mrpc": ["accuracy", "f1"],
        "qqp": ["accuracy", "f1"], "stsb": ["pearson", "spearman"], "mnli": ["accuracy"],
        "qnli": ["accuracy"], "rte": ["accuracy"],
    }  # fmt: skip
    eleven = [
        value(scores, task, "validation", metric) for task, of in printed.items() for metric in of
    ]
    assert len(eleven) == 11
    assert mixture.monitor(scores) == pytest.approx(sum(eleven) / 11)
    # CoLA's accuracy is scored beside what is printed
    assert 0 <= value(scores, "cola", "validation", "accuracy") <= 100


def test_watched_rows_are_scored_without_test_rows(mixture: TextToTextData) -> None:
    scores = say(mixture, ["1", "0"], watched=True)
    assert {score["split"] for score in scores} == {"validation"}
    assert mixture.headline(scores).keys() == {"validation/mean"}


def test_one_answer_to_everything_is_a_collapse(mixture: TextToTextData) -> None:
    assert mixture.collapsed(say(mixture, ["1"]))
    assert mixture.collapsed(say(mixture, [""]))
    assert not mixture.collapsed(say(mixture, ["1", "1", "0"]))


def test_empty_and_foreign_answers_are_invalid(mixture: TextToTextData) -> None:
    scores = say(mixture, ["", "the nurse"])
    assert {s["value"] for s in scores if s["metric"] == "invalid_share"} == {100.0}
    assert value(scores, "stsb", "test", "pearson") == 0.0
    assert value(scores, "mrpc", "test", "f1") == 0.0


def test_what_is_written_behind_the_end_of_text_is_not_read() -> None:
    data = load_text_to_text(made("sst2"), TOKENIZER)
    collector = data.collector()
    one, zero = (TOKENIZER(text, add_special_tokens=False).input_ids for text in "10")
    everyone = list(range(len(data.evaluation)))
    collector.add(everyone, np.array([[*one, END, *zero]] * len(everyone)))
    assert set(collector.predictions()["sst2"]["test"]["texts"]) == {" 1"}


def test_predictions_hold_every_answer_by_task_and_split(mixture: TextToTextData) -> None:
    collector = mixture.collector()
    for index in range(len(mixture.evaluation)):
        collector.add([index], np.array([TOKENIZER("1").input_ids]))
    found = collector.predictions()
    assert list(found) == list(MIXTURE)
    assert found["rte"].keys() == {"validation", "test"}
    assert found["rte"]["test"]["texts"] == [" 1"] * 10
    both = found["rte"]["validation"]["ids"] + found["rte"]["test"]["ids"]
    assert sorted(both) == list(range(20))


def test_missing_answers_are_told(mixture: TextToTextData) -> None:
    collector = mixture.collector()
    collector.add([0], np.array([TOKENIZER("1").input_ids]))
    with pytest.raises(ValueError, match="9 examples have no outputs yet"):
        collector.scores(1)


def test_drawn_rows_are_told_by_digest() -> None:
    first, again, other = (
        load_text_to_text(made("cola", "rte", train_rows=20, subset_seed=seed), TOKENIZER).drawn
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.keys() == {
        "cola/train", "cola/validation", "cola/test", "rte/train", "rte/validation", "rte/test",
    }  # fmt: skip
    assert first["cola/train"] != other["cola/train"]
    assert first["cola/test"] == other["cola/test"]


def test_a_single_task_tells_its_metrics() -> None:
    data = load_text_to_text(made("mrpc"), TOKENIZER)
    assert data.headline(say_right(data)) == pytest.approx(
        {
            "validation/accuracy": 100, "validation/f1": 100,
            "test/accuracy": 100, "test/f1": 100,
        }
    )  # fmt: skip


def test_a_long_input_loses_its_end_but_not_the_end_of_text() -> None:
    data = load_text_to_text(made("mnli", max_length=12), TOKENIZER)
    assert {len(example.input_ids) for example in data.training} == {12}
    assert all(example.input_ids[-1] == END for example in data.training)


def test_a_prefix_and_the_released_grid_change_what_is_read_and_written() -> None:
    data = load_text_to_text(made("stsb", prefix=True, grid="0.1"), TOKENIZER)
    assert TOKENIZER.decode(data.training[0].input_ids).lstrip().startswith("stsb sentence1:")
    texts = {TOKENIZER.decode(e.target.tokens, skip_special_tokens=True) for e in data.training}
    assert {text.strip() for text in texts} == {"0.0", "1.2", "2.5", "3.8", "5.0"}


@pytest.fixture(scope="module")
def spans() -> TextToTextData:
    return load_text_to_text(made("span-corruption", max_target=5), TOKENIZER)


def test_spans_are_scored_by_exact_answers(spans: TextToTextData) -> None:
    scores = say_right(spans)
    assert spans.monitor(scores) == 100.0
    assert {score["metric"] for score in scores} == {"accuracy", "majority_share"}
    assert max(len(e.target.tokens) for e in spans.training) <= 5
    assert {e.target.longest for e in spans.training} == {5}
    # the same words behind another sentinel are wrong
    collector = spans.collector()
    for index, example in enumerate(spans.evaluation):
        tokens = example.target.tokens.copy()
        tokens[0] -= 1
        collector.add([index], tokens[None])
    assert spans.monitor(collector.scores(1)) == 0.0


def test_a_span_is_dropped_and_wanted(spans: TextToTextData) -> None:
    example = spans.training[0]
    mark = TOKENIZER.convert_tokens_to_ids("<extra_id_0>")
    assert example.target.tokens[0] == mark
    assert mark in example.input_ids
    assert example.input_ids[-1] == example.target.tokens[-1] == END


def test_span_corruption_has_no_published_rows() -> None:
    task = made("span-corruption").model_copy(update={"source": "published"})
    with pytest.raises(ReproError, match="generated rows only"):
        load_text_to_text(task, TOKENIZER)


def test_generated_rows_need_a_revision() -> None:
    task = made("cola").model_copy(update={"revisions": {"rte": SMALL}})
    with pytest.raises(ReproError, match="Generated rows of CoLA need a revision"):
        load_text_to_text(task, TOKENIZER)
