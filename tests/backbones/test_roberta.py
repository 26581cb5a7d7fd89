"""RoBERTa as a backbone: a local folder against the library's own classifier and tokenizer."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from inside_samples import joined, learner_of, no_dropout
from tiny_folder import change_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaModel,
)

from repro.backbones.describe import describe
from repro.backbones.load import Encoder, load_encoder
from repro.errors import MissingModel
from repro.methods.inside.learner import Inside
from repro.methods.lora import LoRA
from repro.methods.modules.counting import count_modules
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.papers.registry import find_table
from repro.papers.request import Request
from repro.spec.backbones import KNOWN, ROBERTA_BASE
from repro.tasks.sentences.rows import Row
from repro.tasks.sentences.task import make_examples

CPU = torch.device("cpu")
SPECIAL = {"bos_token": "<s>", "cls_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>",
           "sep_token": "</s>", "unk_token": "<unk>"}  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAIRS = [("a bc", "d"), ("q", "r s t u v w"), ("x y z a b", "c d e f")]
CLASSIFIER = LoRA(rank=2, pooler="none", head="two-layer")


def classifier_model() -> RobertaForSequenceClassification:
    """Random weights; 40 positions, of which 38 can be had: the padding token has number 1."""
    config = RobertaConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40, type_vocab_size=1, num_labels=3,
        initializer_range=0.3,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model: RobertaForSequenceClassification = RobertaForSequenceClassification(config).eval()
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.normal_(value, 0, 0.2)
    return model.requires_grad_(False)


def write_roberta(folder: Path, model: Any) -> Path:
    """The model, and a tokenizer of letters that makes pairs as RoBERTa's does."""
    model.save_pretrained(folder)
    names = ["<s>", "<pad>", "</s>", "<unk>", *LETTERS]
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("models") / "tiny-roberta", classifier_model())


def load(folder: Path) -> Encoder:
    backbone = describe(str(folder))
    return load_encoder(backbone, {backbone.revision or "": str(folder)}, CPU)


def inputs_of(encoder: Encoder, pairs: list[tuple[str, str]]) -> Inputs:
    """Rows as the training loop collates them."""
    rows = [Row(number, pair, 0) for number, pair in enumerate(pairs)]
    examples = make_examples(rows, encoder.tokenizer, 38)
    longest = max(len(example.input_ids) for example in examples)
    ids = torch.full((len(rows), longest), encoder.tokenizer.pad_token_id)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, example in enumerate(examples):
        size = len(example.input_ids)
        ids[row, :size] = torch.tensor(example.input_ids.tolist())
        types[row, :size] = torch.tensor(example.type_ids.tolist())
        mask[row, :size] = 1
    return Inputs(ids, mask, types, Layout.of(mask, keep_padding=False), [])


def with_head_of(learner: Inside, model: Any, run: int = 0) -> Inside:
    """The learner with the library classifier's weights in its head."""
    head = model.classifier
    assert learner.head.dense is not None
    pairs = ((learner.head.dense, head.dense), (learner.head.scorer, head.out_proj))
    with torch.no_grad():
        for own, theirs in pairs:
            own.weight[run, 0].copy_(theirs.weight.T)
            own.bias[run, 0].copy_(theirs.bias)
    return learner


def test_a_folder_is_described_with_the_positions_that_can_be_had(folder: Path) -> None:
    found, model = describe(str(folder)), classifier_model()
    assert (found.layers, found.hidden_size, found.positions) == (2, 32, 38)
    with_pooler = RobertaModel(model.config)
    assert found.parameters == sum(p.numel() for p in with_pooler.parameters())


def test_roberta_base_has_its_published_number_of_parameters() -> None:
    found = describe(ROBERTA_BASE)
    assert found == KNOWN[ROBERTA_BASE]
    # 50,265 pieces, 514 positions, 1 type; 12 layers; pooler
    of_layers = 12 * (4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768)
    assert found.parameters == (50_265 + 514 + 1 + 2) * 768 + of_layers + 768 * 769
    assert (found.parameters, found.positions) == (124_645_632, 512)


def test_a_pair_is_tokenised_as_roberta_does(folder: Path) -> None:
    encoder = load(folder)
    [example] = make_examples([Row(0, ("ab", "c"), 0)], encoder.tokenizer, 38)
    a, b, c = (4 + LETTERS.index(letter) for letter in "abc")
    assert example.input_ids.tolist() == [0, a, b, 2, 2, c, 2]
    assert not example.type_ids.any()


def test_outputs_are_those_of_the_librarys_classifier(folder: Path) -> None:
    encoder, model = load(folder), classifier_model()
    inputs = inputs_of(encoder, PAIRS)
    learner = with_head_of(learner_of(CLASSIFIER, encoder).eval(), model)
    found = learner(inputs, no_dropout())[0]
    expected = model(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask).logits
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_rows_of_several_runs_give_what_each_gives_alone(folder: Path) -> None:
    encoder, model = load(folder), classifier_model()
    parts = [inputs_of(encoder, PAIRS[:2]), inputs_of(encoder, PAIRS[1:])]
    together = learner_of(CLASSIFIER, encoder, (0, 1)).eval()
    for run in (0, 1):
        with_head_of(together, model, run)
    found = together(joined(parts), no_dropout(2))
    for run, part in enumerate(parts):
        expected = model(input_ids=part.input_ids, attention_mask=part.attention_mask).logits
        torch.testing.assert_close(found[run], expected, rtol=0, atol=1e-5)


def test_lora_is_pefts_in_roberta(folder: Path) -> None:
    peft = pytest.importorskip("peft", reason="the peft library is not installed")
    encoder, model = load(folder), classifier_model()
    inputs = inputs_of(encoder, PAIRS)
    learner = with_head_of(learner_of(CLASSIFIER, encoder).eval(), model)
    config = peft.LoraConfig(r=2, lora_alpha=16, target_modules=["query", "value"])
    theirs = peft.get_peft_model(copy.deepcopy(model), config).eval()
    own = dict(learner.added.named_parameters())  # type: ignore[union-attr]
    with torch.no_grad():
        for name, value in own.items():
            value.normal_(0, 0.5, generator=torch.Generator().manual_seed(len(name)))
        for name, value in theirs.named_parameters():
            if "lora_" in name:
                number, place = name.split("layer.")[1].split(".")[0], name.split("self.")[1]
                part = "down" if "lora_A" in name else "up"
                value.copy_(own[f"{number}-{place.split('.')[0]}.{part}"][0, 0].T)
    expected = theirs(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask).logits
    torch.testing.assert_close(learner(inputs, no_dropout())[0], expected, rtol=0, atol=1e-5)


def test_lora_with_robertas_classifier_has_the_counted_parameters() -> None:
    table = find_table("LoRA-1")
    request = Request("LoRA-1", "paper", 1)
    [spec] = table.matrix(request).of("LoRA", "SST2")
    # 12 layers x 2 maps x 8 x (768 + 768); 768 x 768 + 768; 2 x 768 + 2
    assert spec.trained_parameters() == 294_912 + 590_592 + 1_538 == 887_042
    counted = count_modules(spec)
    assert {part: n for part, n in counted.items() if n} == {
        "adapters": 294_912, "head layers": 590_592, "classifier": 1_538,
    }  # fmt: skip
    assert spec.total_parameters() == 124_645_632 - 590_592 + 887_042  # no pooler is read


def test_a_model_without_prefix_head_or_pooler_is_read_alike(folder: Path, tmp_path: Path) -> None:
    bare: Any = classifier_model().roberta
    other = load(write_roberta(tmp_path / "bare", bare))
    inputs = inputs_of(other, PAIRS)
    given = inputs.input_ids, inputs.attention_mask, inputs.type_ids
    for one, two in zip(other.states(*given), load(folder).states(*given), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("file", "changes", "said"),
    [
        ("config.json", {"max_position_embeddings": 2}, "no token has one"),
        ("config.json", {"vocab_size": 20}, "vocab_size|config.json makes it"),
        ("config.json", {"type_vocab_size": "one"}, "type_vocab_size 'one'"),
        ("config.json", {"position_embedding_type": "relative_key"}, "absolute positions only"),
        ("tokenizer_config.json", {"pad_token": "[PAD]"}, "is not in tokenizer.json"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    tmp_path: Path, file: str, changes: dict[str, Any], said: str
) -> None:
    path = write_roberta(tmp_path / "mine", classifier_model())
    change_file(path / file, **changes)
    with pytest.raises(MissingModel, match=said):
        describe(str(path))
