"""Makes the helper modules beside this file importable; tests are quick and equal on every run."""

from __future__ import annotations

import os

from hypothesis import settings

# Before torch is imported: tests' tensors are too small to share among threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("repro", derandomize=True, deadline=None)
settings.load_profile("repro")
