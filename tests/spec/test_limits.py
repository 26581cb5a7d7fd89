"""Runs that cannot be trained are refused with a sentence that names the choices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from run_samples import cells, run_spec

from repro.errors import ReproError
from repro.spec import LinearProbe, RunSpec
from repro.spec.limits import check_run


def refusal(spec: RunSpec) -> str:
    with pytest.raises(ReproError) as caught:
        check_run(spec)
    return str(caught.value)


@pytest.mark.parametrize(
    ("layers", "choices"), [(2, "of 3 layers"), (7, "of 6 or 9 layers"), (11, "of 9 or 12 layers")]
)
@pytest.mark.parametrize("wiring", ["plain", "resnet", "resnext"])
def test_a_depth_that_is_no_multiple_of_the_stage_is_refused(
    layers: int, choices: str, wiring: str
) -> None:
    said = refusal(run_spec(cells(wiring), backbone__layers=layers))
    assert f"this encoder has {layers} layers, which is no multiple of 3" in said
    assert choices in said
    assert "--backbone" in said


@pytest.mark.parametrize("layers", [3, 6, 12, 24])
def test_a_depth_that_is_a_multiple_of_the_stage_is_accepted(layers: int) -> None:
    check_run(run_spec(cells("resnext"), backbone__layers=layers))


def test_heads_that_do_not_divide_the_bottleneck_are_refused() -> None:
    said = refusal(run_spec(cells(nonlinearity="attention", bottleneck=10)))
    assert "bottleneck of 10 cannot be split into 4 attention heads" in said
    assert "a multiple of 4" in said
    check_run(run_spec(cells(nonlinearity="relu", bottleneck=10)))


def test_a_norm_over_positions_needs_windows_of_one_length() -> None:
    spec = run_spec(cells(norm_axis="position"))
    assert "padding to 'max'" in refusal(spec)
    check_run(run_spec(cells(norm_axis="position"), recipe__padding="max"))


def test_a_probe_of_a_layer_that_is_not_there_is_refused() -> None:
    assert "reads layer 7, and tiny has 6 layers" in refusal(run_spec(LinearProbe(layer=7)))
    check_run(run_spec(LinearProbe(layer=6)))


def test_planning_imports_neither_torch_nor_data_libraries() -> None:
    program = (
        "import sys, repro.spec.counts, repro.spec.limits, repro.papers.registry,"
        "repro.backbones.describe;"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'pyarrow'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
