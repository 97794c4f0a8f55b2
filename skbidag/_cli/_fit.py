"""From variables and options to a fitted estimator."""

import time
import warnings
from dataclasses import dataclass, replace

from skbidag._cli._errors import InputError
from skbidag._cli._knowledge import read_constraints, read_tiers
from skbidag._cli._prepare import resolve_name, resolve_names
from skbidag._cli._series import make_dynamic, transition_names
from skbidag._cli._wording import PARAMETERS, SCORE_PARAMETERS, in_options, option

KIND_OF_SCORE = {"bge": "continuous", "bde": "discrete"}


@dataclass(frozen=True)
class Fit:
    """A fitted estimator.

    Attributes
    ----------
    estimator : BaseStructure
        The estimator.
    warnings : list of str
        What it warned of.
    seconds : float
        How long the fit took.
    dynamic : DynamicStructure or None
        What the estimator is the transition of.
    """

    estimator: object
    warnings: list
    seconds: float
    dynamic: object | None = None

    @property
    def initial(self):
        """The estimator of the first slice's network, None if there is none."""
        return None if self.dynamic is None else self.dynamic.initial_estimator_


def kind_for(arguments):
    """What ``--kind`` and ``--score`` say about the data."""
    if arguments.categorical is not None and arguments.kind != "auto":
        raise InputError("Say --kind for all columns, or --categorical for some.")
    wanted = KIND_OF_SCORE.get(getattr(arguments, "score", "auto"))
    if wanted is None or arguments.kind == wanted:
        return arguments.kind
    if arguments.kind == "auto":
        return wanted
    raise InputError(
        f"--score {arguments.score} is for {wanted} data, not --kind {arguments.kind}."
    )


def missing_for(arguments):
    """What ``--missing`` says, or what it is where nothing is said."""
    return getattr(arguments, "missing", "augment")


def make_estimator(arguments, variables, series=None):
    """Make the estimator that the options ask for.

    Parameters
    ----------
    arguments : argparse.Namespace
        The options.
    variables : Variables
        The data, for the kind of score and the names in constraints.
    series : Series, default=None
        What says when rows were observed, for a dynamic network.

    Returns
    -------
    estimator : BaseStructure or DynamicStructure
        Not fitted.
    """
    from skbidag import (
        IterativeSearchStructure,
        OrderMCMCStructure,
        PartitionMCMCStructure,
    )

    methods = {
        "order": OrderMCMCStructure,
        "partition": PartitionMCMCStructure,
        "iterative": IterativeSearchStructure,
    }
    given = vars(arguments)
    parameters = {name: given[name] for name in PARAMETERS if name in given}
    if variables.kind == "mixed":
        discrete = [kind == "discrete" for kind in variables.kinds]
        parameters["categorical_features"] = discrete
    if series is None:
        known = constraints_for(arguments, variables)
    else:
        static = background_of(arguments, variables)
        names = transition_names(variables, series, static)
        known = constraints_for(arguments, replace(variables, names=names))
        known.pop("background", None)
    score = make_score(given, variables.kind)
    if variables.orders:
        score.set_params(ordinal=[name in variables.orders for name in variables.names])
    estimator = methods[arguments.method](
        score,
        random_state=arguments.seed,
        **parameters,
        **known,
    )
    return estimator if series is None else make_dynamic(estimator, series, static)


def make_score(given, kind):
    """Make the score, with those of its parameters that were given."""
    from skbidag.scores._resolve import score_class

    name = given.get("score", "auto")
    if kind == "mixed" and name != "auto":
        raise InputError(
            f"--score {name} takes one kind of columns, but the data are mixed; leave "
            "it out, or leave columns out with --drop."
        )
    score = score_class(name, "categorical" if kind == "discrete" else kind)()
    for parameter in SCORE_PARAMETERS:
        if parameter in given:
            if parameter not in score.get_params():
                raise InputError(
                    f"{option(parameter)} is no parameter of the score "
                    f"{type(score).__name__}, which {kind} data get here."
                )
            score.set_params(**{parameter: given[parameter]})
    return score


def constraints_for(arguments, variables):
    """What is known beforehand, read from files, as parameters of an estimator."""
    parameters = {}
    if arguments.constraints is not None:
        edges = read_constraints(arguments.constraints)
        ends = [(name, line) for *pair, _, line in edges for name in pair]
        resolve_names(ends, variables, arguments.constraints)
        for kind in ("forbidden", "required"):
            pairs = [(i, j) for i, j, what, _ in edges if what == kind]
            if pairs:
                parameters[f"{kind}_edges"] = pairs
    if arguments.tiers is not None:
        tiers = read_tiers(arguments.tiers)
        places = [(name, line) for name, _, line in tiers]
        resolve_names(places, variables, arguments.tiers)
        groups = {}
        for name, tier, _ in tiers:
            groups.setdefault(tier, []).append(name)
        parameters["tiers"] = [groups[tier] for tier in sorted(groups)]
    if arguments.background:
        parameters["background"] = background_of(arguments, variables)
    return parameters


def background_of(arguments, variables):
    """The variables in the background, each once."""
    names = list(dict.fromkeys(arguments.background))
    for name in names:
        resolve_name(name, variables, f"--background {name}")
    return names


def fit(estimator, variables, series=None, interventions=None, *, progress=None):
    """Fit an estimator to variables.

    Parameters
    ----------
    estimator : BaseStructure
        The estimator.
    variables : Variables
        The data.
    series : Series, default=None
        When the table's rows were observed, for a dynamic network.
    interventions : ndarray of str, default=None
        What was set in each row.
    progress : callback, default=None
        What tells of the progress.

    Returns
    -------
    fit : Fit
        The fitted estimator.
    """
    frame = make_frame(variables)
    if series is not None:
        frame["(time)"] = series.step[variables.rows]
        frame["(series)"] = series.label[variables.rows]
    if progress is not None:
        learner = estimator if series is None else estimator.estimator
        learner.set_callbacks(progress)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            if interventions is None:
                estimator.fit(frame)
            else:
                estimator.fit(frame, interventions=interventions)
        except ValueError as error:  # parameters, constraints or data
            raise InputError(in_options(str(error))) from error
        except MemoryError as error:
            raise MemoryError(in_options(str(error))) from error
    messages = [
        in_options(str(warning.message))
        for warning in caught
        if issubclass(warning.category, UserWarning)
    ]
    seconds = time.perf_counter() - began
    if series is None:
        return Fit(estimator, messages, seconds)
    return Fit(estimator.transition_estimator_, messages, seconds, estimator)


def make_frame(variables):
    """Make a data frame, so that the estimator knows the names."""
    import pandas  # takes a while

    columns = dict(zip(variables.names, variables.columns, strict=True))
    for name, levels in variables.orders.items():
        columns[name] = pandas.Categorical(columns[name], levels, ordered=True)
    return pandas.DataFrame(columns)
