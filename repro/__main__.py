"""`python -m repro`."""

from repro.cli.main import main

main()
