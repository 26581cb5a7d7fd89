"""Folders that environment variables and options name."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(given: str | Path) -> Path:
    """The path with a leading `~` read as a shell reads it: `REPRO_STORE="~/x"` is not expanded."""
    return Path(os.path.expanduser(given))


def cache_folder() -> Path:
    """Where copies of what lies elsewhere are kept: `$REPRO_CACHE`, else `repro` in the user's
    cache directory.
    """
    given = named_by("REPRO_CACHE")
    return given or (named_by("XDG_CACHE_HOME") or Path.home() / ".cache") / "repro"


def named_by(variable: str) -> Path | None:
    """The folder that an environment variable names, None where it is not set or empty."""
    given = os.environ.get(variable)
    return expanded(given) if given else None
