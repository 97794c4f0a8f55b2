"""Which scheme searches: the one that tries all that helps, or the paper's own."""

from skbidag._search._plain import search_plainly
from skbidag._search._spaces import search_widely


def search_structure(problem, settings, entropy, stop=None):
    """Search for the best DAG, and for the space around it.

    Parameters
    ----------
    problem : Problem
        Score, data and constraints.
    settings : SearchSettings
        How to search.
    entropy : tuple of int
        Seed.
    stop : Stop, default=None
        Ends the search early.

    Returns
    -------
    result : SearchResult
        The best DAG ever seen, and the space that was found for it.
    """
    settings = settings.resolved(problem)
    search = search_widely if settings.scheme == "wide" else search_plainly
    return search(problem, settings, entropy, stop)
