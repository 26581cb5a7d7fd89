"""Task embeddings: two maps of them and their distances, or why there are none, and the picture.

Built without torch, from the vectors that a result holds. In the picture a kind of task has a
colour and a shape, and each point a name beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from repro.methods.t5 import HyperFormer
from repro.papers.figures import FEWEST, Embeddings
from repro.papers.request import Request
from repro.report.figures.style import INK, QUIET, SMALL, WIDTH, headed, legend
from repro.report.figures.view import FigureView, lacking
from repro.report.files import command_line
from repro.report.render import csv_of
from repro.report.runs_found import Lookup
from repro.spec.tasks import WrittenName
from repro.spec.text_to_text import TEXT_TO_TEXT
from repro.store.store import Store
from repro.words import counted, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Matrix = NDArray[np.float64]
PERPLEXITY = 3.0
"""Effective neighbours of a point in t-SNE: below half of the other seven."""
RATE, STEPS, START = 1.0, 1000, 1e-4
"""Of t-SNE's descent; `START` is the spread that it begins with. A small rate without exaggerated
similarities, which are for many points: at the library's rate of 50 eight points jump about, and a
change of an input by a ten-millionth decides which map comes out.
"""
CSV_COLUMNS = (
    "figure", "scale", "model", "encoder", "seed", "part", "task", "kind", "x", "y", "x_share",
    "y_share", "other", "distance", "nearest",
)  # fmt: skip
TITLES = {"pca": "Principal components", "tsne": f"t-SNE, perplexity {PERPLEXITY:g}"}
NOT_RUN = "not run"
NAMES = {"hyperformer++": "HyperFormer++", "hyperformer": "HyperFormer"}
MARKS = (("#E69F00", "s"), (INK, "D"), ("#009E73", "^"), ("#0072B2", "o"), ("#CC79A7", "v"))
"""Colour, of Okabe and Ito's palette, and shape of each kind of task, in order."""
DIGITS = 4
"""Decimals of what is written: more may differ from machine to machine."""
PanelName = Literal["pca", "tsne"]
Place = tuple[float, float]
Look = dict[str, Any]
Distances = dict[tuple[WrittenName, WrittenName], float]


@dataclass(frozen=True, slots=True)
class Map:
    """The tasks in two dimensions. `shares` are those of the variance, of each principal component;
    `absent` says why there are no points.
    """

    name: PanelName
    points: dict[WrittenName, Place]
    shares: tuple[float, ...] = ()
    absent: str = ""

    @property
    def axes(self) -> tuple[str, str]:
        """PC 1 (31 %), PC 2 (20 %); the axes of t-SNE have no meaning of their own."""
        if self.name == "tsne":
            return "t-SNE 1 (no unit)", "t-SNE 2 (no unit)"
        if not self.shares:
            return "PC 1", "PC 2"
        first, second = (f"{100 * share:.0f} %" for share in self.shares[:2])
        return f"PC 1 ({first})", f"PC 2 ({second})"

    def __str__(self) -> str:
        said = f"not drawn ({self.absent})"
        if not self.absent:
            points = self.points.items()
            places = "; ".join(f"{named(task)} {x:.2f}, {y:.2f}" for task, (x, y) in points)
            said = f"{', '.join(self.axes)}: {places}"
        return f"{TITLES[self.name]}: {said}."


@dataclass(frozen=True)
class EmbeddingsView(FigureView):
    """The whole figure; its cells are embeddings, none of a run that cannot be trained here.
    `tasks` are those shown; `width` that of a vector.

    `distances` are cosine distances between two tasks, both ways; none of a zero vector. `absent`
    says why there is no vector.
    """

    model: str
    width: int
    tasks: tuple[WrittenName, ...]
    maps: tuple[Map, Map]
    distances: Distances
    absent: str

    def nearest(self, task: WrittenName) -> WrittenName | None:
        """The task at the least cosine distance, None where there is no distance."""
        others = [b for a, b in self.distances if a == task]
        return min(others, key=lambda other: self.distances[task, other], default=None)

    def mean_distance(self, *, within: bool) -> tuple[float | None, int]:
        """The mean over pairs of tasks of one kind, or of two kinds, and how many pairs."""
        kind = self.figure.kind_of
        pairs = [p for p in combinations(self.tasks, 2) if (kind(p[0]) == kind(p[1])) == within]
        found = [self.distances[pair] for pair in pairs if pair in self.distances]
        return fmean(found) if found else None, len(found)

    @property
    def stamp(self) -> str:
        """Scale, encoder, model, width of an embedding and seed."""
        backbone = self.lead.backbone
        return (
            f"{self.request.scale.capitalize()} scale · {backbone.name} ({backbone.layers} + "
            f"{backbone.layers} layers) · {self.model}, {self.width} dimensions, seed "
            f"{self.lead.seed} · no published coordinates to compare with"
        )

    @property
    def caption(self) -> str:
        return " ".join(
            [
                f"{self.figure.title}. {self.stamp}.",
                f"Each point is the embedding z of a task as trained, of one run on "
                f"{counted(len(self.tasks), 'task')}. Left: the principal components of their "
                "covariance, with their shares of the variance. Right: t-SNE of perplexity "
                f"{PERPLEXITY:g}, which starts from the left map and draws no random number; only "
                "who is near to whom means something. Colour and shape: kind of task. Grey: from "
                "each task to the nearest one by cosine distance in all "
                f"{self.width} dimensions.",
                *self._spread(),
                f"Embeddings drawn: {self.done}/{self.cells}.",
            ]
        )

    def _spread(self) -> list[str]:
        """How near tasks of one kind are beside tasks of two, and what chance gives."""
        within, pairs = self.mean_distance(within=True)
        between, others = self.mean_distance(within=False)
        if within is None or between is None:
            return []
        return [
            f"Mean cosine distance of two tasks of one kind {within:.2f} "
            f"({counted(pairs, 'pair')}), of two kinds {between:.2f} ({counted(others, 'pair')}); "
            "at the start, where embeddings are drawn from N(0, 1), 1 with a standard deviation of "
            f"{self.width**-0.5:.2f} a pair."
        ]

    def own_notes(self) -> list[str]:
        absent = ((TITLES[one.name], one.absent) for one in self.maps if one.absent)
        found = [f"{title}: not drawn, {why}." for title, why in absent]
        if self.absent:
            trained_by = f" It is trained by: {command_line(self.request)}"
            command = trained_by * (self.absent == NOT_RUN)
            found = [f"Not drawn: {self.absent.removesuffix('.')}.{command}"]
        near = [
            f"{named(task)}: {named(other)} ({self.distances[task, other]:.2f})"
            for task in self.tasks
            if (other := self.nearest(task)) is not None
        ]
        if near:
            found.append(f"Nearest to each task, with the cosine distance: {'; '.join(near)}.")
        if self.collapsed:
            found.append(
                "The run gives a constant answer on every task: its embeddings may mean nothing."
            )
        return found + ["Of several seeds the first one is drawn."] * (self.request.seeds > 1)

    @property
    def alternative(self) -> str:
        return f"Two maps of task embeddings, {self.stamp}. {' '.join(map(str, self.maps))}"

    @property
    def csv(self) -> str:
        lead, kind = self.lead, self.figure.kind_of
        head = self.id, self.request.scale, self.model, lead.backbone.name, lead.seed
        places = [
            (*head, one.name, task, kind(task), *place, *(one.shares[:2] or ("", "")), "", "", "")
            for one in self.maps
            for task, place in one.points.items()
        ]
        pairs = [
            (*head, "distance", task, kind(task), "", "", "", "", other, far,
             other == self.nearest(task))
            for (task, other), far in self.distances.items()
        ]  # fmt: skip
        return csv_of(CSV_COLUMNS, [*places, *pairs])

    def data(self) -> dict[str, Any]:
        kind = self.figure.kind_of
        means = (self.mean_distance(within=within)[0] for within in (True, False))
        within, between = (None if mean is None else round(mean, DIGITS) for mean in means)
        far = grouped((a, {"task": b, "cosine": d}) for (a, b), d in self.distances.items())
        panels = [
            {
                "name": one.name,
                "title": TITLES[one.name],
                "absent": one.absent or None,
                "perplexity": PERPLEXITY if one.name == "tsne" else None,
                "variance_shares": list(one.shares),
                "points": [
                    {"task": task, "kind": kind(task), "x": x, "y": y}
                    for task, (x, y) in one.points.items()
                ],
            }
            for one in self.maps
        ]
        return {
            "method": self.figure.method(self.request),
            "encoder": self.lead.backbone.name,
            "seed": self.lead.seed,
            "dimensions": self.width,
            "caption": self.caption,
            "panels": panels,
            "distances": [
                {
                    "task": task,
                    "kind": kind(task),
                    "nearest": self.nearest(task),
                    "to": far.get(task, []),
                }
                for task in self.tasks
                if self.distances
            ],
            "mean_distance": {"within_kinds": within, "between_kinds": between},
            "published": None,
        }

    def draw(self) -> Drawing:
        maps = [one for one in self.maps if not one.absent]
        absent = ((TITLES[one.name], one.absent) for one in self.maps if one.absent)
        said = lacking("Not drawn", absent)
        height = 0.5 * WIDTH if maps else 0.0
        drawing = headed(WIDTH, height, self.figure.title, self.stamp, *said)
        if not maps:
            return drawing
        panels = [fill(drawing.add_subplot(1, 2, n), self, one) for n, one in enumerate(maps, 1)]
        looks: dict[str, Look] = {}
        for (kind, tasks), (colour, shape) in zip(self.figure.kinds.items(), MARKS, strict=False):
            shown = ", ".join(named(task) for task in tasks if task in self.tasks)
            if shown:
                mark: Look = {"marker": shape, "markersize": 8, "linestyle": ""}
                looks[f"{kind}: {shown}"] = mark | {"color": colour}
        looks["nearest by cosine distance"] = {"color": QUIET, "linewidth": 0.8, "alpha": 0.6}
        legend(drawing, looks, 3)
        drawing.draw_without_rendering()  # so that names are placed where the axes will stand
        drawing.set_layout_engine("none")
        for axes, one in zip(panels, maps, strict=True):
            _name_points(axes, self, one)
        return drawing


def view_of(figure: Embeddings, request: Request, store: Store) -> EmbeddingsView:
    """Raises UnknownName for a method that the figure cannot show."""
    matrix, lookup = figure.matrix(request), Lookup(store)
    (spec,) = matrix.of("")
    assert isinstance(spec.method, HyperFormer)
    (found,) = lookup.find([spec])
    tasks, held = figure.shown(spec, request), {}
    if found.run is None:
        absent = lookup.why([found], None, "")
    else:
        held = found.run.result.embeddings or {}
        unknown = [task for task in tasks if task not in held]
        absent = f"no embedding is stored of {', '.join(unknown)}" if unknown else ""
    gaps = [f"no data of {name}: {why}" for name, why in figure.lacking(spec, request).items()]
    absent = "; ".join(gaps) or absent
    collapsed = found.run is not None and found.run.result.collapsed
    model = NAMES.get(figure.method(request), figure.method(request))
    vectors = np.empty((0,)) if absent else np.array([held[task] for task in tasks])
    return EmbeddingsView(
        matrix=matrix,
        lead=spec,
        runs=() if absent else (found.key,),
        cells=0 if gaps else len(tasks),
        done=0 if absent else len(tasks),
        collapsed=model if collapsed else "",
        model=model,
        width=spec.method.task_embedding,
        tasks=tasks,
        maps=(_map("pca", tasks, vectors, absent), _map("tsne", tasks, vectors, absent)),
        distances={} if absent else _distances(tasks, vectors),
        absent=absent,
    )


def _map(name: PanelName, tasks: tuple[WrittenName, ...], vectors: Matrix, absent: str) -> Map:
    if not absent and len(tasks) < FEWEST:
        absent = f"{len(tasks)} of at least {FEWEST} tasks"
    if absent:
        return Map(name, {}, absent=absent)
    try:
        places, shares = principal_components(vectors)
    except ValueError as problem:
        return Map(name, {}, absent=str(problem))
    if name == "tsne":
        places, shares = neighbour_map(vectors), np.empty(0)
    rounded = ([round(float(value), DIGITS) + 0.0 for value in place] for place in places)
    points = {task: (x, y) for task, (x, y) in zip(tasks, rounded, strict=True)}
    return Map(name, points, tuple(round(float(share), DIGITS) for share in shares))


def principal_components(vectors: Matrix) -> tuple[Matrix, Matrix]:
    """(points, 2) on the two directions of most variance, and each direction's share of it.

    `vectors` is (points, width) of two points at least. Raises ValueError where all are the same.
    """
    from sklearn.decomposition import PCA

    centred = vectors - vectors.mean(axis=0)
    noise = len(vectors) * np.finfo(float).eps * np.linalg.norm(vectors)
    if np.linalg.norm(centred, 2) <= noise:
        raise ValueError("all embeddings are the same")
    found = PCA(svd_solver="full").fit(vectors)
    return found.transform(vectors)[:, :2], found.explained_variance_ratio_


def neighbour_map(vectors: Matrix) -> Matrix:
    """t-SNE (van der Maaten & Hinton 2008), exact, (points, 2): neighbours stay neighbours.

    It starts from the two principal components and draws no random number. `vectors` is
    (points, width) of more points than the perplexity. Raises ValueError where all are the same.
    """
    from sklearn.manifold import TSNE

    start = principal_components(vectors)[0]
    found: Matrix = TSNE(
        perplexity=PERPLEXITY, method="exact", init=START * start / start[:, 0].std(),
        learning_rate=RATE, early_exaggeration=1.0, max_iter=STEPS,
    ).fit_transform(vectors)  # fmt: skip
    found -= found.mean(axis=0)
    return found


def cosine_distances(vectors: Matrix) -> Matrix:
    """(points, points): 1 - cos of the angle, from 0 (same direction) to 2; NaN for a zero one."""
    from scipy.spatial.distance import pdist, squareform

    found: Matrix = squareform(pdist(vectors, "cosine").clip(0.0, 2.0))
    return found


def _distances(tasks: tuple[WrittenName, ...], vectors: Matrix) -> Distances:
    far = cosine_distances(vectors)
    return {
        (a, b): round(float(far[i, j]), DIGITS)
        for i, a in enumerate(tasks)
        for j, b in enumerate(tasks)
        if i != j and np.isfinite(far[i, j])
    }


def named(task: WrittenName) -> str:
    """SST-2."""
    return TEXT_TO_TEXT[task].facts.title


def fill(axes: Axes, view: EmbeddingsView, one: Map) -> Axes:
    """The points of a map, each joined to the task that is nearest to it in all dimensions."""
    import pandas as pd
    import seaborn

    kinds = [view.figure.kind_of(task) for task in one.points]
    places = pd.DataFrame(one.points.values(), columns=["x", "y"]).assign(kind=kinds)
    looks = dict(zip(view.figure.kinds, MARKS, strict=False))
    seaborn.scatterplot(
        places, x="x", y="y", hue="kind", style="kind", s=70, legend=False, zorder=3, ax=axes,
        palette={kind: colour for kind, (colour, _) in looks.items()},
        markers={kind: shape for kind, (_, shape) in looks.items()},
    )  # fmt: skip
    for ends in near(view, one):
        axes.plot(*zip(*ends, strict=True), color=QUIET, linewidth=0.8, alpha=0.6, zorder=2)
    axes.set_title(TITLES[one.name], loc="left")
    axes.set(xlabel=one.axes[0], ylabel=one.axes[1])
    axes.margins(0.16)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is as long across as up
    return axes


def near(view: EmbeddingsView, one: Map) -> list[tuple[Place, Place]]:
    """The ends of the lines from each task to its nearest, each line once."""
    pairs = ((task, other) for task in one.points if (other := view.nearest(task)) is not None)
    lines = {frozenset(pair): pair for pair in pairs}
    return [(one.points[task], one.points[other]) for task, other in lines.values()]


def _name_points(axes: Axes, view: EmbeddingsView, one: Map) -> None:
    """A name beside each point, on no other name, mark or line; a thin line where it stands far."""
    from adjustText import adjust_text

    names = [axes.text(*one.points[task], named(task), fontsize=SMALL) for task in one.points]
    along = np.linspace(0, 1, 40)[:, None]
    ends = [(1 - along) * np.array(a) + along * np.array(b) for a, b in near(view, one)]
    x, y = np.concatenate([np.array(list(one.points.values())), *ends]).T
    adjust_text(
        names, x, y, ax=axes, target_x=x[: len(names)], target_y=y[: len(names)], iter_lim=400,
        objects=axes.collections[0], expand=(1.15, 1.3), min_arrow_len=14,
        arrowprops={"arrowstyle": "-", "color": QUIET, "lw": 0.5},
    )  # fmt: skip
    for name in names:
        name.set_in_layout(False)  # which is settled
