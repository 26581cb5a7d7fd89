"""The words of the heat map: title, stamp, caption, what a screen reader says, notes."""

from __future__ import annotations

from repro.report.captions import not_comparable
from repro.report.figures.ablation import NAMES, AblationView, Grid, Statement
from repro.spec import BottleneckAdapters
from repro.spec.glue import GLUE
from repro.words import counted


def headline(view: AblationView) -> str:
    """What is drawn, in one line."""
    method = view.trained.method
    size = f", size {method.size}" if isinstance(method, BottleneckAdapters) else ""
    model = view.figure.method(view.request)
    return f"Adapters of layers i to j switched off: {GLUE[view.task].title}, {model}{size}"


def stamp(view: AblationView) -> str:
    """Scale, encoder, seeds, and whether the published grid is comparable."""
    backbone, seeds = view.trained.backbone, view.request.seeds
    parts = [
        f"{view.request.scale.capitalize()} scale",
        f"{backbone.name} ({backbone.layers} layers)",
        "seed 0" if seeds == 1 else _seeds(view.drawn, seeds),
    ]
    parts += not_comparable(view.request.scale, view.differs)
    return " · ".join(parts)


def _seeds(drawn: int, asked: int) -> str:
    """mean of 3 seeds, mean of 2 of 3 seeds, 1 of 3 seeds, none of 3 seeds."""
    of = f"{drawn or 'none'} of " if drawn < asked else ""
    return f"{'mean of ' if drawn > 1 else ''}{of}{counted(asked, 'seed')}"


def aside(view: AblationView) -> list[tuple[str, list[str]]]:
    """Headings and sentences that stand in the picture itself."""
    found: list[tuple[str, list[str]]] = [("Intact model", intact(view))]
    found.append(("Published and reproduced grid", [agreement(view)]))
    if view.statements:
        found.append(("Houlsby et al. 2019, section 3.6", statements(view)))
    if view.panels[1].constant:
        found.append(("Framed", [constant(view)]))
    return [(heading, sentences) for heading, sentences in found if sentences]


def constant(view: AblationView) -> str:
    """What a frame means; of several seeds one is enough."""
    seed = "For at least one seed every" if view.drawn > 1 else "Every"
    return f"{seed} row gets one class, so that Matthews' correlation is 0."


def intact(view: AblationView) -> list[str]:
    """The scores with every adapter on."""
    found = [f"{NAMES[name]} {rounded(value)}" for name, value in view.intact.items()]
    lines = [f"Here: {', '.join(found)}."] if found else []
    if view.published_intact is not None:
        lines.append(f"Published: {NAMES['matthews']} {rounded(view.published_intact)}.")
    return lines + collapsed(view)


def collapsed(view: AblationView) -> list[str]:
    """That an intact model gives a constant answer, where one does."""
    if not view.collapsed:
        return []
    seeds = view.request.seeds
    of = f" of {view.collapsed} of {counted(view.drawn, 'seed')}" if seeds > 1 else ""
    return [f"The intact model{of} predicts one class: its spans say nothing about adapters."]


def agreement(view: AblationView) -> str:
    """How alike the two grids are, or why that cannot be said."""
    if view.correlation is None:
        return f"No rank correlation: {view.correlation_reason}."
    return f"Spearman rank correlation {rounded(view.correlation, 2)}, {view.correlation_reason}."


def statement(said: Statement) -> str:
    """What they say, and what is found here."""
    if said.reproduced is None:
        return f"{said.text}: {said.published:g} %; here: {said.note or 'not run'}."
    here, note = f"{rounded(said.reproduced)} %", f" ({said.note})" if said.note else ""
    return f"{said.text}: {said.published:g} %; here: {here}{note}."


def statements(view: AblationView) -> list[str]:
    """All of them; first, that other adapters than theirs are drawn, where they are."""
    drawn = view.figure.method(view.request)
    theirs = f"Their numbers are of their own adapters, those here of {drawn}."
    said = [statement(said) for said in view.statements]
    return said if drawn == "houlsby" else [theirs, *said]


def rounded(value: float, decimals: int = 1) -> str:
    """A number without a sign on zero."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def caption(view: AblationView) -> str:
    """What a reader must know of the grids."""
    task, recipe = view.trained.task, view.trained.recipe
    rows = f"{task.train_rows:,}" if task.train_rows else "all"
    kind = "generated" if task.source == "generated" else "published"
    parts = [
        f"{view.figure.title}.",
        f"{headline(view)}.",
        f"{stamp(view)}.",
        f"Trained on {rows} {kind} rows, {counted(recipe.epochs, 'epoch')}, batch "
        f"{recipe.batch_size}, rate {recipe.learning_rate:g}, {recipe.precision}; scored on "
        f"{GLUE[view.task].evaluation[0]}.",
        f"Upper row: {view.panels[1].unit}, in the published grid, here, and the difference. "
        "Lower row: change in accuracy, in percent of the intact model's.",
        *collapsed(view),
        agreement(view),
        f"Houlsby et al., section 3.6: {' '.join(statements(view))}",
        f"Spans scored: {view.done}/{view.cells}.",
    ]
    return " ".join(parts)


def alternative(view: AblationView) -> str:
    """What stands in the picture, for who cannot see it."""
    drawn = [f"{panel.title}: {panel.blank or _ends(panel.grid)}" for panel in view.panels]
    return (
        "Heat maps over the first (y) and the last (x) layer whose adapters are switched off. "
        f"{'. '.join(drawn)}."
    )


def _ends(grid: Grid) -> str:
    least, most = min(grid, key=lambda s: grid[s]), max(grid, key=lambda s: grid[s])
    return (
        f"from {rounded(grid[least])} (layers {least[0]} to {least[1]}) "
        f"to {rounded(grid[most])} (layers {most[0]} to {most[1]})"
    )


def notes(view: AblationView) -> list[str]:
    """What is undefined or missing, and what holds for the figure at every scale."""
    found = collapsed(view)
    framed = view.panels[1].constant
    if framed:
        found.append(f"{counted(len(framed), 'span')} framed: {constant(view)}")
    undefined = view.panels[3].undefined
    if undefined:
        reasons = "; ".join(sorted(set(undefined.values())))
        found.append(f"{counted(len(undefined), 'span')} undefined: {reasons}.")
    if view.partial:
        found.append(f"{view.partial.removesuffix('.')}.")
    return found + list(view.figure.notes)
