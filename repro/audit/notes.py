"""What only a reading of text, pictures and code shows; no arithmetic on numbers finds it."""

from __future__ import annotations

from repro.audit.numbers import Finding, Severity

RA, RA_CODE = "Hsu & Wu, ResAdapters", "released notebook of ResAdapters"
H19, SR20 = "Houlsby et al. 2019, arXiv:1902.00751", "Mohebbi & Rajaee, Final Report"
HF21 = "github:rabeehk/hyperformer @56b0f99"
AA22, AA_CODE = "Moosavi et al. 2022", "github:UKPLab/adaptable-adapters @9449be3"


def _note(id: str, paper: str, severity: Severity, says: str, detail: str, source: str) -> Finding:
    return Finding(id, paper, severity, says, detail, source, computed=False)


NOTES: tuple[Finding, ...] = (
    _note("resadapters-f1-formula", "resadapters", "error",
          "F1 is printed upside down.",
          "(precision + recall) / (precision x recall) instead of the harmonic mean", RA),
    _note("resadapters-threshold", "resadapters", "doubt",
          "Two rules say when a question has no answer.",
          "an end before the start, and a threshold that equals 1", RA),
    _note("resadapters-probe-symbol", "resadapters", "note",
          "The probes of start and end are printed with one symbol for their weights.",
          "read as two rows of one matrix, as in the code", RA),
    _note("resadapters-bold", "resadapters", "doubt",
          "Bold type is not always on the best number.",
          "Table 1 marks the EM of attention ResNeXt, below that of attention ResNet; Table 2 the "
          "whole BERT row, whose NoAns three epochs exceed", f"{RA}, Tables 1 and 2"),
    _note("resadapters-released-row", "resadapters", "doubt",
          "The released notebook is named after ResNeXt, but joins its blocks in a chain: it is "
          "the ResNet row; the other rows are not released.",
          "Figure 2 draws four parallel sectors", RA_CODE),
    _note("resadapters-norm-epsilon", "resadapters", "doubt",
          "The last layer norm of a released cell takes the window's length for its epsilon, which "
          "makes the cell's output very small.",
          "the second argument of LayerNorm(768, 384) is eps", RA_CODE),
    _note("resadapters-clamped-logits", "resadapters", "doubt",
          "Released training clamps the scores to 0..384 before the loss: negative ones get no "
          "gradient.",
          "the clamp is meant for positions, not for scores", RA_CODE),
    _note("houlsby-initialisation", "houlsby", "doubt",
          "The paper initialises with a deviation of 1e-2, the released code with 1e-3.",
          "section 3.6 against modeling.py", f"{H19}; google-research/adapter-bert"),
    _note("houlsby-abstract-versions", "houlsby", "note",
          "An earlier version of the abstract says within 0.8 %, the final one 0.4 %.",
          "the final one agrees with Table 1", H19),
    _note("houlsby-two-modules", "houlsby", "note",
          "The count of parameters that section 2.1 gives is of one adapter; a layer has two.",
          "2md + d + m each, as the released code builds them",
          f"{H19}, sections 2 and 2.1"),
    _note("houlsby-ablation-metric", "houlsby", "note",
          "Figure 6 scores CoLA by accuracy, the heat map of the 3-shared report by Matthews "
          "correlation: their drops do not compare.",
          "without any adapter: the majority class, against a correlation of 0",
          f"{H19}; {SR20}"),
    _note("three-shared-not-houlsby", "three_shared", "doubt",
          "What the report calls Houlsby has one adapter for the two places of a layer; the real "
          "model has two.",
          "section 5.1 and Table 1 count one a layer", SR20),
    _note("three-shared-no-column", "three_shared", "doubt",
          "The claim to be ahead of Houlsby's architecture on further tasks has no column.",
          "Table 3 compares with full fine-tuning only", f"{SR20}, Table 3"),
    _note("three-shared-layer-norms", "three_shared", "doubt",
          "The text freezes all of BERT in the model called Houlsby; Figure 7 shows trained layer "
          "norms.",
          "Table 1 counts none", f"{SR20}, section 5 and Figure 7"),
    _note("three-shared-later-code", "three_shared", "doubt",
          "The authors' later code trains the layer norms and starts from a smaller deviation; its "
          "table of results is commented out.",
          "initial deviation 0.02 at the time of the report, then 1e-3",
          "github:hosein-m/TF-Adapter-BERT, commit of 25 Feb 2021"),
    _note("three-shared-figure-8", "three_shared", "doubt",
          "The caption of Figure 8 says accuracy; the values are drops in Matthews correlation.",
          "the intact score in the notebook is 0.608, and the picture shows drops x 100", SR20),
    _note("three-shared-batch-metric", "three_shared", "doubt",
          "The PyTorch notebook averages the metric over batches of 32, which is no Matthews "
          "correlation of the set.",
          "which code gave the printed 0.608 is not known",
          "github:Sara-Rajaee/Adapter-BERT; hmohebbi/TF-Adapter-BERT"),
    _note("three-shared-label-sets", "three_shared", "doubt",
          "Political message and progressive opinion seem to be of other label sets than in "
          "Houlsby et al.",
          "its own model is far above every model there, and the average gains by these two", SR20),
    _note("three-shared-stsb-metric", "three_shared", "doubt",
          "STS-B of the copied BERT row is captioned Spearman; the same number is elsewhere given "
          "as Pearson.",
          "the Spearman correlation of that submission is printed lower in other papers", SR20),
    _note("hyperformer-validation-leak", "hyperformer", "doubt",
          "The released code trains on the 1,000 rows that it validates on (QQP, QNLI, SST-2).",
          "the flag of the split is not passed for the training set", HF21),
    _note("hyperformer-pretrained-on-glue", "hyperformer", "doubt",
          "The T5 that is adapted was pre-trained on labelled data that include GLUE.",
          "with T5 v1.1, which was not, a rerun of HyperFormer scores far below its Table 1",
          "google-research/text-to-text-transfer-transformer#266; github:allenai/hyperdecoders"),
    _note("hyperformer-mnli-colon", "hyperformer", "note",
          "The released input of MNLI lacks a colon after 'hypothesis'.",
          "premise: A hypothesis B", HF21),
    _note("hyperformer-stsb-grid", "hyperformer", "note",
          "Targets of STS-B are meant to lie 0.2 apart; the released rounding makes it 0.1.",
          "(5 y) / 5 rounded to one decimal", HF21),
    _note("hyperformer-start", "hyperformer", "note",
          "Generated adapters start near the identity, the plain ones of the baselines do not.",
          "generated gains start near 0, plain layer norms at 1", HF21),
    _note("adaptable-denominator", "adaptable_adapters", "error",
          "The rational activation of the paper is not that of the code.",
          "printed 1 + |sum of b_k x| (without powers), built as 1 + sum of |b_k x^k|",
          f"{AA22}, equation 1; {AA_CODE}"),
    _note("adaptable-figure-3", "adaptable_adapters", "error",
          "The caption of Figure 3 changes the sides.",
          "the left panel shows layers of one adapter, the right one layer of five tasks", AA22),
    _note("adaptable-skip-connection", "adaptable_adapters", "doubt",
          "The adapter's branch has no skip connection in the paper; as run, it has one.",
          "the option that drops it does not reach the adapter", f"{AA22}, section 3; {AA_CODE}"),
    _note("adaptable-switches-not-saved", "adaptable_adapters", "doubt",
          "Checkpoints leave the switches out: the best epoch is scored with the last switches.",
          "adapters and head are saved, logits of the switches are not", AA_CODE),
    _note("adaptable-drop-range", "adaptable_adapters", "doubt",
          "AdapterDrop draws 0 to 10 dropped layers whatever the depth, and its layers at test "
          "time are written into the code for one task.",
          "the published rows cannot be rerun from the code unchanged", AA_CODE),
    _note("adaptable-metric", "adaptable_adapters", "doubt",
          "MRPC, QQP and STS-B are probably combined scores; the list in the code names single "
          "metrics.",
          "F1, F1 and Spearman are listed, combined_score is what would be kept", AA_CODE),
)  # fmt: skip
