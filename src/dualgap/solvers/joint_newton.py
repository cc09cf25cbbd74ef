"""Proximal Newton for vector-valued losses, where features times classes are few.

    H = sum_i s_i/S x_i x_i' (x) M_i,    M_i the Hessian of the loss of row i in its scores, such as diag(p) - p p' for softmax

is the matrix of the model that `solvers.newton` minimizes for a scalar loss, here for the coefficients of all classes in one vector. The
dual point is again that of the model, alpha_i - M_i (V - W)'x_i, brought back into the simplex.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.penalties import Box, Factors
from dualgap.problem import Problem
from dualgap.solvers.model import RELIEF, Model
from dualgap.solvers.newton import BLAS, MOST_STEPS, ROUNDS, STEPS, SUFFICIENT
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
BLOCK = 1 << 20


@dataclass(frozen=True)
class JointNewton:
    """Proximal Newton for vector-valued losses that are smooth, penalties on each coefficient, few features times classes.

    Should it find no step that lowers the objective, `AdaptiveProxSDCA` goes on from where it is.

    Examples
    --------
    >>> JointNewton()
    JointNewton()
    """

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        if not problem.resident:
            return "rows in memory"
        fits = hasattr(problem.loss, "curvature") and joint(problem)
        return "" if fits else "a smooth vector-valued loss and a penalty on each coefficient"

    def steps_from(self, problem: Problem) -> float:  # noqa: ARG002
        """About how many steps a solution from a rough start takes."""
        return 2.0 * STEPS

    def price(self, problem: Problem) -> float:
        """About how many passes of dual ascent a solution from a rough start costs."""
        return self.steps_from(problem) * joint_price(problem)

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from the best primal point until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """Newton steps from the best primal point, one at a time."""
        newton = _Newton(problem, run, alpha)
        for _ in range(MOST_STEPS):
            if not (run.going and newton.step()):
                break
            yield
        if run.going:
            from dualgap.solvers.adaptive import AdaptiveProxSDCA

            run.note("AdaptiveProxSDCA took over.")
            yield from AdaptiveProxSDCA().steps(problem, run, run.dual_start(alpha))


def joint(problem: Problem) -> bool:
    """Whether a problem has several outputs and a penalty on each coefficient that a flat vector can have."""
    return problem.outputs > 0 and flattened(problem.penalty, 1, False) is not None


def joint_price(problem: Problem) -> float:
    """What a step with the matrix H and linear systems costs, in passes of dual ascent."""
    entries = max(getattr(problem.X, "nnz", problem.n * problem.d), 1) * problem.outputs
    size = (problem.d + 1) * problem.outputs
    return 1.0 + (problem.n * size**2 + ROUNDS * size**3) / (BLAS * entries)


def flattened(penalty: Any, outputs: int, intercept: bool) -> Any:
    """The penalty of the flat vector of coefficients, intercepts last and free; None if there is no such penalty."""
    if formulas.penalty_is_coupled(penalty):
        return None
    free = outputs if intercept else 0
    if isinstance(penalty, Box):
        inner = flattened(penalty.penalty, outputs, intercept)
        lower, upper = (np.repeat(np.asarray(bound), outputs) for bound in (penalty.lower, penalty.upper))
        return inner and Box(inner, np.append(lower, np.full(free, -np.inf)), np.append(upper, np.full(free, np.inf)))
    if isinstance(penalty, Factors):
        return Factors(penalty.penalty, np.append(np.repeat(penalty.factors, outputs), np.zeros(free)))
    return None if formulas.penalty_is_indexed(penalty) else penalty


class JointModel:
    """The quadratic model of a problem with several outputs, and what a Newton step needs of it."""

    def __init__(self, problem: Problem) -> None:
        self.rows, self.outputs, self.intercept = problem.d + int(problem.intercept), problem.outputs, problem.intercept
        penalty = flattened(problem.penalty, self.outputs, problem.intercept)
        if problem.intercept and not ("factors" in penalty._fields or "lower" in penalty._fields):
            penalty = Factors(penalty, np.append(np.ones(problem.d * self.outputs), np.zeros(self.outputs)))
        self.penalty, self.columns = penalty, np.arange(self.rows * self.outputs)

    def points(self, problem: Problem, z: Array, alpha: Array) -> None:
        """Write the dual points of scores."""
        problem.dual_points_at(z, slice(0, problem.n), alpha)

    def minimizer(self, problem: Problem, z: Array, alpha: Array, slope: Array, w: Array, ridge: Array) -> Array:  # noqa: ARG002
        """The minimizer of the model at w with the ridge on each row of coefficients added to its matrix; intercepts keep their sum."""
        gram = joint_gram(problem, alpha)
        diagonal = np.append(np.repeat(ridge[: self.rows], self.outputs), 0.0)
        gram[np.diag_indices_from(gram)] += diagonal
        v = Model(self.penalty, self.columns, False, gram, self._flat_vector(slope), self._flat_vector(w)).minimizer()
        out = np.zeros_like(w)
        out[: self.rows] = v[:-1].reshape(self.rows, -1)
        if self.intercept:
            out[-1] += np.mean(w[-1]) - np.mean(out[-1])
        return out

    def step_points(self, problem: Problem, z: Array, along: Array, alpha: Array) -> None:
        """Turn the dual points of scores into those of the model after a step along."""
        self.points(problem, z, alpha)
        q, r, t = problem.loss.curvature(alpha, problem.y)
        with np.errstate(over="ignore", invalid="ignore"):
            move = q * along - r * np.sum(r * along, axis=1, keepdims=True)
            if t.size:
                move += t * np.sum(t * along, axis=1, keepdims=True)
            rows = np.arange(problem.n)
            p = np.maximum(move - alpha + onehot(problem), 0.0)
            p /= np.sum(p, axis=1, keepdims=True)
        p[~np.isfinite(p).all(axis=1)] = onehot(problem)[~np.isfinite(p).all(axis=1)]
        p[rows, problem.y] = 0.0
        np.negative(p, out=alpha)
        alpha[rows, problem.y] = np.minimum(np.sum(p, axis=1), 1.0)

    def shift(self, problem: Problem, alpha: Array, gamma: float) -> Array:
        """What the smoothing of a loss around alpha takes from the scores: gamma alpha, of the wrong classes."""
        shift = gamma * alpha
        shift[np.arange(problem.n), problem.y] = 0.0
        return shift

    def _flat_vector(self, w: Array) -> Array:
        return np.append(w[: self.rows].ravel(), 0.0)


class _Newton:
    """The iterate, its scores and its objective."""

    def __init__(self, problem: Problem, run: Run, alpha: Array) -> None:
        self.problem, self.run, self.alpha = problem, run, alpha
        self.model = JointModel(problem)
        self.everything = slice(0, problem.n)
        self.w = run.best.w
        self.z = problem.scores(self.w, self.everything)
        self.value = self._objective(self.w, self.z)

    def step(self) -> bool:
        """A Newton step; whether it lowered the objective."""
        problem, run, model = self.problem, self.run, self.model
        model.points(problem, self.z, self.alpha)
        slope = -problem.transposed(self.alpha)
        v = model.minimizer(problem, self.z, self.alpha, slope, self.w, np.zeros(problem.d + 1))
        direction = v - self.w
        along = problem.scores(direction, self.everything)
        model.step_points(problem, self.z, along, self.alpha)
        run.spent(3.0)
        decrease = problem.penalty_value(self.w) - problem.penalty_value(v) - float(np.sum(slope * direction))
        moved = self._search(direction, along, decrease)
        if not moved or run.due or decrease <= 2.0 * run.target:
            run.certify(self.w, self.alpha)
        return moved

    def _search(self, direction: Array, along: Array, decrease: float) -> bool:
        """Go the first of the steps 1, 1/2, 1/4, ... that lowers the objective by a part of what the model promises."""
        step, rounding = 1.0, 4.0 * np.finfo(float).eps * abs(self.value)
        for _ in range(40):
            w, z = self.w + step * direction, self.z + step * along
            value = self._objective(w, z)
            if value <= self.value - SUFFICIENT * step * max(decrease, 0.0) + rounding:
                moved = value < self.value
                self.w, self.z, self.value = w, z, value
                return moved
            step *= 0.5
        return False

    def _objective(self, w: Array, z: Array) -> float:
        return self.problem.mean_loss_of(z, self.everything)[0] + self.problem.penalty_value(w)


def onehot(problem: Problem) -> Array:
    """1 at the class of each row, 0 at the others."""
    out = np.zeros(problem.alpha_shape)
    out[np.arange(problem.n), problem.y] = 1.0
    return out


def joint_gram(problem: Problem, alpha: Array) -> Array:
    """The matrix H of the module's docstring, feature by feature and class by class, with a row and a column of zeros last."""
    size = (problem.d + int(problem.intercept)) * problem.outputs + 1
    gram, *others = problem.team.map(lambda rows: _joint_gram_of(problem, alpha, rows), problem.parts_worth(size * size))
    for other in others:
        gram += other
    return gram


def _joint_gram_of(problem: Problem, alpha: Array, part: slice) -> Array:
    """The part of some rows in that matrix."""
    k, size = problem.outputs, problem.d + int(problem.intercept)
    gram, own = np.zeros((size * k + 1, size * k + 1)), np.zeros((k, size, size))
    block = max(1, BLOCK // (size * k))
    for start in range(part.start, part.stop, block):
        rows = slice(start, min(part.stop, start + block))
        X = problem.X[rows]
        X = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        X = np.column_stack([X, np.ones(len(X))]) if problem.intercept else X
        root = np.sqrt(problem.share[rows])
        q, r, t = problem.loss.curvature(alpha[rows], problem.y[rows])
        # where the loss is linear, a trace of the curvature it may have elsewhere keeps the model of every coefficient bounded
        q = np.maximum(q, RELIEF / problem.loss.smoothness)
        for factor, sign in ((r, -1.0), (t, 1.0)):
            if factor.size:
                mixed = np.einsum("ij,im->ijm", X * root[:, None], factor).reshape(len(X), size * k)
                gram[:-1, :-1] += sign * (mixed.T @ mixed)
        for m in range(k):
            own[m] += X.T @ (X * (root * root * q[:, m])[:, None])
    for m in range(k):
        gram[m:-1:k, m:-1:k] += own[m]
    return gram
