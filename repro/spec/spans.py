"""Spans of layers whose adapters are switched off, and what their scores are called."""

from __future__ import annotations

INTACT = "intact"
"""The group of the scores with every adapter on."""

Span = tuple[int, int]
"""First and last layer of a span, from 0, both in it."""


def all_spans(layers: int) -> list[Span]:
    """Every span of an encoder: layers * (layers + 1) / 2, by first layer, then by last."""
    return [(first, last) for first in range(layers) for last in range(first, layers)]


def span_group(span: Span) -> str:
    """The group of a span's scores: "layers 2-5"."""
    return f"layers {span[0]}-{span[1]}"
