"""Starts a worker of the package that holds this file: `python -P .../start.py STORE ...`.

The package is loaded by its place, not looked up, and `-P` keeps the current folder off the path:
neither another checkout there nor a file that has a library's name is imported in place of the
code that planned the job.
"""

from __future__ import annotations

import importlib.util
import os
import sys

if __name__ == "__main__":
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = importlib.util.spec_from_file_location(
        "repro", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert found is not None
    assert found.loader is not None
    sys.modules["repro"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(sys.modules["repro"])
    from repro.engine.worker import main

    sys.exit(main(sys.argv[1:]))
