"""What was fitted, whether it has converged, and what was found: a page of text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skbidag._convergence import Convergence, assess

# Edges that are shown
MOST_EDGES = 10

MEANINGS = {
    "order-weighted": "a DAG counts once for each order it fits",
    "over DAGs": "every DAG counts once",
    "best DAG alone": "nothing was sampled",
}


@dataclass(frozen=True, eq=False)
class Summary:
    """A fitted estimator in brief; ``print`` shows it.

    Attributes
    ----------
    converged : bool or None
        Whether the chains have converged; None if that cannot be told, or if nothing
        was sampled by chains.
    convergence : Convergence or None
        The numbers that say so.
    edges : dataframe
        All edges that were seen, see ``edges_frame``.
    text : str
        What is printed.
    """

    converged: bool | None
    convergence: Convergence | None
    edges: Any
    text: str

    def __str__(self):
        return self.text

    def __repr__(self):
        return self.text


def summarize(estimator, columns, edges):
    """Sum up a fitted estimator.

    Parameters
    ----------
    estimator : StructureLearner
        The estimator.
    columns : dict
        What :func:`~skbidag._edge_table.edge_columns` says of its edges.
    edges : dataframe
        The same as a frame.

    Returns
    -------
    summary : Summary
        The summary.
    """
    reached = convergence_of(estimator)
    lines = [
        f"{type(estimator).__name__}: {variables_of(estimator)}",
        *findings(estimator, reached, columns),
    ]
    return Summary(verdict_of(reached), reached, edges, "\n".join(lines))


def convergence_of(estimator):
    """What the chains of an estimator have reached; None if it has sampled by none."""
    sampled = estimator.posterior_ != "best DAG alone"
    if sampled and hasattr(estimator, "rhat_"):  # by chains: ExactStructure has none
        return assess(estimator.dag_samples_, estimator.log_score_trace_)
    return None


def verdict_of(*reached):
    """Whether all chains have converged, None where there are none or few."""
    verdicts = [None if one is None else one.verdict for one in reached]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def variables_of(estimator, counted=slice(None)):
    """Numbers of variables of each kind, and the score, in words."""
    kinds, counts = np.unique(estimator.feature_kinds_[counted], return_counts=True)
    variables = " and ".join(f"{n} {k}" for k, n in zip(kinds, counts, strict=True))
    return f"{variables} variables, {estimator.score_._shown_name}"


def findings(estimator, reached, columns):
    """Lines on the sample, on whether it can be relied on, and on what it shows."""
    return [
        f"Posterior: {_posterior(estimator.posterior_)}",
        *_chains(estimator, reached),
        f"Best DAG:  {estimator.adjacency_.sum()} edges, log score "
        f"{estimator.log_score_:.2f}",
        "",
        *_edges(columns),
    ]


def _posterior(posterior):
    kind, _, power = posterior.partition(", ")
    return f"{kind}{power and f', {power}'} ({MEANINGS[kind]})"


def _chains(estimator, reached):
    """Lines on the sample, and on whether chains have converged."""
    if reached is None:
        return []
    lines = [f"Sample:    {reached.n_chains} chains of {reached.n_draws} DAGs"]
    numbers = (
        f"R-hat {reached.log_score_rhat:.3f} of the score, at most "
        f"{reached.edge_rhat:.3f} of an edge"
    )
    if reached.verdict is None:
        lines.append("Converged: not known, of a single chain or of few draws")
    else:
        answer = "yes" if reached.verdict else "NO"
        lines.append(f"Converged: {answer} ({numbers})")
    outside = float(np.max(estimator.outside_mass_, initial=0.0))
    if np.isfinite(outside) and outside >= 0.005:
        lines.append(
            f"Space:     leaves out up to {outside:.2f} parents of a variable per DAG"
        )
    return lines


def _edges(columns):
    """Lines on the most probable edges."""
    n_edges = len(columns["parent"])
    if not n_edges:
        return ["No edge was seen."]
    with_effects = bool(np.isfinite(columns["effect"][:MOST_EDGES]).any())
    header = "probability  (error)" + "     effect" * with_effects + "  edge"
    lines = [header]
    for row in range(min(n_edges, MOST_EDGES)):
        error, effect = columns["error"][row], columns["effect"][row]
        error = f"({error:.3f})" if np.isfinite(error) else ""
        effect = f"{effect:+.3g}" if np.isfinite(effect) else ""
        lines.append(
            f"{columns['probability'][row]:>11.3f}  {error:>7}"
            + f" {effect:>10}" * with_effects
            + f"  {columns['parent'][row]} -> {columns['child'][row]}"
        )
    if n_edges > MOST_EDGES:
        lines.append(f"... and {n_edges - MOST_EDGES} less probable ones")
    return lines
