"""Generated adapters against the paper's equations in float64, written a second time in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from writer_samples import (
    HIDDEN,
    LAYERS,
    TASKS,
    hyperformer,
    no_dropout,
    plain,
    small_t5,
    writer_of,
    written_batch,
    written_run,
)

from repro.methods.t5.adapters import Adapters, PlainAdapters, adapt
from repro.methods.t5.generators import GeneratedAdapters, Generators
from repro.methods.t5.learner import Writer

Array = NDArray[np.float64]
SLOTS = [(layer, place) for layer in range(LAYERS) for place in (0, 1)]
KINDS = ("slot", "stack", "kind")


def numbers(writer: Writer) -> dict[str, Array]:
    return {name: p.detach().double().numpy() for name, p in writer.named_parameters()}


def mlp(p: dict[str, Array], name: str, x: Array) -> Array:
    first, second = f"{name}.projector.first", f"{name}.projector.second"
    middle = np.maximum(x @ p[f"{first}.weight"][0] + p[f"{first}.bias"][0], 0)
    found: Array = middle @ p[f"{second}.weight"][0] + p[f"{second}.bias"][0]
    return found


def normed(x: Array, gain: Array, shift: Array, eps: float) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    found: Array = (x - mean) / np.sqrt(variance + eps) * gain + shift
    return found


def by_hand(writer: Writer, stack: str, layer: int, place: int, task: str) -> dict[str, Array]:
    """The tensors of one generated adapter, from the embeddings."""
    p, kind = numbers(writer), writer.spec.method.generators  # type: ignore[attr-defined]
    own = f"adapters.{stack}"
    embedding = p[f"adapters.embeddings.{task}"]
    if kind == "slot":
        embedded, copy = mlp(p, "adapters", embedding), 2 * layer + place
    else:
        joined = [embedding, p[f"{own}.layer_embeddings"][layer]]
        if kind == "stack":
            joined.append(p[f"{own}.slot_embeddings"][place])
        gain, shift = p[f"{own}.input_norm.weight"], p[f"{own}.input_norm.bias"]
        embedded = normed(mlp(p, own, np.concatenate(joined)), gain, shift, 1e-6)
        copy = place if kind == "kind" else 0
    found = {}
    for name, shape in {
        "down": (4, HIDDEN), "down_bias": (4,), "up": (HIDDEN, 4), "up_bias": (HIDDEN,),
        "gain": (HIDDEN,), "shift": (HIDDEN,),
    }.items():  # fmt: skip
        maps = f"{own}.generators.maps.{name}"
        made = embedded @ p[f"{maps}.weight"][copy] + p[f"{maps}.bias"][copy]
        found[name] = made.reshape(shape)
    return found


def adapted(x: Array, a: dict[str, Array]) -> Array:
    """LN(U g(D x + b_D) + b_U) + x."""
    z = x @ a["down"].T + a["down_bias"]
    z = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    return normed(z @ a["up"].T + a["up_bias"], a["gain"], a["shift"], 1e-5) + x


def made(writer: Writer, task: str) -> dict[str, list[Adapters]]:
    assert writer.adapters is not None
    with torch.no_grad():
        return {stack: found.each() for stack, found in writer.adapters(task).items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS)
def test_every_tensor_is_the_equations(kind: str, task: str) -> None:
    writer = writer_of(written_run(hyperformer(kind)), scale=0.3)
    found = made(writer, task)
    for stack in ("encoder", "decoder"):
        for (layer, place), adapter in zip(SLOTS, found[stack], strict=True):
            expected = by_hand(writer, stack, layer, place, task)
            for name, tensor in adapter._asdict().items():
                np.testing.assert_allclose(tensor.numpy(), expected[name], rtol=2e-4, atol=2e-5)


def record(writer: Writer) -> dict[str, tuple[Array, Array]]:
    """Sublayer -> what its last map gave, and what went into its dropout, in one pass."""
    given: dict[str, Array] = {}
    entered: dict[str, Array] = {}
    model = writer.model_inside
    for name, module in model.named_modules():
        sublayer = name.rpartition(".layer.")[0] + "." + name.rpartition(".layer.")[2][:1]
        if name.endswith(("Attention.o", "DenseReluDense.wo")):
            module.register_forward_hook(
                lambda _, __, out, at=sublayer: given.update({at: out.double().numpy()})
            )
        if ".layer." in name and name.split(".layer.")[1].count(".") == 1 and "dropout" in name:
            module.register_forward_pre_hook(
                lambda _, args, at=sublayer: entered.update({at: args[0].double().numpy()})
            )
    with torch.no_grad():
        writer(written_batch(task=1), no_dropout())
    return {at: (given[at], entered[at]) for at in given}


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapter_stands_before_dropout_and_residual_but_not_after_cross_attention(
    kind: str,
) -> None:
    writer = writer_of(written_run(hyperformer(kind)), scale=0.3)
    found = record(writer)
    assert len(found) == LAYERS * (2 + 3)
    for sublayer, (before, after) in found.items():
        stack, _, layer, number = sublayer.split(".")
        if (stack, number) == ("decoder", "1"):
            assert np.array_equal(before, after)
            continue
        place = int(number != "0")
        expected = adapted(before, by_hand(writer, stack, int(layer), place, TASKS[1]))
        np.testing.assert_allclose(after, expected, rtol=1e-3, atol=1e-4)
        assert not np.allclose(before, after, atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_slots_stacks_and_tasks_have_different_adapters(kind: str) -> None:
    writer = writer_of(written_run(hyperformer(kind)))
    found = [
        adapter
        for task in TASKS
        for adapters in made(writer, task).values()
        for adapter in adapters
    ]
    assert len(found) == len(TASKS) * 2 * 2 * LAYERS
    for name in Adapters._fields:
        flat = torch.stack([getattr(adapter, name).flatten() for adapter in found])
        apart = torch.pdist(flat.double()) / flat.double().norm(dim=1).max()
        assert float(apart.min()) > 1e-3


def test_encoder_and_decoder_of_hyperformer_plus_plus_share_only_the_table_of_tasks() -> None:
    writer = writer_of(written_run(hyperformer("stack")))
    assert isinstance(writer.adapters, GeneratedAdapters)
    names = {name for name, _ in writer.adapters.encoder.named_parameters()}
    assert names == {name for name, _ in writer.adapters.decoder.named_parameters()}
    for name in names:
        if "bias" not in name and "input_norm" not in name:
            one = writer.adapters.encoder.get_parameter(name)
            assert not torch.equal(one, writer.adapters.decoder.get_parameter(name))
    rest = {name.split(".")[0] for name, _ in writer.adapters.named_parameters()}
    assert rest == {"embeddings", "encoder", "decoder"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_adapters_are_made_once_a_pass_however_many_tokens_are_written(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    forward = Generators.forward

    def counted(self: Generators, embedded: torch.Tensor) -> Any:
        calls.append(tuple(embedded.shape))
        return forward(self, embedded)

    monkeypatch.setattr(Generators, "forward", counted)
    writer = writer_of(written_run(hyperformer(kind)), scale=0.3)
    writer(written_batch(), no_dropout())
    assert len(calls) == 2  # encoder and decoder
    writer.answer(written_batch(longest=9), no_dropout())
    assert len(calls) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_reaches_all_that_is_of_the_steps_task(kind: str) -> None:
    writer = writer_of(written_run(hyperformer(kind)), scale=0.3)
    parameters = dict(writer.named_parameters())
    loss = writer(written_batch(task=1), no_dropout()).square().sum()
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    reached = {
        name for name, g in zip(parameters, found, strict=True) if g is not None and bool(g.any())
    }
    others = {f"adapters.embeddings.{task}" for task in (TASKS[0], TASKS[2])}
    assert set(parameters) - reached == others
    assert writer.idles
    assert not writer_of(written_run(hyperformer(kind), TASKS[:1])).idles


@pytest.mark.parametrize("kind", KINDS)
def test_generated_adapters_start_near_the_identity_and_plain_ones_add_a_unit_variance(
    kind: str,
) -> None:
    """At T5-base's width, on states of the size that T5's sublayers give."""
    stream = torch.Generator().manual_seed(0)
    x = 10 * torch.randn(2, 7, 768, generator=stream)
    method = hyperformer(kind, reduction=32, task_embedding=64, projector=128, projected=64)
    generated = GeneratedAdapters(method, ("rte",), 1, 768)
    learned = PlainAdapters(plain(reduction=32), ("rte",), 1, 768)
    for adapters in (generated, learned):
        adapters.initialise(stream)
    with torch.no_grad():
        for stack in ("encoder", "decoder"):
            for adapter in generated("rte")[stack].each():  # I has a norm of 8 at most
                assert float((adapt(x, adapter) - x).std()) < 0.13  # 0.01 x 8 x sqrt(2)
            for adapter in learned("rte")[stack].each():
                assert float((adapt(x, adapter) - x).std()) == pytest.approx(1.0, abs=0.02)


def test_first_values_have_the_laws_of_the_released_code() -> None:
    """At a larger width: generators and MLP N(0, 0.01^2), embeddings N(0, 1), biases 0."""
    method = hyperformer("stack", task_embedding=64, projector=128, projected=64)
    writer = writer_of(written_run(method), small_t5())
    for name, parameter in writer.named_parameters():
        if not name.startswith("adapters."):
            continue
        spread = float(parameter.detach().std(correction=0))
        if "embeddings" in name:
            assert spread == pytest.approx(1.0, rel=0.3)
        elif name.endswith("input_norm.weight"):
            assert bool((parameter == 1).all())
        elif name.endswith("bias"):
            assert not parameter.any()
        elif parameter.numel() > 500:
            assert spread == pytest.approx(0.01, rel=0.1)


def test_the_first_values_are_the_seeds() -> None:
    one, same = writer_of(written_run(seed=4)), writer_of(written_run(seed=4))
    other = writer_of(written_run(seed=5))
    names = [name for name in numbers(one) if "weight" in name and "generators" in name]
    for name in names:
        assert np.array_equal(numbers(one)[name], numbers(same)[name])
        assert not np.array_equal(numbers(one)[name], numbers(other)[name])


ABLATIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"blocks": False}, {"gain", "shift"}),
    ({"norm": "none"}, {"down", "down_bias", "up", "up_bias"}),
    ({"norm": "shared"}, set(Adapters._fields)),
]


@pytest.mark.parametrize(("changes", "left"), ABLATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_ablation_leaves_out_what_it_says(
    kind: str, changes: dict[str, Any], left: set[str]
) -> None:
    writer = writer_of(written_run(hyperformer(kind, **changes)), scale=0.3)
    x = np.random.default_rng(0).normal(size=(2, 3, HIDDEN))
    for adapter in made(writer, "mnli")["decoder"]:
        here = {
            k: v.detach().double().numpy() for k, v in adapter._asdict().items() if v is not None
        }
        assert set(here) == left
        found = adapt(torch.from_numpy(x).float(), adapter).detach().numpy()
        if "down" not in left:
            expected = normed(x, here["gain"], here["shift"], 1e-5) + x
        elif "gain" not in left:
            z = x @ here["down"].T + here["down_bias"]
            z = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
            expected = z @ here["up"].T + here["up_bias"] + x
        else:
            expected = adapted(x, here)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    if changes == {"norm": "shared"}:  # one of each slot's own, for all tasks
        one, other = made(writer, "cola")["encoder"], made(writer, "rte")["encoder"]
        assert all(torch.equal(a.gain, b.gain) for a, b in zip(one, other, strict=True))  # type: ignore[arg-type]
        assert not torch.equal(one[0].gain, one[1].gain)  # type: ignore[arg-type]


def test_without_the_projector_the_embedding_itself_is_read() -> None:
    writer = writer_of(written_run(hyperformer("slot", projector=None)), scale=0.3)
    p = numbers(writer)
    maps = "adapters.decoder.generators.maps.up_bias"
    z = p["adapters.embeddings.rte"]
    for slot, adapter in enumerate(made(writer, "rte")["decoder"]):
        expected = z @ p[f"{maps}.weight"][slot] + p[f"{maps}.bias"][slot]
        assert adapter.up_bias is not None
        np.testing.assert_allclose(adapter.up_bias.numpy(), expected, rtol=1e-4, atol=1e-5)
