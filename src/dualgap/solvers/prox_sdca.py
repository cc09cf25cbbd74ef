"""Prox-SDCA, the first procedure of the paper.

minimize over w    P(w) = 1/S sum_i s_i phi_i(x_i'w) + R(w)

v = X'(s alpha)/(lambda S), w = grad g*(v)
repeat: pick a row i; find its new alpha_i by one of Options I to V; update v and w
stop when P(w) - D(alpha) <= eps, for the last iterate, an average or a random one of the steps after T_0
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import theory
from dualgap.kernels.average import averaging_epoch, finish
from dualgap.kernels.rules import OptionI, OptionII, OptionIII, OptionIV, OptionV
from dualgap.problem import Problem
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.run import Run
from dualgap.solvers.surrogate import covered, ridge

Array = npt.NDArray[np.float64]
RULES: dict[str, Any] = {
    "I": lambda q_max: OptionI(),
    "II": lambda q_max: OptionII(),
    "III": lambda q_max: OptionIII(),
    "IV": OptionIV,
    "V": OptionV,
}


def update_rule(option: str | None, loss: Any, q_max: float) -> Any:
    """The rule of an option; without one, Option I where the loss has an exact step and Option III where it has none."""
    return RULES[option or ("I" if hasattr(loss, "dual_step") else "III")](q_max)


@dataclass(frozen=True)
class ProxSDCA:
    """Proximal stochastic dual coordinate ascent.

    Parameters
    ----------
    option : {"I", "II", "III", "IV", "V"}, optional
        How a dual variable is updated. By default the exact maximizer (I) where the loss has one, and III where it has not.
    sampling : {"permuted", "iid"}
        Whether a pass visits each row once in a random order, or draws rows independently as in the theorems.
    output : {"last", "average", "random", "best_of_random"}
        What is certified: the last iterate, the average of the steps after T_0, a random one of them, or the best of log2(2/delta) random
        ones, which Theorem 2 bounds with probability 1 - delta.
    window : int, optional
        The number of steps after T_0; by default the paper's n + R^2/(lambda gamma), in whole passes.
    delta : float
        The probability of failure that "best_of_random" allows.
    smoothing : bool, optional
        Whether a loss that is not smooth is smoothed as the paper does. By default only where the update or the output needs it.

    Examples
    --------
    >>> ProxSDCA(option="III", sampling="iid").option
    'III'
    """

    option: str | None = None
    sampling: str = "permuted"
    output: str = "last"
    window: int | None = None
    delta: float = 0.1
    smoothing: bool | None = None

    def __post_init__(self) -> None:
        allowed: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("option", (None, *RULES)),
            ("sampling", ("permuted", "iid")),
            ("output", ("last", "average", "random", "best_of_random")),
            ("smoothing", (None, True, False)),
        )
        for name, values in allowed:
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}, got {getattr(self, name)!r}")
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"delta must lie between 0 and 1, got {self.delta!r}")
        if self.window is not None and (not isinstance(self.window, int) or self.window < 1):
            raise ValueError(f"window must be a positive number of steps or None, got {self.window!r}")

    def requirement(self, problem: Problem) -> str:  # noqa: ARG002
        """What a problem must have that this one has not: it solves all."""
        return ""

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run the procedure from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The procedure from alpha, a pass at a time, or a window of passes."""
        ascent = self.begin(problem, run, alpha)
        window = self._window(ascent) if self.output != "last" else 0.0
        while run.going:
            if window:
                self._certify_window(ascent, run, window)
            else:
                ascent.sweep()
                ascent.follow()
                run.offer(ascent)
            yield

    def begin(self, problem: Problem, run: Run, alpha: Array) -> Ascent:
        """The state at alpha, on a problem with a smooth loss and a strongly convex penalty where that is needed."""
        exact = self.option in (None, "I") and hasattr(problem.loss, "dual_step")
        needed = self.smoothing if self.smoothing is not None else not (exact and self.output == "last")
        problem, added, _ = covered(problem, run) if needed else (problem, ridge(problem, run), 0.0)
        ascent = Ascent(problem, alpha, run, sampling=self.sampling, ridge=added)
        ascent.settle(np.zeros(problem.shape), 0.0)
        ascent.use(update_rule(self.option, problem.loss, ascent.largest_step))
        return ascent

    def _window(self, ascent: Ascent) -> float:
        """The passes of a window; the first windows hold the theorem's T_0 and count all the same."""
        n = ascent.problem.n
        return (self.window or n + self._steps_to_forget(ascent)) / n

    def _certify_window(self, ascent: Ascent, run: Run, window: float) -> None:
        """Certify a candidate of the next window of passes, or of those that are left."""
        passes = math.ceil(min(window, max(run.max_passes - run.passes, 1.0), 2.0**60 / ascent.problem.n))
        if self.output == "average":
            w, alpha = self._average(ascent, run, passes)
            run.certify(w, alpha)
        else:
            trials = theory.trials(self.delta) if self.output == "best_of_random" else 1
            self._certify_random(ascent, run, passes, trials)

    def _steps_to_forget(self, ascent: Ascent) -> float:
        modulus = ascent.problem.penalty.convexity + ascent.ridge
        return ascent.problem.radius2 / float(modulus * ascent.problem.loss.smoothness)

    def _average(self, ascent: Ascent, run: Run, passes: int) -> tuple[Array, Array]:
        """The averages of alpha and w over some passes."""
        problem, n = ascent.problem, ascent.problem.n
        sums = (np.zeros_like(ascent.alpha), np.zeros(n, np.int64), np.zeros(problem.shape), np.zeros(problem.d + 1, np.int64))
        dense = bool(getattr(problem.penalty, "coupled", False))
        steps = 0
        for _ in range(passes):
            for work in ascent.works(ascent.shuffle(), 1.0 / n, sums=sums[:2]):
                local = (*work.sums, *sums[2:])
                averaging_epoch(work.data, ascent.prox, work.alpha, ascent.u, work.order, ascent.scratch, steps, local, dense)
                steps += len(work.order)
            finish(ascent.prox, ascent.alpha, ascent.u, steps, sums)
            ascent.follow()
            if not run.going:
                break
        return sums[2] / steps, sums[0] / steps

    def _certify_random(self, ascent: Ascent, run: Run, passes: int, trials: int) -> None:
        """Certify the iterates after some random steps of the next passes."""
        n = ascent.problem.n
        chosen = np.sort(run.rng.integers(1, passes * n + 1, trials))
        for p in range(passes):
            order = ascent.shuffle().copy()
            done = 0
            for step in chosen[(chosen > p * n) & (chosen <= (p + 1) * n)] - p * n:
                ascent.sweep(order[done:step])
                done = step
                run.certify(ascent.weights(), ascent.alpha)
                if not run.going:
                    return
            ascent.sweep(order[done:])
            ascent.follow()
            if not run.going:
                run.certify(ascent.weights(), ascent.alpha)
                return
