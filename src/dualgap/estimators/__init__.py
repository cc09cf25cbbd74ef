"""Estimators with scikit-learn's names, parameters and meaning, whose fits end with a certificate.

Import them from here, or from `dualgap` where the name is not that of a penalty (`dualgap.ElasticNet` is the penalty).
"""

from dualgap.estimators.classifiers import LinearSVC, LogisticRegression, RidgeClassifier
from dualgap.estimators.cv_classifiers import LinearClassifierCV, LogisticRegressionCV
from dualgap.estimators.cv_regressors import ElasticNetCV, LassoCV, LinearRegressorCV
from dualgap.estimators.cv_ridge import RidgeClassifierCV, RidgeCV
from dualgap.estimators.huber import HuberRegressor
from dualgap.estimators.linear import LinearClassifier, LinearRegressor
from dualgap.estimators.regressors import ElasticNet, Lasso, LinearSVR, QuantileRegressor, Ridge

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
]
