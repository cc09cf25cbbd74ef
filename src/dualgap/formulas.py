"""The names under which kernels call the formulas of losses, penalties and update rules.

Each function passes its call on to the method of the same meaning, so the formulas run as plain Python; `kernels.compile` gives numba
the same mapping, resolved and inlined at compile time. This module imports nothing, so that losses and penalties do not wait for numba.

Arguments, in the paper's letters: `z` score, `y` target, `b` argument of the conjugate (b = -alpha), `q` = s_i/S * |x_i|^2 in the metric of
the penalty, `j` index of a coefficient, `kappa` weight of the proximal term, `c` costs of a row of a vector-valued loss.
"""

from collections.abc import Callable
from typing import Any


def traits(**values: Any) -> Callable[[type], Any]:
    """Give a NamedTuple class constants beside its fields, as a decorator."""

    def give(cls: type) -> Any:
        for name, value in values.items():
            setattr(cls, name, value)
        return cls

    return give


def value(loss: Any, z: Any, y: Any) -> Any:
    """phi(z)."""
    return loss.value(z, y)


def derivative(loss: Any, z: Any, y: Any) -> Any:
    """phi'(z), or a subgradient."""
    return loss.derivative(z, y)


def conjugate(loss: Any, b: Any, y: Any) -> Any:
    """phi*(b)."""
    return loss.conjugate(b, y)


def dual_step(loss: Any, alpha: Any, y: Any, z: Any, q: Any) -> Any:
    """Option I: the new alpha, which maximizes -phi*(-new) - z (new - alpha) - q/2 (new - alpha)^2."""
    return loss.dual_step(alpha, y, z, q)


def domain(loss: Any, alpha: Any, y: Any) -> Any:
    """An interval of dual variables in which phi*(-alpha) is finite; if the loss does not say, the one between 0 and a feasible alpha."""
    return loss.domain(y) if hasattr(loss, "domain") else (min(alpha, 0.0), max(alpha, 0.0))


def curvature(loss: Any, z: Any, y: Any) -> Any:
    """phi''(z), or the slope between two points next to z where the loss does not know it."""
    if hasattr(loss, "curvature"):
        return loss.curvature(z, y)
    h = 1e-6 * (1.0 + abs(z))
    return (loss.derivative(z + h, y) - loss.derivative(z - h, y)) / (2.0 * h)


def smoothness(loss: Any) -> Any:
    """gamma: the loss is (1/gamma)-smooth."""
    return loss.smoothness


def vector_value(loss: Any, z: Any, y: Any, c: Any) -> Any:
    """phi(z) of a vector of scores."""
    return loss.value(z, y, c)


def vector_derivative(loss: Any, z: Any, y: Any, c: Any, out: Any) -> Any:
    """Write the gradient of phi at z."""
    loss.derivative(z, y, c, out)


def vector_conjugate(loss: Any, b: Any, y: Any, c: Any) -> Any:
    """phi*(b) of a vector."""
    return loss.conjugate(b, y, c)


def vector_dual_step(loss: Any, alpha: Any, y: Any, c: Any, z: Any, q: Any, out: Any) -> Any:
    """Option I for a vector: write the new alpha."""
    loss.dual_step(alpha, y, c, z, q, out)


def dual_norm2(loss: Any, q: Any, y: Any) -> Any:
    """Squared norm of a dual direction, in the norm in which a vector-valued loss is smooth."""
    return loss.dual_norm2(q, y)


def stretch(loss: Any, k: Any) -> Any:
    """sup |X_i|^2 / |x_i|^2 of a vector-valued loss with k classes."""
    return loss.stretch(k)


def step(rule: Any, loss: Any, alpha: Any, y: Any, z: Any, q: Any) -> Any:
    """The new value of a scalar dual variable by an update rule (Options I to V)."""
    return rule.step(loss, alpha, y, z, q)


def vector_step(rule: Any, loss: Any, alpha: Any, y: Any, c: Any, z: Any, q: Any, out: Any, work: Any) -> Any:
    """Write the new value of a vector-valued dual variable by an update rule; `work` holds 2k numbers."""
    rule.vector_step(loss, alpha, y, c, z, q, out, work)


def penalty_value(penalty: Any, w: Any, j: Any) -> Any:
    """R_j(w) of one coefficient."""
    return penalty.value(w, j) if penalty_is_indexed(penalty) else penalty.value(w)


def penalty_conjugate(penalty: Any, a: Any, j: Any) -> Any:
    """R_j*(a) of one coefficient."""
    return penalty.conjugate(a, j) if penalty_is_indexed(penalty) else penalty.conjugate(a)


def primal(penalty: Any, u: Any, kappa: Any, j: Any) -> Any:
    """The coefficient that minimizes R_j(w) + kappa/2 w^2 - u w."""
    return penalty.primal(u, kappa, j) if penalty_is_indexed(penalty) else penalty.primal(u, kappa)


def moved(penalty: Any, old: Any, new: Any, j: Any) -> Any:
    """Tell a penalty that couples coefficients that u_j went from old to new."""
    if penalty_is_coupled(penalty):
        penalty.moved(old, new, j)


def penalty_is_indexed(penalty: Any) -> bool:
    """Whether the formulas of the penalty depend on which coefficient they are for."""
    return getattr(penalty, "indexed", False)


def penalty_is_coupled(penalty: Any) -> bool:
    """Whether the penalty couples coefficients, so that it keeps a state beside u."""
    return getattr(penalty, "coupled", False)
