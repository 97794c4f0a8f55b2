"""Score tables against local scores, and their sums and maxima against naive twins."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import helpers
from helpers import MadeUpScore
from skbidag._core._order import OrderChain
from skbidag._core._subsets import (
    exp_values,
    log_values,
    subset_maxima,
    subset_sums,
)
from skbidag._search_space import SearchSpace
from skbidag._tables import (
    NodeTable,
    build_tables,
    check_memory,
    free_memory,
    table_bytes,
)
from skbidag._workspace import Workspace
from skbidag.scores import BGe
from skbidag.scores.base import BaseScore

random_space = partial(helpers.random_space, max_candidates=5, outsiders=0.7)


class BrokenScore(MadeUpScore):
    def log_marginal_likelihood(self, node, parents):
        return np.nan if node == 1 and 2 in parents else 0.0


def full_space(n):
    permitted = ~np.eye(n, dtype=bool)
    nothing = np.zeros((n, n), dtype=bool)
    return SearchSpace(permitted, nothing, nothing, False)


def gaussian_data(rng, n_samples, n, noise=1.0):
    """A chain of columns, each the one before plus noise, shuffled."""
    X = noise * rng.normal(size=(n_samples, n))
    X[:, 0] /= noise
    return np.cumsum(X, axis=1)[:, rng.permutation(n)]


def log_sum_exp(values, axis=0):
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)


def subsets_of(mask, n_rows):
    masks = np.arange(n_rows)
    return masks[masks & ~mask == 0]


def naive_sums(scores):
    """Log sums over all subsets of each mask, column by column."""
    return np.array(
        [log_sum_exp(scores[subsets_of(m, len(scores))]) for m in range(len(scores))]
    )


def look_up(table, mask, columns):
    """What an order looks up: the base column and the outsiders it permits."""
    log_sum, row = table.log_sums[mask], table.ratios[mask]
    if log_sum == -np.inf:
        assert (row == 0.0).all()
        return log_sum
    if row[table.base_column] == 1.0:
        return log_sum + np.log(1.0 + row[columns].sum())
    assert row[table.base_column] == 0.0
    return log_sum + log_sum_exp(np.append(0.0, row[columns]))


def log_sum_of(table, mask, column):
    """Log of the sum over the subsets of `mask`, each with the outsider `column`."""
    ratio = table.ratios[mask, column]
    if table.ratios[mask, table.base_column] == 1.0:
        with np.errstate(divide="ignore"):
            ratio = np.log(ratio)
    return table.log_sums[mask] + ratio


def assert_close_or_negligible(ours, wanted, beside, **close):
    """Sums 100 nats below what they stand beside may lose digits, or be nothing."""
    kept = wanted - beside > -100
    assert_allclose(ours[kept], wanted[kept], **close)
    assert (ours[~kept] - beside < -99).all()


def assert_sums_are_right(table, rng, rtol=1e-12, atol=1e-10):
    """Every sum of a table, for every mask and many sets of permitted columns."""
    scores, base, outsiders = table.scores, table.base_column, table.outsiders
    n_rows, width = scores.shape
    expected = naive_sums(scores)
    close = {"rtol": rtol, "atol": atol}
    assert not np.isnan(table.ratios).any()
    assert not np.isposinf(table.ratios).any()
    assert_allclose(table.log_sums, expected[:, base], **close)
    selections = [[], outsiders, *([j] for j in outsiders)]
    selections += [outsiders[rng.random(len(outsiders)) < 0.5] for _ in range(5)]
    for mask in range(n_rows):
        for columns in selections:
            columns = np.asarray(columns, dtype=np.intp)
            wanted = log_sum_exp(expected[mask, np.append(base, columns)])
            assert_allclose(look_up(table, mask, columns), wanted, **close)
        if expected[mask, base] == -np.inf:
            assert (table.ratios[mask, outsiders] == 0.0).all()
            continue
        for column in outsiders:
            assert_close_or_negligible(
                np.array([log_sum_of(table, mask, column)]),
                expected[mask, [column]],
                expected[mask, base],
                **close,
            )
    # no column but those of outsiders has anything to add
    others = np.setdiff1d(np.arange(width), np.append(outsiders, base))
    in_logs = (table.ratios[:, base] == 0.0) & np.isfinite(table.log_sums)
    assert (table.ratios[np.ix_(in_logs, others)] == -np.inf).all()
    assert (table.ratios[np.ix_(~in_logs, others)] == 0.0).all()


def assert_table_is_right(score, space, table, rtol=1e-11):
    """Every entry of the scores, against `local_score`."""
    node, base = table.node, table.base_column
    candidates = np.flatnonzero(space.permitted[:, node])
    outsiders = np.flatnonzero(space.extra[:, node])
    required = set(np.flatnonzero(space.required[:, node]))
    width = -(-space.n_features // 4) * 4 if space.extended else 1
    expected = np.full((2 ** len(candidates), width), -np.inf)
    for mask in range(len(expected)):
        subset = [c for k, c in enumerate(candidates) if mask >> k & 1]
        if required <= set(subset):
            expected[mask, base] = score.local_score(node, subset)
            for j in outsiders:
                expected[mask, j] = score.local_score(node, [*subset, j])
    assert table.scores.dtype == np.float64
    assert_allclose(table.scores, expected, rtol=rtol)


# ------------------------------------------------------------------ log and exp


def test_logarithm_and_exponential():
    rng = np.random.default_rng(0)
    x = np.concatenate([
        np.exp(rng.uniform(-708, 709, 20_000)),
        rng.uniform(0.5, 2.0, 20_000),
        1.0 + rng.normal(size=2000) * 1e-9,
        2.0 ** np.arange(-1022.0, 1024.0),
        [1.0, np.finfo(float).tiny, np.finfo(float).max, np.sqrt(0.5), np.sqrt(2.0)],
        np.ones(1),
    ])  # fmt: skip
    x = x[: len(x) // 4 * 4]
    exact = np.log(x.astype(np.longdouble))
    ours = np.asarray(log_values(x))
    assert (np.abs(ours - exact) <= 2 * np.spacing(np.abs(ours))).all()
    assert log_values(np.ones(4))[0] == 0.0

    x = np.concatenate([
        rng.uniform(-708, 709, 20_000), rng.normal(size=20_000),
        rng.normal(size=2000) * 1e-9, np.arange(-708.0, 710.0),
        [0.0, -0.0],
    ])  # fmt: skip
    x = x[: len(x) // 4 * 4]
    exact = np.exp(x.astype(np.longdouble))
    ours = np.asarray(exp_values(x))
    assert (np.abs(ours - exact) <= 2 * np.spacing(ours)).all()
    gone = np.array([-708.0001, -1e5, -np.inf, -1e308])
    assert_array_equal(exp_values(gone), 0.0)
    assert_array_equal(exp_values(np.zeros(4)), 1.0)


# ------------------------------------------------------------------------ scores


@pytest.mark.parametrize("extended", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 11])
def test_tables_hold_local_scores_sums_and_maxima(n, extended):
    rng = np.random.default_rng(n)
    score = BGe(edge_penalty=1.5).fit(
        gaussian_data(rng, 40, n), edge_prior=rng.normal(size=(n, n))
    )
    for required in (0.0, 0.3):
        space = random_space(rng, n, extended, required=required)
        tables = build_tables(score, space, sums=True, maxima=True)
        assert [table.node for table in tables] == list(range(n))
        for table in tables:
            assert_table_is_right(score, space, table)
            assert_sums_are_right(table, rng)
            expected = [
                table.scores[subsets_of(mask, len(table.scores))].max(axis=0)
                for mask in range(len(table.scores))
            ]
            assert_array_equal(table.maxima, expected)


def test_every_parent_permitted():
    rng = np.random.default_rng(0)
    score = BGe().fit(gaussian_data(rng, 40, 7))
    for space in (
        full_space(7),
        SearchSpace(*[full_space(7).permitted, *[full_space(7).extra] * 2], True),
    ):
        for table in build_tables(score, space, sums=True):
            assert_table_is_right(score, space, table)
            assert_sums_are_right(table, rng)


def test_no_candidates_and_no_outsiders():
    nothing = np.zeros((5, 5), dtype=bool)
    score = BGe().fit(gaussian_data(np.random.default_rng(0), 40, 5))
    for extended in (True, False):
        space = SearchSpace(nothing, nothing, nothing, extended)
        for table in build_tables(score, space, sums=True, maxima=True):
            assert table.n_candidates == 0
            assert_table_is_right(score, space, table)
            assert table.log_sums[0] == table.scores[0, table.base_column]
            parents, log_score = table.best_parents(0, [])
            assert len(parents) == 0
            assert log_score == table.log_sums[0]


@pytest.mark.parametrize("scale", [1e8, 1e-8, 1e100])
def test_tables_of_scaled_columns(scale):
    rng = np.random.default_rng(1)
    scales = np.where(np.arange(7) % 3 == 0, scale, 1.0)
    for factor in (scales, scale):
        score = BGe().fit(gaussian_data(rng, 30, 7) * factor)
        space = random_space(rng, 7)
        for table in build_tables(score, space, sums=True):
            assert_table_is_right(score, space, table, rtol=1e-9)
            assert_sums_are_right(table, rng)


@pytest.mark.parametrize("kind", ["constant", "duplicated", "few rows"])
def test_tables_of_degenerate_data(kind):
    rng = np.random.default_rng(2)
    X = gaussian_data(rng, 2 if kind == "few rows" else 50, 6)
    if kind == "constant":
        X[:, [1, 4]] = 3.0
    if kind == "duplicated":
        X[:, 4] = X[:, 1]
    score = BGe().fit(X)
    space = random_space(rng, 6)
    for table in build_tables(score, space, sums=True):
        assert_table_is_right(score, space, table, rtol=1e-9)
        assert_sums_are_right(table, rng)


# -------------------------------------------------------- sums of a wide range


@pytest.mark.parametrize("required", [0.0, 0.4])
@pytest.mark.parametrize("extended", [True, False])
@pytest.mark.parametrize("spread", [1.0, 100.0, 300.0, 600.0, 3000.0, 1e5, 1e9])
def test_sums_of_made_up_scores(spread, extended, required):
    """From everything in range to nothing in range, through the rows in between."""
    rng = np.random.default_rng(3)
    score = MadeUpScore(spread).fit(np.zeros((1, 7)))
    space = random_space(rng, 7, extended, max_candidates=4, required=required)
    for table in build_tables(score, space, sums=True):
        assert_table_is_right(score, space, table)
        assert_sums_are_right(table, rng)


def table_of(scores, base_column=0, required=0):
    """A table of given scores; its outsiders are the columns that hold any."""
    scores = np.ascontiguousarray(scores, dtype=float)
    K = len(scores).bit_length() - 1
    used = np.flatnonzero((scores > -np.inf).any(axis=0))
    outsiders = used[used != base_column]
    candidates = np.arange(100, 100 + K)
    columns = np.arange(scores.shape[1])
    table = NodeTable(base_column, candidates, outsiders, required, columns, scores)
    table.add_sums(Workspace())
    return table


@pytest.mark.slow
@pytest.mark.parametrize("base_column", [0, 1, 6])
@pytest.mark.parametrize(
    "gap", [-800, -709, -708, -707, 0, 599, 599.999999, 600, 600.0001, 708, 709, 710,
            1200, 1e5],
)  # fmt: skip
def test_ratios_near_what_a_double_holds(gap, base_column):
    rng = np.random.default_rng(4)
    for noise in (0.0, 1.0):
        scores = noise * rng.normal(size=(16, 8)) - 5000.0
        columns = np.delete(np.arange(8), base_column)
        scores[:, columns[0]] += gap
        scores[5, columns[1]] += gap
        scores[0, columns[2]] += gap
        scores[15, columns[3]] += gap
        scores[:, columns[4]] = -np.inf
        assert_sums_are_right(table_of(scores, base_column), rng)


def test_base_sums_that_grow_in_the_middle_of_the_masks():
    """An outsider out of range at first, in range once a candidate has joined."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(32, 4))
    scores[:, 1] += 1e5
    scores[8:, 0] += 1e5 - 300
    scores[24:, 0] += 1000
    table = table_of(scores)
    assert_sums_are_right(table, rng)
    assert set(table.ratios[:, 0]) == {0.0, 1.0}


@pytest.mark.parametrize("required", [0b00100, 0b10010, 0b00001, 0b11111])
@pytest.mark.parametrize("spread", [1.0, 1e5])
def test_required_parents_beside_wide_columns(required, spread):
    rng = np.random.default_rng(6)
    scores = spread * rng.normal(size=(32, 8))
    scores[:, 5] += 1e4
    scores[np.arange(32) & required != required] = -np.inf
    scores[:, 3] = -np.inf
    table = table_of(scores, 2, required)
    assert_sums_are_right(table, rng)
    rows = np.arange(32)
    assert_array_equal(np.isfinite(table.log_sums), rows & required == required)


def test_a_column_far_above_in_one_row_does_not_spoil_the_others():
    """Sums of weak and strong columns keep their digits side by side."""
    scores = np.zeros((8, 4))
    scores[:, 1] = [-650, 650, -650, 650, 5, 5, 5, 5]
    scores[:, 2] = -3.0
    assert_sums_are_right(table_of(scores), np.random.default_rng(7))


def test_strongly_correlated_data_with_many_rows():
    rng = np.random.default_rng(8)
    score = BGe().fit(gaussian_data(rng, 100_000, 9, noise=0.02))
    space = random_space(rng, 9, max_candidates=6, outsiders=1.0)
    spreads = []
    for table in build_tables(score, space, sums=True, maxima=True):
        finite = table.scores[np.isfinite(table.scores)]
        spreads.append(finite.max() - finite.min())
        assert_table_is_right(score, space, table, rtol=1e-10)
        assert_sums_are_right(table, rng, rtol=1e-13, atol=1e-9)
        used = np.append(table.outsiders, table.base_column)
        assert np.isfinite(table.maxima[:, used]).all()
    assert max(spreads) > 1e5


# --------------------------------------------------------------- other look-ups


@pytest.mark.parametrize("required", [0.0, 0.3])
@pytest.mark.parametrize("extended", [True, False])
def test_best_parents(extended, required):
    rng = np.random.default_rng(10)
    score = MadeUpScore(1e4).fit(np.zeros((1, 7)))
    space = random_space(rng, 7, extended, max_candidates=4, required=required)
    for table in build_tables(score, space, maxima=True):
        for mask in range(len(table.scores)):
            columns = table.outsiders[rng.random(len(table.outsiders)) < 0.5]
            parents, log_score = table.best_parents(mask, columns)
            seen = table.maxima[mask, np.append(table.base_column, columns)].max()
            assert log_score == seen
            if mask & table.required != table.required:
                assert log_score == -np.inf
                continue
            assert_allclose(score.local_score(table.node, parents), log_score)
            assert_array_equal(parents, np.sort(parents))
            allowed = [c for k, c in enumerate(table.candidates) if mask >> k & 1]
            assert np.isin(parents, np.append(allowed, columns)).all()
            assert np.isin(parents, columns).sum() <= 1


def test_parents_of_a_row_and_column():
    scores, candidates = np.zeros((8, 12)), np.array([2, 5, 9])
    table = NodeTable(0, candidates, np.array([4]), 0, np.arange(12), scores)
    assert table.parents_of(0b101, 0).tolist() == [2, 9]
    assert table.parents_of(0b110, 4).tolist() == [4, 5, 9]
    assert table.parents_of(0, 0).tolist() == []
    assert not table.scattered
    few = NodeTable(0, candidates, np.array([4]), 0, np.array([0, 4, 99, 99]), scores)
    assert few.parents_of(0b110, 1).tolist() == [4, 5, 9]
    assert few.scattered


@pytest.mark.parametrize("width", [1, 4, 12])
def test_maxima_in_place(width):
    rng = np.random.default_rng(11)
    scores = rng.normal(size=(64, width))
    scores[rng.random(scores.shape) < 0.3] = -np.inf
    maxima = scores.copy()
    subset_maxima(maxima)
    for mask in range(64):
        assert_array_equal(maxima[mask], scores[subsets_of(mask, 64)].max(axis=0))


@pytest.mark.parametrize("n_candidates", [10, 13])
def test_sums_and_maxima_of_large_tables(n_candidates):
    """Larger than a cache, with ratios and logarithms side by side."""
    rng = np.random.default_rng(12)
    scores = 50 * rng.normal(size=(2**n_candidates, 24))
    scores[:, 7] += np.where(rng.random(len(scores)) < 0.01, 2000.0, 0.0)
    expected, best = scores.copy(), scores.copy()
    for k in range(n_candidates):
        pairs = expected.reshape(-1, 2, 2**k, 24)
        pairs[:, 1] = np.logaddexp(pairs[:, 0], pairs[:, 1])
        pairs = best.reshape(-1, 2, 2**k, 24)
        pairs[:, 1] = np.maximum(pairs[:, 0], pairs[:, 1])
    ratios, log_sums = np.empty_like(scores), np.empty(len(scores))
    subset_sums(scores, 3, ratios, log_sums)
    in_logs = ratios[:, 3] == 0.0
    assert 0 < in_logs.sum() < len(in_logs)
    logs = np.where(in_logs[:, None], ratios, np.log(np.where(ratios > 0, ratios, 1)))
    assert_allclose(log_sums, expected[:, 3], rtol=1e-13)
    assert_allclose(logs + log_sums[:, None], expected, rtol=1e-12, atol=1e-11)
    maxima = scores.copy()
    subset_maxima(maxima)
    assert_array_equal(maxima, best)


# ------------------------------------------------------------------ own scores


def test_a_score_in_plain_python():
    """A compiled table and the plain one of the same score agree."""

    class PlainBGe(BGe):
        fill_table = BaseScore.fill_table

    rng = np.random.default_rng(13)
    X, prior = gaussian_data(rng, 30, 6), rng.normal(size=(6, 6))
    space = random_space(rng, 6, required=0.2)
    ours = build_tables(BGe().fit(X, edge_prior=prior), space, sums=True)
    plain = build_tables(PlainBGe().fit(X, edge_prior=prior), space, sums=True)
    for one, other in zip(ours, plain, strict=True):
        assert_allclose(one.scores, other.scores, rtol=1e-12)
        assert_allclose(one.log_sums, other.log_sums, rtol=1e-12)


def test_scores_that_are_not_finite_are_refused():
    score = BrokenScore().fit(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"node 1 with parents \[2\] is nan"):
        build_tables(score, full_space(3))


# ----------------------------------------------------- reuse, threads and memory


def test_unchanged_nodes_keep_their_tables():
    rng = np.random.default_rng(14)
    score = BGe().fit(gaussian_data(rng, 30, 6))
    space = random_space(rng, 6, outsiders=1.0)
    before = build_tables(score, space)
    again = build_tables(score, space, sums=True, previous=before)
    for old, new in zip(before, again, strict=True):
        assert new.scores is old.scores
        assert new.ratios is not None
    # the sums are kept, too, when maxima are asked for
    ratios = [table.ratios for table in again]
    again = build_tables(score, space, sums=True, maxima=True, previous=again)
    assert all(t.ratios is r for t, r in zip(again, ratios, strict=True))

    # node 2 gets or loses a candidate, node 3 loses an outsider or candidate
    permitted, extra = space.permitted.copy(), space.extra.copy()
    permitted[0, 2] ^= True
    extra[0, 2] ^= True
    extra[1, 3] = permitted[1, 3] = False
    required = space.required.copy()
    child = int(np.flatnonzero(permitted.any(axis=0) & (np.arange(6) > 3))[0])
    required[np.flatnonzero(permitted[:, child])[0], child] = True
    changed = SearchSpace(permitted, extra, required, True)
    after = build_tables(score, changed, sums=True, previous=again)
    fresh = build_tables(score, changed, sums=True)
    for node in range(6):
        same = node not in (2, 3, child)
        assert (after[node].scores is again[node].scores) == same
        assert_array_equal(after[node].scores, fresh[node].scores)
        assert_array_equal(after[node].ratios, fresh[node].ratios)


def test_a_space_that_is_no_longer_extended_is_built_anew():
    rng = np.random.default_rng(15)
    score = BGe().fit(gaussian_data(rng, 30, 5))
    nothing = np.zeros((5, 5), dtype=bool)
    tables = build_tables(score, SearchSpace(nothing, nothing, nothing, True))
    again = build_tables(
        score, SearchSpace(nothing, nothing, nothing, False), previous=tables
    )
    assert all(table.scores.shape == (1, 1) for table in again)


def test_threads_give_the_same_bits():
    rng = np.random.default_rng(16)
    score = BGe().fit(gaussian_data(rng, 1000, 13, noise=0.1))
    space = random_space(rng, 13, max_candidates=7)
    one = build_tables(score, space, sums=True, maxima=True, n_jobs=1)
    two = build_tables(score, space, sums=True, maxima=True, n_jobs=2)
    for a, b in zip(one, two, strict=True):
        assert a.scores.tobytes() == b.scores.tobytes()
        assert a.ratios.tobytes() == b.ratios.tobytes()
        assert a.log_sums.tobytes() == b.log_sums.tobytes()
        assert a.maxima.tobytes() == b.maxima.tobytes()


@pytest.mark.parametrize("n", [41, 70, 1100])
def test_too_many_parents_are_refused_before_allocating(n):
    space = full_space(n)
    permitted = space.permitted.copy()
    permitted[:, : n - 1] = False
    space = SearchSpace(permitted, space.extra, space.required, False)
    names = [f"gene{j}" for j in range(n)]
    n_bytes = rf"{table_bytes(space)[n - 1]:.3g}".replace("+", r"\+")
    message = rf"'gene{n - 1}': {n - 1} permissible parents need {n_bytes} bytes"
    score = BGe()  # never asked
    tracemalloc.start()
    with pytest.raises(MemoryError, match=message):
        build_tables(score, space, sums=True, names=names)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_memory_limit():
    rng = np.random.default_rng(17)
    score = BGe().fit(gaussian_data(rng, 30, 6))
    space = full_space(6)
    tables = build_tables(score, space, sums=True)
    used = sum(t.scores.nbytes + t.ratios.nbytes + t.log_sums.nbytes for t in tables)
    assert table_bytes(space).sum() == used
    build_tables(score, space, sums=True, memory_limit=used)
    message = r"node 0: 5 permissible parents need .* bytes.*memory_limit"
    with pytest.raises(MemoryError, match=message):
        build_tables(score, space, sums=True, memory_limit=used - 1)
    with pytest.raises(MemoryError, match="the limit is 0"):
        check_memory(space, 0)


def test_tables_that_are_kept_need_no_free_memory(monkeypatch):
    rng = np.random.default_rng(17)
    score = BGe().fit(gaussian_data(rng, 30, 6))
    tables = build_tables(score, full_space(6), sums=True)
    assert sum(table.n_bytes for table in tables) == table_bytes(full_space(6)).sum()
    monkeypatch.setattr("skbidag._tables.free_memory", lambda: 100.0)
    build_tables(score, full_space(6), sums=True, previous=tables)
    with pytest.raises(MemoryError, match="node 0: 5 permissible"):
        build_tables(score, full_space(6), sums=True)
    with pytest.raises(MemoryError, match="node 0: 5 permissible"):
        build_tables(score, full_space(6), sums=True, previous=tables, memory_limit=9)


def test_memory_counts_every_column_and_table():
    space = random_space(np.random.default_rng(18), 6)
    sizes = 2.0 ** space.permitted.sum(axis=0)
    assert_array_equal(table_bytes(space, 1), 8 * (8 + 1) * sizes)
    assert_array_equal(table_bytes(space, 3), 8 * (24 + 1) * sizes)


def test_free_memory_is_known_or_unlimited(tmp_path):
    assert free_memory() > 1e6
    # a container's limit counts where it is the smaller one
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert free_memory(tmp_path) == 2e6
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("1000000")
    assert free_memory(tmp_path) > 1e6


# ----------------------------------------------------------- what a kernel reads


@pytest.mark.parametrize("required", [0.0, 0.2])
@pytest.mark.parametrize("extended", [True, False])
@pytest.mark.parametrize("spread", [1.0, 400.0, 1e5])
def test_an_order_looks_up_these_sums_and_maxima(spread, extended, required):
    rng = np.random.default_rng(19)
    n = 7
    score = MadeUpScore(spread).fit(np.zeros((1, n)))
    space = random_space(rng, n, extended, max_candidates=4, required=required)
    tables = build_tables(score, space, sums=True, maxima=True)
    for maximize in (False, True):
        reduce = np.max if maximize else log_sum_exp
        for _ in range(20):
            order = rng.permutation(n)
            chain = OrderChain(
                tables.views(), np.random.PCG64(0), order, [0.2, 0.6, 0.2], maximize
            )
            expected = np.empty(n)
            for position, node in enumerate(order):
                table, right = tables[node], order[position + 1 :]
                bits = np.isin(table.candidates, right)
                mask = int(bits @ (1 << np.arange(len(bits))))
                columns = np.append(
                    table.base_column, np.intersect1d(table.outsiders, right)
                ).astype(np.intp)
                rows = subsets_of(mask, len(table.scores))
                expected[node] = reduce(table.scores[np.ix_(rows, columns)].ravel())
            assert_allclose(chain.node_scores, expected, rtol=1e-12, atol=1e-10)
