"""scikit-learn's own checks. None is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbidag import OrderMCMCStructure, PartitionMCMCStructure

QUICK = {"n_iter": 500, "n_draws": 20, "n_chains": 2}

ESTIMATORS = [
    OrderMCMCStructure(search_space="pc", **QUICK),
    OrderMCMCStructure(search_space="iterative", **QUICK),
    OrderMCMCStructure(search_space="pc", extra_parent=False, n_jobs=2, **QUICK),
    PartitionMCMCStructure(search_space="pc", **QUICK),
    PartitionMCMCStructure(search_space="iterative", **QUICK),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
