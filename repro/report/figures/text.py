"""The words of the heat map: title, stamp, caption, what a screen reader says, notes."""

from __future__ import annotations

from repro.report.figures.ablation import NAMES, AblationView, Grid, Statement
from repro.report.words import counted
from repro.spec import BottleneckAdapters
from repro.spec.glue import GLUE


def headline(view: AblationView) -> str:
    """What is drawn, in one line."""
    method = view.trained.method
    size = f", size {method.size}" if isinstance(method, BottleneckAdapters) else ""
    model = view.figure.method(view.request)
    return f"Adapters of layers i to j switched off: {GLUE[view.task].title}, {model}{size}"


def stamp(view: AblationView) -> str:
    """Scale, encoder, seeds, and whether the published grid is comparable."""
    backbone, seeds = view.trained.backbone, view.request.seeds
    runs = "seed 0" if seeds == 1 else f"mean of {counted(view.drawn, 'seed')}"
    parts = [
        f"{view.request.scale.capitalize()} scale",
        f"{backbone.name} ({backbone.layers} layers)",
        runs,
    ]
    if view.request.scale != "paper":
        parts.append("not comparable with the published numbers")
    return " · ".join(parts)


def aside(view: AblationView) -> list[tuple[str, list[str]]]:
    """Headings and sentences that stand in the picture itself."""
    found: list[tuple[str, list[str]]] = [("Intact model", intact(view))]
    found.append(("Published and reproduced grid", [agreement(view)]))
    if view.statements:
        says = [statement(said) for said in view.statements]
        found.append(("Houlsby et al. 2019, section 3.6", says))
    if view.panels[1].constant:
        found.append(("Framed", [CONSTANT]))
    return [(heading, sentences) for heading, sentences in found if sentences]


CONSTANT = "Every row gets one class, so that Matthews' correlation is 0."


def intact(view: AblationView) -> list[str]:
    """The scores with every adapter on."""
    found = [f"{NAMES[name]} {value:.1f}" for name, value in view.intact.items()]
    lines = [f"Here: {', '.join(found)}."] if found else []
    if view.published_intact is not None:
        lines.append(f"Published: {NAMES['matthews']} {view.published_intact:.1f}.")
    return lines


def agreement(view: AblationView) -> str:
    """How alike the two grids are, or why that cannot be said."""
    if view.correlation is None:
        return f"No rank correlation: {view.correlation_reason}."
    return f"Spearman rank correlation {view.correlation:.2f}, {view.correlation_reason}."


def statement(said: Statement) -> str:
    """What they say, and what is found here."""
    here = "not run" if said.reproduced is None else f"{said.reproduced:.1f} %"
    note = f" ({said.note})" if said.note else ""
    return f"{said.text}: {said.published:g} %; here: {here}{note}."


def caption(view: AblationView) -> str:
    """What a reader must know of the grids."""
    task, recipe = view.trained.task, view.trained.recipe
    rows = f"{task.train_rows:,}" if task.train_rows else "all"
    kind = "generated" if task.source == "generated" else "published"
    parts = [
        f"{view.figure.title}.",
        f"{headline(view)}.",
        f"{stamp(view)}.",
        f"Trained on {rows} {kind} rows, {recipe.epochs} epochs, batch {recipe.batch_size}, rate "
        f"{recipe.learning_rate:g}, {recipe.precision}; scored on "
        f"{GLUE[view.task].evaluation[0]}.",
        f"Upper row: {view.panels[1].unit}, in the published grid, here, and the difference. "
        "Lower row: change in accuracy, in percent of the intact model's.",
        agreement(view),
        f"Houlsby et al., section 3.6: {' '.join(map(statement, view.statements))}",
        f"Spans scored: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def alternative(view: AblationView) -> str:
    """What stands in the picture, for who cannot see it."""
    drawn = [
        f"{panel.title}: {panel.absent}" if panel.absent else f"{panel.title}: {_ends(panel.grid)}"
        for panel in view.panels
    ]
    return (
        "Heat maps over the first (y) and the last (x) layer whose adapters are switched off. "
        f"{'. '.join(drawn)}."
    )


def _ends(grid: Grid) -> str:
    if not grid:
        return "no span has a number"
    least, most = min(grid, key=lambda s: grid[s]), max(grid, key=lambda s: grid[s])
    return (
        f"from {grid[least]:.1f} (layers {least[0]} to {least[1]}) "
        f"to {grid[most]:.1f} (layers {most[0]} to {most[1]})"
    )


def notes(view: AblationView) -> list[str]:
    """What is undefined or missing, and what holds for the figure at every scale."""
    found = []
    framed = view.panels[1].constant
    if framed:
        found.append(f"{counted(len(framed), 'span')} framed: {CONSTANT}")
    if view.partial:
        found.append(f"{view.partial.removesuffix('.')}.")
    return found + list(view.figure.notes)
