"""Requests made without looking for data."""

from __future__ import annotations

from typing import Any

from repro.papers.request import SHORT_NAMES, Request, settings_of


def made(**fields: Any) -> Request:
    """The request; a short name of `--set` (epochs=2) is the setting that it stands for."""
    short = {name: fields.pop(name) for name in SHORT_NAMES if name in fields}
    settings = settings_of(**short) | fields.pop("settings", {})
    return Request(**fields, settings=settings)
