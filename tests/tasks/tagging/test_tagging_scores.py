"""Scores of every split, and what becomes of words that the model does not read."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tagging_samples import sentence, tagging_data, tagging_task
from tiny_models import minilm_tokenizer

from repro.spec.tagging import TAGS, UNTAGGED
from repro.tasks.tagging import TaggingData, make_examples
from repro.training.batches import collate


def outputs_for(data: TaggingData, wanted: list[list[int]]) -> NDArray[np.float32]:
    """Outputs (rows, length, tags) whose largest is the wanted tag of each word's first piece."""
    length = max(len(example.input_ids) for example in data.evaluation)
    outputs = np.zeros((len(wanted), length, len(TAGS)), dtype=np.float32)
    outputs[..., 7] = 1.0  # what stands elsewhere says B-MISC and must not be read
    for row, (example, tags) in enumerate(zip(data.evaluation, wanted, strict=True)):
        for place, tag in zip(example.firsts, tags, strict=True):
            if place >= 0:
                outputs[row, place, :] = 0.0
                outputs[row, place, tag] = 1.0
    return outputs


def test_a_tag_stands_on_the_first_piece_of_its_word() -> None:
    tokenizer = minilm_tokenizer()
    example = make_examples([sentence("Wolfgang lives", "B-PER O")], tokenizer, 32)[0]
    pieces = tokenizer.convert_ids_to_tokens(example.input_ids.tolist())
    assert pieces[0] == "[CLS]"
    assert pieces[-1] == "[SEP]"
    rebuilt = "".join(piece.removeprefix("##") for piece in pieces[1:-1])
    assert rebuilt == "wolfganglives"
    tagged = {place: tag for place, tag in enumerate(example.target) if tag != UNTAGGED}
    assert list(tagged.values()) == [1, 0]
    assert [pieces[place].startswith("##") for place in tagged] == [False, False]
    rare = make_examples([sentence("Xyzzyqwk Oslo", "B-PER B-LOC")], tokenizer, 32)[0]
    assert len(rare.input_ids) > 4  # the first word has several pieces
    assert rare.target.tolist()[1] == 1
    assert rare.target.tolist()[2:-2] == [UNTAGGED] * (len(rare.input_ids) - 4)
    assert rare.target.tolist()[-2:] == [5, UNTAGGED]


def test_words_that_are_cut_off_count_as_outside() -> None:
    tokenizer = minilm_tokenizer()
    long = sentence("Ann met Bob in Rome and Oslo", "B-PER O B-PER O B-LOC O B-LOC")
    cut = make_examples([long], tokenizer, 5)  # [CLS] ann met bob [SEP]
    assert cut[0].firsts.tolist() == [1, 2, 3, -1, -1, -1, -1]
    data = TaggingData(tagging_task(), [], cut, {"validation": slice(0, 1)}, 0)
    collector = data.collector()
    collector.add([0], outputs_for(data, [list(long.tags)]))
    assert collector.predictions()["validation"]["predictions"] == [
        ["B-PER", "O", "B-PER", "O", "O", "O", "O"]
    ]
    found = {score["metric"]: score for score in collector.scores(1)}
    assert found["recall"]["value"] == 50.0
    assert found["precision"]["value"] == 100.0
    assert found["read_share"]["value"] == pytest.approx(100 * 3 / 7)
    assert found["read_share"]["n"] == 7


def test_scores_of_every_split_and_the_collapsed_answer() -> None:
    data = tagging_data()
    gold = [list(example.sentence.tags) for example in data.evaluation]
    right, nothing = data.collector(), data.collector()
    backwards = list(reversed(range(len(gold))))
    right.add(backwards, outputs_for(data, gold)[backwards])
    nothing.add(list(range(len(gold))), outputs_for(data, [[0] * len(tags) for tags in gold]))
    scores = right.scores(3)
    assert data.headline(scores) == {"validation/f1": 100.0, "test/f1": 100.0}
    assert data.monitor(scores) == 100.0
    assert not data.collapsed(scores)
    assert {score["epoch"] for score in scores} == {3}
    assert data.collapsed(nothing.scores(3))
    assert data.monitor(nothing.scores(3)) == 0.0


def test_outputs_that_are_not_finite_or_lack_are_no_score() -> None:
    data = tagging_data()
    collector = data.collector()
    bad = np.full((1, 40, len(TAGS)), np.nan, dtype=np.float32)
    with pytest.raises(FloatingPointError):
        collector.add([0], bad)
    with pytest.raises(ValueError, match="12 examples have no outputs yet"):
        collector.scores(1)


def test_a_batch_pads_tags_like_tokens() -> None:
    examples = tagging_data().training[:4]
    for length in (None, 50):
        batch = collate(examples, pad_id=0, length=length)
        assert batch.targets.shape == batch.input_ids.shape
        for row, example in enumerate(examples):
            size = len(example.target)
            assert batch.targets[row, :size].tolist() == example.target.tolist()
            assert (batch.targets[row, size:] == UNTAGGED).all()
