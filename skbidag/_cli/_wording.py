"""The estimators' messages in the words of the command line.

They advise parameters; who runs the command has options. They name learned attributes;
who runs the command has a report.
"""

import re

SCORE_PARAMETERS = ("alpha_mu", "alpha_w", "equivalent_sample_size", "edge_penalty")
PARAMETERS = (
    "search_space",
    "alpha",
    "max_parents",
    "extra_parent",
    "n_iter",
    "max_iter",
    "n_draws",
    "burn_in",
    "n_chains",
    "n_jobs",
    "max_time",
    "memory_limit",
    "missing",
)
# Options that are not called like their parameters.
OTHER_NAMES = {
    "extra_parent": "--no-extra-parent",
    "forbidden_edges": "--constraints (forbidden)",
    "required_edges": "--constraints (required)",
    "categorical_features": "--categorical",
    "random_state": "--seed",
    "n_lags": "--lags",
    "ordinal": "--ordinal",
}
LEARNED = {"log_score_trace_": "the traces in the report"}


def option(parameter):
    """The option that sets a parameter."""
    return OTHER_NAMES.get(parameter, "--" + parameter.replace("_", "-"))


def in_options(message):
    """Say a message of an estimator in the words of the command line.

    Parameters
    ----------
    message : str
        A warning or an error.

    Returns
    -------
    message : str
        With options for parameters, and without what the command does not have.

    Examples
    --------
    >>> from skbidag._cli._wording import in_options
    >>> in_options("run longer chains (n_iter) or try search_space='full'.")
    'run longer chains (--n-iter) or try --search-space full.'
    """
    parameters = {*SCORE_PARAMETERS, *PARAMETERS, *OTHER_NAMES, "tiers", "score"}
    # the longest first, for alpha is the beginning of alpha_mu
    either = "|".join(sorted(parameters, key=len, reverse=True))
    # another fit is another run here, which starts anew
    message = re.sub(r" ?[^.:]*\bwarm_start\b[^.]*\.", "", message)
    # learned attributes: beside what they say already, or in the report
    message = re.sub(r" \((?:[a-z_]+_(?:, )?)+\)", "", message)
    for attribute, words in LEARNED.items():
        message = message.replace(attribute, words)
    message = re.sub(
        rf"The '({either})' parameter of \w+",
        lambda found: option(found[1]),
        message,
    )
    message = re.sub(
        rf"\b({either})=(?:'(\w+)'|([-+\w]+(?:\.\d+)?))",
        lambda found: f"{option(found[1])} {found[2] or found[3]}",
        message,
    )
    # plain words, as score, stay what they are
    either = "|".join(name for name in parameters if "_" in name)
    message = re.sub(
        rf"(?<![-\w])({either})\b", lambda found: option(found[1]), message
    )
    message = message.replace("into the background.", "into the --background.")
    return re.sub(r"^(tiers|background|interventions)\b", r"--\1", message)
