"""Ridge regression and classification that choose the strength of their penalty, by leaving out each row or by folds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import _check_method_params

from dualgap.estimators.callbacks import Report
from dualgap.estimators.classifiers import RidgeClassifier
from dualgap.estimators.cross_validation import CV_CONSTRAINTS, Data, Found, without
from dualgap.estimators.cv_classifiers import ClassifierCV
from dualgap.estimators.cv_regressors import SCORING, RegressorCV, given_strengths
from dualgap.estimators.folds import Fold
from dualgap.estimators.leave_one_out import leave_one_out
from dualgap.estimators.regressors import Ridge
from dualgap.estimators.scores import Score, by_accuracy, by_r2, scorer_for
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
RIDGE_CV_CONSTRAINTS: dict[str, Any] = CV_CONSTRAINTS | {
    "alphas": ["array-like"],
    "scoring": SCORING,
    "store_cv_results": ["boolean"],
}


class _Told:
    """An estimator whose predictions are what it is given instead of rows."""

    def predict(self, X: Any) -> Any:
        return X


class _ToldRegressor(_Told, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    pass


class _ToldClassifier(_Told, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, classes: Any = None) -> None:
        self.classes_ = self.classes = classes

    def decision_function(self, X: Any) -> Any:
        return X

    def predict(self, X: Any) -> Any:
        return self.classes_[(X > 0.0).astype(np.intp) if X.ndim == 1 else np.argmax(X, axis=1)]


class RowByRow:
    """Leaving out each row where `cv` is None; a subclass says how predictions go to a scorer."""

    def _cross_validate(self: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], report: Report | None) -> Found | None:
        if self.cv is not None:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name, False):
                    raise ValueError(f"{name}=True needs cv=None, got cv={self.cv!r}")
            found: Found = super()._cross_validate(X, y, sample_weight, params, report)  # type: ignore[misc]
            return found
        template = self._template()
        data = self._prepared(X, y, sample_weight, template)
        score_params = self._routed(sample_weight, params).scorer.score
        template.alpha = self._choose(data, score_params)
        template._fit(data.X, data.y, data.counted, report)
        self._take_over(template)
        return None

    def _choose(self: Any, data: Data, score_params: dict[str, Any]) -> Any:
        """The strength with the best score, by the rule; of each target, if these are to have their own."""
        alphas = np.asarray(self._given_strengths())
        if np.any(alphas == 0.0) or self.positive:
            what = "positive=True" if self.positive else f"alphas={self.alphas!r}"
            raise ValueError(f"Leaving out each row (cv=None) needs alphas above 0 and positive=False, got {what}: pass cv=5")
        Y = np.column_stack(data.targets).astype(np.float64)
        errors = leave_one_out(data.X, Y, data.fitted, self.factors, bool(self.fit_intercept), alphas)
        there = slice(None) if data.counted is None else data.counted > 0.0
        per_target = getattr(self, "alpha_per_target", False) and Y.shape[1] > 1
        weight = None if data.counted is None else data.counted[there]
        if self.scoring is None:
            results = errors**2
            each = -results[there] if per_target else -results[there].mean(axis=1, keepdims=True)
            scores = np.average(each, axis=0, weights=weight)
            doubt = _standard_errors(each, scores, weight)
        else:
            if self.rule == "1se":
                raise ValueError("rule='1se' needs the errors of single rows: pass scoring=None, or cv=5")
            results = Y[:, :, None] - errors
            scores = np.array([self._scored(data, results[..., j], score_params, per_target) for j in range(len(alphas))]).T
            doubt = np.zeros_like(scores)
        if self.store_cv_results:
            self.cv_results_ = results if data.y.ndim == 2 or Y.shape[1] > 1 else results[:, 0]
        chosen, best_scores = zip(*(self._pick(alphas, s, e) for s, e in zip(scores, doubt, strict=True)), strict=True)
        self.alpha_ = np.array(chosen) if per_target else chosen[0]
        self.best_score_ = np.array(best_scores) if per_target else best_scores[0]
        return self.alpha_

    def _pick(self: Any, alphas: Array, scores: Array, doubt: Array) -> tuple[float, float]:
        """The strength that the rule chooses, and its score."""
        best = int(np.argmax(scores))
        if self.rule == "1se":
            within = scores >= scores[best] - doubt[best]
            best = int(np.argmax(np.where(within, alphas, -np.inf)))
        return float(alphas[best]), float(scores[best])


def _standard_errors(each: Array, mean: Array, weight: Array | None) -> Array:
    """The standard errors of weighted means over rows, of which as many count as their weights are worth."""
    n = len(each)
    if n < 2:
        return np.zeros_like(mean)
    worth = float(n) if weight is None else float(weight.sum() ** 2 / (weight @ weight))
    spread = np.average((each - mean) ** 2, axis=0, weights=weight)
    return np.asarray(np.sqrt(spread / max(worth - 1.0, 1e-300)))


class RidgeCV(RowByRow, RegressorCV):
    """Least squares with a penalty alpha |w|^2, its strength chosen by cross-validation, as scikit-learn's.

    The objective is that of `Ridge`. By default each row is left out in turn, which one decomposition does for all rows and strengths at
    once; with `cv`, every fit of every fold is certified to `tol`. The model is certified in any case.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        The strengths to choose from.
    fit_intercept : bool
        Whether to fit b.
    scoring : str, callable or None
        A scorer of scikit-learn; None is minus the mean squared error where each row is left out, and R^2 with folds.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn; None leaves out each row.
    gcv_mode : {"auto", "svd", "eigen"}, optional
        Has no effect: the smaller of X'X and XX' is decomposed.
    store_cv_results : bool
        Whether to keep `cv_results_`, where each row is left out.
    alpha_per_target : bool
        Whether each target has a strength of its own, where each row is left out.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the best score, or the largest within a standard error of that.
    positive : bool
        Whether to hold coefficients at or above 0, with folds.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int, optional
        Most passes over the data for each strength, 1000 by default.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many folds are fitted side by side, by threads that share X.
    verbose : bool
        Whether to show how far it has come.

    Attributes
    ----------
    alpha_ : float or array of shape (n_targets,)
        The strength that was chosen.
    best_score_ : float or array of shape (n_targets,)
        Its score.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors of the rows left out, or with `scoring` their predictions, if `store_cv_results`.
    scores_, gap_path_ : array of shape (n_folds, n_alphas)
        With folds: scores on the rows held out, higher for better ones, and the certified relative gaps, in the order of `alphas`.

    Notes
    -----
    A fitted model also has the attributes of `LinearRegressor`, of the fit to all rows.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = dg.RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4), model.status_.name
    (0.01, 0.5166, 'CERTIFIED')
    """

    _model = Ridge
    _scored_by = "r2"
    _parameter_constraints = (
        without(Ridge, "alpha", "copy_X", "warm_start") | RIDGE_CV_CONSTRAINTS | {"gcv_mode": [str, None], "alpha_per_target": ["boolean"]}
    )

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        rule: str = "best",
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.rule = rule
        self.positive = positive
        self.factors = factors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _given_strengths(self) -> Any:
        return given_strengths("alphas", np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)))

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:  # noqa: ARG002
        return by_r2(problems, fold)

    def _scored(self, data: Data, predictions: Array, params: dict[str, Any], per_target: bool) -> list[float]:
        scorer, model = scorer_for(self.scoring), _ToldRegressor()
        if per_target:
            return [scorer(model, predictions[:, t], data.y[:, t], **params) for t in range(predictions.shape[1])]
        return [scorer(model, predictions if data.y.ndim == 2 else predictions[:, 0], data.y, **params)]

    def _publish(self, found: Found) -> None:
        publish_ridge(self, found)


def publish_ridge(model: Any, found: Found) -> None:
    """The attributes of a ridge model whose strength was chosen by folds, in the order of `alphas`."""
    ratio, strength = found.one_standard_error() if model.rule == "1se" else found.best()
    back = np.argsort(np.argsort(-model._given_strengths(), kind="stable"))
    model.alpha_, model.best_score_ = float(found.strengths[ratio, strength]), float(found.mean[ratio, strength])
    model.scores_, model.gap_path_ = (a[0].T[:, back] for a in (found.scores, found.relative_gap))


class RidgeClassifierCV(RowByRow, ClassifierCV):
    """Least squares on -1 and +1 with a penalty alpha |w|^2, its strength chosen by cross-validation, as scikit-learn's.

    The objective is that of `RidgeClassifier`. By default each row is left out in turn, which one decomposition does for all rows and
    strengths at once; with `cv`, every fit of every fold is certified to `tol`. The model is certified in any case.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        The strengths to choose from.
    fit_intercept : bool
        Whether to fit b.
    scoring : str, callable or None
        A scorer of scikit-learn; None is minus the mean squared error on -1 and +1 where each row is left out, and accuracy with folds.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn; None leaves out each row.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows in fits, not in scores. "balanced" is what balances all rows.
    store_cv_results : bool
        Whether to keep `cv_results_`, where each row is left out.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the best score, or the largest within a standard error of that.
    positive : bool
        Whether to hold coefficients at or above 0, with folds.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int, optional
        Most passes over the data for each strength, 1000 by default.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many folds are fitted side by side, by threads that share X.
    verbose : bool
        Whether to show how far it has come.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    best_score_ : float
        Its score.
    cv_results_ : array of shape (n_samples, n_classes, n_alphas)
        Squared errors of the rows left out, or with `scoring` their decision values, if `store_cv_results`; for two classes of shape
        (n_samples, n_alphas).
    scores_, gap_path_ : array of shape (n_folds, n_alphas)
        With folds: scores on the rows held out, higher for better ones, and the certified relative gaps, in the order of `alphas`.

    Notes
    -----
    A fitted model also has the attributes of `LinearClassifier`, of the fit to all rows.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = dg.RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> round(model.score(X, y), 2), model.status_.name
    (0.96, 'CERTIFIED')
    """

    _model = RidgeClassifier
    _parameter_constraints = without(RidgeClassifier, "alpha", "copy_X", "warm_start") | RIDGE_CV_CONSTRAINTS

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        class_weight: Any = None,
        store_cv_results: bool = False,
        rule: str = "best",
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results
        self.rule = rule
        self.positive = positive
        self.factors = factors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _ratios(self) -> list[Any]:
        return [None]

    def _given_strengths(self) -> Any:
        return given_strengths("alphas", np.atleast_1d(np.asarray(self.alphas, dtype=np.float64)))

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:
        return by_accuracy(problems, data.labels, fold)

    def _scored(self, data: Data, predictions: Array, params: dict[str, Any], per_target: bool) -> list[float]:  # noqa: ARG002
        there = np.arange(len(data.y)) if data.counted is None else np.flatnonzero(data.counted)
        z = predictions[there] if predictions.shape[1] > 1 else predictions[there, 0]
        given = _check_method_params(data.X, params, indices=there)
        return [scorer_for(self.scoring, self.classes_)(_ToldClassifier(self.classes_), z, data.y[there], **given)]

    def _publish(self, found: Found) -> None:
        publish_ridge(self, found)
