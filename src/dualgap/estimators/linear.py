"""Regressors and classifiers in general: any loss with any penalty of the library, own ones included.

The classes that have scikit-learn's names differ from these in how their parameters state the objective, and inherit the rest.
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dualgap import losses, multiclass
from dualgap.estimators.base import NOT_NEGATIVE, SHARED_CONSTRAINTS, CertifiedModel, Task, make_penalty, solver_names, total_weight
from dualgap.estimators.callbacks import Report
from dualgap.penalties import Factors, NonNegative, scaled
from dualgap.problem import column_factors
from dualgap.regions import certain_classes
from dualgap.solution import Solution, Status

Array = npt.NDArray[np.float64]

REGRESSION = {
    "squared": losses.Squared,
    "absolute": losses.Absolute,
    "huber": losses.Huber,
    "epsilon_insensitive": losses.EpsilonInsensitive,
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive,
    "quantile": losses.Quantile,
}
CLASSIFICATION = {
    "logistic": losses.Logistic,
    "hinge": losses.Hinge,
    "smooth_hinge": losses.SmoothHinge,
    "squared_hinge": losses.SquaredHinge,
    "softmax": multiclass.Softmax,
    "max_hinge": multiclass.MaxHinge,
    "smooth_max_hinge": multiclass.SmoothMaxHinge,
    "soft_max_hinge": multiclass.SoftMaxHinge,
}
NAMED_ALPHA = 1e-4
GENERAL_CONSTRAINTS: dict[str, Any] = SHARED_CONSTRAINTS | {
    "penalty": [StrOptions({"l2", "l1", "elasticnet"}), HasMethods("_replace"), None],
    "alpha": [NOT_NEGATIVE, None],
    "l1_ratio": [Interval(numbers.Real, 0, 1, closed="both")],
    "positive": ["boolean"],
    "solver": solver_names(),
}


def general_penalty(model: Any, d: int) -> Any:
    """alpha times the penalty that a general model names or holds, with factors and a bound at 0."""
    if isinstance(model.penalty, str) or model.penalty is None:
        ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": model.l1_ratio, None: 0.0}[model.penalty]
        alpha = 0.0 if model.penalty is None else NAMED_ALPHA if model.alpha is None else float(model.alpha)
        return make_penalty(alpha * ratio, alpha * (1.0 - ratio), d, factors=model.factors, positive=model.positive)
    penalty = model.penalty if model.alpha is None else scaled(model.penalty, float(model.alpha))
    if model.factors is not None:
        penalty = Factors(penalty, model.factors)
    return NonNegative(penalty) if model.positive else penalty


class Regressor(RegressorMixin, CertifiedModel):  # type: ignore[misc]
    """What regressors share. A subclass states `_objective(total, d)`, a loss and a penalty for each target."""

    _multi_output = False
    _keeps_columns = True

    def _fit(self, X: Any, y: Any, sample_weight: Any, report: Report | None) -> None:
        X, y, weight = self._checked(X, y, sample_weight, multi_output=self._multi_output, y_numeric=True)
        targets = self._targets(y)
        objectives = self._objectives(total_weight(weight, len(y)), X.shape[1], len(targets))
        tasks = [Task(target, *objective) for target, objective in zip(targets, objectives, strict=True)]
        solutions = self._solve(X, weight, tasks, report)
        several = self._has_columns(y)
        self._set_coefficients(solutions, several)
        dual = np.array([s.alpha for s in solutions])
        self.dual_coef_ = dual if several else dual[0]
        self._keep(solutions)

    def _targets(self, y: Any) -> list[Array]:
        """The targets of each solve."""
        return list(np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(len(y), -1).T))

    def _has_columns(self, y: Any) -> bool:
        """Whether coefficients have a row for each target."""
        return y.ndim == 2 and (self._keeps_columns or y.shape[1] > 1)

    def _set_coefficients(self, solutions: Sequence[Any], several: bool) -> None:
        """Set `coef_` and `intercept_` to those of the solutions."""
        coef = np.array([s.w for s in solutions])
        intercept = np.array([s.intercept for s in solutions]) if self.fit_intercept else 0.0
        self.coef_, self.intercept_ = (coef, intercept) if several else (coef[0], _first(intercept))

    def _objectives(self, total: float, d: int, targets: int) -> list[tuple[Any, Any]]:
        return [self._objective(total, d)] * targets

    def predict(self, X: Any) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            Predicted targets.
        """
        return self._linear(X)

    def decision_bounds(self, X: Any) -> tuple[Any, Any]:
        """Where the predictions of the optimal model are, as far as the certificate says.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        low, high : arrays of shape (n_samples,) or (n_samples, n_targets)
            Bounds, infinite where nothing is known: that needs a penalty with a part in |w|^2.
        """
        low, high = self._intervals(self._rows(X))
        return (low, high) if self.coef_.ndim > 1 else (low[:, 0], high[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        return tags


def _first(intercept: Any) -> float:
    return float(np.ravel(intercept)[0])


class Classifier(ClassifierMixin, CertifiedModel):  # type: ignore[misc]
    """What classifiers share. A subclass states `_objective(total, d, k)`, a loss and a penalty.

    A vector-valued loss sees all classes at once, a scalar one each class against the rest; with two classes there is one row of
    coefficients in any case.
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any, report: Report | None) -> None:
        X, y, weight = self._checked(X, y, sample_weight)
        X, labels, weight = self._labelled(X, y, weight)
        (loss, penalty), *_ = self._objectives(total_weight(weight, len(labels)), X.shape[1], 1)
        targets = self._targets(labels, loss)
        solutions = self._solve(X, weight, [Task(target, loss, penalty) for target in targets], report)
        if not penalized(penalty) and not attained(loss):
            solutions = [
                replace(s, status=Status.NO_MINIMUM) if separates(X, target, weight, s) else s
                for s, target in zip(solutions, targets, strict=True)
            ]
        joint = getattr(loss, "vector", False)
        self._set_coefficients(solutions, joint)
        self.dual_coef_ = by_class([s.alpha for s in solutions], joint)
        self._keep(solutions)

    def _objectives(self, total: float, d: int, targets: int) -> list[tuple[Any, Any]]:
        return [self._objective(total, d, len(self.classes_))] * targets

    def _labelled(self, X: Any, y: Any, weight: Array | None) -> tuple[Any, npt.NDArray[np.intp], Array | None]:
        """X, the classes as numbers, and the weights times those of the classes."""
        check_classification_targets(y)
        X, y, weight = without_lost_classes(X, y, weight)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: {y[:1].tolist()[0]!r}"
            )
        return X, labels, self._class_weighted(labels, weight)

    def _targets(self, labels: npt.NDArray[np.intp], loss: Any) -> list[Any]:
        """The targets of each solve: all classes at once, or each against the rest."""
        k = len(self.classes_)
        if getattr(loss, "vector", False):
            return [labels]
        return [np.where(labels == c, 1.0, -1.0) for c in ([1] if k == 2 else range(k))]

    def _class_weighted(self, labels: npt.NDArray[np.intp], weight: Array | None) -> Array | None:
        """The weights, times those of the classes."""
        wanted = getattr(self, "class_weight", None)
        if wanted is None:
            return weight
        if isinstance(wanted, str):
            mass = np.bincount(labels, weight)
            of_class = mass.sum() / (len(mass) * mass)
        else:
            of_class = compute_class_weight(wanted, classes=self.classes_, y=self.classes_[labels])
        of_row: Array = of_class[labels]
        return of_row if weight is None else of_row * weight

    def _set_coefficients(self, solutions: Sequence[Any], joint: bool) -> None:
        """Set `coef_` and `intercept_` to those of the solutions."""
        intercept = [np.asarray(s.intercept) for s in solutions]
        if joint:
            intercept = [np.broadcast_to(intercept[0] - np.mean(intercept[0]), solutions[0].w.shape[1:])]
        self.coef_, self.intercept_ = by_class([s.w for s in solutions], joint), by_class(intercept, joint)

    def _class_names(self) -> list[str]:
        return [str(name) for name in self.classes_]

    def _encoded(self, y: Any) -> Any:
        """The positions of labels in `classes_`, or -1 and +1 where that is what was fitted to."""
        y = np.asarray(y)
        strange = y[~np.isin(y, self.classes_)]
        if strange.size:
            raise ValueError(f"y_test must hold classes of the fit, {', '.join(self._class_names())}, got {strange[0]}")
        positions = np.searchsorted(self.classes_, y)
        return positions if self._sees_all() else 2 * positions - 1

    def decision_function(self, X: Any) -> Any:
        """Decision values: above 0 for the second of two classes, one for each class where there are more.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Decision values.
        """
        z = self._linear(X)
        return z.ravel() if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Any:
        """Predict classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            Predicted classes.
        """
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)]

    def decision_bounds(self, X: Any) -> tuple[Any, Any]:
        """Where the decision values of the optimal model are, as far as the certificate says.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        low, high : arrays of shape (n_samples,) or (n_samples, n_classes)
            Bounds, infinite where nothing is known: that needs a penalty with a part in |w|^2, and no intercept for a joint hinge loss. The
            optimal intercepts of a joint loss are those with the sum 0.
        """
        X = self._rows(X)
        if len(self.classes_) == 2 and self._sees_all():
            z, size = self._regions[0].scores(X), math.sqrt(2.0) * self._regions[0].distances(X)
            return z[:, 1] - z[:, 0] - size, z[:, 1] - z[:, 0] + size
        low, high = self._intervals(X)
        return (low, high) if low.shape[1] > 1 else (low[:, 0], high[:, 0])

    def decided(self, X: Any) -> Any:
        """Whether the optimal model predicts the same class, as far as the certificate says.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of bool of shape (n_samples,)
            True where the prediction of the optimal model is proved to be that of this one.
        """
        return certain_classes([[r] for r in self._regions], self._rows(X)) >= 0

    def _sees_all(self) -> bool:
        """Whether one problem has all classes."""
        return self._solutions[0].w.ndim == 2

    def sparsify(self) -> Self:
        """Convert `coef_` to a sparse matrix.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert `coef_` back to an array.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self)
        if not isinstance(self.coef_, np.ndarray):
            self.coef_ = self.coef_.toarray()
        return self


def by_class(arrays: Sequence[Array], joint: bool) -> Array:
    """Arrays of the solves, or one whose last axis are the classes, as one with a row for each class; one row for two classes."""
    rows = np.ascontiguousarray(arrays[0].T) if joint else np.array(arrays)
    return rows[1:] - rows[:1] if joint and len(rows) == 2 else rows


def penalized(penalty: Any) -> bool:
    """Whether a penalty penalizes or bounds any coefficient."""
    factors = column_factors(penalty)
    return factors is None or bool(np.any(np.asarray(factors) > 0.0)) or "lower" in penalty._fields


def attained(loss: Any) -> bool:
    """Whether a loss is 0 at some score: one that is not has no minimum where the classes can be separated."""
    return not hasattr(loss, "temperature") if getattr(loss, "vector", False) else bool(loss.value(100.0, 1.0) == 0.0)


def separates(X: Any, target: npt.NDArray[Any], weight: Array | None, solution: Solution) -> bool:
    """Whether the coefficients give each row the higher score for its class; then larger ones lower a loss that is 0 nowhere."""
    z = np.asarray(X @ solution.w) + solution.intercept
    if z.ndim == 1:
        margin = z * target
    else:
        rows = np.arange(len(z))
        own = z[rows, target]
        z[rows, target] = -np.inf
        margin = own - z.max(axis=1)
    return bool(np.all(margin > 0.0 if weight is None else (margin > 0.0) | (weight == 0.0)))


def without_lost_classes(X: Any, y: Any, weight: Array | None) -> tuple[Any, Any, Array | None]:
    """The data without the rows of classes that have no weight: a weight of 0 means that the row is not there."""
    if weight is None or np.all(weight > 0.0):
        return X, y, weight
    kept = np.isin(y, y[weight > 0.0])
    return (X, y, weight) if np.all(kept) else (X[kept], y[kept], weight[kept])


def probabilities(z: Array, *, joint: bool) -> Array:
    """Probabilities of the classes from decision values: of the joint model, or of each class against the rest, brought to the sum 1."""
    if z.ndim == 1:
        z, joint = np.column_stack([np.zeros_like(z), z]), True
    p = np.exp(z - z.max(axis=1, keepdims=True)) if joint else expit(z)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


class Probabilistic(Classifier):
    """A classifier that has probabilities where its loss has."""

    def _joint(self) -> bool:
        """Whether decision values are log-probabilities up to a constant."""
        return True

    @available_if(lambda model: model._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X), joint=self._joint())

    @available_if(lambda model: model._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Logarithms, in the order of `classes_`.
        """
        return np.log(self.predict_proba(X))

    def _has_probabilities(self) -> bool:
        return True


class LinearRegressor(Regressor):
    """Linear regression with any loss and any penalty.

    Minimizes 1/S sum_i s_i phi(x_i'w + b, y_i) + alpha R(w), where S is the sum of the weights s_i, and b is not penalized. Several targets
    are fitted independently.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile"} or a loss
        A name for a loss with its defaults, or an object such as `dualgap.Huber(0.1)` or one of your own.
    penalty : {"l2", "l1", "elasticnet"}, None or a penalty
        |w|^2/2, |w|_1, or l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2; or an object such as `dualgap.GroupL1(1.0, 0.1, groups)`.
    alpha : float, optional
        What multiplies the penalty; by default 1e-4 for a name, and 1 for an object.
    l1_ratio : float
        Share of |w|_1 where the penalty is "elasticnet".
    fit_intercept : bool
        Whether to fit b.
    positive : bool
        Whether to hold coefficients at or above 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data.
    time_limit : float, optional
        Most seconds for one target.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many targets are fitted side by side, and at most how many threads work on a fit (-1: all); by default one target at a time,
        with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,) or (n_targets, n_features), float or array of shape (n_targets,)
        The model.
    primal_, dual_, duality_gap_, relative_gap_ : float or array of shape (n_targets,)
        The certificate: no coefficients have an objective below `primal_ - duality_gap_`. `tol` bounds `relative_gap_`.
    dual_coef_ : array of shape (n_samples,) or (n_targets, n_samples)
        The dual variables that prove it.
    status_ : dualgap.Status
        How the fit ended, as a sentence.
    n_iter_ : int or array of shape (n_targets,)
        Passes over the data.
    history_ : dualgap.History or list of dualgap.History
        The certificates on the way.
    n_features_in_, feature_names_in_ : int, array of shape (n_features,)
        Number of features, and their names if they have any.

    Examples
    --------
    >>> import dualgap as dg
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 100.0, 7.0, 9.0]
    >>> model = dg.LinearRegressor(loss="absolute", penalty=None).fit(X, y)
    >>> model.predict([[5.0]]).round(3), model.status_.name
    (array([11.]), 'CERTIFIED')
    """

    _multi_output = True
    _parameter_constraints = GENERAL_CONSTRAINTS | {"loss": [StrOptions(set(REGRESSION)), HasMethods("_replace")]}

    def __init__(
        self,
        loss: Any = "squared",
        penalty: Any = "l2",
        *,
        alpha: float | None = None,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.positive = positive
        self.factors = factors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self, total: float, d: int) -> tuple[Any, Any]:  # noqa: ARG002
        return named_loss(self.loss, REGRESSION), general_penalty(self, d)


class LinearClassifier(Probabilistic):
    """Linear classification with any loss and any penalty.

    Minimizes 1/S sum_i s_i phi(x_i'w + b, y_i) + alpha R(w), where S is the sum of the weights s_i, and b is not penalized. A vector-valued
    loss ("softmax" and the like) sees all classes at once; with any other one, several classes are each fitted against the rest.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge", "squared_hinge", "softmax", "max_hinge", "smooth_max_hinge", "soft_max_hinge"} or a loss
        A name for a loss with its defaults, or an object such as `dualgap.SmoothHinge(0.1)` or one of your own.
    penalty : {"l2", "l1", "elasticnet"}, None or a penalty
        |w|^2/2, |w|_1, or l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2; or an object such as `dualgap.GroupL1(1.0, 0.1, groups)`.
    alpha : float, optional
        What multiplies the penalty; by default 1e-4 for a name, and 1 for an object.
    l1_ratio : float
        Share of |w|_1 where the penalty is "elasticnet".
    fit_intercept : bool
        Whether to fit b.
    class_weight : dict, "balanced" or None
        Weights of the classes, which multiply those of the rows.
    positive : bool
        Whether to hold coefficients at or above 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data.
    time_limit : float, optional
        Most seconds for one class against the rest.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many classes are fitted against the rest side by side, and at most how many threads work on a fit (-1: all); by default one
        class at a time, with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    coef_, intercept_ : array of shape (1, n_features) or (n_classes, n_features), array of shape (1,) or (n_classes,)
        The model.
    primal_, dual_, duality_gap_, relative_gap_ : float or array of shape (n_classes,)
        The certificate: no coefficients have an objective below `primal_ - duality_gap_`. `tol` bounds `relative_gap_`.
    dual_coef_ : array of shape (1, n_samples) or (n_classes, n_samples)
        The dual variables that prove it.
    status_ : dualgap.Status
        How the fit ended, as a sentence.
    n_iter_ : int or array of shape (n_classes,)
        Passes over the data.
    history_ : dualgap.History or list of dualgap.History
        The certificates on the way.
    n_features_in_, feature_names_in_ : int, array of shape (n_features,)
        Number of features, and their names if they have any.

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = dg.LinearClassifier(loss="smooth_max_hinge", penalty="elasticnet", alpha=1e-3).fit(X, y)
    >>> model.score(X, y) > 0.95, model.status_.name
    (True, 'CERTIFIED')
    """

    _parameter_constraints = GENERAL_CONSTRAINTS | {
        "loss": [StrOptions(set(CLASSIFICATION)), HasMethods("_replace")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        loss: Any = "logistic",
        penalty: Any = "l2",
        *,
        alpha: float | None = None,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.positive = positive
        self.factors = factors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self, total: float, d: int, k: int) -> tuple[Any, Any]:  # noqa: ARG002
        return named_loss(self.loss, CLASSIFICATION), general_penalty(self, d)

    def _has_probabilities(self) -> bool:
        return isinstance(named_loss(self.loss, CLASSIFICATION), losses.Logistic | multiclass.Softmax)

    def _joint(self) -> bool:
        return isinstance(named_loss(self.loss, CLASSIFICATION), multiclass.Softmax)


def named_loss(loss: Any, known: dict[str, Any]) -> Any:
    """A loss from its name, or itself."""
    return known[loss]() if isinstance(loss, str) else loss
