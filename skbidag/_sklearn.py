"""The only place that imports scikit-learn's private names."""

from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_params,
)
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _num_samples,
)

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "_check_feature_names",
    "_check_n_features",
    "_fit_context",
    "_num_samples",
    "_routing_enabled",
    "validate_params",
]
