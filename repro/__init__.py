"""repro: the adapter papers of NLP, reproduced table by table.

In Python, `repro.list()`, `repro.published(id)`, `repro.results()`, `repro.comparison(id)`,
`repro.compare(first, second, table)`, `repro.sweep(id, row, settings)`, `repro.judged(frame)` and
`repro.history(key)` give pandas frames, and `repro.add(id, name, scores)` adds numbers of your own;
see docs/python.md.
"""

# The package first: were it imported later, it would take the place of the function of its name.
import repro.comparison  # noqa: F401
from repro.face import add, compare, comparison, history, judged, list, published, results, sweep

__all__ = [
    "add", "compare", "comparison", "history", "judged", "list", "published", "results", "sweep",
]  # fmt: skip
__version__ = "0.1.0"
