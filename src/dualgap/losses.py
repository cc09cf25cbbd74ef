"""Scalar losses: one NamedTuple each, its mathematics in its docstring.

A loss is a convex function phi(z) of the score z = x'w + b for a target y. What a solver may ask of it:

a. `value`, `derivative` (a subgradient where it is not differentiable) and `conjugate`, phi*(b) = max_z b z - phi(z), infinite outside its
   domain: an infinite value is what keeps a dual point from leaving the domain unseen.
b. `smoothness`, the paper's gamma: phi is (1/gamma)-smooth, phi* is gamma-strongly convex; 0 for a loss that is not smooth.
c. `dual_step`, the exact maximizer of Option I: the new alpha, not its increment, since a clipped alpha lies in the domain exactly and a
   sum need not. Optional in an own loss: Option III replaces it.
d. `domain`, the interval of alpha = -b in which phi*(-alpha) is finite. Optional in an own loss.
e. `lipschitz` where gamma = 0, for the smoothing of the paper.
f. `curvature`, phi'' or an element of its generalization, for Newton's method. Optional: a difference of derivatives replaces it.
g. `labels`: "sign" for losses of classifiers (y is -1 or +1), "real" for those of regressors.

Methods are plain Python on floats that numba compiles as it stands; a formula of another object is called through `dualgap.formulas`.
A division by a vanishing q is guarded by TINY rather than a branch: 0/TINY is the right answer and anything else is clipped.
"""

import math
from typing import Any, NamedTuple

from dualgap import formulas
from dualgap.formulas import traits

TINY = 1e-300
SMALL = 1e-2


@traits(labels="real", smoothness=1.0, quadratic=True)
class Squared(NamedTuple):
    """Squared loss, 1/2 (z - y)^2.

    phi*(b) = b^2/2 + y b; gamma = 1. The exact step divides by 1 + q: with the factor printed in the paper, 1 + q/2, a large q makes a step
    that gains nothing.

    Examples
    --------
    >>> Squared().value(3.0, 1.0), Squared().conjugate(2.0, 1.0)
    (2.0, 4.0)
    """

    def value(self, z: float, y: float) -> float:
        return 0.5 * (z - y) * (z - y)

    def derivative(self, z: float, y: float) -> float:
        return z - y

    def curvature(self, z: float, y: float) -> float:
        return 1.0

    def conjugate(self, b: float, y: float) -> float:
        return 0.5 * b * b + y * b

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return alpha + (y - z - alpha) / (1.0 + q)

    def domain(self, y: float) -> tuple[float, float]:
        return -math.inf, math.inf


@traits(labels="real", smoothness=0.0, lipschitz=1.0)
class Absolute(NamedTuple):
    """Absolute loss, |z - y|.

    phi*(b) = y b on [-1, 1]; not smooth, 1-Lipschitz.

    Examples
    --------
    >>> Absolute().value(3.0, 1.0), Absolute().conjugate(1.5, 1.0)
    (2.0, inf)
    """

    def value(self, z: float, y: float) -> float:
        return abs(z - y)

    def derivative(self, z: float, y: float) -> float:
        return 1.0 if z > y else (-1.0 if z < y else 0.0)

    def conjugate(self, b: float, y: float) -> float:
        return y * b if abs(b) <= 1.0 else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return max(-1.0, min(1.0, alpha + (y - z) / max(q, TINY)))

    def domain(self, y: float) -> tuple[float, float]:
        return -1.0, 1.0


@traits(labels="real", smoothness=1.0)
class Huber(NamedTuple):
    """Huber's loss, r^2/2 for |r| <= delta and delta |r| - delta^2/2 beyond, r = z - y.

    phi*(b) = b^2/2 + y b on [-delta, delta]; gamma = 1.

    Parameters
    ----------
    delta : float
        Residual at which the loss turns from quadratic to linear.

    Examples
    --------
    >>> Huber(1.0).value(3.0, 0.0)
    2.5
    """

    delta: float = 1.0

    def value(self, z: float, y: float) -> float:
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def derivative(self, z: float, y: float) -> float:
        return max(-self.delta, min(self.delta, z - y))

    def curvature(self, z: float, y: float) -> float:
        return 1.0 if abs(z - y) <= self.delta else 0.0

    def conjugate(self, b: float, y: float) -> float:
        return 0.5 * b * b + y * b if abs(b) <= self.delta else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return max(-self.delta, min(self.delta, alpha + (y - z - alpha) / (1.0 + q)))

    def domain(self, y: float) -> tuple[float, float]:
        return -self.delta, self.delta


@traits(labels="real", smoothness=0.0, lipschitz=1.0)
class EpsilonInsensitive(NamedTuple):
    """Loss of support vector regression, max(0, |z - y| - epsilon).

    phi*(b) = y b + epsilon |b| on [-1, 1]; not smooth, 1-Lipschitz.

    Parameters
    ----------
    epsilon : float
        Residuals up to epsilon cost nothing.

    Examples
    --------
    >>> EpsilonInsensitive(0.5).value(3.0, 1.0)
    1.5
    """

    epsilon: float = 0.1

    def value(self, z: float, y: float) -> float:
        return max(0.0, abs(z - y) - self.epsilon)

    def derivative(self, z: float, y: float) -> float:
        r = z - y
        return 1.0 if r > self.epsilon else (-1.0 if r < -self.epsilon else 0.0)

    def conjugate(self, b: float, y: float) -> float:
        return y * b + self.epsilon * abs(b) if abs(b) <= 1.0 else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        t = alpha * q + y - z
        size = max(0.0, abs(t) - self.epsilon) / max(q, TINY)
        return math.copysign(min(1.0, size), t)

    def domain(self, y: float) -> tuple[float, float]:
        return -1.0, 1.0


@traits(labels="real", smoothness=1.0)
class SquaredEpsilonInsensitive(NamedTuple):
    """Squared loss of support vector regression, 1/2 max(0, |z - y| - epsilon)^2 (half of scikit-learn's).

    phi*(b) = b^2/2 + y b + epsilon |b|; gamma = 1.

    Parameters
    ----------
    epsilon : float
        Residuals up to epsilon cost nothing.

    Examples
    --------
    >>> SquaredEpsilonInsensitive(0.5).value(3.0, 1.0)
    1.125
    """

    epsilon: float = 0.1

    def value(self, z: float, y: float) -> float:
        r = max(0.0, abs(z - y) - self.epsilon)
        return 0.5 * r * r

    def derivative(self, z: float, y: float) -> float:
        return math.copysign(max(0.0, abs(z - y) - self.epsilon), z - y)

    def curvature(self, z: float, y: float) -> float:
        return 1.0 if abs(z - y) >= self.epsilon else 0.0

    def conjugate(self, b: float, y: float) -> float:
        return 0.5 * b * b + y * b + self.epsilon * abs(b)

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        t = alpha * q + y - z
        return math.copysign(max(0.0, abs(t) - self.epsilon) / (1.0 + q), t)

    def domain(self, y: float) -> tuple[float, float]:
        return -math.inf, math.inf


@traits(labels="real", smoothness=0.0)
class Quantile(NamedTuple):
    """Pinball loss of quantile regression, level * r for r = y - z >= 0 and (level - 1) * r below.

    phi*(b) = y b on [-level, 1 - level]; not smooth, Lipschitz with max(level, 1 - level).

    Parameters
    ----------
    level : float
        The quantile to estimate, between 0 and 1.

    Examples
    --------
    >>> Quantile(0.9).value(0.0, 1.0)
    0.9
    """

    level: float = 0.5

    @property
    def lipschitz(self) -> float:
        return max(self.level, 1.0 - self.level)

    def value(self, z: float, y: float) -> float:
        return max(self.level * (y - z), (self.level - 1.0) * (y - z))

    def derivative(self, z: float, y: float) -> float:
        return -self.level if z < y else (1.0 - self.level if z > y else 0.0)

    def conjugate(self, b: float, y: float) -> float:
        return y * b if -self.level <= b <= 1.0 - self.level else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return max(self.level - 1.0, min(self.level, alpha + (y - z) / max(q, TINY)))

    def domain(self, y: float) -> tuple[float, float]:
        return self.level - 1.0, self.level


def odds_move(t: float, q: float, newton: float) -> float:
    """The move from the log-odds of t to the r with r + m + q (sigma(r) - t_0) = 0, to fourth order in the Newton step there."""
    v, b = t * (1.0 - t), 1.0 - 2.0 * t
    k = q * v / (1.0 + q * v)
    a2, a3, a4 = 0.5 * k * b, k * (1.0 - 6.0 * v) / 6.0, k * b * (1.0 - 12.0 * v) / 24.0
    b2 = a2 * a2
    return newton * (1.0 - newton * (a2 - newton * (2.0 * b2 - a3 + newton * (5.0 * a2 * (a3 - b2) - a4))))


def sigmoid_beyond(t: float, move: float) -> float:
    """sigma(r + move), where sigma(r) = t, to fourth order in a small move."""
    v, b = t * (1.0 - t), 1.0 - 2.0 * t
    return t + v * move * (1.0 + move * (0.5 * b + move * ((1.0 - 6.0 * v) / 6.0 + move * b * (1.0 - 12.0 * v) / 24.0)))


@traits(labels="sign", smoothness=4.0)
class Logistic(NamedTuple):
    """Logistic loss, log(1 + exp(-y z)).

    With t = -y b: phi*(b) = t log t + (1 - t) log(1 - t) on 0 <= t <= 1; gamma = 4. The exact step solves
    r + y z + q (sigma(r) - t) = 0 for the log-odds r of the new t. A small move from the log-odds of the old t, as nearly all are after
    some passes, follows from Taylor series, and leaves an error of about move^5. Otherwise the equation is reflected so that the root is at
    most 0, where the left side is convex and Newton's method converges from any start (in a bracket it may cycle between the two ends when
    q is large): one step may pass the root, those after it descend to it, with the help of the series where they are below 1.

    Examples
    --------
    >>> round(Logistic().value(0.0, 1.0), 6), Logistic().conjugate(-1.0, 1.0)
    (0.693147, 0.0)
    """

    def value(self, z: float, y: float) -> float:
        m = y * z
        return math.log1p(math.exp(-abs(m))) + max(-m, 0.0)

    def derivative(self, z: float, y: float) -> float:
        m = y * z
        e = math.exp(-abs(m))
        return -y * (e if m > 0.0 else 1.0) / (1.0 + e)

    def curvature(self, z: float, y: float) -> float:
        e = math.exp(-abs(z))
        return e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, b: float, y: float) -> float:
        t = -y * b
        if t < 0.0 or t > 1.0:
            return math.inf
        return (t * math.log(t) if t > 0.0 else 0.0) + ((1.0 - t) * math.log1p(-t) if t < 1.0 else 0.0)

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        t = alpha * y
        m = y * z
        inside = 0.0 < t < 1.0
        r = math.log(t / (1.0 - t)) if inside else 0.0
        newton = -(r + m) / (1.0 + q * t * (1.0 - t))
        if inside and abs(newton) <= SMALL:
            return sigmoid_beyond(t, odds_move(t, q, newton)) * y
        reflected = m + q * (0.5 - t) < 0.0
        if reflected:
            t, m, r, newton = 1.0 - t, -m, -r, -newton
        r = r + newton if inside else q * t - m
        s = 0.0
        for _ in range(100):
            r = max(-745.0, min(0.0, r))
            e = math.exp(r)
            s = e / (1.0 + e)
            newton = -(r + m + q * (s - t)) / (1.0 + q * s * (1.0 - s))
            if r == -745.0 and newton < 0.0:
                s = 0.0
                break
            move = odds_move(s, q, newton) if abs(newton) < 1.0 else newton
            if abs(newton) <= SMALL:
                s = sigmoid_beyond(s, move)
                break
            r += move
        return (1.0 - s if reflected else s) * y

    def domain(self, y: float) -> tuple[float, float]:
        return min(y, 0.0), max(y, 0.0)


@traits(labels="sign", smoothness=0.0, lipschitz=1.0)
class Hinge(NamedTuple):
    """Hinge loss of the support vector machine, max(0, 1 - y z).

    With t = -y b: phi*(b) = -t on 0 <= t <= 1; not smooth, 1-Lipschitz.

    Examples
    --------
    >>> Hinge().value(0.25, 1.0), Hinge().conjugate(-0.5, 1.0)
    (0.75, -0.5)
    """

    def value(self, z: float, y: float) -> float:
        return max(0.0, 1.0 - y * z)

    def derivative(self, z: float, y: float) -> float:
        return -y if y * z < 1.0 else 0.0

    def conjugate(self, b: float, y: float) -> float:
        t = -y * b
        return -t if 0.0 <= t <= 1.0 else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return max(0.0, min(1.0, alpha * y + (1.0 - y * z) / max(q, TINY))) * y

    def domain(self, y: float) -> tuple[float, float]:
        return min(y, 0.0), max(y, 0.0)


@traits(labels="sign")
class SmoothHinge(NamedTuple):
    """Hinge loss rounded off over a width gamma: 0 for m = y z >= 1, 1 - m - gamma/2 for m <= 1 - gamma, (1 - m)^2/(2 gamma) between.

    With t = -y b: phi*(b) = -t + gamma/2 t^2 on 0 <= t <= 1. It lies between the hinge loss and the hinge loss less gamma/2.

    Parameters
    ----------
    gamma : float
        Width of the rounding, and the smoothness.

    Examples
    --------
    >>> SmoothHinge(1.0).value(0.0, 1.0), SmoothHinge(1.0).value(-1.0, 1.0)
    (0.5, 1.5)
    """

    gamma: float = 1.0

    @property
    def smoothness(self) -> float:
        return self.gamma

    def value(self, z: float, y: float) -> float:
        r = 1.0 - y * z
        return 0.0 if r <= 0.0 else (r - 0.5 * self.gamma if r >= self.gamma else 0.5 * r * r / self.gamma)

    def derivative(self, z: float, y: float) -> float:
        return -y * max(0.0, min(1.0, (1.0 - y * z) / self.gamma))

    def curvature(self, z: float, y: float) -> float:
        return 1.0 / self.gamma if 0.0 <= 1.0 - y * z <= self.gamma else 0.0

    def conjugate(self, b: float, y: float) -> float:
        t = -y * b
        return 0.5 * self.gamma * t * t - t if 0.0 <= t <= 1.0 else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        t = alpha * y
        return max(0.0, min(1.0, t + (1.0 - y * z - self.gamma * t) / (q + self.gamma))) * y

    def domain(self, y: float) -> tuple[float, float]:
        return min(y, 0.0), max(y, 0.0)


@traits(labels="sign", smoothness=1.0)
class SquaredHinge(NamedTuple):
    """Squared hinge loss, 1/2 max(0, 1 - y z)^2 (half of scikit-learn's).

    With t = -y b: phi*(b) = t^2/2 - t for t >= 0; gamma = 1.

    Examples
    --------
    >>> SquaredHinge().value(-1.0, 1.0)
    2.0
    """

    def value(self, z: float, y: float) -> float:
        r = max(0.0, 1.0 - y * z)
        return 0.5 * r * r

    def derivative(self, z: float, y: float) -> float:
        return -y * max(0.0, 1.0 - y * z)

    def curvature(self, z: float, y: float) -> float:
        return 1.0 if y * z <= 1.0 else 0.0

    def conjugate(self, b: float, y: float) -> float:
        t = -y * b
        return 0.5 * t * t - t if t >= 0.0 else math.inf

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        t = alpha * y
        return max(0.0, t + (1.0 - y * z - t) / (q + 1.0)) * y

    def domain(self, y: float) -> tuple[float, float]:
        return (0.0, math.inf) if y > 0.0 else (-math.inf, 0.0)


class Smoothed(NamedTuple):
    """A Lipschitz loss made smooth by the paper's lemma: phi*(b) + gamma/2 b^2 is the conjugate of the smoothed loss.

    It lies below the loss by at most gamma L^2/2. Everything follows from the exact step of the loss: the quadratic that the lemma adds
    shifts z by gamma alpha and q by gamma, and the gradient at z is the step from alpha = 0 with q = gamma.

    Parameters
    ----------
    loss : NamedTuple
        A loss with `dual_step`.
    gamma : float
        The smoothness to give it.

    Examples
    --------
    >>> Smoothed(Hinge(), 1.0).value(0.0, 1.0) == SmoothHinge(1.0).value(0.0, 1.0)
    True
    """

    loss: Any
    gamma: float

    @property
    def labels(self) -> str:
        return str(self.loss.labels)

    @property
    def smoothness(self) -> float:
        return self.gamma

    def value(self, z: float, y: float) -> float:
        b = -formulas.dual_step(self.loss, 0.0, y, z, self.gamma)
        return float(b * z - formulas.conjugate(self.loss, b, y) - 0.5 * self.gamma * b * b)

    def derivative(self, z: float, y: float) -> float:
        return float(-formulas.dual_step(self.loss, 0.0, y, z, self.gamma))

    def curvature(self, z: float, y: float) -> float:
        h = 1e-3 * self.gamma
        low, high = formulas.dual_step(self.loss, 0.0, y, z - h, self.gamma), formulas.dual_step(self.loss, 0.0, y, z + h, self.gamma)
        return float((low - high) / (2.0 * h))

    def conjugate(self, b: float, y: float) -> float:
        return float(formulas.conjugate(self.loss, b, y) + 0.5 * self.gamma * b * b)

    def dual_step(self, alpha: float, y: float, z: float, q: float) -> float:
        return float(formulas.dual_step(self.loss, alpha, y, z + self.gamma * alpha, q + self.gamma))

    def domain(self, y: float) -> tuple[float, float]:
        bounds: tuple[float, float] = formulas.domain(self.loss, 0.0, y)
        return bounds


HELPERS = (odds_move, sigmoid_beyond)
