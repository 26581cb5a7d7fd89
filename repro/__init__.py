"""repro: the adapter papers of NLP, reproduced table by table."""

__version__ = "0.1.0"
