"""Regressors with scikit-learn's names, parameters and meaning.

What a class of scikit-learn minimizes is brought to the form of `dualgap.solve`, with S the sum of the weights s_i:

    Ridge              sum_i s_i r_i^2 + alpha |w|^2                 squared,               l2 = alpha / S
    Lasso, ElasticNet  1/(2S) sum_i s_i r_i^2 + alpha (...)          squared,               l1 = alpha rho, l2 = alpha (1 - rho)
    QuantileRegressor  1/S sum_i s_i pinball(r_i) + alpha |w|_1      quantile,              l1 = alpha
    LinearSVR          C sum_i s_i max(0, |r_i| - eps) + |w|^2/2     eps-insensitive,       l2 = 1 / (C S)
                       C sum_i s_i max(0, |r_i| - eps)^2 + |w|^2/2   its square,            l2 = 1 / (2 C S)
"""

import numbers
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from dualgap.estimators.base import NOT_NEGATIVE, POSITIVE, SHARED_CONSTRAINTS, make_penalty, solver_names
from dualgap.estimators.linear import Regressor
from dualgap.losses import EpsilonInsensitive, Quantile, Squared, SquaredEpsilonInsensitive

LASSO_CONSTRAINTS = SHARED_CONSTRAINTS | {
    "alpha": [NOT_NEGATIVE],
    "precompute": ["boolean", "array-like"],
    "copy_X": ["boolean"],
    "positive": ["boolean"],
    "selection": [StrOptions({"cyclic", "random"})],
    "solver": solver_names(),
}


class Ridge(Regressor):
    """Least squares with a penalty alpha |w|^2, as scikit-learn's.

    Minimizes sum_i s_i (y_i - x_i'w - b)^2 + alpha |w|^2.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,)
        Strength of the penalty, of each target if there are several.
    fit_intercept : bool
        Whether to fit b.
    copy_X : bool
        Has no effect: X is never changed.
    max_iter : int, optional
        Most passes over the data, 1000 by default.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`. The names of scikit-learn's solvers mean "auto".
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    time_limit : float, optional
        Most seconds for one target.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    n_jobs : int, optional
        How many targets are fitted side by side, and at most how many threads work on a fit (-1: all); by default one target at a time,
        with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Notes
    -----
    A fitted model has the attributes of `LinearRegressor`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.Ridge(alpha=0.5).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> model.coef_, model.duality_gap_ < 1e-12
    (array([0.8]), True)
    """

    _multi_output = True
    _parameter_constraints = SHARED_CONSTRAINTS | {
        "alpha": [NOT_NEGATIVE, np.ndarray],
        "copy_X": ["boolean"],
        "solver": solver_names("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
        "positive": ["boolean"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        solver: Any = "auto",
        positive: bool = False,
        random_state: Any = None,
        factors: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.factors = factors
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objectives(self, total: float, d: int, targets: int) -> list[tuple[Any, Any]]:
        return [
            (Squared(), make_penalty(0.0, alpha / total, d, factors=self.factors, positive=self.positive))
            for alpha in ridge_alphas(self.alpha, targets)
        ]


def ridge_alphas(alpha: Any, targets: int) -> list[float]:
    """The strength of each target."""
    alphas = np.asarray(alpha, dtype=np.float64).ravel()
    if alphas.size not in (1, targets):
        raise ValueError(f"Number of targets and number of penalties do not correspond: {alphas.size} != {targets}")
    if np.any(alphas < 0.0):
        raise ValueError(f"alpha must be >= 0, got {alpha!r}")
    return list(map(float, np.broadcast_to(alphas, (targets,))))


class ElasticNet(Regressor):
    """Least squares with an elastic net penalty, as scikit-learn's.

    Minimizes 1/(2S) sum_i s_i (y_i - x_i'w - b)^2 + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio)/2 |w|^2, S the sum of the weights s_i.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    l1_ratio : float
        Share of |w|_1 in it.
    fit_intercept : bool
        Whether to fit b.
    precompute, copy_X, selection : bool or array, bool, str
        Have no effect: X is never changed, and the solver chooses how it goes about.
    max_iter : int
        Most passes over the data.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds for one target.
    n_jobs : int, optional
        How many targets are fitted side by side, and at most how many threads work on a fit (-1: all); by default one target at a time,
        with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Notes
    -----
    A fitted model has the attributes of `LinearRegressor`, and scikit-learn's `dual_gap_` and `sparse_coef_`.

    Examples
    --------
    >>> from dualgap.estimators import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [1.0, 2.0, 3.0])
    >>> model.coef_.round(4), model.status_.name
    (array([0.8605, 0.    ]), 'CERTIFIED')
    """

    _multi_output = True
    _keeps_columns = False
    _parameter_constraints = LASSO_CONSTRAINTS | {"l1_ratio": [Interval(numbers.Real, 0, 1, closed="both")]}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self, total: float, d: int) -> tuple[Any, Any]:  # noqa: ARG002
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1.0 - self.l1_ratio)
        return Squared(), make_penalty(l1, l2, d, factors=self.factors, positive=self.positive)

    @property
    def dual_gap_(self) -> Any:
        """The certified gap, by scikit-learn's name."""
        return self.duality_gap_

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix."""
        return sparse.csr_matrix(self.coef_)


class Lasso(ElasticNet):
    """Least squares with a penalty alpha |w|_1, as scikit-learn's.

    Minimizes 1/(2S) sum_i s_i (y_i - x_i'w - b)^2 + alpha |w|_1, S the sum of the weights s_i.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    fit_intercept : bool
        Whether to fit b.
    precompute, copy_X, selection : bool or array, bool, str
        Have no effect: X is never changed, and the solver chooses how it goes about.
    max_iter : int
        Most passes over the data.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    positive : bool
        Whether to hold coefficients at or above 0.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds for one target.
    n_jobs : int, optional
        How many targets are fitted side by side, and at most how many threads work on a fit (-1: all); by default one target at a time,
        with all cores at hand.
    verbose : bool
        Whether to show the gap while it goes down.

    Notes
    -----
    A fitted model has the attributes of `LinearRegressor`, and scikit-learn's `dual_gap_` and `sparse_coef_`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [1.0, 2.0, 3.0])
    >>> model.coef_.round(4), model.status_.name
    (array([0.85, 0.  ]), 'CERTIFIED')
    """

    _parameter_constraints = LASSO_CONSTRAINTS
    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose


class QuantileRegressor(Regressor):
    """Linear quantile regression with a penalty alpha |w|_1, as scikit-learn's.

    Minimizes 1/S sum_i s_i pinball(y_i - x_i'w - b) + alpha |w|_1, S the sum of the weights s_i.

    Parameters
    ----------
    quantile : float
        The quantile to predict, between 0 and 1.
    alpha : float
        Strength of the penalty.
    fit_intercept : bool
        Whether to fit b.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`. The names of scikit-learn's solvers mean "auto".
    solver_options : dict, optional
        Has no effect.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    max_iter : int
        Most passes over the data.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    time_limit : float, optional
        Most seconds.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    verbose : bool
        Whether to show the gap while it goes down.

    Notes
    -----
    A fitted model has the attributes of `LinearRegressor`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.QuantileRegressor(quantile=0.5, alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), model.status_.name
    (array([2.]), 'CERTIFIED')
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "quantile": [Interval(numbers.Real, 0, 1, closed="neither")],
        "alpha": [NOT_NEGATIVE],
        "solver": solver_names("highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"),
        "solver_options": [dict, None],
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: Any = "auto",
        solver_options: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = 1000,
        factors: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.factors = factors
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _objective(self, total: float, d: int) -> tuple[Any, Any]:  # noqa: ARG002
        return Quantile(float(self.quantile)), make_penalty(float(self.alpha), 0.0, d, factors=self.factors)


class LinearSVR(Regressor):
    """Linear support vector regression, as scikit-learn's but for the intercept, which is not penalized.

    Minimizes C sum_i s_i max(0, |y_i - x_i'w - b| - epsilon) + |w|^2/2, or the same with squared residuals.

    Parameters
    ----------
    epsilon : float
        Residuals up to epsilon cost nothing.
    tol : float
        The certified gap to reach, relative to the objective of the model without features.
    C : float
        Inverse of the strength of the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        The loss.
    fit_intercept : bool
        Whether to fit b.
    intercept_scaling, dual : float, bool or "auto"
        Have no effect: the intercept is not penalized, and there is a primal and a dual solution in any case.
    verbose : bool
        Whether to show the gap while it goes down.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.
    max_iter : int
        Most passes over the data.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        See `dualgap.solve`.
    time_limit : float, optional
        Most seconds.
    warm_start : bool
        Whether a fit starts from the solution of the one before.

    Notes
    -----
    A fitted model has the attributes of `LinearRegressor`.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.LinearSVR(epsilon=0.5, C=10.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), model.status_.name
    (array([1.5]), 'CERTIFIED')
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "epsilon": [NOT_NEGATIVE],
        "C": [POSITIVE],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "intercept_scaling": [POSITIVE],
        "dual": ["boolean", StrOptions({"auto"})],
        "solver": solver_names(),
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int | None = 1000,
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit
        self.warm_start = warm_start

    def _objective(self, total: float, d: int) -> tuple[Any, Any]:
        if self.loss == "epsilon_insensitive":
            return EpsilonInsensitive(float(self.epsilon)), make_penalty(0.0, 1.0 / (self.C * total), d, factors=self.factors)
        return SquaredEpsilonInsensitive(float(self.epsilon)), make_penalty(0.0, 0.5 / (self.C * total), d, factors=self.factors)
