"""What sampled DAGs say about rows of mixed data, against sums and integrals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from test_mixed import mixed_frame

from skbidag import DAGSamples, OrderMCMCStructure, _predictive

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return OrderMCMCStructure(n_iter=20_000, n_draws=200, random_state=0).fit(
        mixed_frame(1, 150)
    )


def with_values(rows, name, values):
    """Each row once for each value of a column."""
    many = rows.loc[rows.index.repeat(len(values))].reset_index(drop=True)
    many[name] = np.tile(values, len(rows))
    return many


def shares_of_values(model, rows, name, values):
    """Shares of the values of a column given the others, from the density of rows."""
    log_density = model.score_samples(with_values(rows, name, values))
    log_density = log_density.reshape(len(rows), len(values))
    return np.exp(log_density - logsumexp(log_density, axis=1, keepdims=True))


def test_log_density_is_that_of_the_dags(model):
    rows = mixed_frame(2, 5)
    score, encoded = model.score_, model.score_.encode(rows)
    terms = []
    for A in model.dag_samples_[::40]:
        terms.append(
            sum(
                score.log_predictive_rows(encoded, node, np.flatnonzero(A[:, node]))
                for node in range(4)
            )
        )
    chosen = DAGSamples(np.packbits(model.dag_samples_[::40], axis=-1)[None])
    got = _predictive.log_density(score, chosen, rows)
    assert_allclose(got, logsumexp(terms, axis=0) - np.log(len(terms)))


def test_the_density_of_rows_adds_up_to_one(model):
    grid, total = np.linspace(-14, 14, 71), 0.0
    c0, c2 = (axis.ravel() for axis in np.meshgrid(grid, grid))
    for d1 in ("low", "mid", "top"):
        for d3 in ("low", "mid", "top"):
            rows = pd.DataFrame({"c0": c0, "d1": d1, "c2": c2, "d3": d3})
            total += np.exp(model.score_samples(rows)).sum()
    # a sum over a grid finer than the density is narrow is as good as an integral
    assert_allclose(total * (grid[1] - grid[0]) ** 2, 1.0, atol=2e-3)


def test_predictions_of_complete_rows_are_exact(model):
    rows = mixed_frame(3, 6)
    predicted = model.predict(rows)
    for name in ("c0", "c2"):
        grid = np.linspace(-12, 12, 4001)
        shares = shares_of_values(model, rows, name, grid)
        assert_allclose(predicted[name], shares @ grid, atol=1e-4)
    probabilities = model.predict_probabilities(rows)
    assert [*probabilities] == ["d1", "d3"]
    for name, levels in (("d1", model.score_.categories_[1]), ("d3", None)):
        levels = model.score_.categories_[3] if levels is None else levels
        shares = shares_of_values(model, rows, name, levels)
        assert_allclose(probabilities[name], shares, atol=1e-10)
        assert predicted[name].tolist() == levels[shares.argmax(axis=1)].tolist()


def test_a_prediction_does_not_look_at_its_cell(model):
    rows = mixed_frame(3, 4)
    changed, open_ = rows.copy(), rows.copy()
    changed["c0"] += 5.0
    open_["c0"] = np.nan
    expected = model.predict(rows)["c0"]
    assert_allclose(model.predict(changed)["c0"], expected, rtol=1e-9)
    assert_allclose(model.predict(open_)["c0"], expected, rtol=1e-9)


@pytest.mark.slow
def test_unobserved_cells_are_averaged_over(model):
    rows = mixed_frame(5, 8)
    rows.loc[:3, "c2"] = np.nan
    rows.loc[4:, "d3"] = None
    predicted = model.predict(rows)
    probabilities = model.predict_probabilities(rows)["d1"]
    grid = np.linspace(-12, 12, 201)
    for row in range(len(rows)):
        hidden = "c2" if row < 4 else "d3"
        values = grid if row < 4 else ["low", "mid", "top"]
        many = with_values(rows.iloc[[row]], hidden, values)
        joint = model.score_samples(with_values(many, "c0", grid))
        joint = joint.reshape(len(values), len(grid))
        shares = np.exp(joint - logsumexp(joint)).sum(axis=0)
        spread = np.sqrt(shares @ grid**2 - (shares @ grid) ** 2)
        # 50 draws in a chain, each averaged over its own distribution
        assert abs(predicted["c0"][row] - shares @ grid) < 0.35 * spread
        levels = model.score_.categories_[1]
        joint = model.score_samples(with_values(many, "d1", levels))
        joint = joint.reshape(len(values), len(levels))
        shares = np.exp(joint - logsumexp(joint)).sum(axis=0)
        assert_allclose(probabilities[row], shares, atol=0.12)
    again = model.predict(rows)
    pd.testing.assert_frame_equal(predicted, again)


def test_missing_cells_alone_are_predicted_as_among_others(model):
    rows = mixed_frame(6, 12)
    rows.loc[:5, "c2"], rows.loc[6:, "d3"] = np.nan, None
    rows.loc[0, "c0"] = np.nan
    args = model.score_, model.dag_samples_, rows
    alone, all_cells = _predictive.predict_missing(*args), _predictive.predict(*args)
    missing = rows.isna().to_numpy()
    exact = missing.sum(axis=1) == 1
    assert (alone[exact] == all_cells[exact])[missing[exact]].all()
    # of two missing cells, which are drawn in turns, by other random numbers
    gap = alone[0, missing[0]].astype(float) - all_cells[0, missing[0]].astype(float)
    assert (abs(gap) < 0.5 * rows[["c0", "c2"]].std()).all()


def test_continuous_columns_have_no_probabilities(model):
    with pytest.raises(ValueError, match="'c0' is continuous"):
        model.predict_probabilities(mixed_frame(3, 4), ["c0"])


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_in_frames_out(library):
    frame = mixed_frame(6, 80, library=library)
    model = OrderMCMCStructure(n_iter=400, n_draws=20, random_state=0).fit(frame)
    for rows in (model.predict(frame), model.sample(7, random_state=0)):
        assert isinstance(rows, library.DataFrame)
        assert list(rows.columns) == list(frame.columns)
        assert set(rows["d1"]) <= {"low", "mid", "top"}
        assert rows["c0"].dtype == frame["c0"].dtype


def test_whole_numbers_are_predicted_as_numbers():
    frame = mixed_frame(6, 80)
    frame["age"] = np.random.default_rng(0).integers(20, 90, len(frame))
    model = OrderMCMCStructure(n_iter=400, n_draws=20, random_state=0).fit(frame)
    predicted = model.predict(frame)["age"]
    assert (predicted != predicted.round()).any()


def test_drawn_rows_have_the_distribution_of_the_data():
    frame = mixed_frame(7, 1_000)
    model = OrderMCMCStructure(n_iter=4_000, n_draws=100, random_state=0).fit(frame)
    drawn = model.sample(4_000, random_state=0)
    for name in ("d1", "d3"):
        shares = frame[name].value_counts(normalize=True)
        # four standard errors of 1000 rows that were seen, and of 4000 that were drawn
        error = 4 * np.sqrt(0.25 / 1_000 + 0.25 / 4_000)
        assert (drawn[name].value_counts(normalize=True) - shares).abs().max() < error
    for name in ("c0", "c2"):
        error = 4 * frame[name].std() * np.sqrt(1 / 1_000 + 1 / 4_000)
        assert abs(drawn[name].mean() - frame[name].mean()) < error
    # the model holds correlations between kinds
    for name in ("c0", "c2"):
        seen = frame.groupby("d3")[name].mean()
        new = drawn.groupby("d3")[name].mean()
        assert_allclose(new, seen, atol=0.35 * frame[name].std())
