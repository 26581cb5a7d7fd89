"""Results of runs by key, on disk: atomic, checksummed, shared by processes. Imports no torch."""

from repro.store.entry import StoredRun
from repro.store.result import Failure, FailureKind, Result, Score, render
from repro.store.store import State, Store

__all__ = ["Failure", "FailureKind", "Result", "Score", "State", "Store", "StoredRun", "render"]
