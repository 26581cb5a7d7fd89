"""repro: the adapter papers of NLP, reproduced table by table.

In Python, `repro.list()`, `repro.published(id)`, `repro.results()`, `repro.comparison(id)`,
`repro.sweep(id, row, settings)`, `repro.judged(frame)` and `repro.history(key)` give pandas frames;
see docs/python.md.
"""

# The package first: were it imported later, it would take the place of the function of its name.
import repro.comparison  # noqa: F401
from repro.face import comparison, history, judged, list, published, results, sweep

__all__ = ["comparison", "history", "judged", "list", "published", "results", "sweep"]
__version__ = "0.1.0"
