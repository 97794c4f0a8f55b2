"""Dynamic networks: reference values, exact posteriors, and what series may be like.

The reference values are BiDAG's, as far as it does what the model says; two exact
posteriors come from enumeration.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.model_selection import GroupKFold, cross_val_score

from helpers import DATA, MadeUpScore
from skbidag import (
    DynamicGraph,
    DynamicStructure,
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    series_from_wide,
)
from skbidag._dynamic._score import SummedMixedScore, SummedScore
from skbidag._dynamic._series import read_series
from skbidag.scores import BDe, BGe, ConditionalGaussian, GaussianBIC
from skbidag.scores._interventional import with_interventions

SHORT = {"n_iter": 300, "n_draws": 20, "n_chains": 1, "random_state": 0}
PAPER = BGe(prior="paper", edge_penalty=1.0)


def reference(name):
    return pd.read_csv(DATA / "dynamic" / f"{name}.csv")


def short(structure=OrderMCMCStructure, **params):
    """An estimator with short chains, where it is not the question what they find."""
    return structure(**{**SHORT, **params})


def series_of(name):
    """Rows of the reference's data, groups, and the static columns."""
    wide = reference(f"{name}_data")
    n_slices = 3 if name in ("categorical", "tiny_dbn") else 4
    static = [column for column in wide if column.startswith("s")]
    rows, groups = series_from_wide(wide, n_slices, len(static))
    return rows, groups, static


def compact_dags(name):
    """The reference's DAGs over the static nodes and two slices, folded."""
    wide, edges = reference(f"{name}_data"), reference(f"{name}_dags")
    _, _, static = series_of(name)
    n_slices = 3 if name == "categorical" else 4
    size = (wide.shape[1] - len(static)) // n_slices
    names = list(wide.columns[: len(static) + 2 * size])
    dags = {"empty": np.zeros((len(names),) * 2, dtype=bool)}
    for dag, parent, child in edges.itertuples(index=False):
        dags.setdefault(dag, np.zeros_like(dags["empty"]))
        dags[dag][names.index(parent), names.index(child)] = True
    return {
        dag: DynamicGraph.fold(adjacency, size, len(static))
        for dag, adjacency in dags.items()
    }


def log_score_of(score, matrix, n_main, penalty_counts=True):
    """Sum of local scores over the last columns."""
    n = len(matrix)
    total = 0.0
    for node in range(n - n_main, n):
        parents = np.flatnonzero(matrix[:, node])
        total += score.local_score(node, parents)
        if not penalty_counts:
            total -= score.log_prior_odds_[parents, node].sum()
    return total


# ------------------------------------------------------------------ reference values

SETTINGS = {
    ("gauss", "default"): PAPER,
    ("gauss", "am0.25"): BGe(0.25, prior="paper", edge_penalty=1.0),
    ("gauss", "edgepf3"): BGe(prior="paper", edge_penalty=3.0),
    ("binary", "default"): BDe(0.5, edge_penalty=2.0),
    ("binary", "chi1pf1"): BDe(1.0, edge_penalty=1.0),
    ("categorical", "default"): BDe(0.5, edge_penalty=2.0),
}


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_the_reference(name, setting, weighted):
    if weighted and name == "categorical":
        pytest.skip("there are no reference values")
    score, dags = SETTINGS[name, setting], compact_dags(name)
    rows, groups, static = series_of(name)
    weights = None
    if weighted:
        weights = reference(f"{name}_weights")["weight"].to_numpy()[groups]
    values = reference(f"{name}_scores")
    values = values[(values["weights"] == weighted) & (values["param"] == setting)]
    assert len(values) == 10
    apart, shared = (
        DynamicStructure(
            short(score=score), static=static or None, initial=initial
        ).fit(rows, groups=groups, sample_weight=weights)
        for initial in ("apart", "shared")
    )
    for row in values.itertuples():
        graph = dags[row.dag]
        d = graph.n_variables
        # BiDAG's penalty of BGe also counts a node by itself
        extra = d * np.log(score.edge_penalty) if name == "gauss" else 0.0
        of_first, of_others = graph._first_slice(), transition_matrix(graph)
        transition = apart.transition_estimator_.score_
        initial = apart.initial_estimator_.score_
        if row.samestruct and row.dag.startswith("split"):
            continue  # BiDAG scores the union of both slices' edges
        assert_allclose(
            log_score_of(transition, of_others, d) - extra, row.trans, rtol=1e-8
        )
        if not row.samestruct:
            # and that of BDe does not count in the first slice
            found = log_score_of(initial, of_first, d, name == "gauss") - extra
            assert_allclose(found, row.init, rtol=1e-8)
            continue
        # an edge's prior counts once, and static parents are not dropped
        expected = row.trans + log_score_of(initial, of_first, d, penalty_counts=False)
        found = log_score_of(shared.transition_estimator_.score_, of_others, d)
        assert_allclose(found - extra, expected, rtol=1e-8)


def transition_matrix(graph):
    """Edges as the transition's estimator has them: static, slices before, present."""
    b, d, lags = graph.n_static, graph.n_variables, graph.n_lags
    matrix = np.zeros((b + d * (lags + 1),) * 2, dtype=bool)
    matrix[:b, -d:] = graph.static
    for lag in range(1, lags + 1):
        start = b + (lag - 1) * d
        matrix[start : start + d, -d:] = graph.transition[lag]
    matrix[-d:, -d:] = graph.transition[0]
    return matrix


def test_scores_without_stationarity_are_those_of_the_reference():
    rows, groups, static = series_of("gauss")
    model = DynamicStructure(
        short(score=PAPER), static=static, initial=None, stationary=False
    ).fit(rows, groups=groups)
    components = reference("gauss_scores")
    components = components[
        components["samestruct"]
        & ~components["weights"]
        & (components["param"] == "default")
    ].set_index("dag")
    for row in reference("gauss_nonstationary_scores").itertuples():
        if row.dag == "split1":
            continue
        graph = compact_dags("gauss")[row.dag]
        found = log_score_of(
            model.transition_estimator_.score_, transition_matrix(graph), 4
        )
        # which leaves static parents out of the first slice
        first = components.loc[row.dag, "init_without_static_parents"]
        assert_allclose(found + first, row.DBNscore, rtol=1e-8)


def test_unrolled_truth():
    truth = compact_dags("gauss")["truth"]
    expected = reference("gauss_truth_unrolled").to_numpy().astype(bool)
    assert_array_equal(truth.unroll(4), expected)
    again = DynamicGraph.fold(expected, 4, 1)
    assert_array_equal(again.unroll(2), truth.unroll(2))


def test_comparisons_are_those_of_the_reference():
    dags = compact_dags("gauss")
    rows = reference("gauss_compareDBNs")
    assert len(rows) == 10
    for row in rows.itertuples():
        part = {"init": "initial", "trans": "transition"}[row.struct]
        estimated, true = dags[row.estimated], dags[row.true]
        found = estimated.compare(true, kind="skeleton")[part]
        assert (found.TP, found.FP, found.FN) == (row.TP, row.FP, row.FN)
        assert pytest.approx(row.TPR) == found.TPR
        assert estimated.compare(true)[part].SHD == row.SHD


@pytest.mark.slow
@pytest.mark.parametrize("initial", ["shared", "apart"])
def test_exact_posterior_over_orders(initial):
    rows, groups, _ = series_of("tiny_dbn")
    same = "same" if initial == "shared" else "split"
    exact = reference(f"tiny_dbn_exact_{same}").to_numpy()
    model = DynamicStructure(
        OrderMCMCStructure(PAPER, n_draws=5000, random_state=0), initial=initial
    ).fit(rows, groups=groups)
    # 20,000 draws, which are not independent: five times the error of 4000 that are
    tolerance = 5 * np.sqrt(0.25 / 4000)
    assert_allclose(model.transition_probabilities_[1], exact[:3, 3:], atol=tolerance)
    assert_allclose(model.transition_probabilities_[0], exact[3:, 3:], atol=tolerance)
    first = exact[3:, 3:] if initial == "shared" else exact[:3, :3]
    assert_allclose(model.initial_probabilities_, first, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("initial", ["shared", "apart"])
def test_the_best_networks_are_found(initial):
    wide = reference("gauss_data").drop(columns="s1")
    rows, groups = series_from_wide(wide, 4)
    model = DynamicStructure(
        IterativeSearchStructure(PAPER, n_draws=0, random_state=0), initial=initial
    ).fit(rows, groups=groups)
    # of what BiDAG finds, with and without a structure in common
    assert model.log_score_ == pytest.approx(-1435.88869285533, rel=1e-8)


# ----------------------------------------------------- several lags, by enumeration


def enumerate_transitions(local, n_given, d, contemporaneous=True):
    """Probabilities of edges to d main variables, over all DAGs with all parents."""
    n = n_given + d
    main = range(n_given, n)
    subsets = [
        [
            (set(s), local(node, sorted(s)))
            for size in range(n)
            for s in itertools.combinations([k for k in range(n) if k != node], size)
            if contemporaneous or max(s, default=-1) < n_given
        ]
        for node in main
    ]
    total, edges = [], []
    for choice in itertools.product(*subsets):
        if d == 2 and n_given + 1 in choice[0][0] and n_given in choice[1][0]:
            continue  # a cycle
        total.append(sum(score for _, score in choice))
        edges.append([parents for parents, _ in choice])
    weights = np.exp(np.array(total) - logsumexp(total))
    probabilities = np.zeros((n, d))
    for weight, sets in zip(weights, edges, strict=True):
        for k, parents in enumerate(sets):
            probabilities[list(parents), k] += weight
    return probabilities


def two_lags(kind="continuous"):
    """Twelve series of different lengths, two variables and a static one."""
    rng = np.random.default_rng(0)
    parts = []
    for number, length in enumerate(rng.integers(3, 9, size=12)):
        x, static = np.zeros((length, 2)), rng.normal()
        for t in range(length):
            x[t] = rng.normal(size=2) + 0.5 * static
            if t > 1:
                x[t, 0] += 0.8 * x[t - 2, 1]
            x[t, 1] += 0.5 * x[t, 0]
        part = pd.DataFrame(x, columns=["a", "b"])
        part.insert(1, "s", static)
        parts.append(part.assign(who=f"series {number}", when=range(length)))
    frame = pd.concat(parts, ignore_index=True)
    for name in {"continuous": [], "mixed": ["a"], "categorical": list("asb")}[kind]:
        frame[name] = np.where(frame[name] > 0, "high", "low")
    return frame


TWO_LAGS = [
    {},
    {"initial": "shared"},
    {"contemporaneous": False, "initial": None},
    {"stationary": False},
    {"stationary": False, "initial": "shared"},
]


SCORES = {
    "continuous": BGe(edge_penalty=2.0),
    "categorical": BDe(edge_penalty=2.0),
    "mixed": ConditionalGaussian(edge_penalty=2.0),
}


def fitted_with_two_lags(estimator, kind, params, was_set=None):
    """A fitted model, and the exact probabilities of the edges of its transition.

    What was set in the rows of `two_lags` are columns of a, s and b.
    """
    frame, base = two_lags(kind), SCORES[kind]
    interventions = None
    if was_set is not None:
        interventions = np.zeros(frame.shape, dtype=bool)
        interventions[:, :3] = was_set
    model = DynamicStructure(
        estimator.set_params(score=base),
        2,
        static=["s"],
        time="when",
        series="who",
        **params,
    ).fit(frame, interventions=interventions)

    # the scores anew, from rows put together by hand
    stacked, first, steps = [], [], []
    set_later, set_first = [], []
    for _, part in frame.groupby("who", sort=False):
        values = part[["a", "b"]].to_numpy()
        cells = np.zeros(values.shape, dtype=bool)
        if was_set is not None:
            cells = was_set[part.index][:, [0, 2]]
        static = part["s"].iloc[0]
        first.append([static, *values[0]])
        set_first.append([False, *cells[0]])
        for t in range(2, len(values)):
            stacked.append([static, *values[t - 1], *values[t - 2], *values[t]])
            set_later.append([False] * 5 + list(cells[t]))
            steps.append(t)
    steps = np.array(steps)
    known = None if kind == "continuous" else ["high", "low"]
    levels = [known if kind == "categorical" else None, known]
    levels += [levels[0] if kind == "mixed" else known]

    def fitted(rows, cells):
        columns = [0, 1, 2] if len(rows[0]) == 3 else [0, 1, 2, 1, 2, 1, 2]
        score = sklearn.clone(base).set_params(edge_penalty=1.0)
        if kind != "continuous":
            score.set_params(categories=[levels[column] for column in columns])
        cells = np.array(cells) if np.any(cells) else None
        return with_interventions(score, cells).fit(pd.DataFrame(rows))

    sets = np.zeros(len(steps)) if params.get("stationary", True) else steps
    parts = []
    for number in np.unique(sets):
        mine = np.flatnonzero(sets == number)
        parts.append(fitted([stacked[k] for k in mine], [set_later[k] for k in mine]))
    of_first = fitted(first, set_first)

    def local(node, parents):
        value = sum(part.local_score(node, parents) for part in parts)
        if params.get("initial") == "shared":
            there = {0: 0, 5: 1, 6: 2}
            known = [there[parent] for parent in parents if parent in there]
            value += of_first.local_score(there[node], known)
        return value - len(parents) * np.log(2.0)

    contemporaneous = params.get("contemporaneous", True)
    return model, enumerate_transitions(local, 5, 2, contemporaneous)


def assert_transition(model, exact, tolerance):
    """Whether edges have the probabilities of a matrix: static, lags, present."""
    found = model.transition_probabilities_
    assert found.shape == (3, 2, 2)
    assert_allclose(model.probabilities_.static, exact[:1], atol=tolerance)
    assert_allclose(found[1], exact[1:3], atol=tolerance)
    assert_allclose(found[2], exact[3:5], atol=tolerance)
    assert_allclose(found[0], exact[5:], atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["continuous", "categorical"])
@pytest.mark.parametrize("params", TWO_LAGS, ids=str)
def test_exact_posterior_with_two_lags(kind, params):
    chains = PartitionMCMCStructure(n_draws=2000, random_state=0)
    model, exact = fitted_with_two_lags(chains, kind, params)
    # 8000 draws, which are not independent: five times the error of 2000 that are
    assert_transition(model, exact, 5 * np.sqrt(0.25 / 2000))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize(
    ("params", "interventions"),
    [
        *((params, False) for params in TWO_LAGS),
        (TWO_LAGS[0], True),
        (TWO_LAGS[4], True),
    ],
    ids=str,
)
def test_exact_structure_with_two_lags(kind, params, interventions):
    was_set = None
    if interventions:
        was_set = np.random.default_rng(1).random((len(two_lags()), 3)) < 0.2
        was_set[:, 1] = False
    exact = ExactStructure(random_state=0, n_draws=20)
    model, expected = fitted_with_two_lags(exact, kind, params, was_set)
    assert_transition(model, expected, 1e-9)
    assert model.converged_
    forecast = model.forecast(two_lags(kind), 2, 5, random_state=0)
    assert forecast.draws.shape == (12, 5, 2, 2)
    if interventions:
        targets = model.transition_estimator_.dag_samples_.targets
        assert set(targets) == {(5,), (6,)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("params", [TWO_LAGS[0], TWO_LAGS[-1]], ids=str)
def test_searches_find_the_best_networks(kind, params):
    was_set = np.random.default_rng(1).random((len(two_lags()), 3)) < 0.2
    was_set[:, 1] = False
    interventions = np.zeros(two_lags().shape, dtype=bool)
    interventions[:, :3] = was_set
    found = [
        DynamicStructure(
            estimator, 2, static=["s"], time="when", series="who", **params
        ).fit(two_lags(kind), interventions=interventions)
        for estimator in (
            IterativeSearchStructure(SCORES[kind], n_draws=0, random_state=0),
            ExactStructure(SCORES[kind], posterior="best DAG alone"),
        )
    ]
    assert found[0].log_score_ == pytest.approx(found[1].log_score_, rel=1e-10)


# --------------------------------------------------------------- the score of a sum


@pytest.mark.parametrize("kind", ["bge", "bde", "bic", "made up"])
@pytest.mark.parametrize("sets", [None, "two"])
def test_summed_tables_are_those_of_summed_scores(kind, sets):
    rng = np.random.default_rng(1)
    X, first = rng.normal(size=(30, 6)), rng.normal(size=(12, 3))
    score = {
        "bge": BGe(),
        "bic": GaussianBIC(),
        "made up": MadeUpScore(),
        "bde": BDe(categories=[[0, 1]] * 6),
    }[kind]
    if kind == "bde":
        X, first = (X > 0).astype(int), (first > 0).astype(int)
    sets = None if sets is None else np.arange(30) % 2
    columns = np.array([0, 3, 5])
    summed = SummedScore(score, sets, first, columns, edge_penalty=3.0)
    summed.fit(X, edge_prior=rng.normal(size=(6, 6)))

    def local(node, parents):
        value = summed.log_prior_odds_[parents, node].sum()
        for part, place in summed.parts_:
            known = [place[parent] for parent in parents if place[parent] >= 0]
            value += part.log_marginal_likelihood(place[node], np.array(known, int))
        return value

    assert len(summed.parts_) == (2 if sets is None else 3)
    for node, candidates, outsiders in [
        (5, [0, 1, 3], [2, 4]),
        (3, [1, 2], [0, 4, 5]),
        (5, [], [0, 1, 2, 3, 4]),
        (5, [0, 1, 2, 3], []),
    ]:
        table = np.full((1 << len(candidates), 8), -np.inf)
        summed.fill_table(node, np.array(candidates, int), outsiders, node, table)
        for mask in range(len(table)):
            subset = [c for k, c in enumerate(candidates) if mask >> k & 1]
            assert_allclose(table[mask, node], local(node, subset), rtol=1e-9)
            assert_allclose(summed.local_score(node, subset), table[mask, node])
            for other in outsiders:
                expected = local(node, sorted([*subset, other]))
                assert_allclose(table[mask, other], expected, rtol=1e-9)
            added = summed.addition_scores(node, subset)
            for other in set(range(6)) - {node, *subset}:
                expected = local(node, sorted([*subset, other]))
                assert_allclose(added[other], expected, rtol=1e-9)


# --------------------------------------------------------------------- what rows mean


def test_rows_of_series():
    X = np.arange(14.0).reshape(7, 2)
    series = read_series(X, ["b", "a", "b", "b", "a", "c", "b"])
    assert_array_equal(series.labels, ["b", "a", "c"])
    assert_array_equal(series.origin, [0, 2, 3, 6, 1, 4, 5])
    assert_array_equal(series.complete(1), [1, 2, 3, 5])
    assert_array_equal(series.complete(2), [2, 3])
    assert_array_equal(series.first, [0, 4, 6])
    table = series.table(series.complete(2), np.array([False, False]), 2)
    assert list(table.columns) == [
        "x0[t-1]",
        "x1[t-1]",
        "x0[t-2]",
        "x1[t-2]",
        "x0",
        "x1",
    ]
    assert_array_equal(table.to_numpy(), [[4, 5, 0, 1, 6, 7], [6, 7, 4, 5, 12, 13]])


def test_a_time_that_is_skipped():
    frame = pd.DataFrame(
        {"t": [3, 1, 2, 1, 3, 4], "who": list("aaabbb"), "x": range(6), "y": range(6)}
    )
    series = read_series(frame, time="t", series="who")
    assert series.names == ["x", "y"]
    assert_array_equal(series.origin, [1, 2, 0, 3, 4, 5])
    assert_array_equal(series.complete(1), [1, 2, 5])  # b has no row at 2


def test_whole_numbers_are_counted_in_their_step():
    def steps(times):
        return read_series(pd.DataFrame({"t": times, "x": 0.0}), time="t").step.tolist()

    assert steps([2000, 2005, 2010, 2020]) == [0, 1, 2, 4]
    assert steps([1, 2, 4]) == [0, 1, 3]
    assert steps(pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"])) == [
        0,
        1,
        2,
    ]


def test_summed_bayes_factors_are_those_of_summed_scores():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(30, 6)))
    first = pd.DataFrame(rng.normal(size=(12, 3)))
    X[[1, 3]] = (X[[1, 3]] > 0).astype(int)
    first[1] = (first[1] > 0).astype(int)
    score = ConditionalGaussian(
        categories=[[0, 1] if column in (1, 3) else None for column in range(6)]
    )
    columns = np.array([0, 3, 5])
    summed = SummedMixedScore(
        score, np.arange(30) % 2, first, columns, edge_penalty=1.0
    ).fit(X)
    for node, parents, others in [(3, [1], [0, 2, 5]), (0, [], [1, 3]), (2, [0], [4])]:
        alone = summed.local_score(node, parents)
        expected = [summed.local_score(node, [*parents, k]) - alone for k in others]
        found = summed.log_bayes_factors(node, parents, others)
        assert_allclose(found, expected, atol=1e-9)


def small(n_rows=40, n=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n))


def test_order_of_rows_does_not_matter_with_times():
    frame = two_lags()
    model = DynamicStructure(short(), static=["s"], time="when", series="who")
    first = model.fit(frame).transition_probabilities_
    shuffled = frame.sample(frac=1, random_state=1)
    # series are numbered as they appear, which changes the order of stacked rows only
    again = sklearn.clone(model).fit(shuffled)
    assert_allclose(again.transition_probabilities_, first, atol=0.35)
    assert again.log_score_ == pytest.approx(model.log_score_)
    densities = pd.Series(model.score_samples(shuffled), shuffled.index)
    assert_allclose(densities.sort_index(), model.score_samples(frame))


def test_arrays_frames_and_groups_agree():
    X, groups = small(), np.repeat([3, 1], 20)
    plain = DynamicStructure(short()).fit(X, groups=groups)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(who=groups)
    named = DynamicStructure(short(), series="who").fit(frame)
    assert_array_equal(plain.transition_probabilities_, named.transition_probabilities_)
    assert plain.variables_ == ["x0", "x1", "x2"]
    assert named.variables_ == ["a", "b", "c"]
    assert named.n_features_in_ == 4
    assert list(named.transition_estimator_.feature_names_in_) == [
        "a[t-1]",
        "b[t-1]",
        "c[t-1]",
        "a",
        "b",
        "c",
    ]
    static = DynamicStructure(short(), series="who", static=[0])
    with pytest.raises(ValueError, match="static: column 'a' changes within"):
        static.fit(frame)


def test_missing_cells_are_left_out():
    X = small()
    X[10, 1] = np.nan
    with pytest.warns(UserWarning, match="2 of 39 transitions have missing cells"):
        model = DynamicStructure(short(), initial=None).fit(X)
    # without the row there would be a transition across the gap
    stacked = np.hstack([X[:-1], X[1:]])
    expected = BGe(edge_penalty=1.0).fit(stacked[~np.isnan(stacked).any(axis=1)])
    found = model.transition_estimator_.score_
    assert_allclose(
        found.log_marginal_likelihood(4, np.array([0, 3])),
        expected.log_marginal_likelihood(4, np.array([0, 3])),
    )


@pytest.mark.parametrize(
    "structure", [PartitionMCMCStructure, IterativeSearchStructure]
)
def test_constraints_are_about_the_columns_of_the_transition(structure):
    frame = two_lags()
    base = short(
        structure,
        forbidden_edges=[("a", "b"), ("b[t-1]", "b")],
        required_edges=[("s", "a"), ("a[t-1]", "a")],
    )
    model = DynamicStructure(base, static=["s"], time="when", series="who").fit(frame)
    found = model.probabilities_
    assert found.transition[0, 0, 1] == found.initial[0, 1] == 0
    assert found.transition[1, 1, 1] == 0
    assert found.static[0, 0] == found.initial_static[0, 0] == 1
    assert found.transition[1, 0, 0] == 1


def test_edge_priors_reach_the_first_slice():
    X, groups = small(60), np.repeat(np.arange(20), 3)
    prior = np.zeros((6, 6))
    prior[3, 4] = 30.0
    model = DynamicStructure(short(edge_prior=prior)).fit(X, groups=groups)
    assert model.transition_probabilities_[0, 0, 1] > 0.9
    assert model.initial_probabilities_[0, 1] > 0.9
    assert model.transition_probabilities_[1].max() < 0.9


# ------------------------------------------------------------------- what is learned


def var_series(n_series, length, seed=0):
    """A stable process of three variables, a -> b -> c a step later, and a -> c."""
    rng = np.random.default_rng(seed)
    parts = []
    for number in range(n_series):
        x = np.zeros((length + 20, 3))
        for t in range(1, length + 20):
            noise = rng.normal(size=3)
            x[t, 0] = 0.7 * x[t - 1, 0] + noise[0]
            x[t, 1] = 0.8 * x[t - 1, 0] + noise[1]
            x[t, 2] = 0.8 * x[t - 1, 1] + 0.6 * x[t, 0] + noise[2]
        parts.append(pd.DataFrame(x[20:], columns=list("abc")).assign(who=number))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def fitted():
    frame = var_series(20, 10)
    return DynamicStructure(
        PartitionMCMCStructure(n_draws=200, random_state=0), series="who"
    ).fit(frame)


def test_what_is_learned(fitted):
    expected = np.zeros((3, 3), dtype=bool)
    expected[0, 0] = expected[0, 1] = expected[1, 2] = True
    assert_array_equal(fitted.consensus_graph().transition[1], expected)
    assert fitted.transition_probabilities_[0, [0, 2], [2, 0]].sum() > 0.95
    assert fitted.initial_probabilities_.shape == (3, 3)
    unrolled = fitted.unroll(4)
    assert unrolled.shape == (12, 12)
    folded = DynamicGraph.fold(unrolled, 3)
    assert_array_equal(folded.transition, fitted.graph_.transition)
    assert_array_equal(folded.initial, fitted.graph_.initial)


def test_densities_are_those_of_the_parts(fitted):
    frame = var_series(2, 6, seed=1)
    densities = fitted.score_samples(frame)
    values = frame[["a", "b", "c"]].to_numpy()
    rows = np.concatenate([np.arange(1, 6), np.arange(7, 12)])
    stacked = pd.DataFrame(
        np.hstack([values[rows - 1], values[rows]]),
        columns=fitted.transition_estimator_.feature_names_in_,
    )
    expected = fitted.transition_estimator_.score_samples(stacked)
    assert_allclose(densities[rows], expected)
    first = pd.DataFrame(values[[0, 6]], columns=list("abc"))
    assert_allclose(densities[[0, 6]], fitted.initial_estimator_.score_samples(first))
    assert fitted.score(frame) == pytest.approx(densities.mean())


def test_forecasts_are_of_the_process(fitted):
    frame = var_series(3, 5, seed=2)
    forecast = fitted.forecast(frame, n_steps=2, n_samples=4000, random_state=0)
    assert forecast.draws.shape == (3, 4000, 2, 3)
    assert_array_equal(forecast.series, [0, 1, 2])
    last = frame.groupby("who")[["a", "b", "c"]].last().to_numpy()
    A = np.array([[0.7, 0.8, 0.42], [0, 0, 0.8], [0, 0, 0]])
    # coefficients are learned from 180 rows: some 0.1 off, times values of 1 or 2
    assert_allclose(forecast.mean[:, 0], last @ A, atol=0.6)
    lower, upper = forecast.interval(0.9)
    width = (upper - lower)[:, 0, 0]
    assert_allclose(width, 2 * 1.645, rtol=0.2)
    assert ((lower < forecast.mean) & (forecast.mean < upper)).all()
    again = fitted.forecast(frame, n_steps=2, n_samples=4000, random_state=0)
    assert_array_equal(again.draws, forecast.draws)
    with pytest.raises(ValueError, match="level must be between"):
        forecast.interval(2)
    with pytest.raises(ValueError, match="probabilities are of categorical"):
        forecast.probabilities()


@pytest.mark.slow
def test_intervals_cover_what_comes():
    train, test = var_series(30, 10), var_series(200, 6, seed=3)
    model = DynamicStructure(
        PartitionMCMCStructure(random_state=0), series="who", initial=None
    ).fit(train)
    known = test.groupby("who").head(4)
    come = test.groupby("who").tail(2)[["a", "b", "c"]].to_numpy().reshape(200, 2, 3)
    forecast = model.forecast(known, n_steps=2, random_state=0)
    lower, upper = forecast.interval(0.8)
    covered = ((lower < come) & (come < upper)).mean(axis=0)
    # 200 series: five standard errors of a share of 0.8
    assert_allclose(covered, 0.8, atol=5 * np.sqrt(0.16 / 200))


@pytest.mark.parametrize("initial", ["apart", "shared"])
def test_samples(initial):
    frame = var_series(20, 10)
    model = DynamicStructure(short(), series="who", initial=initial).fit(frame)
    rows, groups = model.sample(50, 6, random_state=0)
    assert list(rows.columns) == ["a", "b", "c"]
    assert rows.shape == (300, 3)
    assert_array_equal(groups, np.repeat(np.arange(50), 6))
    again = DynamicStructure(short(), initial=initial).fit(rows, groups=groups)
    assert again.transition_probabilities_[1][0, 1] > 0.9


@pytest.mark.parametrize("params", [{}, {"initial": "shared"}, {"stationary": False}])
def test_categories(params):
    frame = two_lags("categorical")
    model = DynamicStructure(
        short(), static=["s"], time="when", series="who", **params
    ).fit(frame)
    assert np.isfinite(model.score(frame))
    forecast = model.forecast(frame, 3, 200, random_state=0)
    assert set(forecast.draws.ravel()) == {"high", "low"}
    for probabilities in forecast.probabilities():
        assert_allclose(probabilities.sum(axis=-1), 1.0)
    rows, _ = model.sample(4, 3, random_state=0)
    assert list(rows.columns) == ["a", "s", "b"]
    assert set(rows["s"]) <= {"high", "low"}
    with pytest.raises(ValueError, match="use probabilities"):
        forecast.interval()


def test_a_category_that_only_some_slices_show():
    X = np.array([["c", "x"], ["a", "y"], ["b", "x"], ["a", "x"], ["b", "y"]] * 3)
    groups = np.repeat([0, 1, 2], 5)
    model = DynamicStructure(short(), initial="shared").fit(X, groups=groups)
    for part, _ in model.transition_estimator_.score_.parts_:
        assert set(part.n_levels_) == {2, 3}


@pytest.mark.slow
def test_cross_validation_over_series():
    frame = var_series(9, 8)
    model = DynamicStructure(short(), series="who")
    scores = cross_val_score(model, frame, cv=GroupKFold(3), groups=frame["who"])
    assert np.isfinite(scores).all()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = DynamicStructure(short()).set_fit_request(groups=True)
        routed.set_score_request(groups=True)
        again = cross_val_score(
            routed,
            frame[["a", "b", "c"]],
            cv=GroupKFold(3),
            params={"groups": frame["who"]},
        )
    assert_allclose(again, scores)


def test_parameters_of_their_own_at_each_time():
    frame = two_lags()
    model = DynamicStructure(
        short(), static=["s"], time="when", series="who", stationary=False
    ).fit(frame)
    part = frame[frame["when"].isin([2, 3])]
    densities = model.score_samples(part)
    whole = model.score_samples(frame)[frame["when"].isin([2, 3])]
    later = (part["when"] == 3).to_numpy()
    assert_allclose(densities[later], whole[later])
    with pytest.raises(ValueError, match="times that fit has not seen"):
        model.score_samples(frame.assign(when=frame["when"] + 20))


def test_the_first_slice_left_out():
    X = small()
    model = DynamicStructure(short(), initial=None, n_lags=2).fit(X)
    assert model.initial_probabilities_ is None
    assert model.initial_estimator_ is None
    densities = model.score_samples(X)
    assert_array_equal(np.isnan(densities), np.arange(40) < 2)
    assert not model.unroll(3)[:, :3].any()
    with pytest.raises(ValueError, match="sample needs a network of the first slice"):
        model.sample()


# -------------------------------------------------------------------- graphs of slices


def test_unroll_and_fold_with_lags():
    rng = np.random.default_rng(3)
    transition = rng.random((3, 2, 2)) < 0.5
    transition[0] = [[0, 1], [0, 0]]
    graph = DynamicGraph(
        transition, rng.random((2, 2)) < 0.5, transition[0], np.ones((2, 2), dtype=bool)
    )
    unrolled = graph.unroll(5)
    assert unrolled.shape == (12, 12)
    assert not np.tril(unrolled[2:, 2:]).any()
    again = DynamicGraph.fold(unrolled, 2, 2, n_lags=2)
    for name in ("transition", "static", "initial", "initial_static"):
        assert_array_equal(getattr(again, name), getattr(graph, name))
    unrolled[2, 11] = True
    with pytest.raises(ValueError, match="does not fold"):
        DynamicGraph.fold(unrolled, 2, 2, n_lags=2)
    with pytest.raises(ValueError, match="more than 5 slices"):
        DynamicGraph.fold(unrolled, 2, 2, n_lags=5)


# -------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"static": ["z"]}, "static names an unknown variable: 'z'"),
        ({"static": [0, 1, 2]}, "static has every variable"),
        ({"time": "z"}, "time names an unknown variable"),
        ({"n_lags": 50}, "series are too short"),
        ({"n_lags": 0}, "n_lags"),
        ({"initial": "same"}, "initial"),
        ({"estimator": BGe()}, "estimator"),
        ({"estimator": short(background=[0])}, "background of its own"),
        (
            {
                "estimator": short(required_edges=[("x0", "x1")]),
                "contemporaneous": False,
            },
            "within a slice",
        ),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        DynamicStructure(**{"estimator": short(), **params}).fit(small())


def test_one_series_says_nothing_of_first_rows():
    X = small()
    model = DynamicStructure(short()).fit(X)
    assert model.initial_probabilities_ is None
    with pytest.raises(ValueError, match="initial='shared' has one first row"):
        DynamicStructure(short(), initial="shared").fit(X)
    X[0, 0] = np.nan  # a first row, which is not looked at
    with pytest.warns(UserWarning, match="1 of 39 transitions"):
        DynamicStructure(short()).fit(X)


@pytest.mark.parametrize("parameter", ["edge_prior", "search_space"])
def test_matrices_of_another_size(parameter):
    base = short(**{parameter: np.ones((3, 3))})
    message = f"{parameter} of the estimator must be about the 6 columns"
    with pytest.raises(ValueError, match=message):
        DynamicStructure(base).fit(small())


def test_a_search_space_of_the_transition():
    space = np.zeros((6, 6), dtype=bool)
    space[[0, 1, 3], [3, 4, 5]] = True
    base = short(search_space=space, extra_parent=False)
    model = DynamicStructure(base).fit(small(), groups=np.arange(40) // 4)
    expected = np.zeros((2, 3, 3), dtype=bool)
    expected[1, 0, 0] = expected[1, 1, 1] = expected[0, 0, 2] = True
    assert not model.transition_probabilities_[~expected].any()
    assert model.initial_probabilities_[0, 2] > 0
    assert model.initial_probabilities_.sum() == model.initial_probabilities_[0, 2]


def test_bad_rows():
    frame = two_lags()
    model = DynamicStructure(short(), static=["s"], time="when", series="who")
    with pytest.raises(ValueError, match="both say which series"):
        model.fit(frame, groups=frame["who"])
    with pytest.raises(ValueError, match="two rows for 1 in column 'when'"):
        model.fit(frame.assign(when=1))
    with pytest.raises(ValueError, match="one entry for each of the 40 rows"):
        DynamicStructure(short()).fit(small(), groups=[1, 2])
    with pytest.raises(ValueError, match="static has 'who'"):
        model.set_params(static=["who"]).fit(frame)
    model.set_params(static=["s"]).fit(frame)
    with pytest.raises(ValueError, match="does not end with n_lags=2"):
        DynamicStructure(short(), 2, static=["s"], time="when", series="who").fit(
            frame
        ).forecast(frame[frame["when"] == 0])
    with pytest.raises(ValueError, match="n_steps must be a positive integer"):
        model.forecast(frame, n_steps=0)
    with pytest.raises(ValueError, match="n_slices=3 does not divide"):
        series_from_wide(small(5, 4), 3)
