"""Tables of maxima that grow out of earlier ones, against tables built afresh."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skbidag._constraints import resolve_constraints
from skbidag._growth import rows_of
from skbidag._search_space import make_space
from skbidag._tables import build_tables, can_grow
from skbidag.scores import BDe, BGe, CategoricalBIC
from skbidag.scores._interventional import with_interventions

N_FEATURES = 8
BEFORE = [1, 3, 5]
# what joins, what leaves
CHANGES = [([6], []), ([0, 6], []), ([4], [3]), ([6, 2], [1, 5]), ([], [3])]


def permitted_edges(parents_of_7):
    permitted = np.zeros((N_FEATURES, N_FEATURES), dtype=bool)
    permitted[parents_of_7, 7] = True
    permitted[[0, 1], 4] = True
    return permitted


def space_of(parents_of_7, **edges):
    constraints = resolve_constraints(N_FEATURES, **edges)
    return make_space(permitted_edges(parents_of_7), constraints, extended=True)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3, 2, 4, 2, 3, 2, 3], size=(80, N_FEATURES))
    X[:, 7] = (X[:, 1] + X[:, 4] * X[:, 6] + (rng.random(80) < 0.2)) % 3
    return X


def seen(table, order):
    """Maxima of each set of candidates in `order`, as look-ups see them."""
    bits = [int(np.flatnonzero(table.candidates == j)[0]) for j in order]
    masks = np.arange(1 << len(order))
    rows = sum((masks >> k & 1) << bit for k, bit in enumerate(bits))
    maxima = table.maxima[rows]
    base = maxima[:, [table.base_column]]
    return np.maximum(maxima[:, [*table.outsiders, table.base_column]], base)


def intervened(edge_penalty):
    """BDe of data in which some cells of two columns were set."""
    cells = np.zeros((80, N_FEATURES), dtype=bool)
    cells[:30, 7] = cells[20:40, 4] = True
    return with_interventions(BDe(edge_penalty=edge_penalty), cells)


@pytest.mark.parametrize("make", [BDe, CategoricalBIC, intervened])
@pytest.mark.parametrize(("joins", "leaves"), CHANGES)
def test_grown_tables_are_those_built_afresh(data, make, joins, leaves):
    score = make(edge_penalty=2.0).fit(data)
    after = sorted({*BEFORE, *joins} - {*leaves})
    before = build_tables(score, space_of(BEFORE), scores=False, maxima=True)
    assert can_grow(before[7], space_of(after))
    unchanged = before[4].maxima
    grown = build_tables(
        score, space_of(after), scores=False, maxima=True, previous=before
    )
    afresh = build_tables(score, space_of(after), scores=False, maxima=True)
    assert set(grown[7].candidates) == set(after)
    assert_array_equal(grown[7].outsiders, afresh[7].outsiders)
    assert_allclose(seen(grown[7], after), seen(afresh[7], after), rtol=1e-12)
    assert grown[4].maxima is unchanged
    # the same again, out of the grown table
    again = build_tables(
        score, space_of(BEFORE), scores=False, maxima=True, previous=grown
    )
    expected = build_tables(score, space_of(BEFORE), scores=False, maxima=True)
    assert_allclose(seen(again[7], BEFORE), seen(expected[7], BEFORE), rtol=1e-12)


@pytest.mark.parametrize(("joins", "leaves"), CHANGES)
def test_best_parents_of_grown_tables(data, joins, leaves):
    score = BDe().fit(data)
    after = sorted({*BEFORE, *joins} - {*leaves})
    before = build_tables(score, space_of(BEFORE), scores=False, maxima=True)
    grown = build_tables(
        score, space_of(after), scores=False, maxima=True, previous=before
    )
    table = grown[7]
    for mask in range(len(table.maxima)):
        parents, value = table.best_parents(mask, table.outsiders)
        assert_allclose(score.local_score(7, parents), value, rtol=1e-12)


def test_what_does_not_grow(data):
    score = BDe().fit(data)
    (table,) = (
        t for t in build_tables(score, space_of(BEFORE), maxima=True) if t.node == 7
    )
    assert not can_grow(table, space_of([*BEFORE, 0, 2, 4]))
    required = space_of([*BEFORE, 6], required_edges=[(1, 7)])
    assert not can_grow(table, required)
    assert not can_grow(table, space_of([*BEFORE, 6], forbidden_edges=[(0, 7)]))


def test_a_score_that_cannot_grow_tables_builds_them():
    rng = np.random.default_rng(1)
    score = BGe().fit(rng.normal(size=(50, N_FEATURES)))
    before = build_tables(score, space_of(BEFORE), scores=False, maxima=True)
    after = space_of([*BEFORE, 6])
    tables = build_tables(score, after, scores=False, maxima=True, previous=before)
    afresh = build_tables(score, after, scores=False, maxima=True)
    for table, expected in zip(tables, afresh, strict=True):
        assert_array_equal(table.maxima, expected.maxima)


def test_rows_of_bits_that_stay():
    table = np.arange(8.0)[:, None]
    stays = np.array([True, False, True])
    assert_array_equal(rows_of(table, stays).ravel(), [0, 1, 4, 5])
    assert_array_equal(rows_of(table, stays, joined=1).ravel(), [2, 3, 6, 7])
