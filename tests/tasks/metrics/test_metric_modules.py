"""Each metric as `evaluate.load` gives it: in another folder, without network, twice at once."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from squad_readings import exact, f1, phrase

from repro.spec.tagging import TAGS
from repro.tasks.metrics import glue, squad_v2

Metric = Callable[[str, Sequence[str]], float]

METRICS = Path(squad_v2.__file__).parent
CHILD = """\
import doctest, json, socket, sys

def refuse(*_, **__):
    raise AssertionError("the network was asked")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
sys.modules["transformers"] = None  # evaluate would import it, which takes long
import evaluate
del sys.modules["transformers"]

metrics, found = sys.argv[1], []
for name, configuration, inputs in json.load(open("inputs.json")):
    metric = evaluate.load(f"{metrics}/{name}.py", configuration)
    info = metric.info
    assert info.description and info.citation and info.reference_urls and info.features
    examples = metric.inputs_description.replace("repro/tasks/metrics", metrics)
    test = doctest.DocTestParser().get_doctest(examples, {"evaluate": evaluate}, name, None, 0)
    ran = doctest.DocTestRunner().run(test)
    assert ran.attempted and not ran.failed
    found.append([metric.compute(**each) for each in inputs])
assert not [name for name in sys.modules if name.split(".")[0] == "repro"]
print(json.dumps(found))
"""
CLASSES: list[tuple[list[int], list[int]]] = [
    ([1, 0, 1, 0, 1], [1, 0, 0, 1, 1]),
    ([1, 1, 1, 1], [1, 0, 1, 0]),  # constant prediction
    ([1, 0, 1], [1, 1, 1]),  # one gold class
    ([0, 0], [0, 0]),
    ([1, 1], [0, 0]),
    ([1], [0]),
    ([2, 0, 1, 1, -1], [0, 0, 1, 2, 1]),  # more than two classes, and an invalid answer
]
NUMBERS: list[tuple[list[float], list[float]]] = [
    ([2.0, 2.0, 5.0, 1.25], [1.0, 2.0, 3.0, 3.0]),  # ties
    ([0.1] * 7, [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 2.0]),  # undefined
    ([1.0], [2.0]),
    ([5e200, -5e200, 1.0], [1e-300, 2e-300, 4e-300]),
]
SINGLE = ("accuracy", "f1", "matthews")


def pairs(of: list[Any]) -> list[dict[str, Any]]:
    return [{"predictions": predicted, "references": gold} for predicted, gold in of]


def tagged() -> list[tuple[list[list[str]], list[list[str]]]]:
    draw = random.Random(3)
    sizes = [draw.randrange(1, 9) for _ in range(200)]
    some, other = ([draw.choices(TAGS, k=size) for size in sizes] for _ in range(2))
    return [(some, other), (some, some), ([["O", "O"]], [["O", "O"]])]


def questions() -> tuple[dict[str, str], dict[str, list[str]], dict[str, float]]:
    """Texts, gold answers and null scores by id."""
    draw = random.Random(5)
    golds = {f"q{n}": [phrase(draw) or "x" for _ in range(draw.randint(0, 3))] for n in range(400)}
    texts = {id: draw.choice([phrase(draw), *answers]) for id, answers in golds.items()}
    return texts, golds, {id: round(draw.gauss(0, 1), 1) for id in golds}


def squad_inputs() -> dict[str, Any]:
    texts, golds, nulls = questions()
    return {
        "predictions": [
            {"id": id, "prediction_text": text, "no_answer_probability": nulls[id]}
            for id, text in texts.items()
        ],
        "references": [
            {"id": id, "answers": {"text": answers, "answer_start": [0] * len(answers)}}
            for id, answers in golds.items()
        ],
        "no_answer_threshold": 0.25,
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Configuration -> the answers of `compute`, equal in two processes at once."""
    folder = tmp_path_factory.mktemp("elsewhere")
    jobs = [
        *(("glue", name, pairs(CLASSES)) for name in SINGLE),
        ("glue", "stsb", pairs(NUMBERS)),
        ("glue", "mrpc", pairs(CLASSES[:-1])),
        ("conll", None, pairs(tagged())),
        ("squad_v2", None, [squad_inputs()]),
    ]
    (folder / "inputs.json").write_text(json.dumps(jobs))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings = {"HF_HOME": str(folder / "home"), "HF_HUB_OFFLINE": "1"}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(METRICS)],
            cwd=folder,
            env=kept | settings,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    one, two = (child.communicate()[0] for child in children)
    assert [child.returncode for child in children] == [0, 0]
    assert one == two
    # evaluate's copies of the modules: nothing of what was computed
    assert [path.name for path in (folder / "home").iterdir()] == ["modules"]
    return {
        configuration or name: answers
        for (name, configuration, _), answers in zip(jobs, json.loads(one), strict=True)
    }


def test_classes_score_as_scikit_learn_scores_them(found: dict[str, list[dict[str, Any]]]) -> None:
    from sklearn import metrics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of one class only
        for at, (predicted, gold) in enumerate(CLASSES):
            expected = {
                "accuracy": metrics.accuracy_score(gold, predicted),
                "f1": metrics.f1_score(np.equal(gold, 1), np.equal(predicted, 1)),
                "matthews": metrics.matthews_corrcoef(gold, predicted),
            }
            for name in SINGLE:
                assert found[name][at] == {name: expected[name]}
    for at, answer in enumerate(found["mrpc"]):
        both = [found[name][at][name] for name in ("f1", "accuracy")]
        assert answer == {"f1": both[0], "accuracy": both[1], "combined": sum(both) / 2}


def test_numbers_correlate_as_in_scipy(found: dict[str, list[dict[str, Any]]]) -> None:
    from scipy import stats

    none = dict.fromkeys(["spearman", "pearson", "combined"])
    assert found["stsb"][1] == found["stsb"][2] == none
    for at in (0, 3):
        predicted, gold = NUMBERS[at]
        rho, r = stats.spearmanr(predicted, gold)[0], stats.pearsonr(predicted, gold)[0]
        expected = {"spearman": rho, "pearson": r, "combined": (rho + r) / 2}
        assert found["stsb"][at] == pytest.approx(expected)


def test_entities_score_as_seqeval_scores_them(found: dict[str, list[dict[str, Any]]]) -> None:
    from seqeval import metrics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of sets without entities
        for answer, (predicted, gold) in zip(found["conll"], tagged(), strict=True):
            expected = {
                "f1": metrics.f1_score(gold, predicted),
                "precision": metrics.precision_score(gold, predicted),
                "recall": metrics.recall_score(gold, predicted),
                "accuracy": metrics.accuracy_score(gold, predicted),
            }
            percent = {name: 100 * float(value) for name, value in expected.items()}
            assert answer == pytest.approx(percent)


def test_questions_score_as_the_official_script_scores_them(
    found: dict[str, list[dict[str, Any]]],
) -> None:
    texts, golds, nulls = questions()

    def mean(ids: list[str], metric: Metric, threshold: float) -> float:
        # an answer withheld is right where there is none, as in its apply_no_ans_threshold
        scores = (
            metric(texts[id], golds[id]) if nulls[id] <= threshold else not golds[id] for id in ids
        )
        return 100 * sum(scores) / len(ids)

    (answer,) = found["squad_v2"]
    parts = {
        "": list(golds),
        "HasAns_": [id for id in golds if golds[id]],
        "NoAns_": [id for id in golds if not golds[id]],
    }
    for group, ids in parts.items():
        assert answer[f"{group}exact"] == pytest.approx(mean(ids, exact, 0.25))
        assert answer[f"{group}f1"] == pytest.approx(mean(ids, f1, 0.25))
        assert answer[f"{group}total"] == len(ids)
    thresholds = [min(nulls.values()) - 1, *sorted(set(nulls.values()))]
    for name, metric in (("exact", exact), ("f1", f1)):
        best = max(mean(parts[""], metric, threshold) for threshold in thresholds)
        assert answer[f"best_{name}"] == pytest.approx(best)
        at = answer[f"best_{name}_thresh"]
        assert mean(parts[""], metric, at) == pytest.approx(best)


def test_an_id_that_occurs_twice_and_a_null_score_without_order_are_refused() -> None:
    row = {"id": "1", "prediction_text": "", "no_answer_probability": 0.0}
    gold = {"id": "1", "answers": {"text": [], "answer_start": []}}
    with pytest.raises(ValueError, match="An id occurs twice"):
        squad_v2.SquadV2()._compute(predictions=[row], references=[gold, gold])
    with pytest.raises(ValueError, match="not finite"):
        squad_v2.SquadV2()._compute(
            predictions=[row | {"no_answer_probability": math.nan}], references=[gold]
        )


def test_a_configuration_that_is_unknown_is_refused_with_those_there_are() -> None:
    for name in (None, "squad"):
        with pytest.raises(ValueError, match=r"Name one of accuracy, f1, .* ax"):
            glue.Glue(name)


def test_what_training_calls_imports_no_evaluate() -> None:
    """It brings half of transformers: three seconds of every worker's start."""
    program = (
        "import sys\n"
        "from repro.tasks.metrics import conll_scores, glue_scores, squad_scores\n"
        "print({'evaluate', 'datasets', 'transformers'} & sys.modules.keys())"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "set()\n"
