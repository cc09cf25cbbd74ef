"""Least squares by moments: paths and certificates that do not look at the rows again.

With z_i = (x_i, y_i) less a shift, weights s_i, and the centered second moments C of z (raw ones, and no shift, without an intercept), all
that depends on the rows is in C. For the best intercept, and alpha = theta r for the residuals r, whose weighted sum is then 0,

    P(w) = q/2 + R(w),                            q = C_yy - 2 C_xy'w + w'C_xx w = mean of r^2
    D(theta r) = theta t - theta^2 q/2 - R*(theta a),      t = C_yy - C_xy'w,      a = C_xy - C_xx w = X'(s r)/S

What makes that a proof in floating point as well: a difference x - shift is rounded relative to itself, and sums of n products in blocks
of B rows are off by at most (B + n/B) eps times sum_i s_i |z_ij| |z_ik| <= size_j size_k, by Cauchy and Schwarz. So with A = size_y plus
the sum of size_j |w_j| the moments that enter P and D are off by `unit` A^2, and a_j by `unit` size_j A: each a_j is moved outward by that
before R* is evaluated. Moments of the rows of a fold are those of all rows less those held out, and their sizes add.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualgap.certificate import EPS
from dualgap.penalties import L2, Box, ElasticNet, Factors
from dualgap.problem import Problem

Array = npt.NDArray[np.float64]
# Entries of a block of rows; so many more terms than rows in a block and blocks stand for the other operations.
BLOCK, OTHERS = 1 << 16, 64


@dataclass(frozen=True)
class Sums:
    """sum_i s_i z_i z_i' for z = (x, y, 1) with all targets in y; `size2` bounds what the terms of its diagonal sum up to."""

    products: Array
    size2: Array
    terms: float

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.products[-1, -1])

    def __sub__(self, other: Self) -> "Sums":
        return Sums(self.products - other.products, self.size2 + other.size2, max(self.terms, other.terms))

    def __add__(self, other: Self) -> "Sums":
        return Sums(self.products + other.products, self.size2 + other.size2, self.terms + 1.0)


def sums(X: Any, Y: Array, shift: Array, weight: Array | None, rows: npt.NDArray[np.intp] | None = None) -> Sums:
    """The sums over some rows, all by default, with a weight for each of these; a row is read once."""
    n, width = (X.shape[0] if rows is None else len(rows)), X.shape[1] + Y.shape[1] + 1
    products, step = np.zeros((width, width)), max(1, BLOCK // width)
    block = np.empty((min(step, n), width))
    for start in range(0, n, step):
        chosen: Any = slice(start, min(start + step, n)) if rows is None else rows[start : start + step]
        entries = X[chosen]
        part = block[: entries.shape[0]]
        part[:, : X.shape[1]] = entries if isinstance(entries, np.ndarray) else entries.toarray()
        part[:, X.shape[1] : -1] = Y[chosen]
        part[:, -1] = 1.0
        part -= shift
        if weight is not None:
            part *= np.sqrt(weight[start : start + step])[:, None]
        products += part.T @ part
    return Sums(products, np.diagonal(products).copy(), step + n / step)


@dataclass(frozen=True)
class Moments:
    """The moments of one target: C of the columns and then of the target, their sizes, and what gives the intercept."""

    second: Array
    size: Array
    unit: float
    mean: Array | None
    shift: Array

    @cached_property
    def xx(self) -> Array:
        """C_xx."""
        return self.second[:-1, :-1]

    @cached_property
    def xy(self) -> Array:
        """C_xy."""
        return np.ascontiguousarray(self.second[:-1, -1])

    @property
    def yy(self) -> float:
        """C_yy."""
        return max(float(self.second[-1, -1]), 0.0)

    def intercept(self, w: Array) -> float:
        """The best intercept."""
        if self.mean is None:
            return 0.0
        best = self.mean[-1] + self.shift[-1] - float((self.mean[:-1] + self.shift[:-1]) @ w)
        return float(best)

    def slope(self, w: Array) -> Array:
        """a = C_xy - C_xx w."""
        there = np.flatnonzero(w)
        if 4 * len(there) > len(w):
            return np.asarray(self.xy - self.xx @ w)
        return np.asarray(self.xy - w[there] @ self.xx[there])

    def reach(self, w: Array) -> float:
        """A."""
        return float(self.size[-1] + self.size[:-1] @ np.abs(w))


def moments(found: Sums, target: int, d: int, shift: Array, intercept: bool) -> Moments:
    """The moments of a target, from sums over rows."""
    columns = np.append(np.arange(d), d + target)
    second, total = found.products[np.ix_(columns, columns)] / found.total, found.total
    size = np.sqrt(found.size2[columns] / total)
    unit = EPS * (found.terms + 4.0 * d + OTHERS)
    if not intercept:
        return Moments(second, size, unit, None, shift[columns])
    mean = found.products[columns, -1] / total
    return Moments(second - np.outer(mean, mean), math.sqrt(3.0) * size, unit, mean, shift[columns])


def fits(penalty: Any) -> bool:
    """Whether the penalty is one whose conjugate grows outward: an elastic net, with factors, of either sign or none below 0."""
    if isinstance(penalty, Box):
        return bool(np.all(penalty.lower == 0.0) and np.all(penalty.upper == np.inf)) and fits(penalty.penalty)
    if isinstance(penalty, Factors):
        return bool(np.all(penalty.factors > 0.0)) and fits(penalty.penalty)
    return isinstance(penalty, L2 | ElasticNet)


@dataclass(frozen=True)
class Certified:
    """What is proved of coefficients by moments."""

    primal: float
    dual: float
    gap: float
    slope: Array


def certify(problem: Problem, found: Moments, w: Array) -> Certified:
    """The certificate of coefficients with their best intercept; `problem` gives the penalty."""
    A, a = found.reach(w), found.slope(w)
    error = found.unit * A * A
    t = found.yy - float(found.xy @ w)
    q = max(t - float(a @ w), 0.0)
    penalty = problem.penalty_value(np.append(w, 0.0))
    primal = 0.5 * q + penalty
    if found.mean is not None:
        # the intercept is rounded too
        places = float(np.abs(found.mean + found.shift) @ np.append(np.abs(w), 1.0))
        error += (found.unit * places) ** 2
    outward = np.where(a < 0.0, -1.0, 1.0) if not isinstance(problem.penalty, Box) else 1.0
    moved = np.append(a + outward * found.unit * A * found.size[:-1], 0.0)
    budget = primal + error

    def dual(theta: float) -> tuple[float, float]:
        conjugate = problem.penalty_conjugate(moved, theta)
        if not math.isfinite(conjugate) and problem.penalty_is_norm:
            conjugate = budget * max(0.0, theta * float(problem.penalty.polar(moved[:-1])) - 1.0)
        return theta * t - 0.5 * theta * theta * q - conjugate, error * (theta + 0.5 * theta * theta) + EPS * abs(conjugate)

    values = [dual(theta) for theta in _scales(problem, moved, t, q)]
    value, doubt = max(values, key=lambda pair: pair[0] - pair[1])
    total = max(primal - value, 0.0) + 0.5 * error + doubt + EPS * (abs(penalty) + abs(primal))
    return Certified(primal, value, total, a)


def _scales(problem: Problem, a: Array, t: float, q: float) -> list[float]:
    """Scales of the residuals that may give a good dual point: all of it, what is feasible, and the best of that."""
    best = min(t / q, 1.0) if q > 0.0 and t > 0.0 else 1.0
    if problem.penalty.convexity > 0.0:
        return [1.0, best]
    scaled = problem.penalty.penalty if isinstance(problem.penalty, Box) else problem.penalty
    polar = float(scaled.polar(np.maximum(a[:-1], 0.0) if isinstance(problem.penalty, Box) else a[:-1]))
    feasible = 1.0 / polar * (1.0 - EPS) if polar > 1.0 else 1.0
    return [1.0, feasible, min(feasible, best)]
