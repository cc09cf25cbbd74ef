"""The update rules of Prox-SDCA, Options I to V of the paper, for scalar and vector-valued dual variables.

All but the first move alpha by s (u - alpha) toward u = -phi'(z), and differ in how they choose s in [0, 1]. Each takes the least s that
its analysis guarantees, gamma/(gamma + q), where rounding would make it less: the numerator of Option III cancels when u is close to alpha.
"""

import math
from typing import Any, NamedTuple

from dualgap import formulas

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class OptionI(NamedTuple):
    """The exact maximizer, which the loss knows."""

    def step(self, loss: Any, alpha: float, y: float, z: float, q: float) -> Any:
        return formulas.dual_step(loss, alpha, y, z, q)

    def vector_step(self, loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
        formulas.vector_dual_step(loss, alpha, y, c, z, q, out)


class OptionII(NamedTuple):
    """The best s, by golden-section search of the concave function of it."""

    def step(self, loss: Any, alpha: float, y: float, z: float, q: float) -> float:
        u = -formulas.derivative(loss, z, y)
        low, high = 0.0, 1.0
        a, b = 1.0 - GOLDEN, GOLDEN
        at_a = gain(loss, alpha, y, z, q, u, a)
        at_b = gain(loss, alpha, y, z, q, u, b)
        for _ in range(60):
            if at_a > at_b:
                high, b, at_b = b, a, at_a
                a = high - GOLDEN * (high - low)
                at_a = gain(loss, alpha, y, z, q, u, a)
            else:
                low, a, at_a = a, b, at_b
                b = low + GOLDEN * (high - low)
                at_b = gain(loss, alpha, y, z, q, u, b)
        s = 0.5 * (low + high)
        at_s = gain(loss, alpha, y, z, q, u, s)
        if gain(loss, alpha, y, z, q, u, 1.0) >= at_s:
            return float(u)
        return mixed(alpha, u, s) if at_s > gain(loss, alpha, y, z, q, u, 0.0) else alpha

    def vector_step(self, loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
        formulas.vector_derivative(loss, z, y, c, out)
        low, high = 0.0, 1.0
        a, b = 1.0 - GOLDEN, GOLDEN
        at_a = vector_gain(loss, alpha, y, c, z, q, out, a, work)
        at_b = vector_gain(loss, alpha, y, c, z, q, out, b, work)
        for _ in range(60):
            if at_a > at_b:
                high, b, at_b = b, a, at_a
                a = high - GOLDEN * (high - low)
                at_a = vector_gain(loss, alpha, y, c, z, q, out, a, work)
            else:
                low, a, at_a = a, b, at_b
                b = low + GOLDEN * (high - low)
                at_b = vector_gain(loss, alpha, y, c, z, q, out, b, work)
        s = 0.5 * (low + high)
        at_s = vector_gain(loss, alpha, y, c, z, q, out, s, work)
        if vector_gain(loss, alpha, y, c, z, q, out, 1.0, work) >= at_s:
            s = 1.0
        elif at_s <= vector_gain(loss, alpha, y, c, z, q, out, 0.0, work):
            s = 0.0
        toward(alpha, s, out)


class OptionIII(NamedTuple):
    """The s that maximizes the bound of the analysis for this row."""

    def step(self, loss: Any, alpha: float, y: float, z: float, q: float) -> float:
        return bounded_step(loss, alpha, y, z, q)

    def vector_step(self, loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
        vector_bounded_step(loss, alpha, y, c, z, q * formulas.stretch(loss, alpha.shape[0]), out, work)


class OptionIV(NamedTuple):
    """Option III with the norm of the longest row: `q_max` is the largest q of any row."""

    q_max: float

    def step(self, loss: Any, alpha: float, y: float, z: float, q: float) -> float:
        return bounded_step(loss, alpha, y, z, self.q_max)

    def vector_step(self, loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
        vector_bounded_step(loss, alpha, y, c, z, self.q_max * formulas.stretch(loss, alpha.shape[0]), out, work)


class OptionV(NamedTuple):
    """The constant s = gamma/(gamma + q_max), which is the paper's lambda n gamma/(R^2 + lambda n gamma)."""

    q_max: float

    def step(self, loss: Any, alpha: float, y: float, z: float, q: float) -> float:
        gamma = formulas.smoothness(loss)
        return mixed(alpha, -formulas.derivative(loss, z, y), gamma / (gamma + self.q_max))

    def vector_step(self, loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
        gamma = formulas.smoothness(loss)
        formulas.vector_derivative(loss, z, y, c, out)
        toward(alpha, gamma / (gamma + self.q_max * formulas.stretch(loss, alpha.shape[0])), out)


def mixed(alpha: float, u: float, s: float) -> float:
    """A fraction s of the way from alpha to u, and not beyond either by rounding: the conjugate may be infinite there."""
    return max(min(alpha, u), min(max(alpha, u), (1.0 - s) * alpha + s * u))


def gain(loss: Any, alpha: float, y: float, z: float, q: float, u: float, s: float) -> float:
    """The dual objective of a row, less a constant, a fraction s of the way from alpha to u."""
    r = s * (u - alpha)
    return float(-formulas.conjugate(loss, -mixed(alpha, u, s), y) - z * r - 0.5 * q * r * r)


def bounded_step(loss: Any, alpha: float, y: float, z: float, q: float) -> float:
    """Option III for a row with this q."""
    gamma = formulas.smoothness(loss)
    u = -formulas.derivative(loss, z, y)
    r2 = (u - alpha) * (u - alpha)
    if r2 == 0.0:
        return alpha
    bound = formulas.value(loss, z, y) + formulas.conjugate(loss, -alpha, y) + z * alpha + 0.5 * gamma * r2
    s = max(gamma / (gamma + q), min(1.0, bound / (r2 * (gamma + q))))
    return mixed(alpha, u, s)


def vector_gain(loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, gradient: Any, s: float, work: Any) -> float:
    """The dual objective of a row, less a constant, a fraction s of the way from alpha to u = -gradient."""
    linear, square = 0.0, 0.0
    for m in range(alpha.shape[0]):
        r = -s * (gradient[m] + alpha[m])
        linear += z[m] * r
        square += r * r
        work[m] = s * gradient[m] - (1.0 - s) * alpha[m]
    return float(-formulas.vector_conjugate(loss, work[: alpha.shape[0]], y, c) - linear - 0.5 * q * square)


def vector_bounded_step(loss: Any, alpha: Any, y: int, c: Any, z: Any, q: float, out: Any, work: Any) -> None:
    """Option III for a row with this q, the squared operator norm of its X_i included."""
    k = alpha.shape[0]
    gamma = formulas.smoothness(loss)
    formulas.vector_derivative(loss, z, y, c, out)
    bound = formulas.vector_value(loss, z, y, c)
    for m in range(k):
        bound += z[m] * alpha[m]
        work[m] = -alpha[m]
    bound += formulas.vector_conjugate(loss, work[:k], y, c)
    for m in range(k):
        work[m] = -out[m] - alpha[m]
    r2 = formulas.dual_norm2(loss, work[:k], y)
    s = 0.0
    if r2 > 0.0:
        s = max(gamma / (gamma + q), min(1.0, (bound + 0.5 * gamma * r2) / (r2 * (gamma + q))))
    toward(alpha, s, out)


def toward(alpha: Any, s: float, out: Any) -> None:
    """Turn the gradient in `out` into alpha + s (-gradient - alpha)."""
    for m in range(alpha.shape[0]):
        out[m] = (1.0 - s) * alpha[m] - s * out[m]


HELPERS = (mixed, gain, bounded_step, vector_gain, vector_bounded_step, toward)
