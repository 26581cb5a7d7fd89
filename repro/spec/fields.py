"""Declares, for every field of a spec, whether it is part of a run's identity.

A field made by `identity` can change a trained number and enters the key. A field made by `detail`
cannot (a citation, a display name, a count that follows from other fields) and stays out of it.
`tests/spec/test_identity.py` fails while a field is declared by neither.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

MARK = "identity"
LATER = "later"


class Spec(BaseModel):
    """Base of all value types: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def identity(default: Any = ..., *, doc: str, later: bool = False, **rules: Any) -> Any:
    """A field that enters the run key. `rules` are pydantic's own (gt, ge, ...).

    A `later` field came when results were stored already: it enters the key only where it has not
    its default, which is what those runs did, so that their keys stand.
    """
    return Field(default, description=doc, json_schema_extra={MARK: True, LATER: later}, **rules)


def detail(default: Any = ..., *, doc: str, **rules: Any) -> Any:
    """A field that is stored and shown but never enters the run key."""
    return Field(default, description=doc, json_schema_extra={MARK: False}, **rules)
