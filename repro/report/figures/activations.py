"""Learned activations as they stand in the store: the curve of each layer, or why there is none.

Built without torch, from the coefficients that results hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.papers.activations import Activations, Curve, Digitised, Panel
from repro.papers.matrix import Matrix
from repro.papers.request import Request
from repro.report.declared import runs_differ
from repro.report.runs_found import Found, Lookup
from repro.spec import AdaptableAdapters, RunSpec
from repro.spec.rational import evaluate
from repro.spec.trained import adapted_layers
from repro.store.result import Activation
from repro.store.store import Store

STEP = 0.05
"""Between two places on x."""
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: `layer` is ours (from 0), None where none stands for the published one.

    `learned` is None where `absent` says why; `used`: the layer's adapter is in use; `constant`:
    the run predicts one class.
    """

    curve: Curve
    layer: int | None
    key: str
    learned: Activation | None
    used: bool
    constant: bool
    absent: str
    published: Digitised | None

    def points(self, x: NDArray[np.float64]) -> Points:
        """(x, R(x)) of what is learned; none where nothing is."""
        if self.learned is None:
            return ()
        one = self.learned
        y = evaluate(one.numerator, one.denominator, one.form, x)
        return tuple(zip(x.tolist(), y.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class ActivationsView:
    """The whole figure; `lead` is the run of the first panel. `differs`: why the curves cannot be
    compared with the published ones, "" where they can.
    """

    figure: Activations
    request: Request
    lead: RunSpec
    lines: tuple[Line, ...]
    left_out: dict[str, str]
    differs: str

    def panel(self, name: Panel) -> tuple[Line, ...]:
        """The curves of one panel, in order."""
        return tuple(line for line in self.lines if line.curve.panel == name)

    @property
    def same_depth(self) -> bool:
        """Every layer of the paper's encoder is here, under its own number."""
        return self.figure.placed(own_layers(self.lead)) == {n: n for n in self.figure.layers}

    @property
    def wanted(self) -> tuple[Line, ...]:
        """The curves that runs can give: their data is here, and the model has such a layer."""
        return tuple(
            line
            for line in self.lines
            if line.curve.task not in self.left_out and line.layer is not None
        )

    @property
    def done(self) -> int:
        """Curves that are learned."""
        return sum(line.learned is not None for line in self.wanted)

    @property
    def cells(self) -> int:
        """Curves asked for."""
        return len(self.wanted)

    @property
    def runs(self) -> tuple[str, ...]:
        """The stored runs behind them, each once."""
        return tuple(dict.fromkeys(line.key for line in self.lines if line.learned is not None))

    @property
    def x(self) -> NDArray[np.float64]:
        """Places on x: as far as the published curves reach."""
        ends = [x for one in self.figure.published().values() for x, _ in one.points]
        number = round((max(ends) - min(ends)) / STEP) + 1
        return np.linspace(min(ends), max(ends), number).round(6)


def view_activations(figure: Activations, request: Request, store: Store) -> ActivationsView:
    """Raises UnknownName or ReproError for what the figure cannot show."""
    matrix, lookup, published = figure.matrix(request), Lookup(store), figure.published()
    lines = tuple(
        _line(matrix, lookup, curve, published.get(curve)) for curve in figure.curves(request)
    )
    needed: tuple[str, ...] = figure.needed(request)
    left_out = {name: why for name, why in request.unavailable.items() if name in needed}
    tasks = [task for task in needed if task not in left_out]
    (lead,) = matrix.of("", figure.task)
    differs = runs_differ(matrix, lookup, *(("", task) for task in tasks))
    return ActivationsView(figure, request, lead, lines, left_out, differs)


def own_layers(spec: RunSpec) -> Sequence[int]:
    """The layers of a run that learn an activation."""
    assert isinstance(spec.method, AdaptableAdapters)
    return adapted_layers(spec.method, spec.backbone.layers)


def _line(
    matrix: Matrix[Activations], lookup: Lookup, curve: Curve, published: Digitised | None
) -> Line:
    (found,) = lookup.find(matrix.of("", curve.task))
    layer = matrix.artefact.placed(own_layers(found.spec)).get(curve.layer)
    absent = matrix.request.unavailable.get(curve.task, "")
    if not absent and layer is None:
        absent = f"{found.spec.backbone.name} has too few layers"
    learned = None
    if not absent:
        learned = _learned(found, layer)
    result = found.run.result if found.run is not None else None
    if not absent and learned is None:
        absent = "no activation is stored" if result else lookup.why([found], None, "")
    used = result is not None and layer in (result.layers or ())
    constant = result is not None and bool(result.collapsed)
    return Line(curve, layer, found.key, learned, used, constant, absent, published)


def _learned(found: Found, layer: int | None) -> Activation | None:
    held = found.run.result.activations if found.run is not None else None
    return held.get(str(layer)) if held else None
