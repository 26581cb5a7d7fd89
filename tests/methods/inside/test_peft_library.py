"""The peft library's modules as a method: counts, equality with our LoRA, dropout, and refusals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from group_samples import remains
from inside_groups import inside_group
from inside_groups import inside_spec as group_spec
from inside_samples import batch_of, dropout_of, encoder_of, inside_spec, learner_of, no_dropout
from torch.nn import functional as F

from repro.cli.requests import parsed
from repro.errors import ReproError
from repro.methods.inside.learner import Inside
from repro.methods.lora import LoRA
from repro.methods.modules.counting import count_modules
from repro.methods.peft_library import KINDS, PeftLibrary
from repro.spec import RunSpec, run_key
from repro.spec.backbones import BERT_BASE, KNOWN
from repro.spec.method import method_and_settings, why_unknown

pytest.importorskip("peft", reason="the peft library is not installed")

LENGTHS = [9, 4, 6]
LORA: dict[str, Any] = {
    "peft_type": "LORA", "r": 4, "lora_alpha": 6, "target_modules": ["query", "value"],
}  # fmt: skip
OF_KIND: dict[str, dict[str, Any]] = {
    "IA3": {"target_modules": ["key", "value"], "feedforward_modules": []},
    "LN_TUNING": {"target_modules": ["LayerNorm"]},
    "FOURIERFT": {"target_modules": ["query", "value"], "n_frequency": 50},
    "OFT": {"target_modules": ["query", "value"], "oft_block_size": 4},
}


def peft(config: dict[str, Any] = LORA, **changes: Any) -> PeftLibrary:
    return PeftLibrary(config=json.dumps(config | changes))


def learner(method: PeftLibrary, seed: int = 0) -> Inside:
    spec = inside_spec(method).model_copy(update={"seed": seed})
    made = spec.learner(1, encoder_of("bert"))
    assert isinstance(made, Inside)
    made.initialise([torch.Generator().manual_seed(seed)])
    return made


def test_lora_of_the_library_is_ours_on_equal_weights() -> None:
    ours, theirs = learner_of(LoRA(rank=4, alpha=6.0), encoder_of("bert")), learner(peft())
    own = dict(ours.added.named_parameters())  # type: ignore[union-attr]
    with torch.no_grad():
        for name, value in theirs.added.named_parameters():  # type: ignore[union-attr]
            number, place = name.split("layer-")[1].split("-")[0], name.split("self-")[1]
            ours_value = own[
                f"{number}-{place.split('-')[0]}.{'down' if 'lora_A' in name else 'up'}"
            ]
            value.normal_(0, 0.5, generator=torch.Generator().manual_seed(len(own)))
            ours_value.copy_(value.T[None, None])
        for one, two in zip(theirs.head.parameters(), ours.head.parameters(), strict=True):
            one.copy_(two[0, 0])
    inputs, wanted = batch_of(LENGTHS), torch.tensor([0, 1, 2])
    found = [one.eval()(inputs, no_dropout())[0] for one in (ours, theirs)]
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-5)
    norms = [
        sorted(
            float(g.norm())
            for g in torch.autograd.grad(F.cross_entropy(scores, wanted), list(one.parameters()))
        )
        for scores, one in zip(found, (ours, theirs), strict=True)
    ]
    assert norms[1] == pytest.approx(norms[0], rel=1e-4, abs=1e-7)


def test_its_parameters_are_counted_on_its_modules() -> None:
    # 12 layers x 2 maps x 8 x (768 + 768), as LoRA has them
    spec = inside_spec(peft(r=8)).model_copy(update={"backbone": KNOWN[BERT_BASE]})
    assert spec.trained_parameters() == 294_912 + 3 * 769
    counted = count_modules(spec)
    assert (counted["adapters"], counted["classifier"]) == (294_912, 3 * 769)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_trains_all_its_parameters_and_nothing_else(kind: str) -> None:
    config = {"peft_type": kind, "target_modules": ["query", "value"]} | OF_KIND.get(kind, {})
    made = learner(peft(config))
    frozen = [p for p in made._model[0].parameters() if not p.requires_grad]
    before = [p.clone() for p in frozen]
    own = list(made.added.parameters())  # type: ignore[union-attr]
    assert own
    wanted = torch.tensor([0, 1, 2])
    losses = []
    for _ in range(4):
        loss = F.cross_entropy(made.eval()(batch_of(LENGTHS), no_dropout())[0], wanted)
        gradients = torch.autograd.grad(loss, own, materialize_grads=True)
        with torch.no_grad():
            for parameter, gradient in zip(own, gradients, strict=True):
                parameter.sub_(0.5 * gradient)
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert all(torch.equal(p, old) for p, old in zip(frozen, before, strict=True))


def test_a_seed_draws_the_modules_and_leaves_the_processs_generator() -> None:
    state = torch.get_rng_state()
    drawn = [
        [p.clone() for p in learner(peft(), seed).added.parameters()]  # type: ignore[union-attr]
        for seed in (3, 3, 4)
    ]
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(drawn[0], drawn[1], strict=True))
    assert not torch.equal(drawn[0][0], drawn[2][0])


def test_dropout_of_the_modules_is_drawn_from_the_runs_own_generator() -> None:
    made = learner(peft(lora_dropout=0.5)).train()
    with torch.no_grad():
        for value in made.added.parameters():  # type: ignore[union-attr]
            value.fill_(0.3)
    spared = learner(peft()).train()
    spared.load_state_dict(made.state_dict())
    for one in (made, spared):
        one.now.rate = 0.0  # the encoder's own dropout
    inputs = batch_of(LENGTHS)
    first, again, other = (made(inputs, dropout_of(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(made(inputs, no_dropout()), spared(inputs, no_dropout()))


def test_seeds_of_one_job_train_as_each_does_alone(tmp_path: Path) -> None:
    def spec(seed: int) -> RunSpec:
        method = PeftLibrary(config=json.dumps(LORA | {"lora_dropout": 0.2}), pooler="trained")
        return group_spec(method, seed, recipe__epochs=1)

    together = inside_group([spec(0), spec(1)], tmp_path / "both")
    assert [len(cohort.members) for cohort in together.cohorts] == [1, 1]
    alone = remains(inside_group([spec(1)], tmp_path / "one"))
    found = remains(together)
    assert found["1 adapter"] == alone["0 adapter"]
    assert found["1 history"] == alone["0 history"]
    assert found["0 adapter"] != found["1 adapter"]


def test_a_run_starts_from_another_ones_modules() -> None:
    trained, new = learner(peft(), 1), learner(peft(), 2)
    artefact = {name: value.detach().clone() for name, value in trained.named_parameters()}
    new.start_from(inside_spec(peft()), artefact)
    for name, value in new.named_parameters():
        assert torch.equal(value, artefact[name]) is not name.startswith("head.scorer.weight")


def test_what_says_where_an_adapter_comes_from_is_no_part_of_the_identity(tmp_path: Path) -> None:
    more = {"base_model_name_or_path": "x", "task_type": "SEQ_CLS", "peft_version": "0.18.0"}
    keys = []
    for name, content in (("a", LORA), ("b", more | LORA), ("c", LORA | {"r": 5})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_config.json").write_text(json.dumps(content))
        kind, settings = method_and_settings(f"peft:{tmp_path / name}")
        assert kind == "peft"
        keys.append(run_key(inside_spec(PeftLibrary(config=settings["method.config"]))))
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_what_the_file_sets_cannot_be_set_by_hand_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(LORA))
    with pytest.raises(ReproError, match=r"--set method\.config and the file of --method"):
        parsed(method=f"peft:{file}", settings=["method.config=other"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"peft_type": "LORA", "r": ', "no JSON"),
        ('["LORA"]', "holds no JSON object"),
        ('{"peft_type": "LORA", "r": 4, "r": 8}', "no JSON"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_holds_no_configuration_is_refused(
    tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "mine.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ReproError, match=rf"mine\.json.*{said}|{said}"):
        method_and_settings(f"peft:{file}")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"peft_type": "PROMPT_TUNING"}, "Prompts change the input"),
        ({"peft_type": "LORRA"}, "'LORRA': choose one of LORA"),
        ({"target_modules": ["q_proj"]}, "q_proj.* not found"),
        ({"rank": 4}, "refuses .*unexpected keyword argument 'rank'"),
        ({"r": 0}, "positive integer"),
        ({"bias": "all"}, "encoder's own .*bias.*leave out"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
    ],
)
def test_a_configuration_that_cannot_be_trained_is_refused_when_a_run_is_planned(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ReproError, match=said):
        inside_spec(peft(**changes)).check()


def test_its_parameters_are_counted_once_on_a_machine_and_then_without_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRO_CACHE", str(tmp_path))
    method, backbone = peft(r=5), KNOWN[BERT_BASE]  # counted by no other test
    count = 12 * 2 * 2 * 5 * 768  # layers, maps in each, factors of a map, rank x width
    assert method.added_parameters(backbone) == count
    program = (
        "import sys\nfrom repro.methods.peft_library import PeftLibrary\n"
        "from repro.spec.backbones import BERT_BASE, KNOWN\n"
        f"method = PeftLibrary(config={method.config!r})\n"
        "print(method.added_parameters(KNOWN[BERT_BASE]), 'torch' in sys.modules)\n"
    )
    said = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert said == f"{count} False\n"


def test_without_the_library_the_method_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(LORA))
    monkeypatch.setattr("repro.spec.method.util.find_spec", lambda name: None)
    said = r"The method 'peft' needs the package peft: pip install 'repro\[peft\]'\."
    with pytest.raises(ReproError, match=said):
        method_and_settings(f"peft:{tmp_path / 'mine.json'}")
    assert re.match(said.lower(), why_unknown("peft").lower())
    assert why_unknown("lora") == ""


def test_a_method_without_a_file_says_so() -> None:
    with pytest.raises(ReproError, match=r"'lora' takes no file: leave out :x\.json"):
        method_and_settings("lora:x.json")
