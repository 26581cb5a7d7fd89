"""`python -m repro`."""

import gc
import os
import sys


def run() -> None:
    """Runs a verb. The papers are imported with it: a mistake in a further one is one sentence.

    All verbs but the one that trains end soon and make much that lasts until then, so garbage is
    looked for seldom: a tenth of a table's time, a quarter of a large plan's.
    """
    if sys.argv[1:2] != ["worker"]:
        gc.set_threshold(100_000, 50, 100)
    from repro.errors import ReproError

    try:
        from repro.cli.main import main
    except ReproError as problem:
        print(f"repro: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    main()


if __name__ == "__main__":
    # `-m` puts the current folder first: a file there must not be imported in a library's place.
    try:
        if not sys.flags.safe_path and sys.path[0] == os.getcwd():
            del sys.path[0]
    except FileNotFoundError:  # the current folder was removed, so nothing lies in it
        pass
    run()
