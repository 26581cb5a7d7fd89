"""Pure functions on numbers: what a comparison says."""
