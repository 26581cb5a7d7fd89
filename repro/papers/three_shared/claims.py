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
        "reading",
        "One adapter for three layers trains a third of the parameters of one a layer.",
        f"{PAPER}, Table 1",
        (
            Statement(
                parameters(SHARED, SHARED), parameters("Houlsby", "Houlsby"), "within",
                times=1 / 3,
            ),
        ),
        note="The abstract says: much fewer.",
    ),
    Claim(
        "3-shared-almost-same",
        "three_shared",
        "sentence",
        "3-shared gives almost the same results as one adapter a layer.",
        f"{PAPER}, abstract, last sentence; Table 2",
        (Statement(glue(HOULSBY), glue(SHARED), "within", SIMILAR),),
        note="Almost the same is read as within a point of the mean over GLUE.",
    ),
    Claim(
        "3-shared-outperforms-glue",
        "three_shared",
        "sentence",
        "The proposed model outperforms full fine-tuning and Houlsby's architecture.",
        f"{PAPER}, section 6.3; Table 2",
        tuple(Statement(glue(NOT_SHARED), glue(other)) for other in (FULL, HOULSBY)),
        note="The sentence calls the tables of GLUE and of the further tasks by one number, so it "
        "is judged on both; the model is the one that the second has, whose adapters are not "
        "shared.",
    ),
    Claim(
        "3-shared-outperforms-further",
        "three_shared",
        "sentence",
        "The proposed model outperforms full fine-tuning on the further tasks.",
        f"{PAPER}, section 6.3; Table 3",
        best(
            further(NOT_SHARED, "Ours (not shared)"),
            further(FULL, "BERT-base (full fine-tuning)"),
        ),
        note="Read as: in the mean over the 12 tasks. The sentence names Houlsby's architecture "
        "too, of which the table has no column.",
    ),
    Claim(
        "3-shared-near-fine-tuning",
        "three_shared",
        "sentence",
        "Adapters come near the state of the art with few parameters, without sacrificing "
        "performance.",
        f"{PAPER}, abstract; section 5.1, first item; Table 2",
        tuple(
            Statement(glue(FULL), glue(row), "within", SIMILAR)
            for row in (HOULSBY, NOT_SHARED, SHARED)
        ),
        note="Read as: within a point of full fine-tuning on GLUE.",
    ),
    Claim(
        "3-shared-adapters-outperform",
        "three_shared",
        "sentence",
        "Adapters outperform the other ways of transfer.",
        f"{PAPER}, section 1, last sentence; Table 2",
        tuple(Statement(glue(row), glue(FULL)) for row in (HOULSBY, NOT_SHARED, SHARED)),
        note="Read as: ahead of full fine-tuning, one of the ways that the section names, in the "
        "mean over GLUE.",
    ),
    Claim(
        "3-shared-single-layers",
        "three_shared",
        "sentence",
        "The adapters of any single layer matter little, those of all layers together much.",
        f"{PAPER}, section 6.4; Figure 8",
        best(drop(0, LAYERS - 1), *(drop(layer, layer) for layer in range(LAYERS))),
        note="Read as: all layers cost more than any single one; the report names no size.",
    ),
)  # fmt: skip
