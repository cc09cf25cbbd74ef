"""The ledger of an accelerated proximal-point method: what its sloppy steps have proved so far.

Let w minimize R(w) + 1/2 |w - y|_M^2 - a'w for a = X'(s alpha)/S, M = kappa times a fixed metric. Then a - M (w - y) is a subgradient of R
at w and -a an eps-subgradient of the mean loss, whatever alpha is and however little work went into it, so that for every x

    P(x) >= c + (y - w)'M (x - w) + lambda/2 |x - w|^2,        c = P(w) - eps = R(w) - a'w - mean phi*(-alpha)

Phi is the least value of the sum of a_k times these bounds plus |x - w_0|^2/2, which z minimizes, and A is the sum of the a_k. If
A P(w) <= Phi + credit, then A (P(w) - P*) <= |w_0 - x*|^2/2 + credit: the accelerated rate is proved at that moment. With exact steps
Phi - A P(w) never falls; a step lowers it by at most A (eps - 1/2 |w - y|_M^2). All inner products are in the fixed metric.
"""

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.kernels import gap

Array = npt.NDArray[np.float64]
LARGEST, SMALLER = 1e8, 1e4
KEPT = ("w_0", "z", "reference", "start_value", "A", "Phi", "first", "steps", "longest")


class Ledger:
    """The estimate sequence of a segment between two restarts."""

    def __init__(self, lam: float, moving: npt.NDArray[np.intp], held: Array) -> None:
        """`held` is the metric of the coefficients that no penalty holds, which are the `moving` ones; that of all others is 1."""
        self.lam = lam
        self.moving, self.held = moving, held
        self.longest = 0
        self.steps = 0

    def inner(self, p: Array, q: Array, r: Array, s: Array) -> float:
        """(p - q)'M (r - s) with the metric M."""
        total = float(gap.differences(*(a.reshape(len(a), -1) for a in (p, q, r, s))))
        if self.moving.size:
            at = self.moving
            total += float(np.sum((self.held - 1.0) * ((p[at] - q[at]) * (r[at] - s[at])).T))
        return total

    def restart(self, w: Array, value: float, known: bool = True) -> None:
        """Begin a segment at w, whose objective is `value` (only a reference for the sums, if it is not `known`)."""
        self.longest = max(self.longest, self.steps)
        self.w_0 = w
        self.z = w
        self.reference = value
        self.start_value = value if known else -np.inf
        self.A = self.Phi = self.first = 0.0
        self.steps = 0

    def memory(self) -> dict[str, Any]:
        """What a segment goes by."""
        return {name: getattr(self, name) for name in KEPT}

    def recall(self, memory: dict[str, Array]) -> None:
        """Go on with a segment."""
        for name in KEPT:
            setattr(self, name, memory[name] if memory[name].ndim else float(memory[name]))

    def step_length(self, kappa: float) -> float:
        """a, the root of kappa a^2 = (1 + lambda A) (A + a)."""
        s = 1.0 + self.lam * self.A
        return (s + sqrt(s * s + 4.0 * kappa * s * self.A)) / (2.0 * kappa)

    def center(self, w: Array, a: float) -> Array:
        """y, between w and z."""
        y = self.A * w
        y += a * self.z
        y /= self.A + a
        return y

    def enter(self, a: float, kappa: float, c: float, y: Array, w: Array) -> None:
        """Add the bound of a step to the ledger."""
        s = 1.0 + self.lam * self.A
        z = s * self.z
        z += (a * (self.lam + kappa)) * w
        z -= (a * kappa) * y
        z /= s + a * self.lam
        bound = (c - self.reference) + kappa * self.inner(y, w, z, w) + 0.5 * self.lam * self.inner(z, w, z, w)
        self.Phi += 0.5 * s * self.inner(z, self.z, z, self.z) + a * bound
        self.A += a
        self.z = z
        self.first = self.first or a
        self.steps += 1
        if self.lam * self.A > LARGEST:
            less = SMALLER / (self.lam * self.A)
            self.A, self.Phi, self.first = less * self.A, less * self.Phi, less * self.first
            self.w_0 = z

    def deficit(self, value: float) -> float:
        """A P(w) - Phi for a w of this objective."""
        return self.A * (value - self.reference) - self.Phi

    def credit(self, best: float) -> float:
        """What may be missing without the rate being lost by more than a factor of two."""
        return 0.25 * self.inner(self.z, self.w_0, self.z, self.w_0) + max(self.start_value - best, 0.0) * self.first

    def forgive(self, amount: float) -> None:
        """Make up for what is missing, so that the momentum is kept."""
        self.Phi += amount
