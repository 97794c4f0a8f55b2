"""Formats of other programs that are written if asked for."""

from skbidag._cli._errors import InputError

# What can be asked for, and the names of the files
FILES = {
    "bif": "network.bif",
    "dagitty": "graph.dagitty",
    "modelstring": "graph.modelstring",
}


def check_formats(arguments, variables, series):
    """Complain of formats that cannot hold the result, before any work is done.

    Parameters
    ----------
    arguments : argparse.Namespace
        The options.
    variables : Variables
        The data.
    series : Series or None
        What says when rows were observed.
    """
    if "bif" not in arguments.export:
        return
    reason = None
    if variables.kind != "discrete":
        reason = f"the data are {variables.kind}"
    elif getattr(arguments, "score", "auto") == "bic":
        reason = "--score bic has no probabilities to write"
    elif series is not None:
        reason = "the rows are series"
    if reason is not None:
        raise InputError(f"--export bif is for networks of discrete data: {reason}.")
