"""Ordered categories as classes of normal variables, in the score of mixed data."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate
from scipy.stats import norm
from test_scores_mixed import naive_evidence

from helpers import all_dags
from skbidag import (
    OrderMCMCStructure,
    PartitionMCMCStructure,
    causal_effects,
    graphs,
)
from skbidag._missing import Completion, Holes
from skbidag.scores import ConditionalGaussian, _latent

LEVELS = ["low", "mid", "top"]


def cut(values, shares, ordered=True):
    """A column of pandas, cut at quantiles."""
    edges = [-np.inf, *np.quantile(values, shares), np.inf]
    return pd.cut(values, edges, labels=LEVELS[: len(edges) - 1], ordered=ordered)


def chain_frame(seed=0, n_rows=400):
    """a -> b -> c -> d, of which b and d are cut; e is a coin that tells about a."""
    rng = np.random.default_rng(seed)
    coin = rng.random(n_rows) < 0.4
    a = rng.normal(size=n_rows) + coin
    b = a + 0.7 * rng.normal(size=n_rows)
    c = b + 0.7 * rng.normal(size=n_rows)
    d = c + rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "a": a,
            "b": cut(b, [0.3, 0.6]),
            "c": c,
            "d": cut(d, [0.5]),
            "e": np.where(coin, "head", "tail"),
        }
    )


@pytest.fixture(scope="module")
def score():
    return ConditionalGaussian().fit(chain_frame())


# ------------------------------------------------------------------- latent variables


def test_thresholds_have_the_shares_of_levels():
    codes = np.repeat([0, 1, 3], [50, 30, 20])
    cuts = _latent.thresholds(codes, np.ones(100), 4, 1e-6)
    assert_allclose(norm.cdf(cuts), [0.5, 0.8, 0.8], atol=1e-6)
    assert (np.diff(cuts) > 0).all()  # a level without rows is one, too
    rare = _latent.thresholds(np.array([0]), np.array([1e9]), 3, 1e-9)
    assert np.isfinite(rare).all()
    assert (np.diff(rare) > 0).all()


def test_normal_scores_are_expectations():
    cuts = np.array([-1.0, 0.3, 2.5])
    edges = [-np.inf, *cuts, np.inf]
    for got, low, high in zip(
        _latent.normal_scores(cuts), edges[:-1], edges[1:], strict=True
    ):
        moment = integrate.quad(lambda z: z * norm.pdf(z), low, high)[0]
        assert_allclose(got, moment / (norm.cdf(high) - norm.cdf(low)))
    extreme = _latent.normal_scores(np.array([-12.0, 9.0, 9.1, 40.0]))
    assert np.isfinite(extreme).all()
    assert (np.diff(extreme) > 0).all()


def test_information():
    assert_allclose(_latent.share_of_information(np.zeros(1)), 2 / np.pi)
    fine = norm.ppf(np.linspace(0, 1, 102)[1:-1])
    assert 0.99 < _latent.share_of_information(fine) < 1
    assert _latent.information(np.ones(3)) == 1.0
    assert_allclose(_latent.information(np.array([0.5, 1.0])), 0.25)


def test_draws_have_the_correlations_of_what_was_cut():
    rng = np.random.default_rng(0)
    covariance = np.array([[1, 0.8, 0.5], [0.8, 1, 0.4], [0.5, 0.4, 1]])
    values = rng.multivariate_normal(np.zeros(3), covariance, 4000)
    codes = np.column_stack([values[:, 0] > 0.3, np.digitize(values[:, 1], [-1, 0.5])])
    rows = np.column_stack([codes, values[:, 2]]).astype(float)
    cuts = {
        k: _latent.thresholds(codes[:, k], np.ones(4000), k + 2, 1.0) for k in (0, 1)
    }
    drawn, seen, weights, precision = _latent.draw_latents(
        rows, np.ones(4000), cuts, np.zeros(3, dtype=int)
    )
    # and again, with the covariances that were found
    again, _, of_again, same = _latent.draw_latents(
        rows, np.ones(4000), cuts, np.zeros(3, dtype=int), precision
    )
    assert same is precision
    for values_drawn, worth in ((drawn, weights), (again, of_again)):
        # four standard errors of a tetrachoric correlation of 0.8, about 0.02 each
        got = correlations(values_drawn, worth)
        assert_allclose(got, np.corrcoef(values.T), atol=0.08)
        assert np.corrcoef(rows.T)[0, 1] < 0.65 < got[0, 1]  # codes alone
        assert len(values_drawn) < 10
    assert len(drawn) == len(seen)


def correlations(rows, weights):
    centered = rows - np.average(rows, axis=0, weights=weights)
    scatter = (centered.T * weights) @ centered
    scale = np.sqrt(np.diag(scatter))
    return scatter / scale / scale[:, None]


def test_condensed_rows_have_the_same_sums(monkeypatch):
    frame = chain_frame(1, 150)
    few = ConditionalGaussian(edge_penalty=1.0).fit(frame)
    monkeypatch.setattr(_latent, "ROWS_PER_POINT", np.inf)
    many = ConditionalGaussian(edge_penalty=1.0).fit(frame)
    assert len(many._values) == 150 * _latent.MOST_DRAWS > 50 * len(few._values)
    for node, parents in ((0, [1, 4]), (1, [0, 2]), (4, [1, 3])):
        assert_allclose(
            few.local_score(node, parents), many.local_score(node, parents), rtol=1e-8
        )
        rows = frame[:20]
        assert_allclose(
            few.log_predictive(rows, node, parents),
            many.log_predictive(rows, node, parents),
            rtol=1e-8,
        )


# ------------------------------------------------------------------------- the score


def test_the_score_is_that_of_the_drawn_values(score):
    rows, weights, divides = score._drawn, score._counts, score.divides_
    for size in range(4):
        for columns in itertools.combinations(range(5), size):
            expected = naive_evidence(score, rows, divides, list(columns), weights)
            assert_allclose(score._log_evidence(np.array(columns, int)), expected)


def test_tables_have_the_local_scores(score):
    for node in range(5):
        others = np.delete(np.arange(5), node)
        table, expected = np.empty((8, 6)), np.empty((8, 6))
        for fill, out in (
            (score.fill_table, table),
            (super(ConditionalGaussian, score).fill_table, expected),
        ):
            fill(node, others[:3], others[3:], 5, out)
        columns = [others[3], 5]
        assert_allclose(table[:, columns], expected[:, columns], rtol=1e-9)


def test_equivalent_dags_have_the_same_score():
    frame = chain_frame(2, 60)[["a", "b", "d", "e"]]
    score = ConditionalGaussian().fit(frame)
    scores = {}
    for A in all_dags(4):
        key = graphs.to_cpdag(A).tobytes()
        value = score.dag_score(A)
        assert_allclose(scores.setdefault(key, value), value, rtol=1e-10)


def test_rows_count_in_any_order_and_as_weights():
    frame = chain_frame(3, 80)
    score = ConditionalGaussian().fit(frame)
    turned = ConditionalGaussian().fit(frame[::-1])
    twice = ConditionalGaussian().fit(pd.concat([frame, frame]))
    weighted = ConditionalGaussian().fit(frame, sample_weight=np.full(80, 2.0))
    for node, parents in ((0, [1, 4]), (1, [0, 3]), (4, [3])):
        got = score.local_score(node, parents)
        assert got == turned.local_score(node, parents)
        assert twice.local_score(node, parents) == weighted.local_score(node, parents)


def test_what_is_ordinal():
    frame = chain_frame(0, 100)
    assert_array_equal(ConditionalGaussian().fit(frame).is_ordinal_, [0, 1, 0, 1, 0])
    for chosen in (["b"], [1], [False, True, False, False, False]):
        score = ConditionalGaussian(ordinal=chosen).fit(frame)
        assert_array_equal(score.is_ordinal_, [0, 1, 0, 0, 0])
    unordered = frame.assign(b=frame["b"].cat.as_unordered(), d=frame["d"].astype(str))
    none, plain = ConditionalGaussian(ordinal=None), ConditionalGaussian()
    got = none.fit(frame).local_score(0, [1, 3])
    assert got == plain.fit(unordered).local_score(0, [1, 3])
    assert plain.n_effective_ == 100 > ConditionalGaussian().fit(frame).n_effective_
    # polars says nothing of an order; numbers have one
    codes = {"a": frame["a"], "b": frame["b"].cat.codes.astype(int), "e": frame["e"]}
    codes = {name: np.asarray(column).tolist() for name, column in codes.items()}
    score = ConditionalGaussian(ordinal=["b"]).fit(pl.DataFrame(codes))
    assert_array_equal(score.is_ordinal_, [0, 1, 0])
    as_array = np.column_stack([frame["a"], frame["b"].cat.codes])
    assert ConditionalGaussian(ordinal=[1]).fit(as_array).is_categorical_[1]
    with pytest.raises(ValueError, match=r"'d' cannot be ordinal: its levels .*'low'"):
        ConditionalGaussian(ordinal=["d"]).fit(unordered)
    with pytest.raises(ValueError, match="ordinal names an unknown variable: 'x'"):
        ConditionalGaussian(ordinal=["x"]).fit(frame)


def test_constants_and_empty_levels():
    frame = chain_frame(4, 30)
    frame["d"] = pd.Categorical(["low"] * 30, LEVELS, ordered=True)
    frame["f"] = pd.Categorical(["one"] * 30, ["one"], ordered=True)
    score = ConditionalGaussian().fit(frame)
    assert_array_equal(score.is_ordinal_, [0, 1, 0, 1, 0, 0])
    for node in range(6):
        parents = np.delete(np.arange(6), node)
        assert np.isfinite(score.local_score(node, parents))
        assert np.isfinite(score.log_predictive(frame, node, parents)).all()


def test_no_continuous_causes():
    score = ConditionalGaussian(continuous_causes=False).fit(chain_frame())
    expected = np.zeros((5, 5), dtype=bool)
    expected[:4, 4] = True  # what is cut is a number, too
    assert_array_equal(score.forbidden_edges_, expected)


# -------------------------------------------------------------- conditionals of rows


@pytest.mark.parametrize("node", [1, 3, 4])
@pytest.mark.parametrize("parents", [[], [0], [0, 2, 4], [1, 3]])
def test_probabilities_add_up_to_one(score, node, parents):
    parents = [k for k in parents if k != node]
    rows = score.encode(chain_frame(5, 10))
    rows[0, 1] = rows[1, 4] = -1  # levels never seen
    total = 0.0
    for level in range(score.n_levels_[node]):
        rows[:, node] = level
        total = total + np.exp(score.log_predictive_rows(rows, node, parents))
    assert_allclose(total, 1.0)
    rows[:, node] = -1
    assert (score.log_predictive_rows(rows, node, parents) < np.log(0.1)).all()


def test_densities_integrate_to_one(score):
    row = score.encode(chain_frame(5, 10))[:1]
    grid = np.linspace(-40, 40, 4001)[:, None]
    log_density = score.log_predictive_of_values(row, 2, np.array([1, 3]), 2, grid)
    assert_allclose(integrate.trapezoid(np.exp(log_density[:, 0]), grid[:, 0]), 1, 1e-4)


@pytest.mark.parametrize(("node", "varied"), [(1, 0), (1, 1), (0, 1), (4, 0), (0, 0)])
def test_many_values_of_one_column(score, node, varied):
    rows = score.encode(chain_frame(6, 4))
    values = np.tile([[0.0], [1.0]], (1, 4))
    parents = np.array([k for k in (0, 1, 3) if k != node])
    got = score.log_predictive_of_values(rows, node, parents, varied, values)
    for value, log_density in zip((0.0, 1.0), got, strict=True):
        rows[:, varied] = value
        assert_allclose(log_density, score.log_predictive_rows(rows, node, parents))


def test_drawn_levels_have_their_probabilities(score):
    row = score.encode(chain_frame(7, 10))[:1]
    rng = np.random.RandomState(0)
    rows, n = np.repeat(row, 20_000, axis=0), 20_000
    drawn = score.sample_predictive_rows(rows, 1, np.array([0, 3]), rng)
    for level in range(3):
        row[0, 1] = level
        p = np.exp(score.log_predictive_rows(row, 1, [0, 3]))[0]
        # five standard errors
        assert abs((drawn == level).mean() - p) < 5 * np.sqrt(p * (1 - p) / n)


def test_drawn_parameters_are_about_the_predictive_distribution(score):
    rows = score.encode(chain_frame(8, 5))
    rng = np.random.RandomState(0)
    parents = np.array([0, 3, 4])
    draws = [score.draw_family(1, parents, rng)[0](rows) for _ in range(2000)]
    expected = score._class_probabilities(rows, 1, parents)
    # the mean of draws is the predictive distribution: five standard errors
    error = np.std(draws, axis=0) / np.sqrt(2000)
    assert (np.abs(np.mean(draws, axis=0) - expected) < 5 * error + 1e-4).all()


# ------------------------------------------------------------------- from end to end


@pytest.fixture(scope="module")
def model():
    return OrderMCMCStructure(n_iter=20_000, n_draws=40, random_state=0).fit(
        chain_frame(0, 2_000)
    )


@pytest.mark.slow
def test_what_is_cut_still_separates(model):
    edges = model.edge_probabilities("skeleton")
    index = {name: k for k, name in enumerate("abcde")}
    for pair in ("ab", "bc", "cd"):
        assert edges[index[pair[0]], index[pair[1]]] > 0.9
    assert edges[index["a"], index["c"]] < 0.5
    # of codes, a tells about c whatever b is
    frame = chain_frame(0, 2_000).drop(columns="e")
    codes = frame.assign(b=frame["b"].cat.codes, d=frame["d"].cat.codes).astype(float)
    numbers = OrderMCMCStructure("bge", n_iter=20_000, random_state=0).fit(codes)
    assert numbers.edge_probabilities("skeleton")[0, 2] > 0.99


@pytest.mark.slow
def test_predictions_are_levels(model):
    rows = chain_frame(9, 300)
    b = rows["b"]
    without = rows.assign(b=b.where(rows.index < 0))
    p = model.predict_probabilities(without, ["b"])["b"]
    assert_allclose(p.sum(axis=1), 1.0)
    assert (np.array(LEVELS)[p.argmax(axis=1)] == b).mean() > 0.65  # 0.4 by chance
    got = model.predict(without[:2])
    assert got["b"].dtype == b.dtype
    assert set(got["b"]) <= set(LEVELS)
    assert np.isfinite(model.score_samples(rows)).all()
    drawn = model.sample(500, random_state=0)
    assert drawn["b"].dtype == b.dtype
    shares = drawn["b"].value_counts(normalize=True)
    assert_allclose(shares[LEVELS], [0.3, 0.3, 0.4], atol=0.1)
    # a complete row's other cells tell which level is the likely one
    assert ((drawn["d"] == "mid") == (drawn["c"] > 0.4)).mean() > 0.7


@pytest.mark.slow
def test_effects_on_levels(model):
    effects = causal_effects(model, ["a", "b"], ["b", "c", "d"], random_state=0)
    assert effects.interventions == ["a", ("b", "mid"), ("b", "top")]
    assert effects.outcomes[0] == ("b", "mid")
    assert np.isfinite(effects.draws).all()


@pytest.mark.slow
def test_interventions():
    rng = np.random.default_rng(0)
    frame = chain_frame(0, 600)
    was_set = rng.random(600) < 0.4
    levels = rng.choice(LEVELS, 600)
    frame.loc[was_set, "b"] = levels[was_set]
    cells = np.zeros((600, 5), dtype=bool)
    cells[was_set, 1] = True
    model = OrderMCMCStructure(n_iter=20_000, n_draws=200, random_state=0)
    model.fit(frame, interventions=cells)
    assert model.edge_probabilities()[0, 1] > 0.9


def test_results_of_ordinal_columns():
    rng = np.random.default_rng(0)
    behind = rng.normal(size=400)
    cut = pd.cut(behind, [-np.inf, -1, 0, 1, np.inf], labels=list("abcd"))
    frame = pd.DataFrame({"grade": cut, "level": 2 * behind + rng.normal(size=400)})
    frame["sex"] = pd.Categorical(rng.choice(["f", "m"], size=400))
    model = OrderMCMCStructure(n_iter=5000, n_chains=1, n_draws=50, random_state=0)
    model.fit(frame)
    edges = model.edges_frame().set_index(["parent", "child"])
    grows = edges.loc[("grade", "level"), "effect"]
    assert grows == pytest.approx(2.0, abs=0.3)  # per standard deviation behind
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = True
    told = model.parameters(dag).to_frame().set_index(["child", "parameter"])["mean"]
    assert told["level", "grade"] == pytest.approx(2.0, abs=0.3)


# --------------------------------------------------------------------- missing cells


def test_completed_rows_have_about_the_same_score():
    """A few sweeps do where covariances of rows with a few other cells are known."""
    score = ConditionalGaussian(edge_penalty=1.0).fit(chain_frame(2))
    rows, weights = score.test_data(None)
    changed = rows.copy()
    changed[::20, 1] = 1 - np.minimum(changed[::20, 1], 1)
    for given in (rows, changed):
        quickly = score.with_rows(given, weights)
        anew = score.with_prior_of(given, weights)
        edges = [(1, 0), (2, 1), (3, 2)]
        gains, expected = [
            np.array([of.log_bayes_factors(i, [], np.array([j]))[0] for i, j in edges])
            for of in (quickly, anew)
        ]
        # single runs of the stochastic EM algorithm have a standard deviation of up
        # to 5 here, their difference of 7; of about 100 to 170
        assert_allclose(gains, expected, atol=21)
    assert quickly.n_effective_ == pytest.approx(anew.n_effective_)
    again = score.with_rows(changed, weights)
    assert_array_equal(again._drawn, quickly._drawn)  # no chance in it


def test_missing_classes_have_their_conditional_distribution():
    rng = np.random.default_rng(3)
    n_rows = 1500
    a = rng.normal(size=n_rows)
    b = a + 0.7 * rng.normal(size=n_rows)
    c = b + 0.7 * rng.normal(size=n_rows)
    frame = pd.DataFrame({"a": a, "b": cut(b, [0.3, 0.6]), "c": c})
    missing = np.zeros((n_rows, 3), dtype=bool)
    missing[:500, 1] = True
    score = ConditionalGaussian(edge_penalty=1.0).fit(frame)
    rows = score.encode(frame)
    holes = Holes(missing, np.ones(n_rows), np.arange(n_rows), None, 500)
    completion = Completion(score, rows, holes)
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = True
    drawn = completion.draw(rows, dag, np.random.RandomState(0))
    assert_array_equal(drawn[500:], rows[500:])
    assert_array_equal(drawn[:, [0, 2]], rows[:, [0, 2]])
    cuts = np.quantile(b, [0.3, 0.6])
    expected = np.diff(norm.cdf((cuts - a[:500, None]) / 0.7), prepend=0, append=1)
    shares = drawn[:500, 1, None] == np.arange(3)
    for half in (a[:500] < 0, a[:500] > 0):
        # four standard errors of a share of 250 rows, and half as much for parameters
        error = 4 * 0.5 / np.sqrt(250) * 1.5
        difference = shares[half].mean(axis=0) - expected[half].mean(axis=0)
        assert np.abs(difference).max() < error


@pytest.fixture(scope="module")
def holed():
    frame = chain_frame(4, 200)
    rng = np.random.default_rng(0)
    for name in frame:
        frame.loc[rng.random(len(frame)) < 0.1, name] = None
    return frame


@pytest.mark.parametrize(
    "sampler",
    [OrderMCMCStructure, pytest.param(PartitionMCMCStructure, marks=pytest.mark.slow)],
)
def test_what_is_learned_from_holes_beside_classes(holed, sampler):
    model = sampler(n_iter=2000, n_chains=1, n_draws=50, random_state=0).fit(holed)
    skeleton = model.edge_probabilities("skeleton")
    chain = skeleton[[0, 1, 2], [1, 2, 3]]
    assert chain.min() > 0.9
    assert skeleton[0, 2] < 0.5  # only classes of what is between them are seen
    for table in model.missing_draws_[:3]:
        assert (table.dtypes == holed.dtypes).all()
        assert not table.isna().to_numpy().any()
        seen = holed["b"].notna()
        assert table["b"][seen].equals(holed["b"][seen])
    predicted = model.predict(holed[:20])
    assert set(predicted["b"]) <= set(LEVELS)


@pytest.mark.slow
def test_holes_beside_classes_and_interventions(holed):
    cells = np.zeros(holed.shape, dtype=bool)
    cells[::4, 2] = True
    cells &= holed.notna().to_numpy()
    model = OrderMCMCStructure(n_iter=1000, n_chains=1, n_draws=20, random_state=0)
    model.fit(holed, interventions=cells)
    assert np.isfinite(model.score_.dag_score(model.adjacency_))
    assert model.edge_probabilities("skeleton")[0, 1] > 0.5
