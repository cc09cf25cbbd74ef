"""Estimators with scikit-learn's names, parameters and meaning, whose fits end with a certificate.

Import them from here, or from `dualgap` where the name is not that of a penalty (`dualgap.ElasticNet` is the penalty).
"""

from dualgap.estimators.classifiers import LinearSVC, LogisticRegression, RidgeClassifier
from dualgap.estimators.huber import HuberRegressor
from dualgap.estimators.linear import LinearClassifier, LinearRegressor
from dualgap.estimators.regressors import ElasticNet, Lasso, LinearSVR, QuantileRegressor, Ridge

__all__ = [
    "ElasticNet",
    "HuberRegressor",
    "Lasso",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "QuantileRegressor",
    "Ridge",
    "RidgeClassifier",
]
