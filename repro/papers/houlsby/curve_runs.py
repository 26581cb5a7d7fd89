"""The runs behind the curves of Houlsby et al.: what each series trains, and how, at each scale.

The paper chooses rates and epochs on validation for every point; here a series has one setting of
its sweep, so that a figure costs one run a point.
"""

from __future__ import annotations

from functools import lru_cache

from repro.papers.curves import Point
from repro.papers.glue import BATCHES, FINE_TUNING, POOLER, SMALL_BATCHES, encoder, on_sentences
from repro.papers.houlsby.setting import (
    ADAPTERS,
    AS_RELEASED,
    RECIPE,
    RELEASED_RECIPE,
    printed_epochs,
)
from repro.papers.houlsby.tables import SMALL
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, asked_for, assumed, code, paper, template
from repro.spec import RunSpec, Scale
from repro.spec.backbones import BERT_BASE
from repro.spec.glue import GLUE

SIZED, TOP, NORMS, FULL = "Adapters", "Top layers", "Layer norms only", "Full fine-tuning"
"""The series, by name."""

KEEP: Setting = {"recipe.keep": ("last", assumed("as the adapters' runs"))}
METHODS: dict[str, Setting] = {
    SIZED: ADAPTERS | RECIPE,
    TOP: FINE_TUNING
    | KEEP
    | {"method.kind": ("top-layers", paper("section 3.3: variable fine-tuning"))},
    NORMS: RECIPE
    | {
        "method.kind": ("layer-norms", paper("section 3.4: layer norms only")),
        "method.pooler": ("frozen", assumed("as in the adapters' runs")),
        "method.dropout": (0.1, assumed("as in the adapters' runs")),
    },
    FULL: FINE_TUNING | KEEP,
}
"""Series -> its method and how it is trained, at the paper's scale but for rate and epochs."""
FINE_TUNED = (TOP, FULL)
"""The series that train weights of BERT."""

Choice = tuple[float, int]
"""Rate, epochs."""
GLUE_CHOICES: dict[Scale, tuple[Choice, Choice]] = {
    "paper": ((3e-4, 20), (3e-5, 3)),
    "reduced": ((1e-3, 5), (3e-5, 3)),
    "smoke": ((1e-3, 3), (5e-5, 3)),
}
"""Scale -> of adapters and layer norms, of what is fine-tuned; those of Houlsby-1's sweeps."""
INIT_CHOICES: dict[Scale, Choice] = {
    "paper": (3e-4, 20), "reduced": (3e-4, 5), "smoke": (3e-4, 5)
}  # fmt: skip
"""Of adapters by their initialisation; tried at smoke scale: at 1e-3 a small one may collapse."""
TEXT_RATES: dict[Scale, tuple[float, float]] = {
    "paper": (1e-4, 3e-5), "reduced": (1e-3, 3e-5), "smoke": (1e-3, 5e-5)
}  # fmt: skip
SQUAD_CHOICES: dict[Scale, tuple[Choice, Choice]] = {
    "paper": ((3e-4, 10), (5e-5, 3)),
    "reduced": ((1e-3, 3), (5e-5, 2)),
    "smoke": ((1e-3, 2), (1e-4, 3)),
}
ONE_OF = {
    "glue": "one of the sweep of section 3.2 or, where BERT is fine-tuned, of Devlin et al.",
    "texts": "one of the sweep of section 3.3",
    "squad": "one of the sweep of section 3.5",
}

SQUAD: dict[Scale, Setting] = {
    "paper": {
        "task.name": ("squad1", paper("section 3.5: SQuAD v1.1")),
        "task.source": ("squad", paper("section 3.5: SQuAD v1.1")),
        "task.train": ("train", paper("section 3.5")),
        "task.evaluation": ("official-dev", paper("section 3.5: the validation set")),
        "task.train_rows": (None, paper("the training set as it is")),
        "task.evaluation_rows": (None, paper("the whole validation set")),
        "task.subset": ("shuffled", assumed("draws nothing where all rows are taken")),
        "task.subset_seed": (0, assumed("draws nothing where all rows are taken")),
        "task.answerable_share": (None, paper("the data set as it is: all are answerable")),
        "task.features": ("legacy", assumed("BERT's released code: windows a step of 128 apart")),
        "task.max_length": (384, assumed("BERT's released code: max_seq_length")),
        "task.stride": (128, assumed("BERT's released code: doc_stride")),
        "task.max_query": (64, assumed("BERT's released code: max_query_length")),
    },
    "reduced": {
        "task.train_rows": (2_000, assumed("reduced scale: a laptop")),
        "task.evaluation_rows": (500, assumed("reduced scale: a laptop")),
        "task.subset": ("shuffled", assumed("reduced scale: a cap draws from all articles")),
        "task.subset_seed": (0, assumed("draws the rows that a cap keeps")),
    },
    "smoke": {
        "task.source": ("generated", assumed("smoke scale: questions made from a seed")),
        "task.train": ("generated", assumed("smoke scale")),
        "task.evaluation": ("generated", assumed("smoke scale")),
        "task.answerable_share": (1.0, assumed("smoke scale: SQuAD 1.1 has no others")),
        "task.max_length": (128, assumed("smoke scale: short passages")),
    },
}
"""Scale -> which questions, cut how; a smaller scale says what it changes."""


def glue_run(point: Point, task: str, request: Request, seed: int) -> RunSpec:
    """The run of a point on a GLUE task ("cola")."""
    small, tuned = GLUE_CHOICES[request.scale]
    choice = tuned if point.series in FINE_TUNED else small
    return _on_sentences(point, task, request, choice, "glue").run(seed)


def text_run(point: Point, task: str, request: Request, seed: int) -> RunSpec:
    """The run of a point on one of the 17 further tasks; at the paper's scale it has the epochs
    that Table 4 prints for the task.
    """
    tuned = point.series in FINE_TUNED
    rate = TEXT_RATES[request.scale][tuned]
    epochs = GLUE_CHOICES[request.scale][tuned][1]
    if request.scale == "paper":
        epochs = printed_epochs(task, "Fine-tune" if tuned else "Adapters")
    return _on_sentences(point, task, request, (rate, epochs), "texts").run(seed)


def squad_run(point: Point, task: str, request: Request, seed: int) -> RunSpec:
    """The run of a point on SQuAD 1.1."""
    return _on_squad(point, task, request).run(seed)


@lru_cache(maxsize=64)
def _on_squad(point: Point, task: str, request: Request) -> Template:
    small, tuned = SQUAD_CHOICES[request.scale]
    choice = tuned if point.series in FINE_TUNED else small
    data = SQUAD["paper"] | SQUAD[request.scale]
    revision = request.data_revisions.get(task)
    setting = (
        BATCHES
        | data
        | {"task.revision": (revision, assumed("the data found"))}
        | {
            "recipe.start_weight": (0.5, assumed("BERT's released code: a mean of both")),
            "recipe.end_weight": (0.5, assumed("BERT's released code: a mean of both")),
        }
        | _setting(point, request, choice, "squad")
        | ({} if request.scale == "paper" else SMALL_BATCHES)
        | asked_for(request)
    )
    backbone = encoder(request, BERT_BASE, paper("section 3.5: BERT-base"))
    return template(request, backbone, setting)


@lru_cache(maxsize=1024)
def _on_sentences(
    point: Point, task: str, request: Request, choice: Choice, sweep: str
) -> Template:
    where = "section 3.4" if task in GLUE else "section 3.3"
    backbone = encoder(request, BERT_BASE, paper(f"{where}: BERT-base"))
    setting = _setting(point, request, choice, sweep)
    if request.scale != "paper":
        setting = setting | POOLER
    return on_sentences(request, task, backbone, setting)


def _setting(point: Point, request: Request, choice: Choice, sweep: str) -> Setting:
    """Method and recipe of a point."""
    rate, epochs = choice
    source = assumed(
        ONE_OF[sweep] if request.scale == "paper" else f"{request.scale} scale: few steps"
    )
    setting = METHODS[point.series]
    if request.as_released and point.series not in FINE_TUNED:
        setting = setting | (AS_RELEASED if point.series == SIZED else {}) | RELEASED_RECIPE
    many = paper("Table 4: chosen for the task")
    printed = sweep == "texts" and request.scale == "paper"
    chosen: Setting = {
        "recipe.learning_rate": (rate, source),
        "recipe.epochs": (epochs, many if printed else source),
    }
    return setting | SMALL[request.scale] | chosen | _own(point)


def _own(point: Point) -> Setting:
    """What tells a point from the others of its series."""
    if point.value is None:
        return {}
    if point.series == TOP:
        return {"method.layers": (int(point.value), paper("sections 3.3 and 3.4: top k layers"))}
    return {"method.size": (int(point.value), paper("section 3.4: sizes 2^n"))}


def init_run(point: Point, task: str, request: Request, seed: int) -> RunSpec:
    """The run of adapters whose matrices start at the point's standard deviation."""
    return _initialised(point, task, request).run(seed)


@lru_cache(maxsize=64)
def _initialised(point: Point, task: str, request: Request) -> Template:
    assert point.value is not None
    size = int(ADAPTERS["method.size"][0])
    sized = Point(SIZED, "", size)
    backbone = encoder(request, BERT_BASE, paper("section 3.6: BERT-base"))
    setting = _setting(sized, request, INIT_CHOICES[request.scale], "glue")
    setting = setting | {"method.size": (size, paper("section 3.6: size 64"))}
    if request.scale != "paper":
        setting = setting | POOLER
    own: Setting = {
        "method.init": ("truncated-normal", code("modeling.py: truncated at two deviations")),
        "method.init_std": (point.value, paper("section 3.6, Figure 6: 1e-7 to 1")),
    }
    return on_sentences(request, task, backbone, setting | own)
