"""The fitted estimator of scikit-learn that predicts what one of ours does, for whatever knows scikit-learn's classes alone.

a. An estimator with scikit-learn's name becomes that one, with the parameters that both have. What scikit-learn lacks (factors, limits of
   time, our solvers, what `tol` means) is left at its defaults: it makes no difference to predictions, but would to another fit.
b. `LinearRegressor` and `LinearClassifier` become the estimator that minimizes the same, where there is one. For other losses and penalties
   the coefficients go to a class with the same predictions: `LinearRegression`, `LinearSVC`, or `SGDClassifier(loss="log_loss")`, whose
   probabilities of several classes are brought to the sum 1 as ours are.
"""

import inspect
import math
import numbers
from typing import Any

import numpy as np
from sklearn import linear_model, svm
from sklearn.base import is_classifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from dualgap import losses, multiclass, penalties
from dualgap.estimators.classifiers import logistic_ratio

# What means something else there, or is chosen by us.
NOT_SHARED = {"tol", "solver", "verbose", "n_jobs", "penalty", "random_state", "warm_start", "copy_X", "precompute", "dual", "multi_class"}
ATTRIBUTES = (
    *("classes_", "scale_", "outliers_", "feature_names_in_", "n_features_in_", "n_iter_", "dual_gap_"),
    *("alpha_", "alphas_", "l1_ratio_", "mse_path_", "best_score_", "cv_results_", "C_", "Cs_", "l1_ratios_", "scores_", "coefs_paths_"),
)


def to_sklearn(model: Any) -> Any:
    """The estimator of scikit-learn that predicts what a fitted estimator of ours does."""
    check_is_fitted(model)
    name = type(model).__name__
    other = _same_name(model, name) if hasattr(linear_model, name) or hasattr(svm, name) else _same_predictions(model)
    coef, intercept = (_own(getattr(model, a)) for a in ("coef_", "intercept_"))
    if isinstance(other, svm.LinearSVR):
        intercept = np.atleast_1d(intercept)
    other.coef_, other.intercept_ = coef, intercept
    for attribute in ATTRIBUTES:
        if hasattr(model, attribute) and not isinstance(getattr(type(other), attribute, None), property):
            setattr(other, attribute, _own(getattr(model, attribute)))
    if isinstance(other, linear_model.RidgeClassifier | linear_model.RidgeClassifierCV):
        other._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(model.classes_)
    return other


def _own(value: Any) -> Any:
    """A copy of an array, so that the two estimators share nothing that can change."""
    return value.copy() if hasattr(value, "copy") else value


def _shared(model: Any, made: Any) -> dict[str, Any]:
    """The parameters that a class of scikit-learn has too, and that are not the defaults there."""
    known = inspect.signature(made).parameters
    given = {k: v for k, v in model.get_params(deep=False).items() if k in known and k not in NOT_SHARED and v is not None}
    return {k: v for k, v in given.items() if not (isinstance(v, type(known[k].default)) and v == known[k].default)}


def _same_name(model: Any, name: str) -> Any:
    made = getattr(linear_model, name, None) or getattr(svm, name)
    params = _shared(model, made)
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        params |= _logistic_penalty(model, made)
    if "n_alphas" in inspect.signature(made).parameters and isinstance(params.get("alphas"), numbers.Integral):
        params["n_alphas"] = params.pop("alphas")  # before 1.9
    if name == "LinearSVC":
        params |= {"multi_class": model.multi_class, "penalty": model.penalty, "dual": "auto"}
        params["loss"] = "hinge" if model.loss == "smooth_hinge" else model.loss
    if name == "Ridge" and model.positive:
        params["solver"] = "lbfgs"
    return made(**params)


def _logistic_penalty(model: Any, made: Any) -> dict[str, Any]:
    """Penalty and solver of a logistic regression, in the words of the installed scikit-learn."""
    known = inspect.signature(made).parameters
    name = "l1_ratios" if "l1_ratios" in known else "l1_ratio"
    ratios = [float(r) for r in (model.l1_ratios_ if name == "l1_ratios" else [logistic_ratio(model.penalty, model.l1_ratio)])]
    value = ratios if name == "l1_ratios" else ratios[0]
    plain = model.penalty is None or getattr(model, "C", 1.0) == math.inf
    params: dict[str, Any] = {"solver": "saga" if any(ratios) and not plain else "lbfgs"}
    if known["penalty"].default == "deprecated":
        later = {"use_legacy_attributes": model.use_legacy_attributes, "scoring": model.scoring} if name == "l1_ratios" else {}
        return params | {name: value} | later | ({"C": np.inf} if plain else {})
    kind = None if plain else "l2" if not any(ratios) else "l1" if min(ratios) == 1.0 else "elasticnet"
    return params | {"penalty": kind} | ({name: value} if kind == "elasticnet" else {})


def _same_predictions(model: Any) -> Any:
    """An estimator for a general loss and penalty: one of the same objective if there is one."""
    loss, penalty = model._solutions[0].loss, model._solutions[0].penalty
    common = {"fit_intercept": model.fit_intercept}
    strength = _elastic_net(penalty)
    if is_classifier(model):
        return _classifier(model, loss, strength, common | {"class_weight": model.class_weight})
    return _regressor(model, loss, strength, common)


def _elastic_net(penalty: Any) -> tuple[float, float] | None:
    """The strength of an elastic net and its share of L1, without factors and bounds; None for another penalty."""
    while hasattr(penalty, "penalty"):
        if "factors" in penalty._fields and not np.any(penalty.factors):
            return 0.0, 0.0
        penalty = penalty.penalty
    if not isinstance(penalty, penalties.L2 | penalties.ElasticNet):
        return None
    l1, l2 = float(getattr(penalty, "l1", 0.0)), float(penalty.l2)
    return _mixed(l1, l2)


def _mixed(l1: float, l2: float) -> tuple[float, float]:
    """The sum of two strengths and the share of the first."""
    return l1 + l2, l1 / (l1 + l2) if l1 + l2 > 0.0 else 0.0


def _sgd(strength: tuple[float, float], factor: float = 1.0) -> dict[str, Any]:
    """The penalty of the stochastic gradient classes, whose loss is `factor` times ours."""
    alpha, ratio = strength
    kind = {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet")
    return {"penalty": kind, "alpha": factor * alpha, **({"l1_ratio": ratio} if kind == "elasticnet" else {})}


def _regressor(model: Any, loss: Any, strength: tuple[float, float] | None, common: dict[str, Any]) -> Any:
    single, (alpha, ratio) = model.coef_.ndim == 1, strength or (0.0, 0.0)
    if strength is None or alpha == 0.0:
        return linear_model.LinearRegression(**common, positive=model.positive)
    if isinstance(loss, losses.Squared):
        if ratio == 0.0:
            held = {"solver": "lbfgs"} if model.positive else {}
            return linear_model.Ridge(alpha * model._total, **common, positive=model.positive, **held)
        return linear_model.ElasticNet(alpha, l1_ratio=ratio, **common, positive=model.positive)
    if isinstance(loss, losses.Quantile | losses.Absolute) and ratio == 1.0 and single:
        level, alpha = (loss.level, alpha) if isinstance(loss, losses.Quantile) else (0.5, 0.5 * alpha)
        return linear_model.QuantileRegressor(quantile=level, alpha=alpha, **common)
    known = {
        losses.Huber: ("huber", "delta", 1.0),
        losses.EpsilonInsensitive: ("epsilon_insensitive", "epsilon", 1.0),
        losses.SquaredEpsilonInsensitive: ("squared_epsilon_insensitive", "epsilon", 2.0),
    }
    if type(loss) in known and single and not model.positive:
        name, width, factor = known[type(loss)]
        return linear_model.SGDRegressor(name, **_sgd((alpha, ratio), factor), epsilon=float(getattr(loss, width)), **common)
    return linear_model.LinearRegression(**common, positive=model.positive)


def _classifier(model: Any, loss: Any, strength: tuple[float, float] | None, common: dict[str, Any]) -> Any:
    alpha, ratio = strength or (0.0, 0.0)
    if isinstance(loss, multiclass.Softmax) or (isinstance(loss, losses.Logistic) and len(model.classes_) == 2):
        if isinstance(loss, multiclass.Softmax) and len(model.classes_) == 2:
            # of two vectors that differ by w the least penalty is l1 |w|_1 + l2/4 |w|^2
            alpha, ratio = _mixed(alpha * ratio, 0.5 * alpha * (1.0 - ratio))
        C = 1.0 / (alpha * model._total) if alpha > 0.0 else np.inf
        if inspect.signature(linear_model.LogisticRegression).parameters["penalty"].default == "deprecated":
            return linear_model.LogisticRegression(C=C, l1_ratio=ratio, solver="saga" if ratio else "lbfgs", **common)
        kind = {0.0: "l2", 1.0: "l1"}.get(ratio, "elasticnet") if alpha > 0.0 else None
        share = {"l1_ratio": ratio} if kind == "elasticnet" else {}
        return linear_model.LogisticRegression(kind, C=1.0 if kind is None else C, solver="saga" if ratio else "lbfgs", **share, **common)
    if isinstance(loss, multiclass.MaxHinge) and alpha > 0.0:
        return svm.LinearSVC(C=1.0 / (alpha * model._total), multi_class="crammer_singer", **common)
    known = {losses.Logistic: ("log_loss", 1.0), losses.Hinge: ("hinge", 1.0), losses.SquaredHinge: ("squared_hinge", 2.0)}
    if type(loss) in known:
        name, factor = known[type(loss)]
        return linear_model.SGDClassifier(name, **(_sgd((alpha, ratio), factor) if alpha > 0.0 else {"penalty": None}), **common)
    return svm.LinearSVC(**common)
