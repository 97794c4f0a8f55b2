"""The only place that imports what scikit-learn may change without notice.

Its private names, and its callbacks, which are experimental.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sklearn.base import _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
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
    _num_features,
    _num_samples,
)

if TYPE_CHECKING:
    _Function = TypeVar("_Function", bound=Callable)

    # scikit-learn's has no type, and would hide those of what it decorates
    def validate_params(
        parameter_constraints: dict, *, prefer_skip_nested_validation: bool
    ) -> Callable[[_Function], _Function]:
        """Validate the parameters of a function."""


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "StrOptions",
    "_check_feature_names",
    "_check_n_features",
    "_fit_context",
    "_num_features",
    "_num_samples",
    "_routing_enabled",
    "validate_params",
    "with_callbacks",
]
