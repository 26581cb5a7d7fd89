"""Principal components, t-SNE and cosine distances of a few vectors, against other computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import squareform
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.manifold._t_sne import _joint_probabilities
from sklearn.metrics.pairwise import cosine_distances as other_distances
from sklearn.metrics.pairwise import euclidean_distances

from repro.report.figures.embedding_maps import (
    Matrix,
    cosine_distances,
    divergence,
    neighbour_map,
    principal_components,
    similarities,
    slope,
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
def test_components_equal_those_of_scikit_learn(width: int) -> None:
    vectors = normal(1, width=width)
    other = PCA(svd_solver="full").fit(vectors)
    places, shares = principal_components(vectors)
    assert np.allclose(np.abs(places), np.abs(other.transform(vectors)[:, :2]))
    count = min(7, width)
    assert np.allclose(shares[:count], other.explained_variance_ratio_[:count])
    assert shares.sum() == pytest.approx(1.0)


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


def test_cosine_distances_equal_those_of_scikit_learn_and_by_hand() -> None:
    vectors = normal(3)
    assert np.allclose(cosine_distances(vectors), other_distances(vectors))
    found = cosine_distances(np.array([[1.0, 0.0], [5.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]))
    assert found[0].tolist() == [0.0, 0.0, 1.0, 2.0]


def test_a_zero_vector_has_no_distance() -> None:
    found = cosine_distances(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))
    assert np.isnan(found[0, 1:]).all()
    assert found[1, 2] == pytest.approx(1 - 0.5**0.5)


@pytest.mark.parametrize("perplexity", [2.0, 3.0, 5.0])
def test_similarities_equal_those_of_scikit_learn(perplexity: float) -> None:
    vectors = grouped()
    far = euclidean_distances(vectors, squared=True)
    other = squareform(_joint_probabilities(far, perplexity, 0))
    assert np.allclose(similarities(vectors, perplexity), other, atol=1e-5)
    assert similarities(vectors, perplexity).sum() == pytest.approx(1.0)


def test_similarities_of_points_at_one_distance_are_all_the_same() -> None:
    """Four corners of a simplex, perplexity 3: each has the other three, 1 / 12 a pair."""
    found = similarities(np.eye(4), 3.0)
    assert found == pytest.approx((1 - np.eye(4)) / 12)


def test_the_slope_is_that_of_the_divergence() -> None:
    near, place = similarities(grouped(), 3.0), normal(5, width=2)
    numbers = approx_fprime(place.ravel(), lambda flat: divergence(near, flat.reshape(-1, 2)), 1e-7)
    assert slope(near, place).ravel() == pytest.approx(numbers, abs=1e-5)


def test_the_map_is_about_as_true_as_scikit_learns() -> None:
    """KL divergence, in nats, at most 0.03 above the best of its own runs from other starts."""
    for seed in range(2):
        vectors = grouped(seed)
        others = [
            TSNE(perplexity=3, method="exact", init="random", random_state=state).fit(vectors)
            for state in range(2)
        ]
        own = divergence(similarities(vectors, 3.0), neighbour_map(vectors))
        assert own <= min(other.kl_divergence_ for other in others) + 0.03


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
    assert np.abs(neighbour_map(vectors) - neighbour_map(other)).max() < 1e-8
    assert neighbour_map(vectors).mean(axis=0) == pytest.approx([0.0, 0.0], abs=1e-12)
