"""What the further text tasks are: those of Houlsby et al. (section 3.3), and SICK.

Sizes: Houlsby et al. 2019, Table 3 (a test holds them to its CSV), and SemEval-2014 task 1. Label
names are those of the sets' owners, in the order of the local format's numbers.
"""

from __future__ import annotations

from repro.spec.facts import Facts
from repro.spec.glue import NLI
from repro.spec.tasks import TextName

SICK = {"train": 4_500, "validation": 500, "test": 4_927}
SICK_PAIR = ("sentence_A", "sentence_B")
SIDES = ("no", "yes")


def _set(
    title: str, labels: tuple[str, ...], train: int, validation: int, test: int, text: str = "text"
) -> Facts:
    """A set of Houlsby et al.: one text, scored by accuracy on validation and on test rows."""
    rows = {"train": train, "validation": validation, "test": test}
    return Facts(title, (text,), labels, ("accuracy",), "accuracy", rows, tested=True)


TEXTS: dict[TextName, Facts] = {
    "20-newsgroups": _set(
        "20 newsgroups",
        (
            "alt.atheism", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware",
            "comp.sys.mac.hardware", "comp.windows.x", "misc.forsale", "rec.autos",
            "rec.motorcycles", "rec.sport.baseball", "rec.sport.hockey", "sci.crypt",
            "sci.electronics", "sci.med", "sci.space", "soc.religion.christian",
            "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc",
            "talk.religion.misc",
        ),
        15_076, 1_885, 1_885,
    ),
    "airline": _set(
        "Crowdflower airline", ("negative", "neutral", "positive"), 11_712, 1_464, 1_464
    ),
    "corporate-messaging": _set(
        "Crowdflower corporate messaging",
        ("Action", "Dialogue", "Exclude", "Information"), 2_494, 312, 312,
    ),
    "disasters": _set(
        "Crowdflower disasters", ("Not Relevant", "Relevant"), 8_688, 1_086, 1_086
    ),
    "economic-news": _set("Crowdflower economic news relevance", SIDES, 6_392, 799, 800),
    "emotion": _set(
        "Crowdflower emotion",
        (
            "anger", "boredom", "empty", "enthusiasm", "fun", "happiness", "hate", "love",
            "neutral", "relief", "sadness", "surprise", "worry",
        ),
        32_000, 4_000, 4_000,
    ),
    "global-warming": _set("Crowdflower global warming", ("No", "Yes"), 3_380, 422, 423),
    "political-audience": _set(
        "Crowdflower political audience", ("constituency", "national"), 4_000, 500, 500
    ),
    "political-bias": _set(
        "Crowdflower political bias", ("neutral", "partisan"), 4_000, 500, 500
    ),
    "political-message": _set(
        "Crowdflower political message",
        (
            "attack", "constituency", "information", "media", "mobilization", "other", "personal",
            "policy", "support",
        ),
        4_000, 500, 500,
    ),
    "primary-emotions": _set(
        "Crowdflower primary emotions",
        (
            "Aggression", "Ambiguous", "Anger", "Anticipation", "Awe", "Contempt", "Disapproval",
            "Disgust", "Fear", "Joy", "Love", "Neutral", "Optimism", "Remorse", "Sadness",
            "Submission", "Surprise", "Trust",
        ),
        2_019, 252, 253,
    ),
    "progressive-opinion": _set(
        "Crowdflower progressive opinion",
        ("about the target", "about something else", "no opinion"), 927, 116, 116,
    ),
    "progressive-stance": _set(
        "Crowdflower progressive stance",
        ("AGAINST", "FOR", "NEUTRAL", "NONE OF THE ABOVE"), 927, 116, 116,
    ),
    "us-economic": _set("Crowdflower US economic performance", SIDES, 3_961, 495, 496),
    "customer-complaints": _set(
        "Customer complaint database", tuple(f"issue {n}" for n in range(157)),
        146_667, 18_333, 18_334,
    ),
    "news-aggregator": _set(
        "News aggregator dataset",
        ("business", "entertainment", "health", "science and technology"),
        338_349, 42_294, 42_294,
    ),
    "sms-spam": _set("SMS spam collection", ("ham", "spam"), 4_459, 557, 558, text="sms"),
    "sick-e": Facts("SICK-E", SICK_PAIR, NLI, ("accuracy",), "accuracy", SICK, tested=True),
    "sick-r": Facts(
        "SICK-R", SICK_PAIR, (), ("pearson", "spearman"), "pearson", SICK,
        label="relatedness_score", bounds=(1.0, 5.0), tested=True,
    ),
}  # fmt: skip
"""The names of the 157 issues of customer complaints are not printed anywhere we know of."""
HOULSBY: tuple[TextName, ...] = tuple(name for name in TEXTS if not name.startswith("sick"))
"""The 17 sets of Houlsby et al.'s Table 2, in its order."""
