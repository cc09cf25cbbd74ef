"""What a certified gap says about the optimal coefficients, and so about the decision values of the optimal model.

a. Where R is strongly convex with modulus lambda_j in coefficient j, sum_j lambda_j (w_j - w*_j)^2 <= 2 gap, so that |x'(w - w*)| is at
   most sqrt(2 gap) times the dual norm of x, sqrt(sum_j x_j^2/lambda_j). A coefficient without a modulus may be anywhere.
b. The intercept is not penalized, but given w* it is optimal, and w* is known up to e_i = sqrt(2 gap) |x_i|_* in the score of row i. For a
   scalar loss phi' grows with the score. So if sum_i s_i phi'(z_i + e_i + t) < 0 at some t, the slope in the intercept is negative at b + t
   for every w* that is possible, and b* > b + t; likewise from the other side. Two such t are looked for and tested.
c. For the soft-max losses, the gradient in the intercepts at (w, b*) differs from 0 by at most 1/(2 tau) mean e_i, since their Hessian is
   at most 1/(2 tau). With mu the least curvature of the mean loss over intercepts that sum to 0, generalized self-concordance with the
   constant M = sqrt(2)/tau gives mu (1 - exp(-M r))/M <= that, r = |b* - b|, which bounds r if the right-hand side is below mu/M.
d. For other vector-valued losses with an intercept nothing is said: the bounds are infinite.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dualgap.certificate import EPS
from dualgap.kernels import gap
from dualgap.problem import Problem, column_factors, innermost

Array = npt.NDArray[np.float64]
DOUBT = 1e-13
WIDEST, NARROWER = 60, 3


class Bounds(NamedTuple):
    """How far the optimal model may be from one with a certificate.

    `radius` is sqrt(2 gap), `moduli` the lambda_j (one number if all are the same), `norm` the p of the norm in which rows are measured,
    `low` and `high` bound what the optimal intercept exceeds the model's by; for several intercepts `high` bounds the Euclidean norm of
    that.
    """

    radius: float
    moduli: Any
    norm: float
    low: float
    high: float

    def scores(self, X: Any) -> Array:
        """A bound on |x'(w - w*)| for each row of X, Euclidean over classes where there are several."""
        if self.radius == 0.0:
            return np.zeros(X.shape[0])
        moduli = np.broadcast_to(np.asarray(self.moduli, dtype=np.float64), (X.shape[1],))
        held = moduli > 0.0
        scale = np.zeros(X.shape[1])
        np.divide(1.0, np.sqrt(moduli), out=scale, where=held)
        size = self.radius * (1.0 + DOUBT) * row_norms(X, scale, self.norm)
        if not np.all(held):
            size[_touched(X, ~held)] = np.inf
        return size


def row_norms(X: Any, scale: Any = 1.0, p: float = 2.0) -> Array:
    """|x scale|_p of each row, whose largest entry is divided out."""
    if not isinstance(X, np.ndarray):
        Y: Any = sp.csr_array(X).astype(np.float64)
        Y.sum_duplicates()
        Y.data = np.abs(Y.data * np.broadcast_to(scale, (Y.shape[1],))[Y.indices])
        top = np.asarray(Y.max(axis=1).todense()).ravel()
        if p < math.inf:
            safe = np.where(top > 0.0, top, 1.0)
            Y.data = (Y.data / np.repeat(safe, np.diff(Y.indptr))) ** p
            return np.asarray(top * np.asarray(Y.sum(axis=1)).ravel() ** (1.0 / p))
        return np.asarray(top)
    Y = np.abs(np.asarray(X, dtype=np.float64) * scale)
    top = Y.max(axis=1)
    if p == math.inf:
        return np.asarray(top)
    safe = np.where(top > 0.0, top, 1.0)[:, None]
    return np.asarray(top * np.sum((Y / safe) ** p, axis=1) ** (1.0 / p))


def _touched(X: Any, columns: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows have an entry in one of the columns."""
    part: Any = X[:, np.flatnonzero(columns)]
    return np.asarray(np.any(part != 0.0, axis=1)) if isinstance(part, np.ndarray) else np.asarray(abs(part).sum(axis=1)).ravel() > 0.0


def certified_bounds(problem: Problem, w: Array, certified_gap: float) -> Bounds:
    """The bounds that a gap gives at w, intercept last."""
    radius = math.sqrt(2.0 * certified_gap)
    factors, base = column_factors(problem.penalty), float(innermost(problem.penalty).convexity)
    moduli = base if factors is None else base * factors
    norm = float(getattr(problem.penalty, "norm", 2.0))
    low, high = 0.0, 0.0
    if problem.intercept:
        low, high = -math.inf, math.inf
        if np.all(np.asarray(moduli) > 0.0):
            size = radius * (1.0 + DOUBT) * _problem_norms(problem) + rounding(np.sqrt(problem.norms2), w)
            if not problem.outputs:
                low, high = _interval(problem, w, size)
            elif hasattr(problem.loss, "temperature"):
                high = _ball(problem, w, size)
    return Bounds(radius, moduli, norm, low, high)


def rounding(norms: Array, w: Array) -> Array:
    """What rounding may do to the scores of rows with these norms."""
    return np.asarray(EPS * (norms * float(np.linalg.norm(w[:-1])) + float(np.max(np.abs(w[-1]))) + 1.0))


def _problem_norms(problem: Problem) -> Array:
    """The norms of the rows in the metric of the penalty."""
    norms2, inverse = problem.step_norms(0.0, 0.0)
    return np.asarray(np.sqrt(norms2 * inverse))


def _interval(problem: Problem, w: Array, size: Array) -> tuple[float, float]:
    """An interval of b* - b: item b of the module's docstring."""
    z = problem.scores(w, slice(0, problem.n))
    first = max(float(problem.share @ size), 1e-12 * (1.0 + abs(float(w[-1]))))

    def proves(t: float) -> bool:
        slope, scale = gap.shifted_derivative(problem.loss, z, -math.copysign(1.0, t), size, t, problem.y, problem.share)
        return bool(math.copysign(1.0, t) * slope > DOUBT * scale)

    return -_least(lambda t: proves(-t), first), _least(proves, first)


def _least(proves: Any, first: float) -> float:
    """A t of about the least size that proves what it is to prove; infinite if none is found."""
    failed, t = 0.0, first
    for _ in range(WIDEST):
        if proves(t):
            break
        failed, t = t, 2.0 * t
    else:
        return math.inf
    for _ in range(NARROWER):
        middle = 0.5 * (failed + t)
        if proves(middle):
            t = middle
        else:
            failed = middle
    return t


def _ball(problem: Problem, w: Array, size: Array) -> float:
    """A bound on |b* - b|, both centered: item c of the module's docstring."""
    k, tau = problem.outputs, float(problem.loss.temperature)
    alpha = problem.dual_points(w, np.empty(problem.alpha_shape))
    p = -alpha
    p[np.arange(problem.n), problem.y] += 1.0
    weighted = problem.share[:, None] * p
    hessian = (np.diag(weighted.sum(axis=0)) - p.T @ weighted) / tau
    least = float(np.linalg.eigvalsh(hessian + np.full((k, k), float(np.trace(hessian)) / k))[0]) * (1.0 - DOUBT) - DOUBT / tau
    gradient = float(np.linalg.norm(problem.share @ alpha)) + 0.5 / tau * float(problem.share @ size) + DOUBT
    concordance = math.sqrt(2.0) / tau
    part = concordance * gradient / least if least > 0.0 else 1.0
    return -math.log1p(-part) / concordance if part < 1.0 else math.inf
