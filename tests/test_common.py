"""scikit-learn's own checks. None is expected to fail."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from skbidag import (
    ExactStructure,
    GESSkeleton,
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
    StructureImputer,
)

QUICK = {"n_iter": 500, "n_draws": 20, "n_chains": 2}

SEEDED = OrderMCMCStructure(search_space="pc", random_state=0, **QUICK)


class Threes:
    """A space in which cycles have three variables; checks come with thirty."""

    def __call__(self, X):
        group = np.arange(X.shape[1]) // 3
        return group[:, None] == group

    def __repr__(self):  # a test's name is the same in all processes
        return "threes"


ESTIMATORS = [
    ExactStructure(search_space=Threes(), n_draws=20),
    ExactStructure(search_space=Threes(), posterior="order-weighted", n_draws=20),
    ExactStructure(search_space=Threes(), posterior="best DAG alone"),
    OrderMCMCStructure(search_space="pc", **QUICK),
    OrderMCMCStructure(search_space="iterative", **QUICK),
    OrderMCMCStructure(search_space="pc", extra_parent=False, n_jobs=2, **QUICK),
    PartitionMCMCStructure(search_space="pc", **QUICK),
    PartitionMCMCStructure(search_space="iterative", **QUICK),
    IterativeSearchStructure(**QUICK),
    # of the checks' random columns none need be in a blanket; a selector of none warns
    MarkovBlanketSelector(SEEDED, threshold=0.0),
    MarkovBlanketSelector(SEEDED, target=0, threshold=0.0),
    PCSkeleton(),
    GESSkeleton(),
    StructureImputer(SEEDED),
]

DEFAULTS = [
    OrderMCMCStructure(),
    PartitionMCMCStructure(),
    IterativeSearchStructure(),
]


# thirty random columns of fifteen rows: large parent sets matter by their number
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The search space leaves out")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# nor do chains agree about them within the default budget
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(DEFAULTS)
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    if check.func is check_sample_weight_equivalence_on_dense_data:
        # Weights and repeated rows are one problem, whose chains take the same steps,
        # however many.
        estimator.set_params(max_iter=200_000)
    check(estimator)
