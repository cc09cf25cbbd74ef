"""What all estimators share: parameters, input, the solves, what a fit leaves behind, and what it warns of.

a. An estimator states its objective as a loss and a penalty of the library, the solvers do the rest. There is one solve for a
   vector-valued loss, and one for each class (one-vs-rest) or target otherwise; `n_jobs` runs these side by side.
   The threads inside a solve are what OpenMP is in scikit-learn: all cores at hand, or as many as an `n_jobs` that is a number leaves.
b. Attributes of the certificate are numbers where there is one solve and arrays where there are several. They are in the units of
   `dualgap.solve`: the loss averaged over the weights, plus the penalty.
c. X is read in place where it can be. Nothing refers to it after the fit.
d. Data of at most 2048 entries are solved to the limit of rounding, whatever `tol` says: it takes no time, and what a fit gives then does
   not depend on the order of the rows, or on whether a row is weighted or repeated, by more than scikit-learn's checks allow.
"""

import math
import numbers
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from dualgap.data.validation import make_problem
from dualgap.estimators.callbacks import WRAPPERS, CallbackSupport, Report, reporting, with_callbacks
from dualgap.penalties import L2, ElasticNet, Factors, NonNegative
from dualgap.regions import Region, region
from dualgap.solution import History, Solution, Status
from dualgap.solve import Stated, solve_stated

Array = npt.NDArray[np.float64]
FLOATS = [np.float64, np.float32]
OUR_SOLVERS = {"auto", "adaptive", "prox_sdca", "accelerated", "fista", "newton"}
MAX_PASSES = 1000
FEW_ENTRIES, ROUNDING = 2048, 1e-15
NOTHING = 64.0 * float(np.finfo(np.float64).eps)
POSITIVE = Interval(numbers.Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(numbers.Real, 0, None, closed="left")

SHARED_CONSTRAINTS: dict[str, Any] = {
    "fit_intercept": ["boolean"],
    "tol": [NOT_NEGATIVE],
    "max_iter": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "time_limit": [NOT_NEGATIVE, None],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "n_jobs": [numbers.Integral, None],
    "factors": ["array-like", None],
}

WHAT_TO_DO = {
    Status.MAX_PASSES: "Raise max_iter (now {max_iter} passes over the data), or bring the columns of X to one scale.",
    Status.TIME_LIMIT: "Raise time_limit (now {time_limit} s), or bring the columns of X to one scale.",
    Status.INTERRUPTED: "The fit was interrupted.",
    Status.CALLBACK: "A callback ended the fit.",
    Status.NO_MINIMUM: "The classes can be separated and nothing is penalized: larger coefficients are always better. Add a penalty.",
    Status.ROUNDING: "This is as close as float64 arithmetic can prove on these data: raise tol, or bring the columns of X to one scale.",
}


class Task(NamedTuple):
    """One solve: its targets, loss and penalty."""

    y: npt.NDArray[Any]
    loss: Any
    penalty: Any


def solver_names(*names: str) -> list[Any]:
    """The constraint of a solver: ours by name or as an object, or a name of scikit-learn's, which means "auto"."""
    return [StrOptions(OUR_SOLVERS | set(names)), HasMethods("minimize")]


def make_penalty(l1: float, l2: float, d: int, *, factors: Any = None, positive: bool = False) -> Any:
    """l1 |w|_1 + l2/2 |w|^2 with factors per feature and a bound at 0, as a penalty of the library; nothing at all for l1 = l2 = 0."""
    if l1 == 0.0 and l2 == 0.0:
        penalty: Any = Factors(L2(1.0), np.zeros(d))
    else:
        penalty = L2(l2) if l1 == 0.0 else ElasticNet(l1, l2)
        if factors is not None:
            penalty = Factors(penalty, factors)
    return NonNegative(penalty) if positive else penalty


class CertifiedModel(CallbackSupport, BaseEstimator):  # type: ignore[misc]
    """A linear model whose fit ends with a certificate."""

    coef_: Any
    intercept_: Any
    dual_coef_: Any
    n_features_in_: int
    _solutions: list[Solution]
    _regions: list[Region]

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, and prove how close to the minimum of its objective it is.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            CSR and C-contiguous arrays of float32 or float64 are read in place, whatever else is converted once.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the same as the row given twice, a weight of 0 as the row left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        with reporting(self, X, y, sample_weight) as report:
            self._fit(X, y, sample_weight, report)
        self._warn(self._solutions)
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Any, Array | None]:
        """X as a kernel reads it, without a copy where that is possible, y, and the weights."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", **options)
        if sample_weight is None:
            return X, y, None
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0.0):
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return X, y, weight

    def _solver_options(self) -> dict[str, Any]:
        """The arguments of `dualgap.solve` that do not state the problem."""
        solver = getattr(self, "solver", "auto")
        if isinstance(solver, str) and solver not in OUR_SOLVERS:
            solver = "auto"
        seed = getattr(self, "random_state", None)
        return {
            "solver": solver,
            "tol": max(float(self.tol), float(np.finfo(np.float64).tiny)),
            "max_passes": self._max_passes(),
            "time_limit": getattr(self, "time_limit", None),
            "random_state": 0 if seed is None else int(check_random_state(seed).randint(2**31 - 1)),
            "verbose": bool(getattr(self, "verbose", False)),
        }

    def _max_passes(self) -> int:
        most = getattr(self, "max_iter", None)
        return MAX_PASSES if most is None else int(most)

    def _jobs(self, tasks: int) -> tuple[int, int | None]:
        """How many of so many solves run side by side, and how many threads each may have (None: all cores at hand)."""
        wanted = getattr(self, "n_jobs", None)
        workers = effective_n_jobs(wanted)
        jobs = min(workers, tasks)
        return jobs, None if wanted is None and jobs == 1 else max(1, workers // jobs)

    def _solve(self, X: Any, weight: Array | None, tasks: list[Task], report: Report | None) -> list[Solution]:
        """Solve each task, side by side where `n_jobs` asks for that."""
        options = self._solver_options()
        tol = options["tol"]
        if X.shape[0] * X.shape[1] <= FEW_ENTRIES:
            options["tol"] = min(tol, ROUNDING)
        self._total = total_weight(weight, X.shape[0])
        pairs = list(zip(tasks, self._earlier(tasks, X.shape), strict=True))
        jobs, threads = self._jobs(len(tasks))

        def run(task: Task, start: Solution | None) -> tuple[Solution, Region]:
            problem, notes = make_problem(X, task.y, task.loss, task.penalty, weight, bool(self.fit_intercept), threads)
            stated = Stated(problem, task.loss, task.penalty, tuple(notes))
            solution = solve_stated(stated, warm_start=start, callback=report, **options)
            if solution.relative_gap <= tol:
                solution = replace(solution, status=Status.CERTIFIED)
            b = solution.intercept - np.mean(solution.intercept) if problem.outputs else solution.intercept
            w = np.concatenate([solution.w, np.broadcast_to(b, (1, *problem.shape[1:]))])
            return solution, region(problem, w, solution.gap)

        if jobs == 1:
            done = [run(*pair) for pair in pairs]
        else:
            done = list(Parallel(n_jobs=jobs, prefer="threads")(delayed(run)(*pair) for pair in pairs))
        self._regions = [where for _, where in done]
        return [solution for solution, _ in done]

    def _earlier(self, tasks: list[Task], shape: tuple[int, int]) -> list[Solution | None]:
        """The solutions of the last fit, if a warm start is wanted and they fit; dual variables only if there are as many rows."""
        known = getattr(self, "_solutions", [])
        n, d = shape
        outputs = [(int(t.y.max()) + 1,) if getattr(t.loss, "vector", False) else () for t in tasks]
        if not getattr(self, "warm_start", False) or [s.w.shape for s in known] != [(d, *k) for k in outputs]:
            return [None] * len(tasks)
        return [s if len(s.alpha) == n else replace(s, alpha=s.alpha[:0]) for s in known]

    def _keep(self, solutions: list[Solution]) -> None:
        """Set the attributes of the certificate."""

        def each(name: str) -> Any:
            values = [getattr(s, name) for s in solutions]
            return np.array(values) if len(values) > 1 else values[0]

        self.primal_, self.dual_, self.duality_gap_, self.relative_gap_ = map(each, ("primal", "dual", "gap", "relative_gap"))
        passes = [math.ceil(s.passes) for s in solutions]
        self.n_iter_ = np.array(passes, dtype=np.int32) if len(passes) > 1 else passes[0]
        self.status_ = next((s.status for s in solutions if s.status is not Status.CERTIFIED), Status.CERTIFIED)
        self.history_: History | list[History] = [s.history for s in solutions] if len(solutions) > 1 else solutions[0].history
        self._solutions = solutions

    def _warn(self, solutions: list[Solution]) -> None:
        """Say so if a certified gap is above the tolerance."""
        tol = float(self.tol)
        short = [s for s in solutions if falls_short(s, tol)]
        if not short:
            return
        worst = max(short, key=lambda s: s.relative_gap)
        advice = WHAT_TO_DO[worst.status].format(max_iter=self._max_passes(), time_limit=getattr(self, "time_limit", None))
        which = f" in {len(short)} of {len(solutions)} problems" if len(solutions) > 1 else ""
        what = "has no minimum to converge to" if worst.status is Status.NO_MINIMUM else "did not converge"
        message = f"{type(self).__name__} {what}{which}: the certified relative gap is {worst.relative_gap:.2g}, tol={tol:g}. {advice}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3 + WRAPPERS)

    @property
    def solution_(self) -> Solution | list[Solution]:
        """What `dualgap.solve` returned, with `plot` and `report`; a list of them where there was one solve for each class or target."""
        check_is_fitted(self)
        return self._solutions if len(self._solutions) > 1 else self._solutions[0]

    def to_sklearn(self) -> Any:
        """The fitted estimator of scikit-learn that predicts the same, for whatever knows scikit-learn's classes alone.

        Converters to ONNX and PMML are such things, and machines where this library is not installed. An estimator with scikit-learn's name
        becomes that one, with the parameters that both have; a general one becomes the estimator that minimizes the same, or if there is
        none, one that predicts the same.

        Returns
        -------
        estimator of scikit-learn
            It shares no array with this one.

        Examples
        --------
        >>> import dualgap as dg
        >>> model = dg.Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [1.0, 2.0, 3.0])
        >>> model.to_sklearn()
        Lasso(alpha=0.1)
        """
        from dualgap.estimators.to_sklearn import to_sklearn

        return to_sklearn(self)

    def report(self, path: str | Path, *, title: str | None = None, X_test: Any = None, y_test: Any = None) -> None:
        """Write what was fitted, how well, and how, as one HTML file; names of features and classes are those of the fit.

        Parameters
        ----------
        path : path of the file to write
        title : str, optional
            The heading; by default the name of the class.
        X_test, y_test : rows and targets that were not fitted to, optional
            Of a classifier the report shows the confusion matrix on them, of a regressor the residuals.
        """
        check_is_fitted(self)
        if len(self._solutions) > 1:
            raise ValueError(
                f"a report is about one solve, and this {type(self).__name__} has made {len(self._solutions)}, one for each class or "
                "target: write that of solution_[k], k = 0, 1, ..."
            )
        self._solutions[0].report(
            path,
            title=type(self).__name__ if title is None else title,
            feature_names=getattr(self, "feature_names_in_", None),
            class_names=self._class_names(),
            X_test=None if X_test is None else self._rows(X_test),
            y_test=None if y_test is None else self._encoded(y_test),
        )

    def _class_names(self) -> list[str] | None:
        """The names of the classes, of a classifier."""
        return None

    def _encoded(self, y: Any) -> Any:
        """Targets as the solve has them."""
        return y

    def _rows(self, X: Any) -> Any:
        """X, for a fitted model."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _linear(self, X: Any) -> Any:
        """X coef' + intercept."""
        return safe_sparse_dot(self._rows(X), self.coef_.T, dense_output=True) + self.intercept_

    def _intervals(self, X: Any) -> tuple[Array, Array]:
        """Where the scores of the optimal model are, one column for each class or target."""
        low, high = zip(*(r.interval(X) for r in self._regions), strict=True)
        return np.column_stack(low), np.column_stack(high)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def falls_short(solution: Any, tol: float) -> bool:
    """Whether a fit is not what was asked for.

    Of a tolerance of 0 arithmetic leaves some; and where the targets are constant there is nothing to explain, so that any gap is large
    beside the objective of the model without features.
    """
    if solution.status is not Status.ROUNDING:
        return solution.status is not Status.CERTIFIED
    return tol > 0.0 and solution.null > NOTHING * float(np.max(np.abs(solution.intercept)))


def total_weight(weight: Array | None, n: int) -> float:
    """The sum of the weights."""
    return float(n) if weight is None else math.fsum(weight)
