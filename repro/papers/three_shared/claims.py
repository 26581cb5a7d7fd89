"""What the 3-shared report claims."""

from __future__ import annotations

from dataclasses import replace

from repro.papers.claims import Claim, Quantity, cell, every, more, within
from repro.papers.houlsby.claims import LAYERS, drop
from repro.papers.three_shared.tables import ONE, THREE, TWO

PAPER = "Mohebbi & Rajaee, Final Report"
FULL, HOULSBY = "Full fine-tuning", "Houlsby (shared in layer)"
NOT_SHARED, SHARED = "Ours (not shared)", "Ours (3-shared)"


def glue(row: str) -> Quantity:
    """The last column of Table 2; ours is not cut to one decimal."""
    ours = cell(TWO, row, "Mean of 9").ours
    return replace(cell(TWO, row, "Total", f"{row}, GLUE"), ours=ours)


def further(row: str) -> Quantity:
    """The mean over the 12 tasks of Table 3."""
    return cell(THREE, row, "Average", f"{row}, 12 further tasks")


def parameters(row: str) -> Quantity:
    """What a model of Table 1 trains."""
    return cell(ONE, row, "Parameters without last classifier", f"{row}, parameters")


CLAIMS = (
    Claim("3-shared-third", "three_shared", "reading",
        "One adapter for three layers trains a third of the parameters of one a layer.",
        f"{PAPER}, Table 1",
        within(parameters(SHARED), parameters("Houlsby"), by=0, times=1 / 3),
        note="The abstract says: much fewer."),
    Claim("3-shared-almost-same", "three_shared", "sentence",
        "3-shared gives almost the same results as one adapter a layer.",
        f"{PAPER}, abstract, last sentence; Table 2",
        within(glue(HOULSBY), glue(SHARED)),
        note="Almost the same is read as within a point of the mean over GLUE."),
    Claim("3-shared-outperforms-glue", "three_shared", "sentence",
        "The proposed model outperforms full fine-tuning and Houlsby's architecture.",
        f"{PAPER}, section 6.3; Table 2",
        more(glue(NOT_SHARED), glue(FULL), glue(HOULSBY)),
        note="The sentence calls the tables of GLUE and of the further tasks by one number, so it "
        "is judged on both; the model is the one that the second has, whose adapters are not "
        "shared."),
    Claim("3-shared-outperforms-further", "three_shared", "sentence",
        "The proposed model outperforms full fine-tuning on the further tasks.",
        f"{PAPER}, section 6.3; Table 3",
        more(further(NOT_SHARED), further(FULL)),
        note="Read as: in the mean over the 12 tasks. The sentence names Houlsby's architecture "
        "too, of which the table has no column."),
    Claim("3-shared-near-fine-tuning", "three_shared", "sentence",
        "Adapters come near the state of the art with few parameters, without sacrificing "
        "performance.",
        f"{PAPER}, abstract; section 5.1, first item; Table 2",
        within(glue(FULL), *map(glue, (HOULSBY, NOT_SHARED, SHARED))),
        note="Read as: within a point of full fine-tuning on GLUE."),
    Claim("3-shared-adapters-outperform", "three_shared", "sentence",
        "Adapters outperform the other ways of transfer.",
        f"{PAPER}, section 1, last sentence; Table 2",
        every(more(glue(row), glue(FULL)) for row in (HOULSBY, NOT_SHARED, SHARED)),
        note="Read as: ahead of full fine-tuning, one of the ways that the section names, in the "
        "mean over GLUE."),
    Claim("3-shared-single-layers", "three_shared", "sentence",
        "The adapters of any single layer matter little, those of all layers together much.",
        f"{PAPER}, section 6.4; Figure 8",
        more(drop(0, LAYERS - 1), *(drop(layer, layer) for layer in range(LAYERS))),
        note="Read as: all layers cost more than any single one; the report names no size."),
)  # fmt: skip
