"""The only place that imports scikit-learn's private names."""

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions"]
