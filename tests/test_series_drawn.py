"""Series that are drawn, and densities of their rows, against exact answers.

All steps of a path share the parameters, so that their uncertainty adds up; and the
slices between the first and the one with a whole past have a distribution, too.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import invwishart

from skbidag import DynamicStructure, ExactStructure
from skbidag._predictive._parameters import MAX_ENTRIES, draw_parameters
from skbidag.scores import BDe, BGe, ConditionalGaussian

ONE_LAG = [("x[t-1]", "x")]


def autoregression(n_rows, *coefficients, noise=1.0, seed=0):
    """One series of one variable."""
    rng = np.random.default_rng(seed)
    x = np.zeros(n_rows + 50)
    for t in range(2, len(x)):
        x[t] = noise * rng.normal() + sum(
            c * x[t - lag] for lag, c in enumerate(coefficients, 1)
        )
    return pd.DataFrame({"x": x[50:]})


# ---------------------------------------------------- parameters along a path


def brute_force(x, edge_probability, last, n_steps, n_draws, anew=False):
    """Paths by covariances that are drawn from the inverse Wishart posterior.

    The posterior is that of the complete DAG of x a step before and x; a child without
    the parent has the marginal of it.
    """
    rng = np.random.default_rng(1)
    rows = np.column_stack([x[:-1], x[1:]])
    score = BGe(edge_penalty=1.0).fit(rows)
    df = score._alpha_w + len(rows)
    worth = score.alpha_mu + len(rows)
    paths, edges = np.empty((n_draws, n_steps)), rng.random(n_draws) < edge_probability

    def draw():
        S = invwishart(df, score.scatter_).rvs(n_draws, random_state=rng)
        z = rng.normal(size=(n_draws, 2)) / np.sqrt(worth)
        root = np.linalg.cholesky(S)
        mean = score.posterior_mean_ + np.einsum("nij,nj->ni", root, z)
        slope = np.where(edges, S[:, 0, 1] / S[:, 0, 0], 0.0)
        variance = S[:, 1, 1] - slope**2 * S[:, 0, 0]
        return mean, slope, np.sqrt(variance)

    mean, slope, deviation = draw()
    before = np.full(n_draws, last)
    for k in range(n_steps):
        if anew and k:
            mean, slope, deviation = draw()
        location = mean[:, 1] + slope * (before - mean[:, 0])
        before = paths[:, k] = location + deviation * rng.normal(size=n_draws)
    return paths


def test_forecasts_of_an_autoregression_are_those_by_brute_force():
    frame = autoregression(25, 0.8)
    model = DynamicStructure(ExactStructure(random_state=0, n_draws=4000)).fit(frame)
    forecast = model.forecast(frame, n_steps=6, n_samples=40_000, random_state=0)
    found = forecast.draws[0, :, :, 0]
    x = frame["x"].to_numpy()
    share = model.transition_estimator_.dag_samples_[:][:, 0, 1].mean()
    expected = brute_force(x, share, x[-1], 6, 40_000)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    ends, exact = (np.quantile(paths, levels, axis=0) for paths in (found, expected))
    # The quartiles are some 1.5 apart. The error of a quantile of 40,000 draws is at
    # most 0.02 at the ends, of two of them 0.03: four of these.
    assert_allclose(ends, exact, atol=0.12)
    # with parameters drawn anew at each step, intervals are too narrow
    narrow = brute_force(x, share, x[-1], 6, 40_000, anew=True)
    width, too_narrow = (
        np.ptp(np.quantile(p[:, 5], [0.05, 0.95])) for p in (found, narrow)
    )
    assert width - too_narrow > 0.25


def test_variances_of_an_autoregression_with_many_rows():
    # parameters are known: the variance after h steps is (1 - c^2h) / (1 - c^2)
    frame = autoregression(20_000, 0.6)
    model = DynamicStructure(ExactStructure(random_state=0)).fit(frame)
    start = pd.DataFrame({"x": [0.0, 2.0]})
    draws = model.forecast(start, 5, 20_000, random_state=0).draws[0, :, :, 0]
    steps = np.arange(1, 6)
    # 20,000 draws: four standard errors of a variance, and of a mean
    assert_allclose(draws.var(axis=0), (1 - 0.36**steps) / 0.64, rtol=4 * 0.01 + 0.02)
    assert_allclose(draws.mean(axis=0), 2 * 0.6**steps, atol=4 * 1.25 / 141 + 0.02)


def test_all_series_of_a_draw_follow_one_network():
    frame = autoregression(12, 0.8)
    model = DynamicStructure(
        ExactStructure(required_edges=ONE_LAG, random_state=0), initial=None
    ).fit(frame)
    # far from the mean, what is drawn is the slope
    far = pd.DataFrame({"x": [1e4, -1e4]})
    draws = model.forecast(far, 2, 200, groups=[0, 1], random_state=0).draws[..., 0]
    assert_allclose(draws[0, :, 0], -draws[1, :, 0], atol=30)
    assert_allclose(draws[0, :, 1], draws[0, :, 0] ** 2 / 1e4, rtol=1e-2, atol=30)


def test_probabilities_along_a_path_are_shared():
    x = np.array(list("aabaaabbab"))
    model = DynamicStructure(
        ExactStructure(BDe(), required_edges=ONE_LAG, random_state=0)
    ).fit(pd.DataFrame({"x": x}))
    score = model.transition_estimator_.score_
    counts = score.posterior_counts(1, np.array([0]))
    n = 50_000
    draws = model.forecast(pd.DataFrame({"x": x[:-1]}), 4, n, random_state=0).draws
    stay = (draws[0, :, :, 0] == "a").all(axis=1).mean()
    # of one probability: a product of ratios, as of balls that are put back double
    a, total = counts[0, 0], counts[0].sum()
    # the row ends with a
    expected = np.prod([(a + k) / (total + k) for k in range(4)])
    assert abs(stay - expected) < 4 * np.sqrt(0.25 / n)
    assert abs((a / total) ** 4 - expected) > 8 * np.sqrt(0.25 / n)


def test_tables_that_are_too_large_are_not_drawn():
    rng = np.random.default_rng(0)
    score = BDe().fit(rng.integers(4, size=(50, 3)))
    args = score, 0, np.array([1, 2])
    rng = np.random.RandomState(0)
    assert draw_parameters(*args, 10, rng) is not None
    assert draw_parameters(*args, MAX_ENTRIES, rng) is None


@pytest.mark.parametrize("score", [BGe(), BDe(), ConditionalGaussian()])
def test_one_step_by_parameters_is_one_step_by_prediction(score):
    """Drawing parameters and then a value is drawing from the predictive.

    (Of mixed data that is so for a number. The predictive probabilities of a category
    with numbers for parents count what these say of the parameters, too.)
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    frame = pd.DataFrame(X, columns=list("abc"))
    for name in {BGe: "", BDe: "abc", ConditionalGaussian: "a"}[type(score)]:
        frame[name] = np.where(frame[name] > 0, "u", "v")
    score.fit(frame)
    n, parents = 20_000, np.array([0, 1])
    rows = np.repeat([[1, 0, 0]], n, axis=0)
    if not isinstance(score, BDe):
        rows = rows.astype(float)
    random = np.random.RandomState(0)
    drawn = draw_parameters(score, 2, parents, n, random)
    found = drawn.draw(rows, np.arange(n), random)
    if isinstance(score, BDe):
        expected = score.sample_predictive_codes(rows, 2, parents, random)
        error = 0.5 / np.sqrt(n)
        assert abs(np.mean(found == 1) - np.mean(expected == 1)) < 5 * error
        return
    mixed = isinstance(score, ConditionalGaussian)
    draw = score.sample_predictive_rows if mixed else score.sample_predictive
    expected = draw(rows, 2, parents, random)
    # The error of such quantiles is about 0.012 standard deviations, of two 0.018. Of
    # mixed data parameters are drawn 100 times, which in 15 rows vary by about 0.3.
    error = (0.03 if mixed else 0.018) * np.std(expected)
    levels = [0.1, 0.5, 0.9]
    ends, exact = np.quantile(found, levels), np.quantile(expected, levels)
    assert_allclose(ends, exact, atol=5 * error)


# ------------------------------------------------- slices without a whole past


@pytest.mark.parametrize(
    "params", [{}, {"initial": "shared"}, {"stationary": False}], ids=str
)
def test_densities_of_all_slices_sum_to_one(params):
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(30, 5))
    x[:, 2:] = np.where(rng.random((30, 3)) < 0.8, x[:, :3], x[:, 2:])
    frame = pd.DataFrame({"x": x.ravel(), "y": rng.integers(2, size=150)})
    model = DynamicStructure(
        ExactStructure(BDe(), random_state=0, n_draws=50), 3, **params
    ).fit(frame, groups=np.repeat(np.arange(30), 5))
    values = list(itertools.product([0, 1], repeat=2))
    past = [(0, 1), (1, 1), (1, 0)]
    for n_before in range(4):
        series = [[*past[:n_before], value] for value in values]
        rows = pd.DataFrame(np.concatenate(series), columns=["x", "y"])
        groups = np.repeat(np.arange(4), n_before + 1)
        densities = model.score_samples(rows, groups)
        assert np.isfinite(densities).all()
        assert logsumexp(densities[n_before :: n_before + 1]) == pytest.approx(0.0)


def test_a_slice_without_a_whole_past_lacks_edges():
    frame = autoregression(60, 0.0, 0.8)
    model = DynamicStructure(
        ExactStructure(required_edges=[("x[t-2]", "x")], forbidden_edges=ONE_LAG),
        2,
        initial="shared",
    ).fit(frame, groups=np.repeat(np.arange(6), 10))
    densities = model.score_samples(frame[:10])
    score = model.transition_estimator_.score_.parts_[0][0]
    rows = np.column_stack([frame["x"][1:10], frame["x"][:9], frame["x"][1:10]])
    assert_allclose(densities[1], score.log_predictive(rows, 2, [])[0])
    rows = np.column_stack([frame["x"][1:9], frame["x"][:8], frame["x"][2:10]])
    assert_allclose(densities[2:], score.log_predictive(rows, 2, [1]))


def test_rows_after_a_gap():
    frame = autoregression(60, 0.5, 0.3).assign(
        who=np.repeat(np.arange(6), 10), when=np.tile(np.arange(10), 6)
    )
    model = DynamicStructure(
        ExactStructure(random_state=0), 2, time="when", series="who"
    ).fit(frame)
    with_gap = frame[:10].drop(index=4)
    densities = model.score_samples(with_gap)
    assert_array_equal(np.isnan(densities), with_gap["when"] == 5)
    whole = model.score_samples(frame[:10])
    assert_allclose(densities[:4], whole[:4])
    assert_allclose(densities[6:], whole[7:])


@pytest.mark.parametrize("initial", ["apart", "shared"])
def test_drawn_series_have_the_moments_of_the_process(initial):
    parts = [autoregression(20, 0.5, 0.3, seed=k).assign(who=k) for k in range(300)]
    model = DynamicStructure(
        ExactStructure(random_state=0), 2, initial=initial, series="who"
    ).fit(pd.concat(parts, ignore_index=True))
    rows, groups = model.sample(20_000, 7, random_state=0)
    assert_array_equal(groups, np.repeat(np.arange(20_000), 7))
    drawn = rows["x"].to_numpy().reshape(20_000, 7)
    # of the stationary process: r1 = a / (1 - b), r2 = a r1 + b, and the variance
    r1 = 0.5 / 0.7
    r2 = 0.5 * r1 + 0.3
    variance = 1 / (1 - 0.5 * r1 - 0.3 * r2)
    # four standard errors of the mean of 300 first rows
    assert_allclose(drawn.mean(axis=0), 0.0, atol=4 * np.sqrt(variance / 300))
    # learned from 300 first rows and 5400 others: the former's standard deviation is
    # known to 4 %, coefficients to 0.013
    assert_allclose(drawn.std(axis=0), np.sqrt(variance), rtol=0.12)
    correlation = np.corrcoef(drawn.T)
    assert_allclose(np.diag(correlation, 1), r1, atol=0.06)
    assert_allclose(np.diag(correlation, 2), r2, atol=0.07)


def test_drawn_series_have_the_parameters_of_each_time():
    rng = np.random.default_rng(0)
    x = rng.normal([0, 0, 3, -3, 5], size=(200, 5))
    frame = pd.DataFrame({"x": x.ravel()})
    model = DynamicStructure(
        ExactStructure(random_state=0, n_draws=50), stationary=False
    ).fit(frame, groups=np.repeat(np.arange(200), 5))
    rows, _ = model.sample(4000, 7, random_state=0)
    # beyond the last time its parameters go on; five standard errors of 200 rows
    expected = [0, 0, 3, -3, 5, 5, 5]
    means = rows["x"].to_numpy().reshape(4000, 7).mean(axis=0)
    assert_allclose(means, expected, atol=5 / np.sqrt(200))


def test_fewer_slices_than_lags():
    frame = autoregression(60, 0.5, 0.3)
    model = DynamicStructure(ExactStructure(random_state=0, n_draws=10), 3).fit(
        frame, groups=np.repeat(np.arange(6), 10)
    )
    for n_slices in (1, 2, 3, 4):
        rows, _ = model.sample(5, n_slices, random_state=0)
        assert rows.shape == (5 * n_slices, 1)
        assert np.isfinite(rows).all(axis=None)


# ---------------------------------------------------------------------- mixed data


def mixed_series(n_series=15, length=8, seed=0):
    """A mood that lasts, and sleep that goes with it."""
    rng = np.random.default_rng(seed)
    rows = []
    for who in range(n_series):
        good, sleep = True, 7.0
        for _ in range(length):
            good = rng.random() < (0.85 if good else 0.2)
            sleep = 3.5 + 0.4 * sleep + 1.5 * good + 0.7 * rng.normal()
            rows.append((who, "good" if good else "bad", sleep))
    return pd.DataFrame(rows, columns=["who", "mood", "sleep"])


def test_mixed_data():
    frame = mixed_series()
    model = DynamicStructure(
        ExactStructure(random_state=0, n_draws=50), series="who"
    ).fit(frame)
    assert isinstance(model.transition_estimator_.score_, ConditionalGaussian)
    assert model.transition_probabilities_[1, 0, 0] > 0.9
    assert np.isfinite(model.score_samples(frame)).all()
    forecast = model.forecast(frame, 3, 400, random_state=0)
    assert set(forecast.draws[..., 0].ravel()) == {"good", "bad"}
    mood, sleep = forecast.probabilities()
    assert sleep is None
    assert_allclose(mood.sum(axis=-1), 1.0)
    assert np.isnan(forecast.mean[..., 0]).all()
    lower, upper = forecast.interval()
    assert ((lower > 4) & (lower < upper) & (upper < 13))[..., 1].all()
    rows, _ = model.sample(300, 4, random_state=0)
    assert list(rows.columns) == ["mood", "sleep"]
    assert rows["sleep"].dtype == float
    # the posterior is of 105 transitions: means are known to about 0.2
    of_mood = rows.groupby("mood")["sleep"].mean()
    expected = frame.groupby("mood")["sleep"].mean()
    assert_allclose(of_mood[expected.index], expected, atol=0.8)


# ---------------------------------------------------------------------- interventions


def test_what_was_set_tells_nothing_about_its_causes():
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for who in range(20):
        dose = pain = 0.0
        for week in range(10):
            doctor = week % 2 == 0
            new = rng.normal() * 2 if doctor else 0.9 * pain + 0.3 * rng.normal()
            pain = 0.5 * pain - 0.8 * dose + rng.normal()
            dose = new
            rows.append((who, week, dose, pain))
            labels.append("dose" if doctor else None)
    frame = pd.DataFrame(rows, columns=["who", "week", "dose", "pain"])
    model = DynamicStructure(
        ExactStructure(random_state=0), time="week", series="who"
    ).fit(frame, interventions=labels)
    told = model.transition_estimator_.score_.regression(2, np.array([1]))[0]
    assert_allclose(told, 0.9, atol=0.1)
    # the first dose was set in all series: there nothing is said of its causes
    assert not model.initial_probabilities_[:, 0].any()
    untold = DynamicStructure(
        ExactStructure(random_state=0), time="week", series="who"
    ).fit(frame)
    half = untold.transition_estimator_.score_.regression(2, np.array([1]))[0]
    assert abs(half) < 0.7
    with_labels = model.score_samples(frame, interventions=labels)
    was_set = np.array([label is not None for label in labels])
    plain = model.score_samples(frame)
    later = frame["week"].to_numpy() > 0
    assert (plain[was_set & later] < with_labels[was_set & later]).mean() > 0.5
    assert_allclose(plain[~was_set], with_labels[~was_set])
    assert model.score(frame, interventions=labels) == pytest.approx(with_labels.mean())
    assert np.isfinite(model.forecast(frame, 2, 10, random_state=0).draws).all()


def test_bad_interventions():
    frame = autoregression(30, 0.5)
    model = DynamicStructure(ExactStructure())
    with pytest.raises(ValueError, match="interventions names an unknown"):
        model.fit(frame, interventions=["y"] * 30)
    with pytest.raises(ValueError, match="entry for each of the 30 rows"):
        model.fit(frame, interventions=["x"])
