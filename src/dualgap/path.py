"""Solutions along a sequence of strengths of one penalty, each with its certificate.

    P_t(w, b) = 1/S sum_i s_i phi(x_i'w + b, y_i) + t R(w),        t falling from where w = 0 is optimal

a. Each solve starts from the solution before it.
b. Where R has kinks at 0, most coefficients are 0. A solve sees the columns alone that the strong rule lets through: those whose
   coefficient would not stay 0 if X'(s alpha)/S were larger by a factor t/(2t - t_before), and those that are not 0 yet. The result is
   certified on all columns, and columns that the rule was wrong to leave out are added until that certificate is within the tolerance. So
   nothing rests on the rule but the time.
c. Least squares share one Gram matrix while the columns stay the same.
"""

import math
import numbers
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dualgap.solution import History, Record, Solution, Status

Array = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float64).tiny)
# From so many columns on, and down to this part of the tolerance, a solve sees working columns alone.
MANY, INNER, FINEST = 32, 0.3, 1e-4
# Passes that Newton's method may take from a rough start to be the first choice from a near one.
NEARBY = 80.0


@dataclass(frozen=True)
class Path(Sequence[Solution]):
    """Solutions along a sequence of strengths, as a sequence of `Solution`, with each quantity as an array.

    Attributes
    ----------
    strengths : array of m numbers
        What the penalty was multiplied by, falling.
    solutions : tuple of m solutions
        One for each strength.
    seconds : float
        Time of the whole.
    """

    strengths: Array
    solutions: tuple[Solution, ...]
    seconds: float

    def __len__(self) -> int:
        return len(self.solutions)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> "Path": ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Path(self.strengths[index], self.solutions[index], self.seconds)
        return self.solutions[index]

    @property
    def w(self) -> Array:
        """Coefficients, m x d or m x d x k."""
        return np.array([s.w for s in self.solutions])

    @property
    def intercept(self) -> Array:
        """Intercepts, m or m x k."""
        return np.array([s.intercept for s in self.solutions])

    @property
    def primal(self) -> Array:
        """Objectives."""
        return np.array([s.primal for s in self.solutions])

    @property
    def gap(self) -> Array:
        """Certified gaps."""
        return np.array([s.gap for s in self.solutions])

    @property
    def relative_gap(self) -> Array:
        """Certified gaps over the objective of the null model."""
        return np.array([s.relative_gap for s in self.solutions])

    @property
    def nonzero(self) -> npt.NDArray[np.int64]:
        """How many coefficients are not 0."""
        return np.array([np.count_nonzero(s.w) for s in self.solutions])

    @property
    def passes(self) -> Array:
        """Passes over the data."""
        return np.array([s.passes for s in self.solutions])

    @property
    def status(self) -> tuple[Status, ...]:
        """How each solve ended."""
        return tuple(s.status for s in self.solutions)

    def __repr__(self) -> str:
        done = sum(s.status is Status.CERTIFIED for s in self.solutions)
        return (
            f"Path of {len(self)} solutions, strengths {self.strengths[0]:.3g} to {self.strengths[-1]:.3g}, "
            f"{self.nonzero[0]} to {self.nonzero[-1]} coefficients not zero\n"
            f"  {done} certified to the tolerance, largest relative gap {float(np.max(self.relative_gap)):.2e}, "
            f"{float(self.passes.sum()):.0f} passes in {self.seconds:.2f} s"
        )


def path(
    X: Any,
    y: Any,
    *,
    loss: Any,
    penalty: Any,
    strengths: Any = None,
    count: int = 100,
    smallest: float | None = None,
    sample_weight: Any = None,
    intercept: bool = False,
    solver: Any = "auto",
    tol: float = 1e-6,
    max_passes: float = 1000,
    time_limit: float | None = None,
    random_state: Any = 0,
    callback: Callable[[Record], Any] | None = None,
    n_threads: int | None = None,
) -> Path:
    """Minimize a loss plus t times a penalty for each of a sequence of strengths t, each from the last solution, and certify each.

    Parameters
    ----------
    X, y, loss, penalty, sample_weight, intercept, solver, random_state, n_threads
        As for `solve`; the penalty is that of the strength 1.
    strengths : array of numbers, optional
        What the penalty is multiplied by. They are visited, and returned, from the largest to the smallest; 0 leaves coefficients
        unpenalized. By default there are `count` of them in equal ratios, from the least at which w = 0 is optimal (for a penalty without
        kinks, one at which it weighs as much as the loss) down to `smallest` times that.
    count : int
        How many strengths if these are not given.
    smallest : float, optional
        The ratio of the last and the first strength if these are not given: 1e-3 by default, 1e-6 for a penalty without kinks.
    tol : float
        The certified gap to reach for each strength, relative to the objective of the null model.
    max_passes, time_limit : float
        Limits in passes over the data for each strength, and in seconds for all; at the time limit the path ends early.
    callback : function of a Record, optional
        Called at each certificate; a true result ends the path.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> import dualgap as dg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 20))
    >>> y = X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(50)
    >>> path = dg.path(X, y, loss=dg.Squared(), penalty=dg.L1(1.0), count=10, intercept=True)
    >>> path.nonzero[:3].tolist(), bool(np.all(path.relative_gap <= 1e-6))
    ([0, 1, 2], True)
    """
    from dualgap.data.validation import check_number, make_problem
    from dualgap.solve import Stated

    if not isinstance(count, numbers.Integral) or count < 1:
        raise ValueError(f"count must be a positive integer, got {count!r}")
    started = time.perf_counter()
    problem, notes = make_problem(X, y, loss, penalty, sample_weight, intercept, n_threads)
    options = {
        "solver": solver,
        "tol": check_number("tol", tol, 0.0, open_low=True),
        "max_passes": check_number("max_passes", max_passes, 0.0, open_low=True),
        "random_state": random_state,
        "callback": callback,
    }
    deadline = math.inf if time_limit is None else started + check_number("time_limit", time_limit, 0.0)
    with problem.team.at_work():
        walk = Walk(Stated(problem, loss, penalty, tuple(notes)), options, deadline)
        chosen = walk.default_strengths(int(count), smallest) if strengths is None else check_strengths(strengths)
        solutions = tuple(walk.solutions(chosen))
    return Path(chosen[: len(solutions)], solutions, time.perf_counter() - started)


def check_strengths(strengths: Any) -> Array:
    """Strengths as a falling array of numbers, none below 0."""
    array = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    if array.ndim != 1 or not array.size or not np.all(np.isfinite(array)) or not np.all(array >= 0.0):
        raise ValueError(f"strengths must be a sequence of numbers that are not negative, got {strengths!r}")
    return np.sort(array)[::-1]


def vanished(penalty: Any, d: int) -> Any:
    """A penalty times 0: nothing is left of it but its bounds."""
    from dualgap.penalties import L2, Box, Entropy, Factors

    if isinstance(penalty, Box):
        return penalty._replace(penalty=vanished(penalty.penalty, d))
    if isinstance(penalty, Entropy):
        raise ValueError("strengths must be positive for Entropy, which holds coefficients on the simplex whatever its strength, got 0.0")
    return Factors(L2(1.0), np.zeros(d))


class Walk:
    """The way along the strengths: the problem, what has been worked out about it, and the working set of columns."""

    def __init__(self, stated: Any, options: dict[str, Any], deadline: float = math.inf) -> None:
        from dualgap.certificate import primal_point
        from dualgap.null import null_weights
        from dualgap.working_columns import WorkingColumns, largest_useful

        self.stated, self.problem, self.options, self.deadline = stated, stated.problem, options, deadline
        self.null_w = null_weights(self.problem)
        self.null = primal_point(self.problem, self.null_w)
        self.columns = WorkingColumns(self.problem)
        self.grams = _shared_gram()
        self.screened = self.problem.d >= MANY and largest_useful(self.problem.penalty, np.ones((self.problem.d, 1))) < math.inf

    def at(self, strength: float) -> Any:
        """The problem at a strength."""
        from dualgap.data.validation import check_penalty_object
        from dualgap.penalties import scaled

        penalty = scaled(self.stated.penalty, strength) if strength > 0.0 else vanished(self.stated.penalty, self.problem.d)
        return replace(self.problem, penalty=check_penalty_object(penalty, self.problem.d, self.problem.outputs))

    def default_strengths(self, count: int, smallest: float | None) -> Array:
        """Strengths in equal ratios, from the least at which no penalized coefficient is wanted."""
        from dualgap.working_columns import largest_useful

        problem, ratio = self.problem, 1e-3
        slope = self.null_slope()[: problem.d].reshape(problem.d, -1)
        first = largest_useful(problem.penalty, slope)
        if first <= 0.0:
            # bounds hold all coefficients at 0, whatever the strength
            first = largest_useful(getattr(problem.penalty, "penalty", problem.penalty), slope) or 1.0
        if not first < math.inf:
            curvature = 1.0 / (float(problem.loss.smoothness) or 1.0)
            first, ratio = curvature * problem.mean_norm2 / max(problem.penalty.convexity, TINY), 1e-6
        if smallest is not None:
            if not (isinstance(smallest, numbers.Real) and 0.0 < smallest < 1.0):
                raise ValueError(f"smallest must be a number between 0 and 1, got {smallest!r}")
            ratio = float(smallest)
        return np.asarray(first * np.geomspace(1.0, ratio, count), dtype=np.float64)

    def null_slope(self) -> Array:
        """X'(s alpha)/S for the dual point of the model without the penalized features."""
        from dualgap.certificate import balanced

        problem = self.problem
        free = problem.unheld[problem.unheld < problem.d]
        if free.size:
            held = np.zeros(problem.d, dtype=np.bool_)
            held[free] = True
            if not self.columns.admit(problem, np.zeros(problem.shape), 1.0, held):
                return np.zeros(problem.shape)
            return np.asarray(problem.transposed(self._run(self.columns.restricted(problem), None, self.options["tol"]).alpha))
        alpha = problem.dual_points(self.null_w, np.empty(problem.alpha_shape))
        return np.asarray(balanced(problem, alpha)[1])

    def solutions(self, strengths: Array) -> Iterator[Solution]:
        """The solutions, from the first strength to the last, or to the time limit or a request to end."""
        solution: Solution | None = None
        slope = self.null_slope() if self.screened else None
        before = strengths[0]
        for strength in map(float, strengths):
            if time.perf_counter() >= self.deadline:
                return
            problem = self.at(strength)
            if slope is None or strength == 0.0:
                solution = self._run(problem, solution, self.options["tol"])
            else:
                margin = strength / max(2.0 * strength - before, 0.1 * strength)
                solution, slope = self._screened(problem, solution, slope, margin)
                before = strength
            yield solution
            if solution.status in (Status.INTERRUPTED, Status.CALLBACK):
                return

    def _screened(self, problem: Any, start: Solution | None, slope: Array, margin: float) -> tuple[Solution, Array]:
        """The solution by way of working columns, and its X'(s alpha)/S."""
        from dualgap.working_columns import wanted

        tol, finer, started = self.options["tol"], INNER, time.perf_counter()
        used, history = np.zeros(problem.d, dtype=np.bool_), History()
        while finer >= FINEST:
            if start is not None:
                used = np.any(start.w.reshape(problem.d, -1) != 0.0, axis=1)
            if not self.columns.admit(problem, slope, margin, used):
                break
            solution = self._run(self.columns.restricted(problem), self.columns.part(start), finer * tol)
            start, slope = self._certified(problem, solution, history, started)
            if solution.status is not Status.CERTIFIED or start.relative_gap <= tol:
                return start, slope
            if not np.any(wanted(problem, slope)[~self.columns.admitted] > 0.0):
                finer *= 0.1
            margin = 1.0
        whole = self._run(problem, start, tol)
        if history:
            passes, seconds = history[-1].passes, history[-1].seconds
            history += [r._replace(passes=passes + r.passes, seconds=seconds + r.seconds) for r in whole.history]
            whole = replace(whole, history=history, passes=passes + whole.passes, seconds=seconds + whole.seconds)
        return whole, np.asarray(problem.transposed(whole.alpha))

    def _certified(self, problem: Any, part: Solution, history: History, started: float) -> tuple[Solution, Array]:
        """A solution on the working columns as one on all, with its certificate there, and X'(s alpha)/S before scaling for that.

        The certificates on the way to it were for the working columns alone, so that the history has none but those on all.
        """
        from dualgap.certificate import dual_point, primal_point

        w = np.zeros(problem.shape)
        w[self.columns.indices] = part.w
        if problem.intercept:
            w[-1] = part.intercept
        point = primal_point(problem, w)
        dual = dual_point(problem, part.alpha, point, self.null.value)
        alpha = dual.alpha * dual.scale
        gap = max(point.value - dual.value, 0.0) + point.doubt + dual.doubt
        passes = part.passes * self.columns.share + 2.0 + (history[-1].passes if history else 0.0)
        seconds = time.perf_counter() - started
        history.append(Record(passes, seconds, point.value, dual.value, gap, f"With {len(self.columns.indices)} of {problem.d} columns."))
        whole = replace(
            part,
            w=w[: problem.d],
            alpha=alpha,
            primal=point.value,
            dual=dual.value,
            gap=gap,
            relative_gap=gap / self.null.value if self.null.value > 0.0 else (0.0 if gap == 0.0 else math.inf),
            convexity=0.0 if problem.unpenalized.size else float(problem.penalty.convexity),
            passes=passes,
            seconds=seconds,
            history=History(history),
            penalty=problem.penalty,
        )
        return whole, np.asarray(problem.transposed(dual.alpha))

    def _run(self, problem: Any, start: Solution | None, tol: float) -> Solution:
        """A solve of the problem as it stands."""
        from dualgap.solve import Stated, solve_stated

        left = max(self.deadline - time.perf_counter(), 0.0) if self.deadline < math.inf else None
        options = self.options | {"tol": tol, "time_limit": left}
        if options["solver"] == "auto":
            options["solver"] = self._solver(problem, start)
        null = None
        if not hasattr(problem.penalty, "center"):
            null = replace(self.null, w=np.concatenate([self.null.w[: problem.d], self.null.w[-1:]]))
        return solve_stated(Stated(problem, self.stated.loss, problem.penalty, self.stated.notes), warm_start=start, null=null, **options)

    def _solver(self, problem: Any, start: Solution | None) -> Any:
        """What solves a problem: Newton's method, if from a solution nearby it takes few passes, and otherwise what is best without one."""
        from dualgap.solvers.auto import newton_for

        if not self.grams.requirement(problem):
            return self.grams
        newton = None if start is None else newton_for(problem)
        return newton if newton is not None and newton.price(problem) <= NEARBY else "auto"


def _shared_gram() -> Any:
    from dualgap.solvers.shared_gram import SharedGram

    return SharedGram()
