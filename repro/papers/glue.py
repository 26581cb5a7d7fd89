"""What the GLUE tables of several papers have in common: the data, and BERT's own fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping

from repro.papers.published import for_rows
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, asked_for, assumed, code, lines, paper, template
from repro.papers.tables import SERVER, Score
from repro.spec import Backbone, RunSpec, Source
from repro.spec.backbones import KNOWN, MINILM
from repro.spec.facts import KNOWN as FACTS
from repro.spec.facts import Metric
from repro.spec.glue import GLUE
from repro.spec.tasks import GlueName

WHOLE = "draws nothing where all rows are taken"
LENGTH: Setting = {"task.max_length": (128, code("max_seq_length"))}
CAPPED: Setting = LENGTH | {
    **lines("task", assumed("reduced scale: a laptop"), train_rows=4_000, evaluation_rows=2_000),
    "task.subset_seed": (0, assumed("draws the rows that a cap keeps")),
}
GENERATED: Setting = LENGTH | {
    "task.source": ("generated", assumed("smoke scale: sentences made from a seed")),
    **lines("task", assumed("smoke scale: all rows"), train_rows=None, evaluation_rows=None),
    "task.subset_seed": (0, assumed(WHOLE)),
}
DATA: dict[str, Setting] = {
    "paper": LENGTH
    | {
        "task.source": ("glue", paper("the GLUE benchmark")),
        "task.train_rows": (None, paper("the training set as it is")),
        "task.evaluation_rows": (None, assumed("the whole validation set; test has no labels")),
        "task.subset_seed": (0, assumed(WHOLE)),
    },
    "reduced": CAPPED | {"task.source": ("glue", assumed("reduced scale: real rows"))},
    "smoke": GENERATED,
}
"""Scale -> which rows of GLUE."""
TEXT_DATA: dict[str, Setting] = {
    "paper": LENGTH
    | {
        "task.source": ("local", paper("public data sets of their owners")),
        "task.split_seed": (0, assumed("published sizes; which rows are in a split is not")),
        "task.train_rows": (None, paper("the training set as it is")),
        "task.evaluation_rows": (None, paper("the whole validation and test sets")),
        "task.subset_seed": (0, assumed(WHOLE)),
    },
    "reduced": CAPPED
    | {
        "task.source": ("local", assumed("reduced scale: real rows")),
        "task.split_seed": (0, assumed("80/10/10; which rows are in a split is not published")),
    },
    "smoke": GENERATED | {"task.split_seed": (0, assumed("generated rows come in splits"))},
}
"""Scale -> which rows of the further sets of text."""

CONLL = "conll2003"

FINE_TUNING: Setting = {
    "method.kind": ("full-fine-tuning", assumed("BERT's own (Devlin et al., section 4.1)")),
    "method.dropout": (0.1, assumed("BERT's own")),
    **lines("recipe", assumed("Devlin et al., section 4.1"), batch_size=32, epochs=3),
    "recipe.learning_rate": (3e-5, assumed("Devlin et al., section 4.1: 2e-5 to 5e-5")),
    "recipe.schedule": ("bert", assumed("BERT's released code: optimization.py")),
    "recipe.decayed": ("matrices", assumed("BERT's released code: no biases, no layer norms")),
    **lines(
        "recipe", assumed("BERT's released code"), warmup=0.1, adam_beta1=0.9, adam_beta2=0.999,
        adam_eps=1e-6, bias_correction=False, weight_decay=0.01, clip_norm=1.0,
    ),
}  # fmt: skip
"""The papers copy the rows of a whole BERT that is fine-tuned; this is how BERT's authors did."""

BATCHES: Setting = {
    "recipe.padding": ("dynamic", assumed("equal numbers to padding at 128")),
    "recipe.order": ("shuffled", assumed("the whole training set; the papers do not say")),
    **lines(
        "recipe", assumed("of spans, which GLUE has none of"), start_weight=1.0, end_weight=1.0
    ),
    "recipe.logit_clamp": (None, assumed("nothing is clamped")),
    "recipe.precision": ("bf16", assumed("not stated; trained parameters stay fp32")),
}
SMALL_BATCHES: Setting = {"recipe.precision": ("fp32", assumed("a CPU, or few rows"))}

POOLER: Setting = {
    "method.pooler": ("trained", assumed("this scale's encoder comes without a trained pooler"))
}
"""In place of a frozen one at reduced and smoke scale: MiniLM's pooler was never trained, other
encoders have none.
"""


def on_sentences(
    request: Request,
    task: str,
    backbone: tuple[Backbone, Source],
    setting: Setting,
    parents: Mapping[str, RunSpec] | None = None,
    why: Source | None = None,
) -> Template:
    """The runs of a paper's setting (method and recipe) on a task of this request: of sentences, or
    CoNLL-2003, whose rows are chosen as those of the other local sets. See `template`.
    """
    title = "GLUE" if task in GLUE else FACTS[task].title
    found: Setting = {
        "task.name": (task, paper(title)),
        "task.revision": (request.data_revisions.get(task), assumed("the data found")),
    }
    data = dict((DATA if task in GLUE else TEXT_DATA)[request.scale])
    if task == CONLL:
        del data["task.split_seed"]
    whole = data | found | BATCHES | setting
    if request.scale != "paper":
        frozen = whole.get("method.pooler", ("",))[0] == "frozen"
        whole |= SMALL_BATCHES | (POOLER if frozen else {})
    return template(request, backbone, whole | asked_for(request), parents, why)


def encoder(request: Request, published: str, source: Source) -> tuple[Backbone, Source]:
    """The encoder asked for, the paper's own, or a small one."""
    if request.backbone is not None:
        return request.backbone, assumed("asked for with --backbone")
    if request.scale != "paper":
        return KNOWN[MINILM], assumed(f"{request.scale} scale: a small encoder")
    return KNOWN[published], source


METRICS: dict[Metric, str] = {
    "matthews": "Matthews corr", "accuracy": "accuracy", "f1": "F1", "pearson": "Pearson",
    "spearman": "Spearman",
}  # fmt: skip
"""How the papers' CSVs call a metric."""
PRINTED: tuple[GlueName, ...] = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")


def glue_columns(**names: str) -> tuple[Score, ...]:
    """The nine columns of a GLUE table: the metric that a task is selected by, MNLI twice. What
    is printed was scored by the test server, which alone has the labels of the test rows.

    `names` are the printed ones where they are not GLUE's: sst2, validation_matched, ...
    """
    found = []
    for task in PRINTED:
        metric = GLUE[task].monitor
        printed = f"{METRICS[metric]} ({SERVER})"
        for split in GLUE[task].evaluation:
            name = names.get(split) or names.get(task) or GLUE[task].title
            margin = for_rows(GLUE[task].rows[split])
            found.append(
                Score(name, name, printed, metric, SERVER, split, task=task, margin=margin)
            )
    return tuple(found)
