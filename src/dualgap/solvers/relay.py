"""One solver until another is expected to be there sooner.

A first-order method comes near the solution in a few passes and slows down where the problem is ill-conditioned; Newton's method takes
about the same number of costly steps whatever the conditioning, but its first ones, far from the solution, prove little. At each
certificate the rate of the last two says how many passes are left; where the second solver's price is lower, it takes over from the best
point.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.problem import Problem
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
STALLED = 10.0


@dataclass(frozen=True)
class Relay:
    """Two solvers, the second of which takes over where it is expected to end sooner.

    Parameters
    ----------
    first, then : solver objects
        Both work in steps; `then.price(problem)` says how many passes its solution costs.

    Examples
    --------
    >>> import dualgap as dg
    >>> type(dg.Relay(dg.AdaptiveProxSDCA(), dg.GramNewton()).then).__name__
    'GramNewton'
    """

    first: Any
    then: Any

    def __post_init__(self) -> None:
        for name, method in (("first", "steps"), ("then", "price")):
            if not hasattr(getattr(self, name), method):
                raise TypeError(f"{name} must be a solver object with the method {method}, got {getattr(self, name)!r}")

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        return str(self.first.requirement(problem) or self.then.requirement(problem))

    def plan(self) -> str:
        """What will happen, for the notes of a solution."""
        first = f"{self.first.plan()} " if hasattr(self.first, "plan") else f"{type(self.first).__name__} begins. "
        return f"{first}{type(self.then).__name__} takes over where it is expected to end sooner."

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The steps of the first, then those of the second."""
        price, seen = self.then.price(problem), len(run.history)
        for _ in self.first.steps(problem, run, alpha):
            if len(run.history) > seen:
                seen = len(run.history)
                if run.going and passes_left(run) > price:
                    break
            yield
        if run.going:
            run.note(f"{type(self.then).__name__} took over.")
            yield from self.then.steps(problem, run, alpha)


def passes_left(run: Run) -> float:
    """How many passes the last two certificates predict; where the gap has not fallen, some times as many as there were."""
    before, last = run.history[-2:]
    if not last.gap < before.gap:
        return STALLED * run.passes
    rate = math.log(before.gap / last.gap) / (last.passes - before.passes)
    return math.log(max(last.gap / run.target, 1.0)) / rate
