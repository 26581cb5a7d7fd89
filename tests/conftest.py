"""Makes the helper modules beside this file importable, and property tests equal on every run."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repro", derandomize=True, deadline=None)
settings.load_profile("repro")
