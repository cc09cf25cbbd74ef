"""Penalties: one NamedTuple each, its mathematics in its docstring.

A penalty is a convex function R(w), lambda g(w) in the paper's letters. What a solver may ask of it:

a. `value` R_j(w), `conjugate` R_j*(a) = max_w a w - R_j(w), and `primal`, the w that minimizes R_j(w) + kappa/2 w^2 - u w: all of one
   coefficient. `primal` is the gradient of the conjugate for kappa = 0 and the proximal operator, scaled, for kappa > 0, so that one
   formula serves Prox-SDCA, each inner problem of its acceleration, and FISTA. These three are all that an own penalty needs, with
b. `convexity`, the modulus of strong convexity (the paper's lambda); 0 if it is not strongly convex.
c. A penalty whose formulas depend on the index of the coefficient says `indexed = True` and its methods take the index last.
d. A penalty that couples coefficients says `coupled = True`. It keeps a state beside u, which its indexed `primal` reads and `moved`
   updates, and it gives `total_value`, `total_conjugate` and `prepared` for whole vectors instead. A sum that is updated is left with the
   rounding errors of its largest terms when those go away, so the state holds the peak of each sum, and the sum is computed anew from
   `vector`, which is u itself, where little of the peak is left.
e. `norm`, the p of the norm |x|_p in which the rows of X are measured: dual to the norm in which R is strongly convex; 2 unless it says so.
f. `polar`, for a penalty that is a norm where it is not strongly convex: the least t >= 0 with R*(a/t) = 0, which makes the lasso's
   certificate; and `radius`, a bound on the Euclidean norm of the penalized coefficients of any w with R(w) <= budget.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.formulas import traits

Array = npt.NDArray[np.float64]
TINY = 1e-300
LEFT = 1e-6


class L2(NamedTuple):
    """Ridge penalty, l2/2 |w|^2.

    Parameters
    ----------
    l2 : float
        The paper's lambda; positive.

    Examples
    --------
    >>> L2(0.5).value(2.0), L2(0.5).conjugate(1.0), L2(0.5).primal(1.0, 0.0)
    (1.0, 1.0, 2.0)
    """

    l2: float

    @property
    def convexity(self) -> float:
        return self.l2

    def value(self, w: float) -> float:
        return 0.5 * self.l2 * w * w

    def conjugate(self, a: float) -> float:
        return 0.5 * a * a / self.l2 if self.l2 > 0.0 else (0.0 if a == 0.0 else math.inf)

    def primal(self, u: float, kappa: float) -> float:
        return u * (1.0 / (self.l2 + kappa))

    def radius(self, budget: float) -> float:
        return math.sqrt(2.0 * budget / self.l2) if self.l2 > 0.0 else math.inf


class ElasticNet(NamedTuple):
    """Elastic net, l1 |w|_1 + l2/2 |w|^2.

    R_j*(a) = max(0, |a| - l1)^2 / (2 l2); with l2 = 0 it is 0 on [-l1, l1] and infinite outside.

    Parameters
    ----------
    l1 : float
        Weight of |w|_1.
    l2 : float
        Weight of |w|^2/2, the paper's lambda.

    Examples
    --------
    >>> ElasticNet(1.0, 0.5).value(-2.0), ElasticNet(1.0, 0.5).primal(2.0, 0.0), ElasticNet(1.0, 0.5).primal(0.5, 0.0)
    (3.0, 2.0, 0.0)
    """

    l1: float
    l2: float

    @property
    def convexity(self) -> float:
        return self.l2

    def value(self, w: float) -> float:
        return self.l1 * abs(w) + 0.5 * self.l2 * w * w

    def conjugate(self, a: float) -> float:
        r = abs(a) - self.l1
        if r <= 0.0:
            return 0.0
        return 0.5 * r * r / self.l2 if self.l2 > 0.0 else math.inf

    def primal(self, u: float, kappa: float) -> float:
        r = abs(u) - self.l1
        return math.copysign(max(r, 0.0), u) * (1.0 / (self.l2 + kappa))

    def polar(self, a: Array) -> float:
        return float(np.max(np.abs(a), initial=0.0)) / max(self.l1, TINY)

    def radius(self, budget: float) -> float:
        return min(budget / self.l1 if self.l1 > 0.0 else math.inf, L2(self.l2).radius(budget))


def L1(l1: float) -> ElasticNet:
    """Lasso penalty, l1 |w|_1: an elastic net without its ridge.

    Examples
    --------
    >>> L1(0.1)
    ElasticNet(l1=0.1, l2=0.0)
    """
    return ElasticNet(l1, 0.0)


@traits(indexed=True)
class Factors(NamedTuple):
    """A separable penalty times a factor for each coefficient, sum_j f_j R_j(w_j).

    A coefficient with factor 0 is not penalized. Its conjugate is infinite but at 0, so a certificate needs a dual point that is orthogonal
    to its column, which `certificate.balanced` provides, and its proximal term has the weight `free`, which solvers set.

    Parameters
    ----------
    penalty : NamedTuple
        The penalty of a factor 1.
    factors : array of float, one per column of X
        Nonnegative factors.

    Examples
    --------
    >>> Factors(L2(1.0), [0.0, 2.0]).value(3.0, 1)
    9.0
    """

    penalty: Any
    factors: Any
    free: float = 0.0

    @property
    def convexity(self) -> float:
        least = self._least()
        return float(self.penalty.convexity * least) if least < math.inf else 0.0

    def value(self, w: float, j: int) -> float:
        f = self.factors[j]
        return f * formulas.penalty_value(self.penalty, w, j) if f > 0.0 else 0.0

    def conjugate(self, a: float, j: int) -> float:
        f = self.factors[j]
        if f > 0.0:
            return float(f * formulas.penalty_conjugate(self.penalty, a / f, j))
        return 0.0 if a == 0.0 else math.inf

    def primal(self, u: float, kappa: float, j: int) -> float:
        f = self.factors[j]
        if f > 0.0:
            return float(formulas.primal(self.penalty, u / f, kappa / f, j))
        return u / (kappa + self.free)

    def polar(self, a: Array) -> float:
        held = np.asarray(self.factors) > 0.0
        return float(self.penalty.polar((a[held].T / np.asarray(self.factors)[held]).T))

    def radius(self, budget: float) -> float:
        return _radius(self.penalty, budget / self._least())

    def _least(self) -> float:
        """The least positive factor, infinite if there is none."""
        factors = np.asarray(self.factors)
        return float(np.min(factors, where=factors > 0.0, initial=math.inf))


@traits(indexed=True)
class Box(NamedTuple):
    """A separable penalty with bounds on the coefficients, lower_j <= w_j <= upper_j.

    In one dimension the minimizer with bounds is the clipped minimizer without, and the conjugate is a w - R(w) there.

    Parameters
    ----------
    penalty : NamedTuple
        The penalty inside the bounds.
    lower, upper : float or array of float, one per column of X
        Bounds with lower <= upper; infinite ones are allowed.

    Examples
    --------
    >>> Box(L2(1.0), [0.0], [1.0]).primal(3.0, 0.0, 0), Box(L2(1.0), [0.0], [1.0]).conjugate(3.0, 0)
    (1.0, 2.5)
    """

    penalty: Any
    lower: Any
    upper: Any

    @property
    def convexity(self) -> float:
        return float(self.penalty.convexity)

    def value(self, w: float, j: int) -> float:
        if w < self.lower[j] or w > self.upper[j]:
            return math.inf
        return float(formulas.penalty_value(self.penalty, w, j))

    def conjugate(self, a: float, j: int) -> float:
        free = formulas.penalty_conjugate(self.penalty, a, j)
        low = self.lower[j]
        high = self.upper[j]
        if free < math.inf:
            w = formulas.primal(self.penalty, a, TINY, j)
            if low <= w <= high:
                return float(free)
            w = max(low, min(high, w))
        else:
            w = high if a > 0.0 else low
            if abs(w) == math.inf:
                return math.inf
        return float(a * w - formulas.penalty_value(self.penalty, w, j))

    def primal(self, u: float, kappa: float, j: int) -> float:
        return float(max(self.lower[j], min(self.upper[j], formulas.primal(self.penalty, u, kappa, j))))

    def center(self, d: int) -> Array:
        """The coefficients within the bounds that are nearest to 0, which stand for it in the null model."""
        return np.asarray(np.clip(0.0, self.lower, self.upper), dtype=np.float64)

    def radius(self, budget: float) -> float:
        corner = float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper))))
        return min(corner, _radius(self.penalty, budget))


def _radius(penalty: Any, budget: float) -> float:
    """The radius of the penalty inside another, infinite if it gives none."""
    return float(penalty.radius(budget)) if hasattr(penalty, "radius") else math.inf


def NonNegative(penalty: Any) -> Box:
    """A separable penalty with coefficients held at or above 0.

    Examples
    --------
    >>> NonNegative(L2(1.0)).lower
    0.0
    """
    return Box(penalty, 0.0, np.inf)


@traits(indexed=True, coupled=True)
class GroupL1(NamedTuple):
    """Group lasso with a ridge, l1 sum_g sqrt(|g|) |w_g| + l2/2 |w|^2, where |w_g| is the Euclidean norm of the coefficients of group g.

    The minimizer shrinks a group as a whole: w_g = u_g max(0, 1 - l1 sqrt(|g|)/|u_g|) / (l2 + kappa). The state is the squared norm of each
    u_g, and its peak. With a vector-valued loss a group holds all the classes of its features, so that `groups=range(d)` selects features.

    Parameters
    ----------
    l1, l2 : float
        Weights of the norms and of the ridge.
    groups : array of int, one per column of X
        The group of each feature, 0 .. G-1.

    Examples
    --------
    >>> import numpy as np
    >>> GroupL1(1.0, 0.0, [0, 0]).total_value(np.array([3.0, 4.0])) == 5.0 * 2**0.5
    True
    """

    l1: float
    l2: float
    groups: Any
    weights: Any = None
    state: Any = None
    vector: Any = None

    @property
    def convexity(self) -> float:
        return self.l2

    def primal(self, u: float, kappa: float, j: int) -> float:
        g = self.groups[j]
        if self.weights[g] == 0.0:
            return u * (1.0 / (self.l2 + kappa))
        size = math.sqrt(max(self.state[g, 0], 0.0))
        r = size - self.weights[g]
        return float(u * (r / (size * (self.l2 + kappa)))) if r > 0.0 else 0.0

    def moved(self, old: float, new: float, j: int) -> None:
        g = self.groups[j]
        size2 = self.state[g, 0] + (new - old) * (new + old)
        peak = max(self.state[g, 1], size2)
        weight2 = self.weights[g] * self.weights[g]
        if weight2 > 0.0 and max(size2, weight2) < LEFT * peak:
            size2 = peak = _group_norm2(self.vector, self.groups, g)
        self.state[g, 0] = size2
        self.state[g, 1] = peak

    def norms2(self, w: Array) -> Array:
        rows = w * w if w.ndim == 1 else np.einsum("jk,jk->j", w, w)
        return np.bincount(self.groups, rows).astype(np.float64, copy=False)

    def thresholds(self, w: Array) -> Array:
        outputs = 1 if w.ndim == 1 else w.shape[1]
        return np.asarray(self.l1 * np.sqrt(np.bincount(self.groups) * float(outputs)), dtype=np.float64)

    def prepared(self, u: Array, kappa: float) -> Self:
        norms2 = self.norms2(u)
        return self._replace(weights=self.thresholds(u), state=np.column_stack([norms2, norms2]), vector=u.reshape(len(u), -1))

    def total_value(self, w: Array) -> float:
        norms2 = self.norms2(w)
        return float(self.thresholds(w) @ np.sqrt(norms2) + 0.5 * self.l2 * norms2.sum())

    def total_conjugate(self, a: Array) -> float:
        r = np.sqrt(self.norms2(a)) - self.thresholds(a)
        if self.l2 == 0.0:
            return math.inf if np.any(r > 0.0) else 0.0
        return float(np.sum(np.maximum(r, 0.0) ** 2)) / (2.0 * self.l2)

    def polar(self, a: Array) -> float:
        return float(np.max(np.sqrt(self.norms2(a)) / self.thresholds(a), initial=0.0))

    def radius(self, budget: float) -> float:
        return min(budget / self.l1 if self.l1 > 0.0 else math.inf, L2(self.l2).radius(budget))


@traits(indexed=True, coupled=True)
class QNorm(NamedTuple):
    """Squared q-norm, l2/(2 (q - 1)) |w|_q^2 with 1 < q <= 2: strongly convex with modulus l2 in the norm |w|_q.

    With p = q/(q - 1): R*(a) = (q - 1)/(2 l2) |a|_p^2, and rows are measured in |x|_p, close to the largest entry when q is near 1. It is
    not strongly convex in the Euclidean norm, so acceleration is not proved for it (the paper's second open problem), and `primal` has no
    formula with kappa > 0, except for q = 2, where it is a ridge. The state is a scale, at first the largest |u_j|, the sum of
    (|u_j| / scale)^p, and its peak.

    Parameters
    ----------
    l2 : float
        The paper's lambda.
    q : float
        1 < q <= 2; None takes 1 + 1/log(d), for which |w|_q is close to |w|_1.

    Examples
    --------
    >>> import numpy as np
    >>> QNorm(1.0, 2.0).total_value(np.array([3.0, 4.0]))
    12.5
    """

    l2: float
    q: Any = None
    state: Any = None
    vector: Any = None

    @property
    def convexity(self) -> float:
        return self.l2

    @property
    def norm(self) -> float:
        return float(self.q / (self.q - 1.0))

    def primal(self, u: float, kappa: float, j: int) -> float:
        if u == 0.0:
            return 0.0
        if self.q == 2.0:
            return u / (self.l2 + kappa)
        p = self.q / (self.q - 1.0)
        logu = math.log(abs(u) / self.state[0])
        logsize = max(math.log(max(self.state[1], TINY)) / p, logu)
        return float(math.copysign((self.q - 1.0) / self.l2 * self.state[0] * math.exp(logsize + (p - 1.0) * (logu - logsize)), u))

    def moved(self, old: float, new: float, j: int) -> None:
        p = self.q / (self.q - 1.0)
        if new != 0.0:
            e = p * math.log(abs(new) / self.state[0])
            if e > 30.0:
                self.state[1] *= math.exp(-e)
                self.state[2] *= math.exp(-e)
                self.state[0] = abs(new)
                e = 0.0
            self.state[1] += math.exp(e)
        if old != 0.0:
            self.state[1] -= math.exp(p * math.log(abs(old) / self.state[0]))
        self.state[2] = max(self.state[1], self.state[2])
        if self.state[1] < LEFT * self.state[2]:
            _sum_powers(self.vector, p, self.state)

    def prepared(self, u: Array, kappa: float) -> Self:
        top = max(float(np.max(np.abs(u), initial=0.0)), TINY)
        total = float(np.sum((np.abs(u) / top) ** self.norm))
        return self._replace(state=np.array([top, total, total]), vector=u)

    def _squared_norm(self, w: Array, p: float) -> float:
        top = float(np.max(np.abs(w), initial=0.0))
        return top * top * float(np.sum((np.abs(w) / top) ** p)) ** (2.0 / p) if top > 0.0 else 0.0

    def total_value(self, w: Array) -> float:
        return float(self.l2 / (2.0 * (self.q - 1.0)) * self._squared_norm(w, self.q))

    def total_conjugate(self, a: Array) -> float:
        return float((self.q - 1.0) / (2.0 * self.l2) * self._squared_norm(a, self.norm))

    def radius(self, budget: float) -> float:
        return L2(self.l2).radius((self.q - 1.0) * budget)


@traits(indexed=True, coupled=True, norm=np.inf)
class Entropy(NamedTuple):
    """Entropy on the simplex, l2 (sum_j w_j log w_j + log d) for w >= 0 with sum 1: strongly convex with modulus l2 in the norm |w|_1.

    R*(a) = l2 (log sum_j exp(a_j/l2) - log d), w is the softmax of a/l2, and rows are measured by their largest entry. Acceleration is not
    proved for it, and `primal` has no formula with kappa > 0. The state is a shift of the exponents, the sum of the shifted exponentials,
    and its peak.

    Parameters
    ----------
    l2 : float
        The paper's lambda.

    Examples
    --------
    >>> import numpy as np
    >>> Entropy(1.0).total_value(np.array([0.5, 0.5]))
    0.0
    """

    l2: float
    state: Any = None
    vector: Any = None

    @property
    def convexity(self) -> float:
        return self.l2

    def primal(self, u: float, kappa: float, j: int) -> float:
        e = math.exp(u / self.l2 - self.state[0])
        return float(e / max(self.state[1], e, TINY))

    def moved(self, old: float, new: float, j: int) -> None:
        e = new / self.l2 - self.state[0]
        if e > 30.0:
            self.state[1] *= math.exp(-e)
            self.state[2] *= math.exp(-e)
            self.state[0] = new / self.l2
            e = 0.0
        self.state[1] += math.exp(e) - math.exp(old / self.l2 - self.state[0])
        self.state[2] = max(self.state[1], self.state[2])
        # an exponent of this size is known to about 1e-16 times it, and so is what went away
        if self.state[1] < (LEFT + 1e-13 * abs(self.state[0])) * self.state[2]:
            _sum_exponentials(self.vector, self.l2, self.state)

    def prepared(self, u: Array, kappa: float) -> Self:
        top = float(np.max(u)) / self.l2
        total = float(np.sum(np.exp(u / self.l2 - top)))
        return self._replace(state=np.array([top, total, total]), vector=u)

    def center(self, d: int) -> float:
        """The coefficient at which the penalty is least, which stands for 0 in the null model."""
        return 1.0 / d

    def settled(self, w: Array) -> Array:
        """The point of the simplex next to w."""
        return w / np.sum(w)

    def cancelled(self, d: int) -> float:
        """The size of the terms beside the value and the conjugate themselves that cancel in them."""
        return 2.0 * self.l2 * (1.0 + math.log(d))

    def total_value(self, w: Array) -> float:
        if np.any(w < 0.0) or abs(float(np.sum(w)) - 1.0) > 1e-9:
            return math.inf
        safe = np.where(w > 0.0, w, 1.0)
        return self.l2 * (float(np.sum(w * np.log(safe))) + math.log(w.size))

    def total_conjugate(self, a: Array) -> float:
        top = float(np.max(a)) / self.l2
        return self.l2 * (top + math.log(float(np.sum(np.exp(a / self.l2 - top)))) - math.log(a.size))

    def radius(self, budget: float) -> float:
        return 1.0


def scaled(penalty: Any, strength: float) -> Any:
    """A penalty times a number.

    Those of this library have it multiplied into `l1` and `l2`, an own one on each coefficient gets it as a factor. An own one that couples
    coefficients says how by a method `scaled`.

    Examples
    --------
    >>> scaled(ElasticNet(0.5, 1.0), 2.0)
    ElasticNet(l1=1.0, l2=2.0)
    """
    if hasattr(penalty, "scaled"):
        return penalty.scaled(strength)
    if "penalty" in penalty._fields:
        return penalty._replace(penalty=scaled(penalty.penalty, strength))
    if type(penalty).__module__.startswith("dualgap."):
        return penalty._replace(**{name: strength * getattr(penalty, name) for name in ("l1", "l2") if name in penalty._fields})
    if formulas.penalty_is_coupled(penalty):
        raise TypeError(f"a penalty that couples coefficients needs a method scaled(strength), {type(penalty).__name__} has none")
    return Factors(penalty, strength)


def _group_norm2(u: Array, groups: Any, g: int) -> float:
    """The squared norm of the rows of u in group g."""
    total = 0.0
    for j in range(u.shape[0]):
        if groups[j] == g:
            for m in range(u.shape[1]):
                total += u[j, m] * u[j, m]
    return total


def _sum_powers(u: Array, p: float, state: Array) -> None:
    """Write the state of `QNorm`."""
    top = TINY
    for j in range(u.shape[0]):
        top = max(top, abs(u[j]))
    total = 0.0
    for j in range(u.shape[0]):
        if u[j] != 0.0:
            total += math.exp(p * math.log(abs(u[j]) / top))
    state[0], state[1], state[2] = top, total, total


def _sum_exponentials(u: Array, l2: float, state: Array) -> None:
    """Write the state of `Entropy`."""
    top = u[0]
    for j in range(u.shape[0]):
        top = max(top, u[j])
    total = 0.0
    for j in range(u.shape[0]):
        total += math.exp(u[j] / l2 - top / l2)
    state[0], state[1], state[2] = top / l2, total, total


HELPERS = (_group_norm2, _sum_powers, _sum_exponentials)
