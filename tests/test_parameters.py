"""Posterior parameters against closed forms and draws."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from helpers import graph, quick
from skbidag import GaussianNetwork, PartitionMCMCStructure
from skbidag._mixtures import mixture_quantiles
from skbidag._posterior import DAGSamples
from skbidag.datasets import load_asia
from skbidag.scores import BDe, BGe, ConditionalGaussian, GaussianBIC


def gaussian_data(n_rows=40):
    rng = np.random.default_rng(0)
    a, b = rng.normal(10, 2, size=n_rows), rng.normal(-3, 1, size=n_rows)
    c = 5 + 0.7 * a - 1.5 * b + rng.normal(size=n_rows)
    return pd.DataFrame({"a": a, "b": b, "c": c})


def with_dags(model, *dags):
    """The same model as if these had been sampled."""
    model.dag_samples_ = DAGSamples(np.packbits(np.array(dags)[None], axis=-1))
    return model


COLLIDER = graph(3, (0, 2), (1, 2))


@pytest.fixture
def gaussian():
    return quick(score=BGe()).fit(gaussian_data())


# ---------------------------------------------------------------------- continuous


def test_a_regression_is_that_of_a_normal_wishart_prior():
    """Drawn by way of whole covariance matrices and means."""
    X = gaussian_data(12).to_numpy()
    score = BGe().fit(X)
    posterior = score.regression_posterior(2, [0, 1])
    rng = np.random.default_rng(1)
    n_draws = 40_000
    precision = stats.wishart(
        df=score._alpha_w + 12, scale=np.linalg.inv(score.scatter_)
    ).rvs(n_draws, random_state=rng)
    covariance = np.linalg.inv(precision)
    worth = score.alpha_mu + 12
    z = np.einsum(
        "dij,dj->di", np.linalg.cholesky(covariance), rng.normal(size=(n_draws, 3))
    )
    means = score.posterior_mean_ + z / np.sqrt(worth)
    slopes = np.linalg.solve(covariance[:, :2, :2], covariance[:, :2, 2:])[:, :, 0]
    intercepts = means[:, 2] - (slopes * means[:, :2]).sum(axis=1)
    drawn = np.column_stack([intercepts, slopes])
    noise = covariance[:, 2, 2] - (slopes * covariance[:, :2, 2]).sum(axis=1)
    # four standard errors of means and, roughly, of standard deviations
    sd = drawn.std(axis=0)
    assert_allclose(posterior.location, drawn.mean(axis=0), atol=4 * sd.max() / 200)
    assert_allclose(posterior.deviation, sd, rtol=0.04)
    assert_allclose(posterior.variance, noise.mean(), rtol=0.02)
    assert_allclose(posterior.variance_deviation, noise.std(), rtol=0.1)
    for level in (0.5, 0.9):
        tails = [(1 - level) / 2, (1 + level) / 2]
        ends = np.quantile(drawn, tails, axis=0)
        assert_allclose(posterior.interval(level), ends, atol=0.05 * sd.max())
        ends = np.quantile(noise, tails)
        assert_allclose(posterior.variance_interval(level), ends, rtol=0.03)
    # and what the posterior draws itself
    own, own_noise = posterior.draw(n_draws, np.random.RandomState(0))
    assert_allclose(own.mean(axis=0), posterior.location, atol=4 * sd.max() / 200)
    assert_allclose(own.std(axis=0), posterior.deviation, rtol=0.04)
    assert_allclose(np.corrcoef(own.T), np.corrcoef(drawn.T), atol=4 * 2**0.5 / 200)
    assert_allclose(own_noise.mean(), posterior.variance, rtol=0.02)


def test_coefficients_are_those_of_causal_effects(gaussian):
    score = gaussian.score_
    location, root, df = score.coefficient_posterior([2], [[0, 1]])
    posterior = score.regression_posterior(2, [0, 1])
    assert_allclose(posterior.location[1:], location[0])
    assert_allclose(posterior.root[1:, 1:], root[0])
    assert posterior.df == df


def test_frame_of_one_dag(gaussian):
    parameters = gaussian.parameters(COLLIDER)
    frame = parameters.to_frame(0.9)
    assert list(frame.columns) == [
        "child",
        "parameter",
        "given",
        "probability",
        "mean",
        "sd",
        "lower",
        "upper",
    ]
    of_c = frame[frame["child"] == "c"].set_index("parameter")
    assert list(of_c.index) == ["intercept", "a", "b", "residual variance"]
    posterior = gaussian.score_.regression_posterior(2, [0, 1])
    student = stats.t(posterior.df, posterior.location, posterior.scale)
    assert_allclose(of_c["mean"][:3], student.mean())
    assert_allclose(of_c["sd"][:3], student.std())
    assert_allclose(of_c[["lower", "upper"]][:3].T, student.ppf([[0.05], [0.95]]))
    noise = stats.invgamma(posterior.df / 2, scale=posterior.residual / 2)
    assert_allclose(of_c["mean"].iloc[3], noise.mean())
    assert_allclose(of_c["sd"].iloc[3], noise.std())
    assert_allclose(of_c[["lower", "upper"]].iloc[3], noise.ppf([0.05, 0.95]))
    assert (frame["probability"] == 1).all()
    assert repr(parameters) == "Parameters(n_features=3, n_edges=2)"


def test_averages_are_mixtures(gaussian):
    """Against draws of DAGs and then of coefficients."""
    chain = graph(3, (0, 2))
    model = with_dags(gaussian, COLLIDER, COLLIDER, chain, graph(3))
    frame = model.parameters().to_frame(0.8)
    of_c = frame[frame["child"] == "c"].set_index("parameter")
    assert_array_equal(of_c["probability"], [1.0, 0.75, 0.5, 1.0])
    rng, score = np.random.RandomState(0), model.score_
    n_draws = 40_000
    drawn = np.zeros((4, n_draws, 4))
    for part, parents in zip(drawn, ([0, 1], [0, 1], [0], []), strict=True):
        values, part[:, 3] = score.regression_posterior(2, parents).draw(n_draws, rng)
        part[:, [0, *(1 + np.array(parents, dtype=int))]] = values
    drawn = drawn.reshape(-1, 4)
    # the sd of a mean of 160,000 draws is a 400th of theirs
    assert_allclose(of_c["mean"], drawn.mean(axis=0), atol=4 * drawn.std() / 400)
    assert_allclose(of_c["sd"], drawn.std(axis=0), rtol=0.03)
    ends = np.quantile(drawn, [0.1, 0.9], axis=0)
    assert_allclose(of_c[["lower", "upper"]].T, ends, atol=0.02 * drawn.std())
    assert of_c.loc["b", "upper"] == 0.0
    effect = model.edges_frame().set_index(["parent", "child"])["effect"]
    assert_allclose(effect["a", "c"], of_c.loc["a", "mean"] / 0.75)


def test_quantiles_of_a_mixture_with_nothing():
    normal = stats.norm(1.0, 2.0)
    tails = np.array([0.1, 0.9])
    found = mixture_quantiles(
        lambda x: 0.4 * normal.cdf(x), tails, normal.ppf(tails)[:, None], absent=0.6
    )
    assert found[0] == pytest.approx(normal.ppf(0.1 / 0.4))
    assert found[1] == pytest.approx(normal.ppf((0.9 - 0.6) / 0.4))
    found = mixture_quantiles(
        lambda x: 0.1 * normal.cdf(x), tails, normal.ppf(tails)[:, None], absent=0.9
    )
    assert found[0] == 0.0


def test_a_gaussian_network_has_the_moments_of_the_data():
    """With many rows, a complete DAG's network has the data's mean and covariance."""
    X = gaussian_data(5000)
    model = quick(score=BGe()).fit(X)
    network = model.parameters(graph(3, (0, 1), (0, 2), (1, 2))).network()
    assert isinstance(network, GaussianNetwork)
    assert network.names == ["a", "b", "c"]
    assert_allclose(network.mean, X.mean(), rtol=1e-3)
    assert_allclose(network.covariance, np.cov(X.T), rtol=0.01, atol=0.01)
    rows = network.sample(20_000, random_state=0, as_frame=True)
    assert list(rows.columns) == ["a", "b", "c"]
    # four standard errors of means and of variances
    sd = np.sqrt(np.diag(network.covariance))
    assert_allclose((rows.mean() - network.mean) / sd, 0, atol=4 / 20_000**0.5)
    assert_allclose(rows.std() / sd, 1, atol=4 / 40_000**0.5)
    assert_array_equal(rows, network.sample(20_000, random_state=0))


# --------------------------------------------------------------------- categorical


def test_tables_are_dirichlet():
    asia = load_asia(as_frame=True)
    model = quick(score=BDe()).fit(asia.data)
    frame = model.parameters(asia.adjacency).to_frame(0.9)
    assert len(frame) == 2 * (1 + 2 + 1 + 2 + 2 + 4 + 2 + 4)
    rows = frame[
        (frame["child"] == "dysp") & (frame["given"] == "bronc=no, either=yes")
    ]
    of = asia.data[(asia.data["bronc"] == "no") & (asia.data["either"] == "yes")]
    counts = of["dysp"].value_counts()[["yes", "no"]] + 1 / 8
    beta = stats.beta(counts["yes"], counts["no"])
    yes, no = rows.itertuples()
    assert (yes.parameter, no.parameter) == ("yes", "no")
    assert_allclose([yes.mean, yes.sd], [beta.mean(), beta.std()])
    assert_allclose([yes.lower, yes.upper], beta.ppf([0.05, 0.95]))
    assert_allclose(no.mean, 1 - yes.mean)


def test_a_table_for_each_parent_set():
    asia = load_asia(as_frame=True)
    model = quick(score=BDe()).fit(asia.data[["smoke", "lung"]])
    model = with_dags(model, graph(2, (0, 1)), graph(2, (0, 1)), graph(2, (1, 0)))
    frame = model.parameters().to_frame()
    of_lung = frame[frame["child"] == "lung"]
    assert list(of_lung["given"]) == ["smoke=yes"] * 2 + ["smoke=no"] * 2 + ["", ""]
    assert_allclose(of_lung["probability"], [2 / 3] * 4 + [1 / 3] * 2)


def test_a_discrete_network_has_the_tables():
    asia = load_asia(as_frame=True)
    model = quick(score=BDe()).fit(asia.data)
    network = model.parameters(asia.adjacency).network()
    assert_array_equal(network.adjacency, asia.adjacency)
    frame = model.parameters(asia.adjacency).to_frame()
    place = network.names.index("dysp")
    assert [network.names[i] for i in network.parents[place]] == ["bronc", "either"]
    rows = frame[
        (frame["child"] == "dysp") & (frame["given"] == "bronc=no, either=yes")
    ]
    # of the columns, the first parent's level changes fastest: (no, yes) is the second
    assert_allclose(network.cpts[place][:, 1], rows["mean"])


# --------------------------------------------------------------------------- mixed


def test_regressions_in_cells():
    """Each cell is a data set of its own, but for the prior."""
    rng = np.random.default_rng(0)
    group, x = rng.integers(2, size=3000), rng.normal(5, size=3000)
    y = np.where(group, 4 - x, 2 * x) + rng.normal(size=3000)
    X = pd.DataFrame({"group": np.where(group, "t", "c"), "x": x, "y": y})
    model = quick(score=ConditionalGaussian()).fit(X)
    frame = model.parameters(graph(3, (0, 2), (1, 2))).to_frame()
    frame = frame[frame["child"] == "y"].set_index(["given", "parameter"])
    # some 1500 rows: standard errors of 0.026, and 0.13 of the intercept
    assert_allclose(frame.loc[("group=t", "x"), "mean"], -1, atol=0.1)
    assert_allclose(frame.loc[("group=c", "x"), "mean"], 2, atol=0.1)
    assert_allclose(frame.loc[("group=t", "intercept"), "mean"], 4, atol=0.5)
    assert_allclose(frame.loc[("group=c", "intercept"), "mean"], 0, atol=0.5)
    assert_allclose(frame.loc[("group=c", "residual variance"), "mean"], 1, atol=0.15)
    assert_allclose(frame.loc[("group=c", "x"), "sd"], 1 / 1500**0.5, rtol=0.1)
    # a category with a number as its cause: the number's mean in each
    frame = model.parameters(graph(3, (2, 0))).to_frame()
    frame = frame[frame["child"] == "group"].set_index(["given", "parameter"])
    assert_allclose(frame.loc[("", "t"), "mean"], group.mean(), atol=1e-3)
    mean = y[group == 1].mean()
    assert_allclose(frame.loc[("group=t", "mean of y"), "mean"], mean, atol=0.01)
    with pytest.raises(ValueError, match="mixed data"):
        model.parameters("best").network()


def test_cells_have_the_parameters_that_are_drawn():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(2, size=30), rng.normal(size=(30, 2))])
    score = ConditionalGaussian(categorical_features=[0]).fit(X)
    _, _, (posterior, _) = score.cell_regressions(2, np.array([0, 1]))
    random = np.random.RandomState(0)
    at = np.array([[0, 0.0, 0], [0, 1.0, 0]])
    drawn = []
    for _ in range(4000):
        expect, deviation = score.draw_family(2, np.array([0, 1]), random)
        drawn.append([*expect(at), deviation(at[:1])[0] ** 2])
    drawn = np.array(drawn)
    drawn[:, 1] -= drawn[:, 0]
    expected = [*posterior.location, posterior.variance]
    sd = drawn.std(axis=0)
    assert_allclose((drawn.mean(axis=0) - expected) / sd, 0, atol=4 / 4000**0.5)
    assert_allclose(sd[:2], posterior.deviation, rtol=0.06)


# -------------------------------------------------------------------------- others


def test_interventions_have_the_rows_left_alone():
    X = gaussian_data(60)
    was_set = ["c"] * 20 + [None] * 40
    model = quick(score=BGe()).fit(X, interventions=was_set)
    frame = model.parameters(COLLIDER).to_frame()
    alone = quick(score=BGe()).fit(X[20:]).parameters(COLLIDER).to_frame()
    # up to what the prior takes from all data
    mine, other = (f[f["child"] == "c"]["mean"] for f in (frame, alone))
    assert_allclose(mine, other, rtol=0.1)


def test_the_library_of_the_data():
    X = pl.DataFrame(gaussian_data().to_dict("list"))
    frame = quick(score=BGe()).fit(X).parameters().to_frame()
    assert isinstance(frame, pl.DataFrame)


def test_without_names(gaussian):
    model = quick(PartitionMCMCStructure).fit(gaussian_data().to_numpy())
    frame = model.parameters(COLLIDER).to_frame()
    assert list(frame["parameter"])[4:] == ["intercept", "0", "1", "residual variance"]


def test_errors(gaussian):
    with pytest.raises(ValueError, match="dag must be 'best'"):
        gaussian.parameters("worst")
    with pytest.raises(ValueError, match="cycle"):
        gaussian.parameters(graph(3, (0, 1), (1, 2), (2, 0)))
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        gaussian.parameters(graph(2))
    with pytest.raises(ValueError, match="averaged over the"):
        gaussian.parameters().network()
    with pytest.raises(ValueError, match="level"):
        gaussian.parameters().to_frame(1.5)
    model = quick(score=GaussianBIC()).fit(gaussian_data())
    with pytest.raises(TypeError, match="GaussianBIC has no posterior"):
        model.parameters()
