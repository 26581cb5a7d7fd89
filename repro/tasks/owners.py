"""Where each data set is published by its owner, for people who fetch it by hand."""

from __future__ import annotations

from dataclasses import dataclass

from repro.spec.glue import GLUE


@dataclass(frozen=True, slots=True)
class Owner:
    """Who publishes a set, where, under which terms; `how` its files become the local format."""

    name: str
    url: str
    terms: str = "see the owner's page"
    how: str = ""


CROWDFLOWER = "Figure Eight (CrowdFlower), Data for Everyone"


def _crowd(slug: str, how: str) -> Owner:
    """`slug`: the set's page of the owner's on data.world; "" for the list of all its sets."""
    url = f"https://data.world/crowdflower/{slug}".rstrip("/")
    return Owner(CROWDFLOWER, url, "free for public use", how)


GLUE_OWNER = Owner("GLUE (Wang et al. 2018)", "https://gluebenchmark.com/tasks")
MEDIA = "'Classification of political social media'; text: the message; label: the column "
PROGRESSIVE = "'Progressive issues sentiment analysis'; label: "
OWNERS: dict[str, Owner] = {
    **dict.fromkeys(map(str, GLUE), GLUE_OWNER),
    "20-newsgroups": Owner(
        "Ken Lang; the bydate version of Jason Rennie", "http://qwone.com/~jason/20Newsgroups/",
        "not stated", "train and test of the bydate version, one file each; headers kept",
    ),
    "airline": _crowd("airline-twitter-sentiment", "label: airline_sentiment"),
    "corporate-messaging": _crowd("corporate-messaging", "label: category"),
    "disasters": _crowd(
        "disasters-on-social-media", "label: choose_one; rows that nobody could decide left out"
    ),
    "economic-news": _crowd(
        "economic-news-article-tone", "label: relevance, yes or no; 'not sure' left out"
    ),
    "emotion": _crowd("sentiment-analysis-in-text", "label: sentiment"),
    "global-warming": _crowd(
        "sentiment-of-climate-change", "label: existence; Y is Yes, N is No, N/A left out"
    ),
    "political-audience": _crowd("", f"{MEDIA}audience"),
    "political-bias": _crowd("", f"{MEDIA}bias"),
    "political-message": _crowd("", f"{MEDIA}message"),
    "primary-emotions": _crowd("", "'Primary emotions of statements'; label: emotion"),
    "progressive-opinion": _crowd("", f"{PROGRESSIVE}opinion"),
    "progressive-stance": _crowd("", f"{PROGRESSIVE}stance"),
    "us-economic": _crowd(
        "", "'U.S. economic performance based on news articles'; label: relevance, yes or no; "
        "'not sure' left out",
    ),
    "customer-complaints": Owner(
        "Consumer Financial Protection Bureau",
        "https://www.consumerfinance.gov/data-research/consumer-complaints/", "public domain",
        "complaints with a narrative; label: issue, numbered in alphabetical order",
    ),
    "news-aggregator": Owner(
        "F. Gasparetti, UCI Machine Learning Repository",
        "https://archive.ics.uci.edu/dataset/359/news+aggregator", "CC BY 4.0",
        "text: TITLE; label: CATEGORY (b, e, m, t)",
    ),
    "sms-spam": Owner(
        "T. Almeida and J. Hidalgo, UCI Machine Learning Repository",
        "https://archive.ics.uci.edu/dataset/228/sms+spam+collection", "CC BY 4.0",
        "sms: the message; label: ham or spam",
    ),
    **dict.fromkeys(
        ("sick-e", "sick-r"),
        Owner(
            "Marelli et al., SemEval-2014 task 1", "https://zenodo.org/records/2787612",
            "CC BY-NC-SA 3.0", "train, trial (validation) and test with gold labels",
        ),
    ),
    "scitail": Owner(
        "Khot, Sabharwal and Clark 2018", "https://allenai.org/data/scitail",
        how="the tsv format: premise, hypothesis, label (entails, neutral)",
    ),
    "cb": Owner(
        "De Marneffe, Simons and Tonhauser 2019; SuperGLUE",
        "https://super.gluebenchmark.com/tasks",
        how="premise, hypothesis, label, as SuperGLUE numbers them",
    ),
    "imdb": Owner(
        "Maas et al. 2011", "https://ai.stanford.edu/~amaas/data/sentiment/", "not stated",
        "a review a row; label: 0 of neg, 1 of pos",
    ),
    "yelp-polarity": Owner(
        "Zhang, Zhao and LeCun 2015, from the Yelp Dataset Challenge 2015",
        "https://www.yelp.com/dataset", "Yelp's terms of use",
        "a review a row; label: the owner's class less 1",
    ),
    "squad1": Owner(
        "Rajpurkar et al. 2016", "https://rajpurkar.github.io/SQuAD-explorer/", "CC BY-SA 4.0"
    ),
    "squad2": Owner(
        "Rajpurkar et al. 2018", "https://rajpurkar.github.io/SQuAD-explorer/", "CC BY-SA 4.0"
    ),
    "conll2003": Owner(
        "Tjong Kim Sang and De Meulder 2003", "https://www.clips.uantwerpen.be/conll2003/ner/",
        "the Reuters corpus RCV1 has to be asked for at NIST",
        "tokens and ner_tags of a sentence a row",
    ),
}  # fmt: skip
"""Task -> owner; every task of `repro.tasks.catalogue` has one."""
