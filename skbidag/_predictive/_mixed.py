"""Mixed data: expectations and probabilities of cells given the rest of a row.

They are those of the mixture of DAGs that ``score_samples`` tells the density of: DAGs
count by the density they give to the other observed cells of the row.

Where all other cells are observed, a category's probabilities are a sum over its
levels, and a number's expectation is an integral in one dimension, on a grid that
closes in on where the density is. Where others are not, these are drawn, again and
again, each from its distribution given the others (a Gibbs sampler), and predictions
are averaged over the draws; of the DAGs no more than 50 count then. The generator has a
seed of its own, so that predictions are the same every time.
"""

from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from skbidag._core._predictive import Weights
from skbidag._posterior import DAGSamples
from skbidag._predictive._families import padded
from skbidag._predictive._predictor import Predictor

# Points of a grid, and how often it closes in; fewer will do for draws
GRID_SIZE, N_GRIDS = 81, 4
DRAW_GRID_SIZE, N_DRAW_GRIDS = 33, 3

# Half of a grid's width, in standard deviations of what the one before has seen
HALF_WIDTH = 8.0

# Draws of the unobserved cells that predictions are averaged over, after so many others
N_DRAWS, N_WARM_UP = 50, 5

# DAGs that count where cells are drawn: work grows with their families
MOST_DAGS = 50

# Values of families that are worked out together
MOST_VALUES = 1 << 17


class MixedPredictor(Predictor):
    """Predictions by a :class:`~skbidag.scores.MixedPredictiveScore`."""

    # Rows are numbers, and labels only outside.

    def _read(self, X):
        rows = self.score.encode(X, missing="code")
        if np.isnan(rows).any():
            column = self.score._column_name(int(np.isnan(rows).any(axis=0).argmax()))
            raise ValueError(
                f"Input X contains missing cells, first in column {column}: densities "
                "of rows of mixed data take complete rows, predictions any. Fill the "
                "cells in, by skbidag.StructureImputer for one."
            )
        return rows

    def _log_local(self, rows, family):
        node, parents = self.families.node[family], self.families.parents[family]
        return self.score.log_predictive_rows(rows, node, parents)

    def _draw(self, values, node, parents, rng):
        return self.score.sample_predictive_rows(values, node, parents, rng)

    def _write(self, values):
        joined = np.empty(values.shape, dtype=object)
        for node, column in enumerate(values.T):
            joined[:, node] = self.score.decode(node, column).tolist()
        return joined

    def predict(self, X, only_missing=False):
        """Expectation of each number, and the most probable category of each other."""
        rows = self.score.encode(X, missing="code")
        nodes = range(rows.shape[1])
        expected = self._expect(rows, nodes, only_missing)
        values = [
            found.argmax(axis=1) if self.score.is_categorical_[node] else found
            for node, found in zip(nodes, expected, strict=True)
        ]
        return self._write(np.column_stack(values).astype(float))

    def predict_missing(self, X):
        """The same of unobserved cells alone: others would need draws of their own."""
        return self.predict(X, only_missing=True)

    def predict_probabilities(self, X, nodes):
        """Probabilities of the levels of each node given the other observed cells."""
        for node in nodes:
            if not self.score.is_categorical_[node]:
                raise ValueError(
                    f"Column {self.score._column_name(node)} is continuous: it has no "
                    "categories to predict probabilities of. Say which columns."
                )
        return self._expect(self.score.encode(X, missing="code"), nodes)

    def _expect(self, rows, nodes, only_missing=False):
        """Expectations of nodes, or probabilities of their levels, in all rows."""
        missing = np.isnan(rows)
        wanted = missing if only_missing else np.ones_like(missing)
        results = [
            np.zeros((len(rows), self.score.n_levels_[node]))
            if self.score.is_categorical_[node]
            else np.zeros(len(rows))
            for node in nodes
        ]
        n_missing = missing.sum(axis=1)
        for node, result in zip(nodes, results, strict=True):
            # A prediction does not look at its cell: another one must be unobserved.
            known = np.flatnonzero(
                (n_missing - missing[:, node] == 0) & wanted[:, node]
            )
            result[known] = self._given_others(rows[known], node)[0]
        # All that is left goes through one chain: rows with several unobserved cells,
        # and rows with any for each observed cell, which is set free as well.
        several = np.flatnonzero(n_missing > 1)
        row, free, target = [several], [missing[several]], [np.full(len(several), -1)]
        for node in nodes:
            here = np.flatnonzero((wanted > missing)[:, node] & (n_missing > 0))
            row.append(here)
            free.append(missing[here])
            free[-1][:, node] = True
            target.append(np.full(len(here), node))
        row, target = np.concatenate(row), np.concatenate(target)
        averages = self._few_dags._average(rows[row], np.concatenate(free), nodes)
        for node, result in zip(nodes, results, strict=True):
            if node in averages:
                at, average = averages[node]
                asked = (target[at] == node) | (target[at] < 0)
                result[row[at[asked]]] = average[asked]
        return results

    # One cell given all others

    def _given_others(self, rows, node, rng=None):
        """Expectation or probabilities of a node, and draws if there is a generator."""
        levels, n_rows = self.score.n_levels_[node], len(rows)
        shape = (n_rows, levels) if levels else n_rows
        expected, drawn = np.empty(shape), np.empty(n_rows)
        chosen = self.families.blankets(node)
        n_values = max(levels, GRID_SIZE) * max(1, len(chosen.families))
        step = max(1, MOST_VALUES // n_values)
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            density = _CellDensity(self, rows[part], node, chosen)
            if levels:
                values = np.arange(levels)[:, None]
                p = _normalized(density(np.tile(values, (1, density.n_rows))))
                expected[part] = p.T
                if rng is not None:
                    drawn[part] = _draw_levels(p, rng)
            else:
                settings = (GRID_SIZE, N_GRIDS)
                if rng is not None:
                    settings = (DRAW_GRID_SIZE, N_DRAW_GRIDS)
                grid, p = self._close_in(density, node, *settings)
                expected[part] = (grid * p).sum(axis=0)
                if rng is not None:
                    drawn[part] = _draw_between(grid, p, rng)
        return expected, drawn

    def _close_in(self, density, node, grid_size, n_grids):
        """A grid on which the density of a number is, and its shares of each row."""
        center, spread = self.score.typical(node)
        center, spread = (
            np.full(density.n_rows, center),
            np.full(density.n_rows, spread),
        )
        steps = np.linspace(-1.0, 1.0, grid_size)[:, None]
        for _ in range(n_grids):
            grid = center + HALF_WIDTH * spread * steps
            p = _normalized(density(grid))
            center = (grid * p).sum(axis=0)
            # what is narrower than the grid is fine seems as wide as a step of it
            least = HALF_WIDTH * spread / (grid_size - 1)
            spread = np.sqrt(((grid - center) ** 2 * p).sum(axis=0) + least**2)
        return grid, p

    # Several cells unobserved

    @cached_property
    def _few_dags(self):
        """The same for few of the DAGs, evenly spaced."""
        packed = self.samples.packed
        flat = packed.reshape(len(self.samples), *packed.shape[2:])
        chosen = np.linspace(0, len(flat) - 1, min(MOST_DAGS, len(flat))).astype(int)
        return MixedPredictor(self.score, DAGSamples(flat[chosen][None]))

    def _average(self, rows, free, nodes):
        """Predictions of cells, averaged over draws of all cells that are free.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows.
        free : ndarray of bool of shape (n_rows, n_features)
            The cells to draw.
        nodes : sequence of int
            The columns to predict.

        Returns
        -------
        averages : dict
            For each of these that is free anywhere, the rows where, and its
            expectations or probabilities there.
        """
        rng = np.random.RandomState(0)
        rows = self._start(rows.copy(), free)
        at = [np.flatnonzero(of_node) for of_node in free.T]
        totals = {node: 0.0 for node in nodes if len(at[node])}
        for draw in range(N_WARM_UP + N_DRAWS):
            for node in np.flatnonzero(free.any(axis=0)).tolist():
                expected, drawn = self._given_others(rows[at[node]], node, rng)
                rows[at[node], node] = drawn
                if node in totals and draw >= N_WARM_UP:
                    totals[node] = totals[node] + expected
        return {node: (at[node], total / N_DRAWS) for node, total in totals.items()}

    def _start(self, rows, free):
        """Rows whose free cells have what is typical of the column."""
        for node in np.flatnonzero(free.any(axis=0)):
            rows[free[:, node], node] = self.score.typical(node)[0]
        return rows


class _CellDensity:
    """Log density of one cell given the others of its row, up to a constant.

    Parameters
    ----------
    predictor : MixedPredictor
        Knows the DAGs.
    rows : ndarray of shape (n_rows, n_features)
        The rows; what is in the cell does not matter.
    node : int
        The cell's column.
    chosen : Chosen
        The families that have it, and the groups of DAGs that agree in these.
    """

    def __init__(self, predictor, rows, node, chosen):
        families = predictor.families
        self.predictor, self.node, self.chosen = predictor, node, chosen
        self.rows, self.n_rows = rows, len(rows)
        has = families.has[:, node]
        terms = np.zeros((len(families.node), padded(self.n_rows)))
        for family in np.flatnonzero(~has):
            terms[family, : self.n_rows] = predictor._log_local(rows, family)
        of_dag = np.where(has[families.of_dag_by_dag], -1, families.of_dag_by_dag)
        weights = Weights(predictor._log_weights(terms, of_dag.astype(np.int32)))
        self.log_weights = chosen.log_sums(weights)[:, : self.n_rows]

    def __call__(self, values):
        """Log density of each row's values, of shape (n_values, n_rows)."""
        chosen, score = self.chosen, self.predictor.score
        families = self.predictor.families
        terms = np.array(
            [
                score.log_predictive_of_values(
                    self.rows,
                    families.node[family],
                    families.parents[family],
                    self.node,
                    values,
                )
                for family in chosen.families
            ]
        )
        member = np.zeros((chosen.n_groups, len(chosen.families)))
        group = np.repeat(np.arange(chosen.n_groups), np.diff(chosen.first))
        member[group, chosen.members[: len(group)]] = 1.0
        log_density = np.tensordot(member, terms, axes=1)
        return logsumexp(log_density + self.log_weights[:, None], axis=0)


def _normalized(log_density):
    """Shares of each column."""
    p = np.exp(log_density - log_density.max(axis=0))
    return p / p.sum(axis=0)


def _draw_levels(p, rng):
    """One level for each column of shares."""
    cumulative = p.cumsum(axis=0)
    return (cumulative[:-1] <= rng.random_sample(p.shape[1]) * cumulative[-1]).sum(0)


def _draw_between(grid, p, rng):
    """One number for each column: a point of the grid, and anywhere around it."""
    place = _draw_levels(p, rng)
    step = grid[1] - grid[0]
    at = np.take_along_axis(grid, place[None], axis=0)[0]
    return at + step * (rng.random_sample(len(at)) - 0.5)
