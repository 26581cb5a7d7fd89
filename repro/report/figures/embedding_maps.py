"""Vectors of a few tasks in two dimensions, and how far they are from each other, in numpy alone.

Both maps are tested against scikit-learn. Neither draws a random number, and none magnifies a
difference in rounding: the same vectors give the same map, on any machine, to many digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
PERPLEXITY = 3.0
"""Effective neighbours of a point in t-SNE: below half of the other seven."""
STEPS, RATE, MOMENTUM, START = 1000, 1.0, 0.8, 1e-4
"""Of t-SNE's descent; `START` is the spread that it begins with. Small steps without exaggerated
similarities, which are for many points: with scikit-learn's rate of 50 eight points jump about, so
that the last bit of an input decides which map comes out.
"""
LEAST = 1e-12
"""A probability is no smaller."""


def principal_components(vectors: Matrix) -> tuple[Matrix, Matrix]:
    """(points, 2) on the two directions of most variance, and each direction's share of it.

    The largest loading of a direction, by absolute value, is positive. `vectors` is (points, width)
    of two points at least. Raises ValueError where all are the same.
    """
    centred = vectors - vectors.mean(axis=0)
    left, scale, loadings = np.linalg.svd(centred, full_matrices=False)
    if scale[0] <= len(vectors) * np.finfo(float).eps * np.linalg.norm(vectors):
        raise ValueError("all embeddings are the same")
    largest = np.abs(loadings).argmax(axis=1)
    signs = np.sign(loadings[np.arange(len(loadings)), largest])
    shares = scale**2 / (scale**2).sum()
    return (left * scale * signs)[:, :2], shares


def cosine_distances(vectors: Matrix) -> Matrix:
    """(points, points): 1 - cos of the angle, from 0 (same direction) to 2; NaN for a zero one."""
    norms = np.linalg.norm(vectors, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = 1.0 - (vectors @ vectors.T) / np.outer(norms, norms)
    found = found.clip(0.0, 2.0)  # which rounding may leave
    found[np.arange(len(found)), np.arange(len(found))] = 0.0
    return found


def neighbour_map(vectors: Matrix, perplexity: float = PERPLEXITY) -> Matrix:
    """t-SNE (van der Maaten & Hinton 2008), exact, (points, 2): neighbours stay neighbours.

    It starts from the two principal components. `vectors` is (points, width) of more points than
    `perplexity`. Raises ValueError where all are the same.
    """
    start = principal_components(vectors)[0]
    near = similarities(vectors, perplexity)
    place: Matrix = start / start[:, 0].std() * START
    change = np.zeros_like(place)
    for _ in range(STEPS):
        change = MOMENTUM * change - RATE * slope(near, place)
        place = place + change
    place -= place.mean(axis=0)
    return place


def similarities(vectors: Matrix, perplexity: float) -> Matrix:
    """p_ij of t-SNE, (points, points), 0 on the diagonal, 1 together.

    p_j|i ~ exp(-beta_i |x_i - x_j|^2), beta_i such that its entropy is log(perplexity).
    """
    number = len(vectors)
    squared = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=-1)
    given = np.zeros_like(squared)
    for i in range(number):
        others = np.arange(number) != i
        given[i, others] = _of_perplexity(squared[i, others], perplexity)
    joint = (given + given.T) / (2 * number)
    return np.where(np.eye(number, dtype=bool), 0.0, joint.clip(min=LEAST))


def divergence(near: Matrix, place: Matrix) -> float:
    """KL(P || Q), what t-SNE makes small, in nats."""
    likeness = _likeness(place)
    mapped = (likeness / likeness.sum()).clip(min=LEAST)
    apart = near > 0
    return float((near[apart] * np.log(near[apart] / mapped[apart])).sum())


def slope(near: Matrix, place: Matrix) -> Matrix:
    """Gradient of the divergence: 4 sum_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2)."""
    likeness = _likeness(place)
    pull = (near - (likeness / likeness.sum()).clip(min=LEAST)) * likeness
    found: Matrix = 4.0 * (pull.sum(axis=1)[:, None] * place - pull @ place)
    return found


def _of_perplexity(squared: Matrix, perplexity: float) -> Matrix:
    """Probabilities of one point's neighbours, by bisection on the logarithm of beta."""
    nearest = squared - squared.min()
    scale = nearest.mean() or 1.0
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        weights = np.exp(-np.exp(middle) * nearest / scale)
        shares: Matrix = weights / weights.sum()
        entropy = -(shares * np.log(shares.clip(min=LEAST))).sum()
        low, high = (middle, high) if entropy > np.log(perplexity) else (low, middle)
    return shares


def _likeness(place: Matrix) -> Matrix:
    """Student's t of one degree of freedom, 0 on the diagonal."""
    found: Matrix = 1.0 / (1.0 + ((place[:, None] - place[None]) ** 2).sum(axis=-1))
    np.fill_diagonal(found, 0.0)
    return found
