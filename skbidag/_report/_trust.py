"""Whether a result can be trusted, point by point, in words.

Each point has a question, a verdict ("good", "note" for what one has to know, "bad" for
what speaks against the result) and a text. Texts are in Python's words; the command
line says them in its own.
"""

import numpy as np

from skbidag._data import display_name, names_of
from skbidag._outside import LARGEST_OUTSIDE_MASS

# Of less than this nobody has to know.
LITTLE_OUTSIDE = 0.05
# Variables that are named.
MOST_NAMED = 5

# What an estimator's posterior_ means.
SHARE = "A probability is the share of the sampled networks (DAGs) that have the edge"
POSTERIORS = {
    "order-weighted": f"{SHARE}. A DAG counts once for each order of the variables "
    "that it fits, which favors sparse DAGs and some directions. With {remedy} every "
    "DAG counts once.",
    "over DAGs": f"{SHARE}; every DAG counts once.",
    "best DAG alone": "Nothing was sampled: a probability is 1 for the edges of the "
    "best network (DAG) and of those that fit the data as well, and 0 for others.",
}
REMEDY = "PartitionMCMCStructure"
CAUSES = (
    "An arrow says that one variable helps to tell the other, given the rest. It is a "
    "cause only if no common cause of the two was left unmeasured, and if the samples "
    "were not chosen by what both have brought about. Edges whose two directions fit "
    "the data equally well have no arrowhead in the consensus."
)


def trust(estimator, reached, notes=(), remedy=REMEDY):
    """What speaks for a result and what against it.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    reached : Convergence
        What its chains have reached.
    notes : sequence of str, default=()
        What was made of the data before the estimator saw them.
    remedy : str
        What samples from the posterior over DAGs.

    Returns
    -------
    points : list of dict
        With "question", "verdict" and "text".
    """
    points = [
        ("Did the computation run long enough?", *convergence(estimator, reached)),
        ("Were enough edges considered?", *coverage(estimator)),
        ("What does a probability say?", *bias(estimator, remedy)),
        ("What was assumed beforehand?", "note", prior(estimator)),
        ("What was made of the data?", "note", " ".join([kinds(estimator), *notes])),
        ("Are these causes and effects?", "note", CAUSES),
    ]
    return [
        {"question": question, "verdict": verdict, "text": text}
        for question, verdict, text in points
        if text
    ]


def headline(points):
    """The answer in one sentence."""
    against = sum(point["verdict"] == "bad" for point in points)
    if against:
        what = "one point speaks" if against == 1 else f"{against} points speak"
        return f"Not yet: {what} against it."
    if points[0]["verdict"] == "good":
        return "As far as the computation goes, yes. What it rests on is below."
    return "In part: whether the probabilities are right cannot be told."


def convergence(estimator, reached):
    """Whether the chains agree, and why that is said."""
    if estimator.posterior_ == "best DAG alone":
        return "note", (
            "Nothing was sampled. The best network (DAG) that was found is shown; how "
            "sure its edges are is not known."
        )
    if not hasattr(estimator, "rhat_"):
        return "good", (
            "Probabilities are exact sums over all networks (DAGs) of the search "
            "space; nothing depends on how long it ran."
        )
    if reached.verdict is False:
        return "bad", f"{reached} Probabilities of edges may be far off."
    if reached.verdict is None:
        why = "one chain has nothing to agree with"
        if reached.n_chains > 1 or reached.n_draws < 50:
            why = f"{reached.n_draws} draws of each chain are too few"
        return "note", f"That cannot be told: {why}."
    text = (
        f"Yes. {reached.n_chains} chains, which are runs from different starts, agree: "
        f"R-hat, 1 where they say the same, is {reached.log_score_rhat:.3f} for the "
        f"score and up to {reached.edge_rhat:.3f} for an edge, where "
        f"{reached.largest_rhat:.3f} would do."
    )
    if np.isfinite(reached.effective_size):
        error = 0.5 / np.sqrt(reached.effective_size)
        text += (
            f" A longer run would change a probability by about {error:.3f} at most "
            f"(its standard error, of {reached.effective_size:.0f} effective draws or "
            "more)."
        )
    return "good", text


def coverage(estimator):
    """How much of the posterior the search space leaves out."""
    space = estimator.search_space_
    n = len(space)
    permitted, possible = int(space.sum()), n * (n - 1)
    mass = getattr(estimator, "outside_mass_", np.full(n, np.nan))
    if permitted == possible:
        return "good", "Yes: all edges are permitted."
    text = f"{permitted} of {possible} possible edges were considered throughout"
    if getattr(estimator, "extra_parent", False):
        text += ", and for each variable one more parent, whichever"
    text += ". "
    if np.isnan(mass).all():
        return "note", text + "How much that leaves out was not estimated."
    far = np.flatnonzero(mass > LITTLE_OUTSIDE)
    far = far[np.argsort(-mass[far], kind="stable")]
    if not len(far):
        return "good", text + (
            "As far as was seen, nothing that matters is left out: "
            f"{np.nansum(mass):.2f} further edges are to be expected, in all."
        )
    named = [
        f"{display_name(names_of(estimator), node)} ({mass[node]:.2f})"
        for node in far[:MOST_NAMED]
    ]
    rest = f" and {len(far) - MOST_NAMED} more" if len(far) > MOST_NAMED else ""
    text += (
        "In brackets, how many further edges are to be expected to "
        f"{', '.join(named)}{rest}."
    )
    if mass[far[0]] > LARGEST_OUTSIDE_MASS:
        return "bad", text + " Probabilities of edges to these are not reliable."
    return "note", text


def bias(estimator, remedy=REMEDY):
    """What the probabilities are of."""
    name, _, power = estimator.posterior_.partition(", ")
    text = POSTERIORS[name].format(remedy=remedy)
    if power:
        text += f" It is taken {power}: probabilities are not those of the model."
    return "good" if name == "over DAGs" and not power else "note", text


def prior(estimator):
    """The score, what edges cost, and what was known."""
    score = estimator.score_.of_all_rows
    text = f"The score is {estimator.score_._shown_name}."
    penalty = getattr(score, "edge_penalty_", 1)
    if penalty == 1:
        text += " Before the data all networks were equally probable."
    else:
        chosen = ", chosen from the data" if score.edge_penalty == "auto" else ""
        text += (
            f" Before the data, each edge made a network {penalty:.3g} times less "
            f"probable{chosen}."
        )
    if estimator.edge_prior is not None:
        text += " Probabilities of edges were given beforehand (edge_prior)."
    given = [
        words
        for name, words in [
            ("forbidden_edges", "forbidden edges"),
            ("required_edges", "required edges"),
            ("tiers", "tiers"),
            ("background", "background variables"),
        ]
        if is_given(getattr(estimator, name, None))
    ]
    if given:
        text += f" All of it goes along with what is given: {', '.join(given)}."
    return text


def is_given(known):
    """Whether something is said: a matrix without an edge says nothing."""
    return known is not None and (not isinstance(known, np.ndarray) or known.any())


def kinds(estimator):
    """Which variables were taken for what."""
    found = np.asarray(estimator.feature_kinds_)
    categorical = np.flatnonzero(found == "categorical")
    given = estimator.get_params(deep=False)
    guessed = all(
        isinstance(given[name], str) and given[name] == "auto"
        for name in ("score", "categorical_features")
    )
    why = ", a guess from their values and types" if guessed else ""
    if len(categorical) == len(found):
        text = f"All variables were taken for categorical{why}."
    elif not len(categorical):
        text = f"All variables were taken for continuous{why}."
    else:
        names = names_of(estimator)
        named = [str(display_name(names, k)) for k in categorical[:MOST_NAMED]]
        rest = len(categorical) - len(named)
        more = f" and {rest} more" if rest else ""
        were = "was" if len(categorical) == 1 else "were"
        text = (
            f"{', '.join(named)}{more} {were} taken for categorical, the rest, "
            f"{len(found) - len(categorical)}, for continuous{why}."
        )
    completed = getattr(estimator, "missing_draws_", None)
    if completed is not None:
        text += (
            f" {completed.n_missing} missing cells were drawn along with the networks; "
            "that is right if nothing that was not measured decided what is missing."
        )
    if any(len(target) for target in estimator.dag_samples_.targets):
        text += " Experiments tell directions that watching alone does not."
    return text
