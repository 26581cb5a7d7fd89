"""`python -m repro`."""

import os
import sys

# `-m` puts the current folder first: a file there must not be imported in a library's place.
try:
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():
        del sys.path[0]
except FileNotFoundError:  # the current folder was removed, so nothing lies in it
    pass

from repro.cli.main import main

main()
