"""Regressors that choose the strength of their penalty by cross-validation."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from dualgap.estimators.cross_validation import CV_CONSTRAINTS, CrossValidated, Data, Found, without
from dualgap.estimators.folds import Fold
from dualgap.estimators.linear import LinearRegressor, Regressor
from dualgap.estimators.regressors import ElasticNet, Lasso
from dualgap.estimators.scores import Score, by_loss, by_squared_errors
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
L1_RATIO = Interval(numbers.Real, 0, 1, closed="both")
EPS = Interval(numbers.Real, 0, 1, closed="neither")
GRID_CONSTRAINTS: dict[str, Any] = CV_CONSTRAINTS | {
    "eps": [EPS],
    "alphas": [Interval(numbers.Integral, 1, None, closed="left"), "array-like"],
}
SCORING: list[Any] = [StrOptions(set(get_scorer_names())), callable, None]


class RegressorCV(CrossValidated, Regressor):
    """What regressors with cross-validation share; a subclass says how its folds are scored by default, and what it publishes."""

    _multi_output = True

    def _prepared(self, X: Any, y: Any, sample_weight: Any, template: Any) -> Data:
        X, y, weight = self._checked(X, y, sample_weight, multi_output=True, y_numeric=True)
        return Data(X, y, template._targets(y), weight, weight)

    def _filled(self, model: Any, solutions: Sequence[Any], data: Data) -> Any:
        model._set_coefficients(solutions, model._has_columns(data.y))
        return model

    def _given_strengths(self) -> Any:
        return given_strengths("alphas", self.alphas)

    def _ratios(self) -> list[Any]:
        return [None]


def given_strengths(name: str, values: Any) -> Any:
    """A number of strengths, or these, which must not be negative."""
    if isinstance(values, numbers.Integral):
        return values
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    for index, value in enumerate(array.ravel()):
        if not value >= 0.0 or not np.isfinite(value):
            raise ValueError(f"{name}[{index}] == {value}, must be >= 0 and finite")
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be a number of strengths or a sequence of them, got {values!r}")
    return array


class ElasticNetCV(RegressorCV):
    """Least squares with an elastic net penalty, its strength and mixture chosen by cross-validation, as scikit-learn's.

    The objective is that of `ElasticNet`. Every fit of every fold is certified to `tol`.

    Parameters
    ----------
    l1_ratio : float or list of float
        Share of |w|_1 in the penalty; of several the best is chosen.
    eps : float
        The ratio of the last and the first strength, where these are not given.
    alphas : int or array of shape (n_alphas,)
        How many strengths, from the least that leaves all coefficients at 0 down to `eps` times that; or the strengths.
    fit_intercept : bool
        Whether to fit b.
    precompute, copy_X, selection : bool or array or "auto", bool, str
        Have no effect: X is never changed, and the solver chooses how it goes about.
    max_iter : int
        Most passes over the data for each strength.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn: 5 by default, fewer for fewer rows.
    verbose : bool
        Whether to show how far it has come.
    n_jobs : int, optional
        How many folds, times values of `l1_ratio`, are fitted side by side, by threads that share X.
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the least mean squared error, or the largest within a standard error of that.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The strength and the mixture that were chosen.
    alpha_best_, alpha_1se_ : float
        What either rule chooses.
    alphas_ : array of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The strengths, falling.
    mse_path_ : array of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors on the rows held out.
    gap_path_ : array of the shape of mse_path_
        The certified relative gaps.

    Notes
    -----
    A fitted model also has the attributes of `LinearRegressor`, of the fit to all rows, and scikit-learn's `dual_gap_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dualgap.estimators import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 10))
    >>> y = 3.0 * X[:, 0] - X[:, 1] + rng.standard_normal(60)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20, rule="1se").fit(X, y)
    >>> np.flatnonzero(model.coef_), model.l1_ratio_, bool(np.all(model.gap_path_ <= 1e-6))
    (array([0, 1]), 1.0, True)
    """

    _model: Any = ElasticNet
    _scored_by = "mse"
    _keeps_columns = False
    _parameter_constraints = (
        without(ElasticNet, "alpha", "warm_start")
        | GRID_CONSTRAINTS
        | {"l1_ratio": [L1_RATIO, "array-like"], "precompute": [StrOptions({"auto"}), "boolean", "array-like"]}
    )

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        rule: str = "best",
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit

    def _ratios(self) -> list[Any]:
        return ratios_of("l1_ratio", self.l1_ratio)

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:  # noqa: ARG002
        return by_squared_errors(problems, fold)

    def _publish(self, found: Found) -> None:
        best, cautious = found.best(), found.one_standard_error()
        ratio, strength = cautious if self.rule == "1se" else best
        self.alpha_best_, self.alpha_1se_ = float(found.strengths[best]), float(found.strengths[cautious])
        self.alpha_ = float(found.strengths[ratio, strength])
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = found.ratios[ratio]
        single = len(found.ratios) == 1
        self.mse_path_, self.gap_path_ = (a[0] if single else a for a in (-found.scores, found.relative_gap))
        self.alphas_ = found.strengths[0] if single or not isinstance(self.alphas, numbers.Integral) else found.strengths

    @property
    def dual_gap_(self) -> Any:
        """The certified gap, by scikit-learn's name."""
        return self.duality_gap_


def ratios_of(name: str, values: Any) -> list[float]:
    """Shares of the L1 penalty, between 0 and 1."""
    ratios = [float(value) for value in np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()]
    if not ratios or not all(0.0 <= ratio <= 1.0 for ratio in ratios):
        raise ValueError(f"{name} must be between 0 and 1, got {values!r}")
    return ratios


class LassoCV(ElasticNetCV):
    """Least squares with a penalty alpha |w|_1, its strength chosen by cross-validation, as scikit-learn's.

    The objective is that of `Lasso`. Every fit of every fold is certified to `tol`.

    Parameters
    ----------
    eps : float
        The ratio of the last and the first strength, where these are not given.
    alphas : int or array of shape (n_alphas,)
        How many strengths, from the least that leaves all coefficients at 0 down to `eps` times that; or the strengths.
    fit_intercept : bool
        Whether to fit b.
    precompute, copy_X, selection : bool or array or "auto", bool, str
        Have no effect: X is never changed, and the solver chooses how it goes about.
    max_iter : int
        Most passes over the data for each strength.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn: 5 by default, fewer for fewer rows.
    verbose : bool
        Whether to show how far it has come.
    n_jobs : int, optional
        How many folds are fitted side by side, by threads that share X.
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the least mean squared error, or the largest within a standard error of that.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    alpha_best_, alpha_1se_ : float
        What either rule chooses.
    alphas_ : array of shape (n_alphas,)
        The strengths, falling.
    mse_path_ : array of shape (n_alphas, n_folds)
        Mean squared errors on the rows held out.
    gap_path_ : array of shape (n_alphas, n_folds)
        The certified relative gaps.

    Notes
    -----
    A fitted model also has the attributes of `LinearRegressor`, of the fit to all rows, and scikit-learn's `dual_gap_`.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgap as dg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 10))
    >>> y = 3.0 * X[:, 0] - X[:, 1] + rng.standard_normal(60)
    >>> model = dg.LassoCV(rule="1se").fit(X, y)
    >>> np.flatnonzero(model.coef_), model.alpha_1se_ > model.alpha_best_, model.mse_path_.shape
    (array([0, 1]), True, (100, 5))
    """

    _model = Lasso
    _parameter_constraints = without(ElasticNetCV, "l1_ratio")

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        rule: str = "best",
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit

    def _ratios(self) -> list[Any]:
        return [None]


class LinearRegressorCV(RegressorCV):
    """Linear regression with any loss and any penalty, its strength chosen by cross-validation.

    The objective is that of `LinearRegressor`. Every fit of every fold is certified to `tol`. By default a fold is scored by the loss, so
    that a quantile is chosen for as a quantile. Several targets have one strength in common.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "quantile"} or a loss
        A name for a loss with its defaults, or an object such as `dualgap.Huber(0.1)` or one of your own.
    penalty : {"l2", "l1", "elasticnet"} or a penalty
        |w|^2/2, |w|_1, or l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2; or an object such as `dualgap.GroupL1(1.0, 0.1, groups)`.
    alphas : int or array of shape (n_alphas,)
        How many strengths, or which, of what multiplies the penalty; see `dualgap.path`.
    eps : float, optional
        The ratio of the last and the first strength where these are not given: 1e-3, or 1e-6 for a penalty without kinks.
    l1_ratio : float or list of float
        Share of |w|_1 where the penalty is "elasticnet"; of several the best is chosen.
    fit_intercept : bool
        Whether to fit b.
    cv : int, splitter, iterable or None
        The folds, as in scikit-learn: 5 by default, fewer for fewer rows.
    scoring : str, callable or None
        A scorer of scikit-learn; None scores by the loss.
    rule : {"best", "1se"}
        Whether `alpha_` is the strength with the best mean score, or the largest within a standard error of that.
    positive : bool
        Whether to hold coefficients at or above 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data for each strength.
    time_limit : float, optional
        Most seconds for all: folds get equal shares, and strengths that a fold does not reach are not chosen.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    n_jobs : int, optional
        How many folds, times values of `l1_ratio`, are fitted side by side, by threads that share X.
    verbose : bool
        Whether to show how far it has come.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The strength and the mixture that were chosen; there is a mixture only where the penalty is "elasticnet".
    alpha_best_, alpha_1se_ : float
        What either rule chooses.
    best_score_ : float
        The mean score of the strength that was chosen.
    alphas_, l1_ratios_ : array of shape (n_l1_ratios, n_alphas), array of shape (n_l1_ratios,)
        The strengths, falling, and the mixtures.
    scores_ : array of shape (n_folds, n_l1_ratios, n_alphas)
        Scores on the rows held out, higher for better ones.
    gap_path_ : array of the shape of scores_
        The certified relative gaps.

    Notes
    -----
    A fitted model also has the attributes of `LinearRegressor`, of the fit to all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import dualgap as dg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 10))
    >>> y = 3.0 * X[:, 0] - X[:, 1] + rng.standard_t(2, 60)
    >>> model = dg.LinearRegressorCV("huber", "l1", alphas=20).fit(X, y)
    >>> model.scores_.shape, bool(np.all(model.gap_path_ <= 1e-6))
    ((5, 1, 20), True)
    """

    _model = LinearRegressor
    _scored_by = "loss"
    _parameter_constraints = (
        without(LinearRegressor, "alpha", "warm_start")
        | GRID_CONSTRAINTS
        | {
            "penalty": [StrOptions({"l2", "l1", "elasticnet"}), HasMethods("_replace")],
            "eps": [EPS, None],
            "l1_ratio": [L1_RATIO, "array-like"],
            "scoring": SCORING,
        }
    )

    def __init__(
        self,
        loss: Any = "squared",
        penalty: Any = "l2",
        *,
        alphas: Any = 100,
        eps: float | None = None,
        l1_ratio: Any = 0.5,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        positive: bool = False,
        factors: Any = None,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
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
        return ratios_of("l1_ratio", self.l1_ratio) if self.penalty == "elasticnet" else [None]

    def _default_score(self, data: Data, problems: Sequence[Problem], fold: Fold) -> Score:  # noqa: ARG002
        return by_loss(problems, fold)

    def _publish(self, found: Found) -> None:
        publish_scores(self, found)


def publish_scores(model: Any, found: Found) -> None:
    """Set the attributes of a general model with cross-validation."""
    best, cautious = found.best(), found.one_standard_error()
    ratio, strength = cautious if model.rule == "1se" else best
    model.alpha_best_, model.alpha_1se_ = float(found.strengths[best]), float(found.strengths[cautious])
    model.alpha_, model.best_score_ = float(found.strengths[ratio, strength]), float(found.mean[ratio, strength])
    if found.ratios[ratio] is not None:
        model.l1_ratio_, model.l1_ratios_ = found.ratios[ratio], np.array(found.ratios)
    model.alphas_ = found.strengths
    model.scores_, model.gap_path_ = (np.moveaxis(a, 2, 0) for a in (found.scores, found.relative_gap))
