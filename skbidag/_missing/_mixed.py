"""Missing cells of mixed data, given a DAG with drawn parameters.

Cells are drawn one column after the other. A category is drawn from its distribution
given the rest of its row, which its own family and those of its children make. A number
is one of several: the present one and others drawn given the parents, each with a
probability in proportion to what the children say of it. That leaves the number's
distribution given the rest of the row as it is (Tjelmeland 2004), whatever the children
are.
"""

import numpy as np

from skbidag._missing._categorical import draw_levels

# Numbers that are drawn, beside the present one
N_PROPOSED = 15


class MixedCells:
    """Draws of missing cells.

    Parameters
    ----------
    score : MixedParameterScore
        A score of the data.
    holes : Holes
        Which cells are missing.
    """

    def __init__(self, score, holes):
        self.n_levels = score.n_levels_
        self.is_categorical = score.is_categorical_
        self.interventions = holes.interventions
        self.at = {
            int(node): np.flatnonzero(holes.missing[:, node]) for node in holes.columns
        }

    def draw(self, score, parents, rows, rng):
        """Draw parameters, then the missing cells of rows, which are changed.

        Parameters
        ----------
        score : MixedParameterScore
            The score of the rows.
        parents : list of ndarray of int
            The parents of each variable.
        rows : ndarray of shape (n_rows, n_features)
            Completed rows, with codes of categories.
        rng : RandomState
            Random numbers.
        """
        families = {
            node: score.draw_family(node, of_node, rng)
            for node, of_node in enumerate(parents)
            if any(member in self.at for member in [node, *of_node])
        }
        for node, at in self.at.items():
            here = rows[at]
            children = [k for k in families if node in parents[k]]
            if self.is_categorical[node]:
                values = np.tile(np.arange(self.n_levels[node]), (len(at), 1))
                log_p = self._log_terms(families, [node, *children], at, here, values)
            else:
                expect, deviation = families[node]
                shape = (len(at), N_PROPOSED)
                proposed = expect(here)[:, None] + deviation(here)[
                    :, None
                ] * rng.standard_normal(shape)
                values = np.column_stack([here[:, node], proposed])
                log_p = self._log_terms(families, children, at, here, values, node)
            chosen = draw_levels(log_p, rng)
            rows[at, node] = np.take_along_axis(values, chosen[:, None], 1)[:, 0]

    def _log_terms(self, families, nodes, at, here, values, varied=None):
        """Log densities of nodes for each of the values, summed up."""
        varied = nodes[0] if varied is None else varied
        n_rows, n_values = values.shape
        tried = np.repeat(here, n_values, axis=0)
        tried[:, varied] = values.ravel()
        total = np.zeros((n_rows, n_values))
        for node in nodes:
            expect, deviation = families[node]
            found = expect(tried)
            if deviation is None:
                codes = tried[:, node].astype(np.intp)
                with np.errstate(divide="ignore"):
                    terms = np.log(found[np.arange(len(tried)), codes])
            else:
                spread = deviation(tried)
                terms = -((tried[:, node] - found) ** 2) / (2 * spread**2)
                terms -= np.log(spread)
            terms = terms.reshape(n_rows, n_values)
            if self.interventions is not None:
                terms = np.where(self.interventions[at, node, None], 0.0, terms)
            total += terms
        return np.where(np.isnan(total), -np.inf, total)
