"""repro: the adapter papers of NLP, reproduced table by table.

In Python, `repro.list()`, `repro.published(id)`, `repro.results()`, `repro.comparison(id)`,
`repro.judged(frame)` and `repro.history(key)` give pandas frames; see docs/python.md.
"""

# Before the face: the package `repro.comparison` would else take the place of the function.
from repro.comparison.verdicts import judged
from repro.face import comparison, history, list, published, results

__all__ = ["comparison", "history", "judged", "list", "published", "results"]
__version__ = "0.1.0"
