"""What the papers published, and which run would reproduce each cell. Plain data.

A paper is a folder here: its tables, figures and claims in Python files, its numbers in
`published/*.csv`. Further papers stand in the folders that the variable REPRO_PAPERS names.
"""

import os

FURTHER = [folder for folder in os.environ.get("REPRO_PAPERS", "").split(os.pathsep) if folder]
__path__ += FURTHER
