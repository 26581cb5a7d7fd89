"""The runs behind the curves of Houlsby et al.: what each series trains, and how, at each scale.

The paper chooses rates and epochs on validation for every point; here a series has one setting of
its sweep, so that a figure costs one run a point.
"""

from __future__ import annotations

from functools import lru_cache

from repro.papers.curves import Point
from repro.papers.glue import BATCHES, FINE_TUNING, SMALL_BATCHES, WHOLE, encoder, on_sentences
from repro.papers.houlsby.setting import ADAPTERS, RECIPE, as_asked, printed_epochs
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, asked_for, assumed, code, lines, paper, template
from repro.spec import Scale
from repro.spec.backbones import BERT_BASE

SIZED, TOP, NORMS, FULL = "Adapters", "Top layers", "Layer norms only", "Full fine-tuning"
"""The series, by name."""

KEEP: Setting = {"recipe.keep": ("last", assumed("as the adapters' runs"))}
METHODS: dict[str, Setting] = {
    SIZED: ADAPTERS | RECIPE,
    TOP: FINE_TUNING
    | KEEP
    | {"method.kind": ("top-layers", paper("section 3.3: variable fine-tuning"))},
    NORMS: RECIPE
    | {"method.kind": ("layer-norms", paper("section 3.4: layer norms only"))}
    | lines("method", assumed("as in the adapters' runs"), pooler="frozen", dropout=0.1),
    FULL: FINE_TUNING | KEEP,
}
"""Series -> its method and how it is trained, at the paper's scale but for rate and epochs."""
FINE_TUNED = (TOP, FULL)
"""The series that train weights of BERT."""

Choice = tuple[float, int]
"""Rate, epochs."""
Choices = dict[Scale, tuple[Choice, Choice]]
"""Scale -> of adapters and layer norms, of what is fine-tuned."""
GLUE_CHOICES: Choices = {
    "paper": ((3e-4, 20), (3e-5, 3)),
    "reduced": ((1e-3, 5), (3e-5, 3)),
    "smoke": ((1e-3, 3), (5e-5, 3)),
}
"""Those of Houlsby-1's sweeps."""
INIT_CHOICES: Choices = {
    "paper": ((3e-4, 20), (3e-5, 3)),
    "reduced": ((3e-4, 5), (3e-5, 3)),
    "smoke": ((3e-4, 5), (5e-5, 3)),
}
"""Of adapters by their initialisation; tried at smoke scale: at 1e-3 a small one may collapse."""
TEXT_CHOICES: Choices = GLUE_CHOICES | {"paper": ((1e-4, 0), (3e-5, 0))}
"""Epochs 0: those that Table 4 prints for the task."""
SQUAD_CHOICES: Choices = {
    "paper": ((3e-4, 10), (5e-5, 3)),
    "reduced": ((1e-3, 3), (5e-5, 2)),
    "smoke": ((1e-3, 2), (1e-4, 3)),
}
GLUE_SWEEP = "one of the sweep of section 3.2 or, where BERT is fine-tuned, of Devlin et al."

SQUAD: dict[Scale, Setting] = {
    "paper": {
        **lines("task", paper("section 3.5: SQuAD v1.1"), name="squad1", source="squad"),
        "task.train": ("train", paper("section 3.5")),
        "task.evaluation": ("official-dev", paper("section 3.5: the validation set")),
        "task.train_rows": (None, paper("the training set as it is")),
        "task.evaluation_rows": (None, paper("the whole validation set")),
        **lines("task", assumed(WHOLE), subset="shuffled", subset_seed=0),
        "task.answerable_share": (None, paper("the data set as it is: all are answerable")),
        "task.features": ("legacy", assumed("BERT's released code: windows a step of 128 apart")),
        "task.max_length": (384, assumed("BERT's released code: max_seq_length")),
        "task.stride": (128, assumed("BERT's released code: doc_stride")),
        "task.max_query": (64, assumed("BERT's released code: max_query_length")),
    },
    "reduced": {
        **lines("task", assumed("reduced scale: a laptop"), train_rows=2_000, evaluation_rows=500),
        "task.subset": ("shuffled", assumed("reduced scale: a cap draws from all articles")),
        "task.subset_seed": (0, assumed("draws the rows that a cap keeps")),
    },
    "smoke": {
        "task.source": ("generated", assumed("smoke scale: questions made from a seed")),
        **lines("task", assumed("smoke scale"), train="generated", evaluation="generated"),
        "task.answerable_share": (1.0, assumed("smoke scale: SQuAD 1.1 has no others")),
        "task.max_length": (128, assumed("smoke scale: short passages")),
    },
}
"""Scale -> which questions, cut how; a smaller scale says what it changes."""


@lru_cache(maxsize=1024)
def glue_runs(point: Point, task: str, request: Request) -> Template:
    """The runs of a point on a GLUE task ("cola")."""
    setting = _setting(point, request, GLUE_CHOICES, GLUE_SWEEP)
    backbone = encoder(request, BERT_BASE, paper("section 3.4: BERT-base"))
    return on_sentences(request, task, backbone, setting)


@lru_cache(maxsize=1024)
def text_runs(point: Point, task: str, request: Request) -> Template:
    """The runs of a point on one of the 17 further tasks."""
    setting = _setting(point, request, TEXT_CHOICES, "one of the sweep of section 3.3")
    if request.scale == "paper":
        epochs = printed_epochs(task, "Fine-tune" if point.series in FINE_TUNED else "Adapters")
        setting["recipe.epochs"] = epochs, paper("Table 4: chosen for the task")
    backbone = encoder(request, BERT_BASE, paper("section 3.3: BERT-base"))
    return on_sentences(request, task, backbone, setting)


@lru_cache(maxsize=64)
def squad_runs(point: Point, task: str, request: Request) -> Template:
    """The runs of a point on SQuAD 1.1."""
    half = assumed("BERT's released code: a mean of both")
    setting = (
        BATCHES
        | SQUAD["paper"]
        | SQUAD[request.scale]
        | {"task.revision": (request.data_revisions.get(task), assumed("the data found"))}
        | lines("recipe", half, start_weight=0.5, end_weight=0.5)
        | _setting(point, request, SQUAD_CHOICES, "one of the sweep of section 3.5")
        | ({} if request.scale == "paper" else SMALL_BATCHES)
        | asked_for(request)
    )
    backbone = encoder(request, BERT_BASE, paper("section 3.5: BERT-base"))
    return template(request, backbone, setting)


@lru_cache(maxsize=64)
def init_runs(point: Point, task: str, request: Request) -> Template:
    """The runs of adapters whose matrices start at the point's standard deviation."""
    sized = Point(SIZED, "", int(ADAPTERS["method.size"][0]))
    own: Setting = {
        "method.size": (int(ADAPTERS["method.size"][0]), paper("section 3.6: size 64")),
        "method.init": ("truncated-normal", code("modeling.py: truncated at two deviations")),
        "method.init_std": (point.value, paper("section 3.6, Figure 6: 1e-7 to 1")),
    }
    setting = _setting(sized, request, INIT_CHOICES, GLUE_SWEEP) | own
    backbone = encoder(request, BERT_BASE, paper("section 3.6: BERT-base"))
    return on_sentences(request, task, backbone, setting)


def _setting(point: Point, request: Request, choices: Choices, why: str) -> Setting:
    """Method and recipe of a point; `why`: where its rate and epochs come from."""
    rate, epochs = choices[request.scale][point.series in FINE_TUNED]
    source = assumed(why if request.scale == "paper" else f"{request.scale} scale: few steps")
    chosen = lines("recipe", source, learning_rate=rate, epochs=epochs)
    setting = as_asked(METHODS[point.series], request) | chosen
    if point.value is not None and point.series == TOP:
        setting["method.layers"] = int(point.value), paper("sections 3.3 and 3.4: top k layers")
    elif point.value is not None:
        setting["method.size"] = int(point.value), paper("section 3.4: sizes 2^n")
    return setting
