"""Causal effects in networks of mixed data."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skbidag import DAGSamples, PartitionMCMCStructure, causal_effects
from skbidag._mixed_effects import simulated_effects
from skbidag.scores import BDe, BGe, ConditionalGaussian

pytestmark = pytest.mark.slow


def repeated(dag, n_draws):
    """One DAG as often as drawn."""
    dags = np.repeat(np.asarray(dag, dtype=bool)[None, None], n_draws, axis=1)
    return DAGSamples(np.packbits(dags, axis=-1))


def chain_data(seed=0, n_rows=4_000):
    """sex -> dose -> sick -> cost, with known effects."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n_rows)
    dose = 1.5 * sex + rng.normal(size=n_rows)
    sick = rng.random(n_rows) < 1 / (1 + np.exp(-(dose - 0.75)))
    cost = 2.0 * sick + 0.5 * dose + rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "sex": np.where(sex, "m", "f"),
            "dose": dose,
            "sick": np.where(sick, "yes", "no"),
            "cost": cost,
        }
    )


def true_means(sex=None, dose=None):
    """Expectations of sick and cost under an intervention, by many draws."""
    rng = np.random.default_rng(1)
    n = 400_000
    s = rng.integers(2, size=n) if sex is None else np.full(n, sex)
    d = 1.5 * s + rng.normal(size=n) if dose is None else np.full(n, dose)
    p = 1 / (1 + np.exp(-(d - 0.75)))
    return p.mean(), (2.0 * p + 0.5 * d).mean()


@pytest.mark.slow
def test_effects_of_both_kinds_on_both_kinds():
    frame = chain_data()
    model = PartitionMCMCStructure(
        tiers=[["sex"], ["dose"], ["sick"], ["cost"]], random_state=0
    ).fit(frame)
    effects = causal_effects(model, ["sex", "dose"], ["sick", "cost"], random_state=0)
    assert effects.interventions == [("sex", "m"), "dose"]
    assert effects.outcomes == [("sick", "yes"), "cost"]
    of_sex = np.subtract(true_means(sex=1), true_means(sex=0))
    center, spread = frame["dose"].mean(), frame["dose"].std()
    of_dose = (
        np.subtract(
            true_means(dose=center + spread / 2), true_means(dose=center - spread / 2)
        )
        / spread
    )
    # standard errors of some 0.02 and 0.05 by 4000 rows, and what the model bends
    assert_allclose(effects.mean[:, 0], [of_sex[0], of_dose[0]], atol=0.06)
    assert_allclose(effects.mean[:, 1], [of_sex[1], of_dose[1]], atol=0.2)
    lower, upper = effects.interval()
    assert (lower < upper).all()
    assert (effects.probability_nonzero > 0.9).all()


def test_values_to_compare():
    model = PartitionMCMCStructure(
        tiers=[["sex"], ["dose"], ["sick"], ["cost"]], random_state=0
    ).fit(chain_data(n_rows=1_000))
    effects = causal_effects(
        model, {"dose": (0.0, 2.0), "sex": ("m", "f")}, random_state=0
    )
    assert effects.interventions == ["dose", ("sex", "f")]
    assert effects.outcomes == [("sex", "m"), "dose", ("sick", "yes"), "cost"]
    assert_allclose(effects.draws[:, 0, 1], 2.0)  # on itself
    assert_allclose(effects.draws[:, 1, 0], -1.0)
    assert_allclose(effects.draws[:, 0, 0], 0.0)  # no path
    for bad in ({"dose": 1.0}, {"dose": ("a", "b")}, {"dose": (0.0, np.inf)}):
        with pytest.raises(ValueError, match="'dose' to two numbers"):
            causal_effects(model, bad)
    with pytest.raises(ValueError, match="to two of its categories"):
        causal_effects(model, {"sex": ("m", "x")})


def test_numbers_alone_have_the_effects_of_bge():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    z = 0.5 * x - y + rng.normal(size=50)
    X, dag = np.column_stack([x, y, z]), np.triu(np.ones((3, 3)), 1)
    mixed, bge = ConditionalGaussian().fit(X), BGe().fit(X)
    center, spread = mixed.typical(0)
    setting = (0, center - spread / 2, center + spread / 2, spread)
    draws = simulated_effects(
        mixed,
        repeated(dag, 400),
        [setting],
        [(1, None), (2, None)],
        3,
        np.random.RandomState(0),
    )[:, 0]
    # the total effect is normal given the DAG's coefficients: compare with draws
    location, root, df = bge.coefficient_posterior([1], [[0]])
    rng = np.random.RandomState(1)
    exact = location[0, 0] + rng.standard_normal(40_000) * root[0, 0, 0] / np.sqrt(
        rng.chisquare(df, 40_000)
    )
    # four standard errors of 1200 draws
    error = 4 * exact.std() / np.sqrt(1_200)
    assert abs(draws[:, 0].mean() - exact.mean()) < error
    assert abs(draws[:, 0].std() - exact.std()) < error
    direct, _ = bge.regression(2, [0, 1])
    total = direct[0] + direct[1] * location[0, 0]
    assert abs(draws[:, 1].mean() - total) < 4 * draws[:, 1].std() / np.sqrt(1_200)


def test_categories_alone_have_the_effects_of_bde():
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=40)
    y = np.where(rng.random(40) < 0.7, x, 1 - x)
    X, dag = np.column_stack([x, y]), np.triu(np.ones((2, 2)), 1)
    mixed, bde = ConditionalGaussian().fit(X), BDe().fit(X)
    draws = simulated_effects(
        mixed,
        repeated(dag, 400),
        [(0, 0.0, 1.0, 1.0)],
        [(1, 1)],
        3,
        np.random.RandomState(0),
    )[:, 0, 0]
    counts = bde.posterior_counts(1, [0])
    p = counts / counts.sum(axis=1, keepdims=True)
    variance = (p[:, 1] * p[:, 0] / (counts.sum(axis=1) + 1)).sum()
    error = 4 * np.sqrt(variance / 1_200)
    assert abs(draws.mean() - (p[1, 1] - p[0, 1])) < error
    assert abs(draws.std() - np.sqrt(variance)) < error
