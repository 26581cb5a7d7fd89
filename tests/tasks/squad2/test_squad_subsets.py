"""Which rows a cap and a share keep."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from squad_examples import dev_questions, question, task

from repro.errors import ReproError
from repro.tasks.squad2.questions import (
    CS224N_TITLES,
    Question,
    capped,
    evaluation_sets,
    with_share,
)


def _set(answerable: int, unanswerable: int, prefix: str = "q") -> list[Question]:
    """So many questions of each class, mixed in a fixed order."""
    made = [question(f"{prefix}a{n}", "Ann met Bo.", "Bo") for n in range(answerable)]
    made += [question(f"{prefix}u{n}", "Ann met Bo.") for n in range(unanswerable)]
    random.Random(0).shuffle(made)
    return made


def _ids(questions: Sequence[Question]) -> list[str]:
    return [each.id for each in questions]


def _share(questions: Sequence[Question]) -> float:
    return sum(each.answerable for each in questions) / len(questions)


def test_file_order_keeps_the_first_rows() -> None:
    questions = _set(30, 20)
    assert capped(questions, 10, "file-order", 3) == questions[:10]


def test_no_cap_and_a_wide_cap_keep_everything() -> None:
    questions = _set(3, 2)
    assert capped(questions, None, "shuffled", 0) == questions
    assert capped(questions, 5, "shuffled", 0) == questions


def test_a_draw_keeps_file_order_and_depends_on_the_seed() -> None:
    questions = _set(60, 40)
    drawn = capped(questions, 25, "shuffled", 0)
    assert len(drawn) == 25
    assert _ids(drawn) == [id for id in _ids(questions) if id in set(_ids(drawn))]
    assert drawn == capped(questions, 25, "shuffled", 0)
    assert drawn != capped(questions, 25, "shuffled", 1)
    assert drawn != questions[:25]


def test_a_smaller_cap_keeps_a_part_of_a_larger_one() -> None:
    questions = _set(60, 40)
    small, large = (set(_ids(capped(questions, rows, "shuffled", 0))) for rows in (10, 40))
    assert small < large


def test_rows_elsewhere_do_not_change_which_of_the_old_rows_come_first() -> None:
    old = _set(60, 40)
    mixed = _set(20, 20, "new") + old[::-1]
    drawn = [id for id in _ids(capped(mixed, 70, "shuffled", 0)) if not id.startswith("new")]
    assert set(drawn) == set(_ids(capped(old, len(drawn), "shuffled", 0)))


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "share", "kept"),
    [
        (80, 20, 0.5, (20, 20)),
        (20, 80, 0.5, (20, 20)),
        (80, 20, 0.75, (60, 20)),
        (30, 70, 0.4, (30, 45)),
        (50, 50, 0.5, (50, 50)),
        (50, 50, 1.0, (50, 0)),
        (50, 0, 1.0, (50, 0)),
    ],
)
def test_a_share_drops_rows_of_the_surplus_class_only(
    answerable: int, unanswerable: int, share: float, kept: tuple[int, int]
) -> None:
    drawn = with_share(_set(answerable, unanswerable), share, 0)
    assert (sum(each.answerable for each in drawn), len(drawn)) == (kept[0], sum(kept))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.05, 1.0))
def test_a_share_is_met_to_half_a_row_by_the_largest_set(a: int, u: int, share: float) -> None:
    kept = with_share(_set(a, u), share, 0)
    answerable = sum(each.answerable for each in kept)
    unanswerable = len(kept) - answerable
    assert answerable == a or unanswerable == u
    # a/(a+u) = share at the real optimum, so the dropped class is within half a row of it
    if unanswerable == u and answerable < a:
        assert abs(answerable - u * share / (1 - share)) <= 0.5
    elif answerable == a:
        assert abs(unanswerable - min(u, a * (1 - share) / share)) <= 0.5


def test_the_share_survives_the_cap() -> None:
    shared = with_share(_set(300, 100), 0.4, 0)
    for rows in (10, 50, 150):
        drawn = capped(shared, rows, "shuffled", 0, 0.4)
        assert (len(drawn), _share(drawn)) == (rows, 0.4)
    first = capped(shared, 50, "file-order", 0, 0.4)
    assert _share(first) == 0.4
    answerable = [each for each in shared if each.answerable]
    assert [each for each in first if each.answerable] == answerable[:20]


@pytest.mark.parametrize(("answerable", "unanswerable"), [(0, 5), (5, 0), (0, 0)])
def test_a_share_of_a_class_that_is_absent_is_an_error(answerable: int, unanswerable: int) -> None:
    with pytest.raises(ReproError, match=r"share of 0.5 answerable questions cannot be drawn"):
        with_share(_set(answerable, unanswerable), 0.5, 0)


def test_the_cs224n_split_is_sixteen_articles_of_the_dev_set() -> None:
    assert len(CS224N_TITLES) == 16
    assert {each.title for each in dev_questions()} > CS224N_TITLES


def test_the_official_dev_set_is_scored_whole_and_on_its_cs224n_part() -> None:
    questions = dev_questions()
    sets = evaluation_sets(task(evaluation="official-dev"), questions)
    counts = {
        name: (len(part), sum(not questions[index].answerable for index in part))
        for name, part in sets.items()
    }
    assert counts == {"official-dev": (11_873, 5_945), "cs224n": (6_078, 3_168)}


def test_an_uncapped_set_of_another_size_is_an_error() -> None:
    questions = [question("q", "Ann met Bo.", "Bo", title="Normans")]
    with pytest.raises(ReproError, match=r"cs224n has 1 questions.*6,078 questions, 3,168"):
        evaluation_sets(task(evaluation="cs224n"), questions)


def test_a_capped_set_has_no_fixed_size_and_an_empty_one_is_absent() -> None:
    dev = [question("a", title="Normans"), question("b", title="Rhine")]
    capped_dev = task(evaluation="official-dev", evaluation_rows=2)
    assert evaluation_sets(capped_dev, dev) == {"official-dev": [0, 1], "cs224n": [0]}
    assert evaluation_sets(capped_dev, dev[1:]) == {"official-dev": [0]}


def test_the_generated_set_is_scored_as_it_is() -> None:
    generated = task(source="generated", train="generated", evaluation="generated", revision="x")
    assert evaluation_sets(generated, [question("a"), question("b")]) == {"generated": [0, 1]}
