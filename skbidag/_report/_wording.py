"""What the effects of edges are, in words, by the kind of the score."""

from functools import singledispatch

from skbidag.scores import (
    CategoricalParameterScore,
    CellParameterScore,
    LinearParameterScore,
)

COEFFICIENT = (
    "The effect is the regression coefficient: by how much the child grows with one "
    "unit more of the parent, the other parents held fixed"
)
PROBABILITY = (
    "by how much more probable the child's second category is with the parent's second"
)
AVERAGED = "It is averaged over the sampled DAGs that have the edge."


@singledispatch
def meaning_of_effects(score):
    """What :func:`~skbidag._edge_effects.direct_effects` are; empty if there are none.

    Parameters
    ----------
    score : BaseScore
        A fitted score.

    Returns
    -------
    meaning : str
        Sentences.
    """
    return ""


@meaning_of_effects.register
def _(score: LinearParameterScore):
    return f"{COEFFICIENT}. {AVERAGED}"


@meaning_of_effects.register
def _(score: CategoricalParameterScore):
    return (
        f"The effect, of two variables with two categories each, is {PROBABILITY}, the "
        f"other parents as they are. {AVERAGED}"
    )


@meaning_of_effects.register
def _(score: CellParameterScore):
    return (
        f"{COEFFICIENT}; of a parent with two categories, by how much the child is "
        f"larger with the second; of two such variables, {PROBABILITY}. {AVERAGED}"
    )
