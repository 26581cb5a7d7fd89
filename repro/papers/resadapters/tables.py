"""ResAdapters-1, ResAdapters-2 and the drawings of the models as data, and their runs.

The published setting stands first, value by value with its source, then our smaller scales.

Origins: "paper" is the report's text, "code" the authors' notebook AttentionResNetXt.ipynb,
"assumed" is ours. The headline reading repairs the defects of the code (see `AS_RELEASED`).
"""

from __future__ import annotations

from functools import lru_cache, partial

from repro.papers.figures import Architecture, Sketch
from repro.papers.glue import encoder
from repro.papers.request import Request
from repro.papers.setting import Setting, Template, asked_for, assumed, code, lines, paper, template
from repro.papers.tables import Row, Score, Table, one_a_seed
from repro.spec import Backbone, Scale, Source
from repro.spec.backbones import BERT_BASE, BERT_BASE_SQUAD2, KNOWN

PAPER: Setting = {
    "task.source": ("squad_v2", paper("section 4.1: SQuAD2.0")),
    "task.train": ("train", paper("section 4.1")),
    "task.train_rows": (50_000, paper("Table 1: trained on 50K samples")),
    "task.subset": ("file-order", code("the first 50,000 examples of the file")),
    "task.evaluation": (
        "official-dev",
        assumed("scored whole and on the CS224N split: 13 of 14 printed rows fit the latter's mix"),
    ),
    "task.name": ("squad2", paper("section 4.1: SQuAD2.0")),
    "task.evaluation_rows": (None, assumed("all of the set")),
    "task.subset_seed": (0, assumed("draws nothing where rows are taken in file order")),
    "task.answerable_share": (None, paper("section 4.1: the data set as it is")),
    "task.features": ("legacy", code("transformers 2.5 SQuAD features")),
    "task.max_length": (384, paper("section 4.1: maximum sentence length")),
    "task.stride": (128, code("doc_stride")),
    "task.max_query": (64, code("max_query_length")),
    "method.heads": (4, code("4 heads of 50")),
    "method.stage": (3, paper("section 3.2: stages of size 3")),
    "method.dropout": (0.3, paper("section 4.1")),
    "method.layer_norm_eps": (1e-12, assumed("BERT's own; the code's 384 is a misplaced argument")),
    "method.norm_axis": ("feature", assumed("repaired; the code normalises positions, pads too")),
    "method.attention_mask": (True, assumed("repaired; the code attends to padding")),
    "recipe.batch_size": (8, paper("section 4.1")),
    "recipe.epochs": (5, code("epochs=5; the paper says above 5")),
    "recipe.learning_rate": (3e-5, paper("section 4.1")),
    **lines("recipe", code("no scheduler, no warm-up"), schedule="constant", warmup=0.0),
    **lines("recipe", code("AdamW default"), adam_beta1=0.9, adam_beta2=0.999, weight_decay=0.0),
    "recipe.adam_eps": (1e-8, code("AdamW")),
    "recipe.bias_correction": (False, code("correct_bias=False")),
    "recipe.clip_norm": (1.0, assumed("repaired to the usual value; the code clips at 0.1")),
    **lines(
        "recipe", paper("section 3.3: sum of the two cross-entropies"), start_weight=1.0,
        end_weight=1.0,
    ),
    "recipe.logit_clamp": (None, assumed("repaired; the code clamps logits to [0, 384]")),
    "recipe.padding": ("dynamic", assumed("equal numbers to padding at 384 in this reading")),
    "recipe.order": ("shuffled", code("the notebook's RandomSampler")),
    "recipe.precision": ("bf16", assumed("not stated; trained parameters stay fp32")),
}  # fmt: skip

AS_RELEASED: Setting = {
    "method.layer_norm_eps": (384.0, code("LayerNorm(768, 384): the second argument is eps")),
    "method.norm_axis": ("position", code("BatchNorm1d(384) on [batch, 384, 200]")),
    "method.attention_mask": (False, code("no padding mask in the cell's attention")),
    "recipe.clip_norm": (0.1, code("clip_grad_norm_ at 0.1, each stack")),
    **lines("recipe", code("(1.5 start + 1.0 end) / 2.5"), start_weight=0.6, end_weight=0.4),
    "recipe.logit_clamp": ((0.0, 384.0), code("logits.clamp(0, 384) before the loss")),
    "recipe.padding": ("max", code("all windows padded to 384")),
}
"""The released reading (--as-released); in it the nonlinear rows use GELU, as the code names it."""

ALL_ROWS: Setting = {
    "task.train_rows": (None, paper("Table 2: all 130K training samples")),
    "recipe.epochs": (8, paper("Table 2: epochs 1 to 8")),
}
"""What ResAdapters-2 changes."""

SMOKE: Setting = {
    "task.source": ("generated", assumed("smoke scale: questions made from a seed")),
    **lines(
        "task", assumed("smoke scale"), train="generated", evaluation="generated", subset="shuffled"
    ),
    "task.max_length": (128, assumed("smoke scale: short passages")),
    "task.train_rows": (None, assumed("smoke scale: all rows left by the answerable share")),
    "task.answerable_share": (0.7, assumed("smoke scale: rows learn to answer in few steps")),
    "recipe.batch_size": (16, assumed("smoke scale")),
    "recipe.epochs": (8, assumed("smoke scale: the eight epochs of ResAdapters-2")),
    "recipe.learning_rate": (2e-3, assumed("smoke scale: few steps")),
    "method.dropout": (0.0, assumed("smoke scale: few steps")),
    "recipe.precision": ("fp32", assumed("smoke scale: a CPU")),
}

REDUCED: Setting = {
    "task.train": ("dev-minus-cs224n", assumed("reduced scale: the official dev file is enough")),
    "task.evaluation": ("cs224n", assumed("reduced scale: the split behind the printed numbers")),
    "task.subset": ("shuffled", assumed("reduced scale: a cap draws from all articles")),
    "task.train_rows": (None, assumed("reduced scale: all rows left by the answerable share")),
    "task.answerable_share": (0.95, assumed("reduced scale: rows answer instead of collapsing")),
    "method.dropout": (0.1, assumed("reduced scale: few steps")),
    "recipe.epochs": (8, assumed("reduced scale: the eight epochs of ResAdapters-2")),
    "recipe.learning_rate": (1e-3, assumed("reduced scale: few steps")),
    "recipe.precision": ("fp32", assumed("reduced scale: a laptop")),
}

SCALES: dict[str, Setting] = {"paper": PAPER, "reduced": PAPER | REDUCED, "smoke": PAPER | SMOKE}

FULL_FINE_TUNING: Setting = {
    "recipe.batch_size": (48, assumed("BERT's own SQuAD 2.0 setting (Devlin et al., 4.3)")),
    **lines("recipe", assumed("BERT's own SQuAD 2.0 setting"), epochs=2, learning_rate=5e-5),
    "recipe.schedule": ("bert", assumed("BERT's released code: optimization.py")),
    **lines(
        "recipe", assumed("BERT's released code"), warmup=0.1, adam_eps=1e-6, weight_decay=0.01
    ),
    "recipe.decayed": ("matrices", assumed("BERT's released code: no biases, no layer norms")),
    "method.dropout": (0.1, assumed("BERT's own")),
}
"""The extra row of ResAdapters-2: nothing about it is in the paper."""

# variant -> wiring and nonlinearity of the repaired reading
ROWS_OF_CELLS = {
    "adapter": ("plain", "relu"),
    "adapter-resnet": ("resnet", "relu"),
    "attention": ("plain", "attention"),
    "attention-resnet": ("resnet", "attention"),
    "attention-resnext": ("resnext", "attention"),
}

CS224N = "cs224n"
"""The printed rows, called "SQuAD2.0 dev": the ALL, NoAns and HasAns columns together give the
share of unanswerable questions, which is that of the CS224N dev split (3,168 of 6,078) and not that
of the official dev set (5,945 of 11,873).
"""
COLUMNS = tuple(
    Score(f"{group} {name}", group, f"{name} (SQuAD2.0 dev)", name.lower(), CS224N, CS224N, group)
    for group in ("ALL", "NoAns", "HasAns")
    for name in ("EM", "F1")
)
ALWAYS_NULL = Row("Always null", "always-null", section="Reference", reference=True)


@lru_cache(maxsize=64)
def runs_of(variant: str, task: str, request: Request, *, all_rows: bool = False) -> Template:
    """The runs of a row; `all_rows`: as ResAdapters-2 has them, at the paper's scale."""
    setting = SCALES[request.scale]
    if all_rows and request.scale == "paper":
        setting = setting | ALL_ROWS
    published = BERT_BASE, code("bert-base-uncased")
    if variant == "linear-probe":
        published = BERT_BASE_SQUAD2, assumed("the printed row equals this checkpoint's probe")
    backbone = encoder(request, *published)
    setting = setting | _method(variant, request, backbone[0])
    if request.as_released and variant in ROWS_OF_CELLS:
        setting = setting | AS_RELEASED
    if variant == "full-fine-tuning":
        setting = setting | FULL_FINE_TUNING | _small_fine_tuning(request.scale)
    found: Setting = {
        "task.revision": (request.data_revisions.get(task), assumed("the data found"))
    }
    return template(request, backbone, setting | found | asked_for(request))


def _method(variant: str, request: Request, backbone: Backbone) -> Setting:
    """The method's own fields: kind, wiring, nonlinearity, bottleneck."""
    if variant == "linear-probe":
        layer = backbone.layers, assumed("the last layer: row 12 of the probes' published results")
        return {"method.kind": (variant, layer[1]), "method.layer": layer}
    if variant not in ROWS_OF_CELLS:
        return {"method.kind": (variant, assumed("a row of ours"))}
    wiring, nonlinearity = ROWS_OF_CELLS[variant]
    figure = {"plain": "section 3.1", "resnet": "Figure 1", "resnext": "Figure 2"}[wiring]
    middle = (nonlinearity, paper("section 3.1" if nonlinearity == "attention" else "Figure 3"))
    if request.as_released and nonlinearity == "relu":
        middle = ("gelu", code("the notebook's variable name"))
    return {
        "method.kind": ("pipelined-cells", paper("section 3")),
        "method.wiring": (wiring, paper(figure)),
        "method.nonlinearity": middle,
        "method.bottleneck": _bottleneck(backbone),
    }


def _bottleneck(backbone: Backbone) -> tuple[int, Source]:
    if backbone.hidden_size == KNOWN[BERT_BASE].hidden_size:
        return 200, code("project_dim of 768")
    heads = PAPER["method.heads"][0]
    width = max(1, round(backbone.hidden_size * 200 / 768 / heads)) * heads
    return width, assumed("200 of 768 in the code, scaled with the hidden size")


def _small_fine_tuning(scale: Scale) -> Setting:
    if scale == "paper":
        return {}
    return {
        **lines("recipe", assumed(f"{scale} scale: few rows"), batch_size=16, epochs=3),
        "recipe.learning_rate": (1e-4, assumed(f"{scale} scale: few steps, small encoder")),
    }


MODELS = {
    "Non Linear": ("Adapter", "Adapter ResNet"),
    "With Attention": ("Attention", "Attention ResNet", "Attention ResNeXt"),
}
"""Section of Table 1 -> its rows."""
SPLITS: dict[Scale, str] = {"smoke": "generated"}
SEEDS: dict[Scale, int] = {"paper": 3, "reduced": 1, "smoke": 1}

ONE = Table(
    id="ResAdapters-1",
    paper="resadapters",
    title="SQuAD 2.0, five adapters trained on 50K questions (ResAdapters, Table 1)",
    published="RA-T1",
    rows=(
        *(
            Row(name, name.lower().replace(" ", "-"), f"{section} / {name}", section)
            for section, names in MODELS.items()
            for name in names
        ),
        ALWAYS_NULL,
    ),
    columns=COLUMNS,
    protocol="legacy/argmax-pair",
    splits=SPLITS,
    default_seeds=SEEDS,
    chains=one_a_seed(runs_of),
    notes=(
        "The paper prints about 3M trained parameters for the nonlinear rows and about 7M for "
        "those with attention; the only released configuration (two stacks, bottleneck 200) has "
        "more, and this table counts what is trained.",
        "The paper states neither seeds nor their number.",
    ),
    collapse="answers no question",
)

TWO = Table(
    id="ResAdapters-2",
    paper="resadapters",
    title="SQuAD 2.0, Attention ResNeXt by epoch on all questions (ResAdapters, Table 2)",
    published="RA-T2",
    rows=(
        *(
            Row(f"Epoch {n}", "attention-resnext", f"Epoch{n}", "Attention ResNeXt", epoch=n)
            for n in range(1, 9)
        ),
        Row(
            "BERT Fine-tuned (printed)",
            "linear-probe",
            "BERT Fine-tuned",
            "BERT",
            note="reproduced by what is behind the printed numbers: a linear probe on the last "
            "layer of a frozen encoder that was tuned on SQuAD 2.0 before (at the smaller scales: "
            "on the scale's own frozen encoder, which was not)",
        ),
        Row(
            "Full fine-tuning",
            "full-fine-tuning",
            None,
            "BERT",
            note="a real fine-tuning of the whole encoder; the paper has no such number",
        ),
        ALWAYS_NULL,
    ),
    columns=COLUMNS,
    protocol="legacy/argmax-pair",
    splits=SPLITS,
    default_seeds=SEEDS,
    chains=one_a_seed(partial(runs_of, all_rows=True)),
    notes=("An epoch's row is that epoch of one run's history.",),
    collapse="answers no question",
)

ARCHITECTURE = Architecture(
    id="architecture-resadapters",
    paper="resadapters",
    title="The cells beside the frozen encoder, their wirings and their inside (ResAdapters, "
    "Figures 1 to 3)",
    sketches=(
        Sketch("plain", "The chain without residual paths", "adapter", "Adapter, Attention"),
        Sketch("resnet", "The chain with residual paths (Figure 1)", "adapter-resnet",
               "Adapter ResNet, Attention ResNet"),
        Sketch("resnext", "Sectors side by side (Figure 2)", "attention-resnext",
               "Attention ResNeXt"),
        Sketch("cell", "Inside a cell without attention (Figure 3)", "adapter",
               "Adapter, Adapter ResNet", inside=True),
        Sketch("attention-cell", "Inside a cell with attention (Figure 3)", "attention",
               "Attention, Attention ResNet, Attention ResNeXt", inside=True),
    ),
    model=lambda variant, request: runs_of(variant, "squad2", request).run(0),
    notes=(
        "Lines follow the code that is trained: its wirings are called with names in place of "
        "tensors. Counts are those of its modules, one stack of two: one stack gives the start "
        "scores, one the end scores, and they share nothing.",
        "Figure 2 of the paper is a drawing of sectors; the one notebook that its authors released "
        "chains its blocks as Figure 1 does, whatever its file is called.",
    ),
)  # fmt: skip
