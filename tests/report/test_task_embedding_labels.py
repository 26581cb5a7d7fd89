"""Names beside the points of a map: none on another, on a mark or beyond the frame."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from repro.report.figures.embedding_labels import Box, Place, is_far, place_names

FRAME = Box(0.0, 0.0, 300.0, 300.0)
SIZE = (34.0, 10.0)


def boxes(found: dict[int, Place]) -> list[Box]:
    return [Box.around(middle, SIZE[0] / 2, SIZE[1] / 2) for middle in found.values()]


def placed(
    marks: dict[int, Place], lines: list[tuple[Place, Place]] | None = None
) -> dict[int, Place]:
    return place_names(marks, dict.fromkeys(marks, SIZE), 8.0, FRAME, lines or [])


def test_overlap_and_what_lies_beyond_by_hand() -> None:
    one, other = Box(0, 0, 4, 4), Box(3, 1, 9, 2)
    assert one.overlap(other) == other.overlap(one) == 1.0
    assert one.overlap(Box(4, 0, 5, 4)) == 0.0
    assert Box(-1, -1, 1, 1).beyond(Box(0, 0, 9, 9)) == 3.0


def test_a_lone_name_stands_to_the_right_of_its_mark() -> None:
    ((x, y),) = placed({0: (100.0, 100.0)}).values()
    assert (x, y) == pytest.approx((100 + SIZE[0] / 2 + 4 + 2, 100))


def test_a_name_at_the_right_edge_stays_within_the_frame() -> None:
    (middle,) = placed({0: (295.0, 150.0)}).values()
    assert middle[0] < 295
    assert boxes({0: middle})[0].beyond(FRAME) == 0.0


@pytest.mark.parametrize("spread", [0.0, 3.0, 15.0, 60.0])
def test_no_name_is_on_another_or_on_a_mark_however_close_the_points(spread: float) -> None:
    for seed in range(5):
        stream = np.random.default_rng(seed)
        places = stream.uniform(-1, 1, size=(8, 2)).tolist()
        marks = {i: (150 + spread * x, 150 + spread * y) for i, (x, y) in enumerate(places)}
        found = boxes(placed(marks))
        assert all(one.overlap(other) == 0.0 for one, other in combinations(found, 2))
        points = [Box.around(mark, 4.0, 4.0) for mark in marks.values()]
        assert all(box.overlap(point) == 0.0 for box in found for point in points)


def test_a_name_makes_way_for_a_line_where_that_is_near() -> None:
    marks: dict[int, Place] = {0: (100.0, 150.0), 1: (220.0, 150.0)}
    line = [(marks[0], marks[1])]
    assert placed(marks)[0][0] > 100
    assert placed(marks, line)[0][0] < 100
    assert placed(marks, line)[1][0] > 220


def test_a_line_joins_a_mark_to_a_name_that_is_far() -> None:
    assert not is_far((123.0, 100.0), (100.0, 100.0), SIZE, 8.0)  # 6 between them
    assert is_far((127.0, 100.0), (100.0, 100.0), SIZE, 8.0)  # 10
    assert is_far((123.0, 111.0), (100.0, 100.0), SIZE, 8.0)  # 6 across, 6 up: 8.5
