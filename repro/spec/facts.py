"""What is known of every data set: its rows, labels and published sizes, and who publishes it.

`data_sets.json` beside this file declares the sets in groups. A group's own keys hold for all of
its sets, "{}" is a set's name, and the keys of a set are those of `Facts`; docs/data.md describes
the files of a local copy. Sources: Wang et al. 2018 (Table 1) and the card of nyu-mll/glue for
GLUE; Houlsby et al. 2019 (Table 3; a test compares) and the owners' pages for the further texts;
SemEval 2014 task 1 for SICK; rabeehk/hyperformer (data/tasks.py) and the sets' cards for the
few-shot sets; Rajpurkar, Jia and Liang 2018 (Table 2) for SQuAD; Tjong Kim Sang and De Meulder 2003
for CoNLL.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Metric = Literal["matthews", "accuracy", "f1", "pearson", "spearman"]
DECLARED = Path(__file__).parent / "data_sets.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who publishes a set, where, under which terms; `made_of`: how its files become local ones."""

    name: str
    url: str
    terms: str
    made_of: str = ""


NOBODY = Owner("", "", "")


@dataclass(frozen=True, slots=True)
class Facts:
    """One data set, and the task on it."""

    name: str
    title: str
    texts: tuple[str, ...]
    """Fields that are texts; of CoNLL the words."""
    rows: dict[str, int]
    """Published split -> its rows."""
    metrics: tuple[Metric, ...] = ()
    """The first one picks the best epoch, as in the released code of the 3-shared report."""
    kind: Literal["sentences", "questions", "tags"] = "sentences"
    """What a row is: one or two texts with a label, a question of SQuAD, or a tagged sentence."""
    label: str = "label"
    """The field that holds the class or the number, the answers, or the tags."""
    labels: tuple[str, ...] = ()
    """Names of the classes in the order of their published numbers; empty of a regression."""
    bounds: tuple[float, float] = (0.0, 5.0)
    """Least and largest number of a regression."""
    known_by: Literal["idx", "id", "place", "number"] = "place"
    """What identifies a row to a draw: a field of its own, its place in the split's file, or its
    number over all files."""
    scored: tuple[str, ...] = ("validation",)
    """How the names of the splits begin that are scored."""
    joined: bool = False
    """No split is published: whichever files are there are joined, and cut by a seed."""
    combined: bool = False
    """Where training rows are divided, the mean of its two metrics is scored too: the released code
    of Adaptable Adapters computes it, as "combined score"."""
    unanswerable: dict[str, int] = field(default_factory=dict)
    """Published split -> questions without an answer."""
    fields: tuple[str, ...] = ()
    """Fields of a published row in their order, where it has others than `known` says."""
    hub_labels: tuple[str, ...] = ()
    """The hub's names of the classes, where they are others."""
    folder: str = ""
    """Folder of the local files below $REPRO_DATA; empty of a set that is only generated."""
    hub_id: str = ""
    """Repository on the hub; empty of a set that comes as local files only."""
    hub_folder: str = ""
    """Its configuration there."""
    owner: Owner = NOBODY
    tokens: int = 40
    """Mean tokens of a training input that are no padding: measured with BERT's vocabulary for GLUE
    and SQuAD, else assumed. Plans estimate by it."""
    generated_tokens: int = 16
    """The same of an input that is made from a seed."""

    @property
    def monitor(self) -> Metric:
        """The metric that picks the best epoch."""
        return self.metrics[0]

    @property
    def outputs(self) -> int:
        """Numbers that a classifier gives for an example."""
        return len(self.labels) or 1

    @property
    def evaluation(self) -> tuple[str, ...]:
        """The splits that are scored; the first one selects."""
        return tuple(split for split in self.rows if split.startswith(self.scored))

    @property
    def needed(self) -> tuple[str, ...]:
        """The splits that a run reads: the training rows and those that are scored."""
        return ("train", *self.evaluation)

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that every row has to have."""
        return (*self.texts, self.label, *(("idx",) if self.known_by == "idx" else ()))

    @property
    def known(self) -> tuple[str, ...]:
        """The fields that are read at all, in the order in which a row is written."""
        extra = ("label_text", "id") if self.kind == "sentences" else ()
        return tuple(dict.fromkeys((*self.fields, *self.required, *extra)))


def _read() -> dict[str, dict[str, Facts]]:
    """Group -> name -> facts, in the order of the file."""
    groups = json.loads(DECLARED.read_bytes())
    owners = groups.pop("owners")
    return {
        group: {
            name: _facts(name, {**declared, **own}, owners)
            for name, own in declared.pop("sets").items()
        }
        for group, declared in groups.items()
    }


def _facts(name: str, given: dict[str, Any], owners: dict[str, dict[str, str]]) -> Facts:
    found: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    made_of, page = found.pop("made_of", ""), found.pop("page", "")
    if "owner" in found:
        owner = owners[found["owner"]]
        found["owner"] = Owner(**{**owner, "url": page or owner["url"]}, made_of=made_of)
    if "classes" in found:  # names that are not published
        numbers = range(found.pop("classes"))
        found["labels"] = tuple(found["labels"].format(number) for number in numbers)
    for key in ("folder", "hub_folder"):
        found[key] = found.get(key, "").format(name)
    return Facts(name=name, **found)


SETS = _read()
"""Group -> name -> facts: "glue", "diagnostic", "texts", "squad", "tagging", "few-shot", and
"generated", which nobody publishes."""
KNOWN: dict[str, Facts] = {name: facts for group in SETS.values() for name, facts in group.items()}
SENTENCES: dict[str, Facts] = SETS["glue"] | SETS["texts"]
"""The sets of one or two texts with a class or a number each."""
