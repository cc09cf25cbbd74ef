"""Huber's regression with the scale of the residuals estimated along, as scikit-learn's `HuberRegressor`.

    F(w, b, sigma) = sum_i s_i (sigma + sigma H(r_i/sigma)) + alpha |w|^2,      H(t) = t^2 for |t| <= eps, 2 eps |t| - eps^2 beyond,

with r_i = y_i - x_i'w - b, is convex in all three. With sigma held it is S sigma + 2S/sigma times a problem of `dualgap.solve`: the Huber
loss with delta = eps sigma and l2 = alpha sigma/S. With w and b held, the best sigma solves mean(min(|r|/sigma, eps)^2) = 1. The fixed
point of the two is found by secants on log sigma.

The certificate is joint. A dual point alpha of the problem at sigma, |alpha_i| <= eps sigma, proves that for every w, b and every sigma' >=
0

    F/S >= 2/sigma (D(alpha) + A) + sigma' (1 - 2A/sigma^2),      A = mean of alpha^2/2,

so that the first term bounds min F/S once alpha is scaled down to A <= sigma^2/2.

sigma = 0 is optimal where enough residuals can be 0, and what is left is least absolute deviations. F/S differs from that by sigma at most,
so that sigma is held above a tenth of the gap to reach.
"""

import math
import numbers
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from dualgap.bounds import Bounds
from dualgap.certificate import EPS, balanced, dual_point, primal_point
from dualgap.data.validation import check_penalty_object, make_problem
from dualgap.estimators.base import NOT_NEGATIVE, SHARED_CONSTRAINTS, Task, make_penalty, solver_names, total_weight
from dualgap.estimators.callbacks import Report
from dualgap.estimators.linear import Regressor
from dualgap.losses import Huber
from dualgap.null import increasing_root, null_weights
from dualgap.penalties import L2
from dualgap.problem import Problem
from dualgap.regions import Region
from dualgap.solution import History, Record, Solution, Status
from dualgap.solve import Stated, solve_stated
from dualgap.solvers import ProximalPoint
from dualgap.solvers.auto import FEW

Array = npt.NDArray[np.float64]
ROUNDS = 60
FINER = 0.1
NEGLIGIBLE = 1e-4
# With a delta this small beside the residuals the loss is all but absolute, and Newton's method by itself finds too few curved rows.
KINKED = 1e-2
LARGEST_STEP = math.log(10.0)
TINY = float(np.finfo(np.float64).tiny)


class HuberRegressor(Regressor):
    """Regression robust to outliers, with the scale of the residuals estimated along, as scikit-learn's.

    Minimizes sum_i s_i (sigma + H((y_i - x_i'w - b)/sigma) sigma) + alpha |w|^2 over w, b and sigma, where H(t) is t^2 for |t| <= epsilon
    and 2 epsilon |t| - epsilon^2 beyond. `dualgap.Huber` is the loss with a fixed scale.

    Parameters
    ----------
    epsilon : float
        Residuals above epsilon sigma count as outliers; at least 1.
    max_iter : int
        Most passes over the data.
    alpha : float
        Strength of the penalty.
    warm_start : bool
        Whether a fit starts from the solution of the one before.
    fit_intercept : bool
        Whether to fit b.
    tol : float
        The certified gap to reach, relative to the objective of the model without features, of the joint problem.
    factors : array of shape (n_features,), optional
        What multiplies the penalty of each feature; 0 leaves it unpenalized.
    solver : {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"} or a solver
        What solves the problems with sigma held, see `dualgap.solve`.
    time_limit : float, optional
        Most seconds.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited; None is 0.

    Attributes
    ----------
    scale_ : float
        sigma.
    outliers_ : array of bool of shape (n_samples,)
        Where residuals are above epsilon sigma.

    Notes
    -----
    A fitted model also has the attributes of `LinearRegressor`; `primal_`, `dual_` and `duality_gap_` are those of the joint objective,
    divided by the sum of the weights.

    Examples
    --------
    >>> import dualgap as dg
    >>> model = dg.HuberRegressor().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.1, 1.9, 3.0, 40.0])
    >>> model.outliers_.tolist(), model.status_.name
    ([False, False, False, False, True], 'CERTIFIED')
    """

    _parameter_constraints = SHARED_CONSTRAINTS | {
        "epsilon": [Interval(numbers.Real, 1.0, None, closed="left")],
        "alpha": [NOT_NEGATIVE],
        "solver": solver_names(),
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int | None = 1000,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        factors: Any = None,
        solver: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.factors = factors
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, sample_weight: Any, report: Report | None) -> None:
        X, y, weight = self._checked(X, y, sample_weight, y_numeric=True)
        if len(y) < 2:
            raise ValueError("HuberRegressor needs at least two rows to estimate a scale, got n_samples = 1")
        y = np.ascontiguousarray(y, dtype=np.float64)
        start = self._earlier([Task(y, Huber(), None)], X.shape)[0]
        joint = Joint(self, X, y, weight, report)
        solution, self.scale_ = joint.solve(start, getattr(self, "scale_", 0.0) if start is not None else 0.0)
        self.coef_, self.intercept_, self.dual_coef_ = solution.w, solution.intercept, solution.alpha
        self.outliers_ = np.abs(y - X @ self.coef_ - self.intercept_) > self.scale_ * self.epsilon
        self._regions = [joint.region(joint.w, solution.gap)]
        self._keep([solution])


class Joint:
    """The problem in w, b and sigma: solves with sigma held, and the joint certificate of the best points that they gave.

    All objectives are divided by the sum of the weights.
    """

    def __init__(self, model: HuberRegressor, X: Any, y: Array, weight: Array | None, report: Report | None) -> None:
        self.problem = make_problem(X, y, Huber(1.0), L2(1.0), weight, bool(model.fit_intercept), model._jobs(1)[1])[0]
        self.epsilon, self.strength = float(model.epsilon), float(model.alpha) / total_weight(weight, len(y))
        self.factors = model.factors
        self.options, self.report = model._solver_options(), report
        self.started = time.perf_counter()
        self.passes = 0.0
        self.history = History()
        self.primal = self.dual = self.lower = math.nan
        self.upper = math.inf
        self.null_sigma, self.null = self._null()
        self.target = self.options["tol"] * self.null

    @property
    def floor(self) -> float:
        """The least sigma that is looked at."""
        return float(FINER * self.target)

    @property
    def moduli(self) -> Any:
        """The moduli of strong convexity in the coefficients, of the joint objective."""
        return 2.0 * self.strength * (1.0 if self.factors is None else np.asarray(self.factors, dtype=np.float64))

    def region(self, w: Array, gap: float) -> Region:
        """Where the optimal coefficients are; for the intercept, which depends on sigma, there is no bound."""
        free = math.inf if self.problem.intercept else 0.0
        return Region(w, Bounds(math.sqrt(2.0 * gap), self.moduli, 2.0, -free, free))

    def objective(self, w: Array, sigma: float) -> tuple[float, float]:
        """The joint objective, and the allowance for rounding."""
        point = primal_point(self.held(sigma), w)
        return sigma + 2.0 / sigma * point.value, 2.0 / sigma * point.doubt + EPS * sigma

    def held(self, sigma: float) -> Problem:
        """The problem with sigma held; the joint objective is sigma and 2/sigma times that of this problem."""
        penalty = make_penalty(0.0, self.strength * sigma, self.problem.d, factors=self.factors)
        return replace(self.problem, loss=Huber(self.epsilon * sigma), penalty=check_penalty_object(penalty, self.problem.d, 0))

    def solve(self, start: Solution | None, sigma: float) -> tuple[Solution, float]:
        """The best solution found, in the units of the joint objective, and its sigma."""
        if self.null == 0.0:
            return self._constant(), 0.0
        search, status = _FixedPoint(sigma or self.null_sigma), None
        while status is None:
            start = self._solve_held(search.sigma, start)
            search.respond(max(self.certify(search.sigma, start), self.floor))
            status = self._status(start.status, search.rounds)
        return self._solution(status, self.null), self.scale

    def _constant(self) -> Solution:
        """The solution for targets that are all the same, which sigma = 0 and the intercept reach."""
        w = null_weights(self.problem)
        self.w, self.alpha = w, np.zeros(self.problem.n)
        self.primal = self.dual = self.lower = self.upper = self.scale = 0.0
        self.history.append(Record(1.0, time.perf_counter() - self.started, 0.0, 0.0, 0.0))
        self.passes = 1.0
        return self._solution(Status.CERTIFIED, 1.0)

    def _null(self) -> tuple[float, float]:
        """sigma and the objective of the model without features, to about three digits."""
        w = np.zeros(self.problem.shape)
        y = self.problem.y
        if np.all(y == (y[0] if self.problem.intercept else 0.0)):
            return 0.0, 0.0
        search = _FixedPoint(float(np.sqrt(np.mean((y - (np.mean(y) if self.problem.intercept else 0.0)) ** 2))))
        value = math.inf
        while search.rounds < 8 and not search.settled:
            sigma = search.sigma
            w = null_weights(self.held(sigma))
            value = min(value, self.objective(w, sigma)[0])
            search.respond(max(self._best_scale(w), NEGLIGIBLE * value))
        return search.sigma, value

    def _solve_held(self, sigma: float, start: Solution | None) -> Solution:
        """The problem with sigma held, to a tenth of the tolerance of the joint one."""
        problem = self.held(sigma)
        null = primal_point(problem, null_weights(problem))
        options = self.options | {"max_passes": max(self.options["max_passes"] - self.passes, 1.0)}
        options["tol"] = max(FINER * self.target * 0.5 * sigma / null.value, TINY) if null.value > 0.0 else 1.0
        if options["time_limit"] is not None:
            options["time_limit"] = max(options["time_limit"] - (time.perf_counter() - self.started), 0.0)
        if options["solver"] == "auto" and problem.d <= FEW and problem.loss.delta < KINKED * null.value / problem.loss.delta:
            options["solver"] = ProximalPoint()
        stated = Stated(problem, problem.loss, problem.penalty)
        solution = solve_stated(stated, warm_start=start, callback=self.report, null=null, **options)
        self.passes += solution.passes
        return solution

    def certify(self, sigma: float, s: Any) -> float:
        """Take account of coefficients and dual variables with sigma held, and return the best sigma for its coefficients."""
        w = np.append(s.w, s.intercept)
        best = self._best_scale(w)
        for scale in {max(best, self.floor), sigma}:
            value, doubt = self.objective(w, scale)
            if value + doubt < self.upper:
                self.primal, self.upper = value, value + doubt
                self.scale, self.w = scale, w
        self._bound_below(sigma, s.alpha, w)
        self.passes += 2.0
        gap = max(self.upper - self.lower, 0.0)
        self.history.append(Record(self.passes, time.perf_counter() - self.started, self.primal, self.dual, gap))
        return best

    def _bound_below(self, sigma: float, alpha: Array, w: Array) -> None:
        """The bound of the module's docstring, from alpha and from one whose mean square has been brought to sigma^2.

        At the optimum it is that, or less if sigma = 0 is optimal. Near it, the dual variables inside their interval can be stretched or
        shrunk at a second-order loss in D, and what is left to do is done by scaling all.
        """
        problem, bound = self.held(sigma), self.epsilon * sigma
        inside = np.abs(alpha) < bound * (1.0 - 1e-9)

        def stretched(t: float) -> Array:
            return balanced(problem, np.where(inside, np.clip(t * alpha, -bound, bound), alpha))[0]

        def excess(t: float) -> float:
            return float(problem.share @ stretched(t) ** 2) - sigma * sigma

        point, tried = primal_point(problem, w), [alpha]
        if excess(0.5) < 0.0 < excess(2.0):
            tried.append(stretched(increasing_root(excess, 0.5, 2.0)))
        for candidate in tried:
            size = 0.5 * float(problem.share @ candidate**2)
            most = min(1.0, sigma * math.sqrt(0.5 / size) * (1.0 - EPS)) if size > 0.0 else 1.0
            dual = dual_point(problem, most * candidate, point, self.null)
            size = 0.5 * float(problem.share @ (dual.scale * dual.alpha) ** 2)
            value = 2.0 / sigma * (dual.value + size)
            lower = value - 2.0 / sigma * (dual.doubt + EPS * size)
            if 2.0 * size <= sigma * sigma and not lower <= self.lower:
                self.dual, self.lower = value, lower
                self.alpha = dual.scale * dual.alpha

    def _status(self, held: Status, rounds: int) -> Status | None:
        """Whether the fit is at its end."""
        gap = self.history[-1].gap
        if gap <= self.target:
            return Status.CERTIFIED
        if held in (Status.INTERRUPTED, Status.CALLBACK, Status.TIME_LIMIT):
            return held
        if self.passes >= self.options["max_passes"]:
            return Status.MAX_PASSES
        return Status.ROUNDING if rounds >= ROUNDS else None

    def _solution(self, status: Status, null: float) -> Solution:
        d, gap = self.problem.d, self.history[-1].gap
        factors = 1.0 if self.factors is None else float(np.min(self.factors))
        return Solution(
            w=self.w[:d],
            alpha=self.alpha,
            intercept=float(self.w[d]),
            primal=self.primal,
            dual=self.dual,
            gap=gap,
            relative_gap=gap / null,
            null=null,
            convexity=2.0 * self.strength * factors,
            status=status,
            passes=self.passes,
            seconds=time.perf_counter() - self.started,
            history=self.history,
            loss=Huber(self.epsilon * self.scale),
            penalty=make_penalty(0.0, 2.0 * self.strength, d, factors=self.factors),
            solver=self.options["solver"],
        )

    def _best_scale(self, w: Array) -> float:
        """The sigma that is best for coefficients: the root of mean(min(|r|/sigma, epsilon)^2) = 1, 0 if there is none."""
        problem = self.problem
        r = np.abs(problem.y - problem.scores(w, slice(0, problem.n)))
        order = np.argsort(r)
        r, share = r[order], problem.share[order]
        inside = np.cumsum(share * r * r)
        left = 1.0 - self.epsilon**2 * np.append(np.cumsum(share[::-1])[-2::-1], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            candidates = np.sqrt(np.where(left > 0.0, inside / left, np.inf))
        fits = (r <= self.epsilon * candidates) & (np.append(r[1:], np.inf) > self.epsilon * candidates)
        return float(candidates[np.argmax(fits)]) if np.any(fits) else 0.0


class _FixedPoint:
    """Secants on log sigma for the sigma that is its own response; a step goes at most by a factor of 10."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma
        self.points: list[tuple[float, float]] = []

    @property
    def rounds(self) -> int:
        """How many responses there were."""
        return len(self.points)

    @property
    def settled(self) -> bool:
        """Whether sigma answers itself to three digits."""
        return bool(self.points) and abs(self.points[-1][1]) < 1e-3

    def respond(self, response: float) -> None:
        """Take the response to sigma, and choose the next one."""
        x, h = math.log(self.sigma), math.log(response) - math.log(self.sigma)
        self.points.append((x, h))
        step = h
        if self.rounds > 1:
            before, h_before = self.points[-2]
            slope = (h - h_before) / (x - before) if x != before else 0.0
            if slope < 0.0:
                step = -h / slope
        self.sigma = math.exp(x + max(-LARGEST_STEP, min(LARGEST_STEP, step)))
