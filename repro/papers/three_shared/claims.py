"""What the 3-shared report claims."""

from __future__ import annotations

from repro.papers.claims import SIMILAR, Claim, Ours, Printed, Quantity, Statement, best
from repro.papers.houlsby.claims import LAYERS, drop
from repro.papers.three_shared.tables import TWO

PAPER = "Mohebbi & Rajaee, Final Report"
FULL, HOULSBY = "Full fine-tuning", "Houlsby (shared in layer)"
NOT_SHARED, SHARED = "Ours (not shared)", "Ours (3-shared)"
PRINTED_ROWS = {row.name: row.published or "" for row in TWO.rows}


def glue(row: str) -> Quantity:
    """The last column of Table 2; ours is not cut to one decimal."""
    printed = Printed("SR20-T2", PRINTED_ROWS[row], "Total", "mean GLUE score")
    return Quantity(f"{row}, GLUE", (printed,), (Ours(TWO.id, row, "Mean of 9"),))


def on_tasks(row: str) -> tuple[Quantity, ...]:
    """The nine scores of a row of Table 2."""
    return tuple(
        Quantity(
            f"{row}, {score.name}",
            (
                Printed(
                    "SR20-T2",
                    PRINTED_ROWS[row],
                    score.published_column,
                    score.published_metric,
                ),
            ),
            (Ours(TWO.id, row, score.name),),
        )
        for score in TWO.scores
    )


def further(row: str, published: str) -> Quantity:
    """The mean over the 12 tasks of Table 3."""
    printed = Printed("SR20-T3", "Average", published, "test accuracy %")
    return Quantity(f"{row}, 12 further tasks", (printed,), (Ours("3-shared-3", row, "Average"),))


def parameters(row: str, ours: str) -> Quantity:
    """What a model of Table 1 trains."""
    column = "# All trainable parameters without last classifier"
    return Quantity(
        f"{row}, parameters",
        (Printed("SR20-T1", row, column, "parameters"),),
        (Ours("3-shared-1", ours, "Parameters without last classifier"),),
    )


CLAIMS = (
    Claim(
        "3-shared-third",
        "three_shared",
        "One adapter for three layers trains a third of the parameters of one a layer.",
        f"{PAPER}, abstract; section 6.2, Table 1",
        (
            Statement(
                parameters(SHARED, SHARED), parameters("Houlsby", "Houlsby"), "within",
                times=1 / 3,
            ),
        ),
    ),
    Claim(
        "3-shared-almost-same",
        "three_shared",
        "3-shared gives almost the same GLUE score as one adapter a layer.",
        f"{PAPER}, abstract; section 6.3, Table 2",
        (Statement(glue(HOULSBY), glue(SHARED), "within", SIMILAR),),
        note="Almost the same is read as within a point.",
    ),
    Claim(
        "3-shared-almost-same-tasks",
        "three_shared",
        "3-shared gives almost the same results on the different tasks.",
        f"{PAPER}, abstract; section 6.3, Table 2",
        tuple(
            Statement(one, other, "within", SIMILAR)
            for one, other in zip(on_tasks(HOULSBY), on_tasks(SHARED), strict=True)
        ),
        note="Almost the same is read as within a point on each task.",
    ),
    Claim(
        "3-shared-outperforms-glue",
        "three_shared",
        "The proposed models outperform full fine-tuning and Houlsby's architecture on GLUE.",
        f"{PAPER}, section 6.3, Table 2",
        tuple(
            Statement(glue(ours), glue(other))
            for ours in (NOT_SHARED, SHARED)
            for other in (FULL, HOULSBY)
        ),
        note="The sentence says 'model' and not which; both are judged.",
    ),
    Claim(
        "3-shared-outperforms-further",
        "three_shared",
        "The model whose adapters are not shared outperforms full fine-tuning on 12 further tasks.",
        f"{PAPER}, section 6.3, Table 3",
        best(
            further(NOT_SHARED, "Ours (not shared)"),
            further(FULL, "BERT-base (full fine-tuning)"),
        ),
    ),
    Claim(
        "3-shared-near-fine-tuning",
        "three_shared",
        "Adapters come near the state of the art with few parameters.",
        f"{PAPER}, abstract; section 5.1; Table 2",
        tuple(
            Statement(glue(FULL), glue(row), "within", SIMILAR)
            for row in (HOULSBY, NOT_SHARED, SHARED)
        ),
        note="Read as: within a point of full fine-tuning on GLUE.",
    ),
    Claim(
        "3-shared-adapters-outperform",
        "three_shared",
        "Adapters outperform the other ways of transfer, full fine-tuning among them.",
        f"{PAPER}, section 1, last paragraph; Table 2",
        tuple(Statement(glue(row), glue(FULL)) for row in (HOULSBY, NOT_SHARED, SHARED)),
    ),
    Claim(
        "3-shared-single-layers",
        "three_shared",
        "The adapters of any single layer matter little, those of all layers together much.",
        f"{PAPER}, section 6.4, Figure 8",
        best(drop(0, LAYERS - 1), *(drop(layer, layer) for layer in range(LAYERS))),
        note="Read as: all layers cost more than any single one; the report names no size.",
    ),
)  # fmt: skip
