"""Whether chains have converged: one rule, for whoever asks.

Chains that started apart have converged where they agree, and where what they say is
exact enough: split R-hat of the log score and of every edge that matters is small, and
the draws of each such edge are worth enough independent ones. The estimators'
``converged_`` and warnings, the length of chains with ``n_iter="auto"``, the command
line and its report all ask here.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from skbidag._posterior import edge_draws, graph_counts, split_rhat_of_counts
from skbidag.diagnostics import effective_sizes, rhat

# Chains with a larger R-hat than this disagree.
LARGEST_RHAT = 1.01
# Independent draws that an edge needs: its probability is then off by 0.025 or less.
FEWEST_EFFECTIVE = 400
# Of fewer draws per chain nothing can be told.
FEWEST_DRAWS = 50
# An edge matters if its probability is neither below this nor as near to one...
LEAST_PROBABILITY = 0.02
# ... or if chains differ in it by more than this.
LEAST_DIFFERENCE = 0.05
# How often independent draws may be taken for chains that disagree.
FALSE_ALARM = 0.01


@dataclass(frozen=True)
class Convergence:
    """What chains have reached.

    Attributes
    ----------
    n_chains, n_draws : int
        Number of chains, and of draws of each.
    log_score_rhat : float
        Split R-hat of the log score.
    n_edges : int
        Number of edges that matter.
    edge_rhat : float
        The largest split R-hat among these; 1 if there are none.
    effective_size : float
        The smallest effective sample size among these; infinite if there are none.
    """

    n_chains: int
    n_draws: int
    log_score_rhat: float
    n_edges: int
    edge_rhat: float
    effective_size: float

    @property
    def largest_rhat(self):
        """The largest R-hat of chains that agree.

        That is `LARGEST_RHAT` or, with few draws, what the largest R-hat of
        independent draws exceeds in one of a hundred cases.
        """
        half, others = max(1, self.n_draws // 2), 2 * self.n_chains - 1
        # L times the variance of the means of halves of length L, over that within
        ratio = chi2.isf(FALSE_ALARM / (1 + self.n_edges), others) / others
        return max(LARGEST_RHAT, float(np.sqrt(1 + (ratio - 1) / half)))

    @property
    def fewest_effective(self):
        """The effective draws that are asked for: a fifth of all, if those are few."""
        return min(FEWEST_EFFECTIVE, self.n_chains * self.n_draws / 5)

    @property
    def agree(self):
        """Whether chains, and halves of chains, say the same."""
        largest = self.largest_rhat
        return self.log_score_rhat <= largest and self.edge_rhat <= largest

    @property
    def verdict(self):
        """Whether the chains have converged: True, False, or None.

        None where that cannot be told: of few draws, and of a single chain, which has
        nothing to agree with. But of this the halves may already disagree.
        """
        if self.n_draws < FEWEST_DRAWS:
            return None
        if not (self.agree and self.effective_size >= self.fewest_effective):
            return False
        return True if self.n_chains > 1 else None

    def __str__(self):
        """What was reached, in a sentence."""
        what = "The chains disagree"
        if self.n_chains == 1:
            what = "The chain is too short"
        elif self.agree:
            what = "The chains are too short, though they agree"
        text = (
            f"{what}: R-hat is {self.log_score_rhat:.3f} for the score and up to "
            f"{self.edge_rhat:.3f} for an edge, where {self.largest_rhat:.3f} would do"
        )
        if np.isfinite(self.effective_size):
            text += (
                f", and an edge has {self.effective_size:.0f} effective draws, where "
                f"{self.fewest_effective:.0f} would do"
            )
        return f"{text}."


def assess(samples, log_scores, counts=None):
    """What chains have reached.

    Parameters
    ----------
    samples : DAGSamples
        The draws.
    log_scores : ndarray of shape (n_chains, n_draws)
        Their log scores.
    counts : tuple, default=None
        What :func:`~skbidag._posterior.graph_counts` says of them, if it is known.

    Returns
    -------
    reached : Convergence
        The numbers, and the verdict.
    """
    counts, sizes = graph_counts(samples) if counts is None else counts
    matters = edges_that_matter(counts, sizes)
    edge_rhat, effective = 1.0, np.inf
    if matters.any():
        edge_rhat = float(split_rhat_of_counts(counts, sizes)[matters].max())
        effective = smallest_effective(edge_draws(samples, matters))
    return Convergence(
        n_chains=samples.n_chains,
        n_draws=samples.n_draws,
        log_score_rhat=rhat(log_scores, method="split"),
        n_edges=int(matters.sum()),
        edge_rhat=edge_rhat,
        effective_size=effective,
    )


def edges_that_matter(counts, sizes):
    """Which edges are neither nearly always nor nearly never there.

    Nor the same in all chains: one that a chain always has and another never matters
    whatever its mean is.

    Parameters
    ----------
    counts : ndarray of shape (n_chains, 2, n_features, n_features)
        How often each edge occurs in the halves of each chain.
    sizes : ndarray of shape (2,)
        Number of draws in each half.

    Returns
    -------
    matters : ndarray of bool, shape (n_features, n_features)
        Entry [i, j] is about the edge i -> j.
    """
    by_chain = counts.sum(axis=1) / sizes.sum()
    mean = by_chain.mean(axis=0)
    return (np.minimum(mean, 1 - mean) >= LEAST_PROBABILITY) | (
        np.ptp(by_chain, axis=0) > LEAST_DIFFERENCE
    )


def smallest_effective(draws):
    """The smallest effective sample size of some indicators.

    Parameters
    ----------
    draws : ndarray of bool, shape (n_chains, n_draws, n_edges)
        Whether each draw has each edge.

    Returns
    -------
    size : float
        Infinite if none of them ever changes.
    """
    sizes = effective_sizes(draws)
    return float(np.min(sizes, initial=np.inf, where=~np.isnan(sizes)))
