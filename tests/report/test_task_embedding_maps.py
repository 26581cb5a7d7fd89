"""Principal components, t-SNE and cosine distances of a few vectors, against other computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.manifold import TSNE
from sklearn.metrics.pairwise import euclidean_distances

from repro.report.figures.embeddings import (
    Matrix,
    cosine_distances,
    neighbour_map,
    principal_components,
)


def normal(seed: int = 0, points: int = 8, width: int = 64) -> Matrix:
    return np.random.default_rng(seed).normal(size=(points, width))


def grouped(seed: int = 0, apart: float = 1.0) -> Matrix:
    """Two groups of three and two single ones; 1: apart by about as much as they are wide."""
    stream, found = np.random.default_rng(seed + 1_000), normal(seed)
    found[:3] += apart * stream.normal(size=64)
    found[3:6] += apart * stream.normal(size=64)
    return found


@pytest.mark.parametrize("width", [64, 512, 5])
def test_shares_of_the_variance_are_those_of_the_covariance(width: int) -> None:
    vectors = normal(1, width=width)
    variances = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    places, shares = principal_components(vectors)
    assert places.var(axis=0, ddof=1) == pytest.approx(variances[:2])
    assert shares[:5] == pytest.approx(variances[:5] / variances.sum())


def test_the_largest_loading_of_a_component_is_positive() -> None:
    """On a line of slope -2: the direction is (1, -2) / sqrt(5), turned so that -2 counts up."""
    vectors = np.array([[0.0, 0.0], [1.0, -2.0], [2.0, -4.0]])
    places, shares = principal_components(vectors)
    assert places[:, 0] == pytest.approx([5**0.5, 0.0, -(5**0.5)])
    assert shares == pytest.approx([1.0, 0.0])
    assert principal_components(-vectors)[0][:, 0] == pytest.approx([-(5**0.5), 0.0, 5**0.5])
    stream = normal(4)
    places, _ = principal_components(stream)
    loadings = np.linalg.lstsq(places, stream - stream.mean(axis=0), rcond=None)[0]
    assert all(row[np.abs(row).argmax()] > 0 for row in loadings)


def test_equal_vectors_have_no_component_and_no_map() -> None:
    same = np.tile(normal(2, points=1), (8, 1))
    for mapped in (principal_components, neighbour_map):
        with pytest.raises(ValueError, match="the same"):
            mapped(same)


def test_cosine_distances_by_hand() -> None:
    found = cosine_distances(np.array([[1.0, 0.0], [5.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]))
    assert found[0].tolist() == [0.0, 0.0, 1.0, 2.0]


def test_a_zero_vector_has_no_distance() -> None:
    found = cosine_distances(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))
    assert np.isnan(found[0, 1:]).all()
    assert found[1, 2] == pytest.approx(1 - 0.5**0.5)


def test_the_map_is_the_best_that_is_found_from_other_starts() -> None:
    """Of two points the nearer is the same as in the map with the least KL divergence of three."""
    vectors = grouped(1)
    others = [
        TSNE(perplexity=3, method="exact", init="random", random_state=state).fit(vectors)
        for state in range(3)
    ]
    best = min(others, key=lambda other: float(other.kl_divergence_)).embedding_
    own, other = (euclidean_distances(place) for place in (neighbour_map(vectors), best))
    upper = np.triu_indices(8, 1)
    assert spearmanr(own[upper], other[upper]).statistic > 0.8


def test_groups_stay_together_in_the_map() -> None:
    place = neighbour_map(grouped(apart=2.0))
    far = euclidean_distances(place) + np.diag([np.inf] * 8)
    for group in (range(3), range(3, 6)):
        assert {int(far[i].argmin()) for i in group} <= set(group)


@pytest.mark.parametrize("seed", range(6))
def test_a_difference_in_the_last_bits_changes_the_map_no_more(seed: int) -> None:
    """What other machines round otherwise does not show in the four decimals that are written."""
    vectors = normal(seed) if seed % 2 else grouped(seed)
    other = vectors * (1 + 1e-15 * normal(seed + 100))
    assert np.abs(neighbour_map(vectors) - neighbour_map(other)).max() < 2e-5
    assert neighbour_map(vectors).mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)
