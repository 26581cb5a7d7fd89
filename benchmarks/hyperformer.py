"""Steps inside a T5 of T5-small's shape with random weights: generated adapters against the others.

What is generated is made once a pass; the naive way makes it at every slot that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from common import CYCLES, report, seconds

from repro.backbones.load import Encoder
from repro.methods.modules.layout import Layout
from repro.methods.modules.learner import Inputs
from repro.methods.t5.adapters import Adapters
from repro.methods.t5.freeze import plain_adapters, plain_run
from repro.methods.t5.learner import Writer
from repro.papers.hyperformer.runs import SMALL_T5, table_runs
from repro.papers.hyperformer.setting import DAGGER, HYPER, MULTI, PLUS
from repro.papers.request import Request
from repro.tasks.data import UNWRITTEN
from repro.training.cohort import Cohort
from repro.training.environment import prepare_process, prepare_torch
from repro.training.optimizer import AdamW, FlatParameters

ROWS, TOKENS, WRITTEN, LONGEST = 16, 40, 2, 4
"""Rows of a step, tokens of an input and of an answer, and of the longest answer."""


def random_t5() -> Encoder:
    """T5-small's shape."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(decoder_start_token_id=0)  # the library's defaults are T5-small's
    return Encoder(T5ForConditionalGeneration(config).eval().requires_grad_(False), None)


def batch(device: torch.device, rows: int = ROWS) -> Inputs:
    """Random tokens; the first answer is one short."""
    ids = torch.randint(3, 32_000, (rows, TOKENS), device=device)
    written = torch.randint(3, 32_000, (rows, WRITTEN), device=device)
    written[:1, -1:] = UNWRITTEN
    mask = torch.ones_like(ids)
    layout = Layout.of(mask.cpu(), keep_padding=False).to(device)
    return Inputs(ids, mask, mask * 0, layout, [], written, LONGEST)


def step(cohort: Cohort, inputs: Inputs) -> None:
    """One step of training."""
    cohort.prepare(1)
    assert inputs.written is not None
    cohort.accumulate(inputs, inputs.written.unsqueeze(0), 1.0)
    cohort.optimizer.step(1)


def answer(cohort: Cohort, inputs: Inputs) -> None:
    """Answers of a batch, greedily."""
    cohort.evaluate(inputs)


class Naive(Writer):
    """Every slot makes all adapters anew when it is asked for its own."""

    def _adapter(self, stack: str, slot: int) -> Adapters | None:
        assert self.adapters is not None
        made: dict[str, Adapters] = self.adapters(self.tasks[0])
        return made[stack].each()[slot]


def compare(name: str, slow: Callable[[], None], fast: Callable[[], None]) -> None:
    """Prints how much longer the first takes."""
    on = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pairs = [(seconds(slow, on), seconds(fast, on)) for _ in range(CYCLES)]
    report(name, [a for a, _ in pairs], [b for _, b in pairs])


def main() -> None:
    """Steps of every method, what making adapters once saves, and what freezing them saves."""
    prepare_process(deterministic=False)
    device = prepare_torch("auto", threads=None, deterministic=False, tf32=False)
    encoder, request = random_t5(), Request("", "paper", 1)
    encoder.model.to(device)
    models = (MULTI, DAGGER, HYPER, PLUS)
    specs = {m: table_runs(m, SMALL_T5, "rte", request).run(0) for m in models}
    cohorts = {m: Cohort([0], [spec], encoder, device, 1000) for m, spec in specs.items()}
    inputs = batch(device)
    for model in (MULTI, HYPER, PLUS):
        slow, fast = partial(step, cohorts[model], inputs), partial(step, cohorts[DAGGER], inputs)
        compare(f"a step, {model} / {DAGGER}", slow, fast)
    plus = cohorts[PLUS]
    naive = Naive(specs[PLUS], encoder).to(device)
    naive.load_state_dict(plus.learner.state_dict())
    anew = Cohort([0], [specs[PLUS]], encoder, device, 1000)
    anew.learner = naive
    anew.parameters = FlatParameters(naive)
    anew.optimizer = AdamW(anew.parameters, [specs[PLUS].recipe], 1000)
    compare("a step, made at every slot / once", partial(step, anew, inputs),
            partial(step, plus, inputs))  # fmt: skip
    compare("answers, made at every slot and token / once", partial(answer, anew, inputs),
            partial(answer, plus, inputs))  # fmt: skip
    assert isinstance(plus.learner, Writer)
    plain = Cohort([0], [plain_run(specs[PLUS], "rte")], encoder, device, 1000)
    plain.load_artefact(0, plain_adapters(plus.learner, "rte"))
    row = batch(device, rows=1)
    compare("answers of one row, generated / frozen", partial(answer, plus, row),
            partial(answer, plain, row))  # fmt: skip


if __name__ == "__main__":
    main()
