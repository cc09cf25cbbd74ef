"""The primal objective after each pass, as the paper plots it: what is evaluated for the curve is not counted as a pass."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.certificate import primal_point
from dualgap.problem import Problem
from dualgap.solution import Record, Status
from dualgap.solvers.run import Iterate, Run

Array = npt.NDArray[np.float64]


@dataclass
class Recorded:
    """A solver that keeps P(w) of each iterate, against the passes that its updates took.

    A certificate counts as a pass everywhere else in this library, and the gap of an inner problem as half of one. The paper's axis counts
    updates alone, so evaluations are subtracted here, from the limit as well.

    Parameters
    ----------
    solver : solver object
        What minimizes.
    passes : float
        How many passes of updates it may take.
    goal : float
        An objective at which it may stop.
    returned : bool
        Whether to keep the objective of what would be returned, the iterate or a certified one that is better, instead of the iterate's.
    checked : bool
        Whether a certificate is computed after each pass, so that the solver ends at the first one that is enough.

    Attributes
    ----------
    steps : int
        The steps that a solver took which works in steps: inner problems of an acceleration, passes of Prox-SDCA.

    Examples
    --------
    >>> import dualgap as dg
    >>> solver = Recorded(dg.ProxSDCA(), passes=3)
    >>> s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(1e-3), solver=solver, tol=1e-12)
    >>> [passes for passes, _ in solver.curve], s.status.name
    ([0.0, 1.0, 2.0, 3.0], 'MAX_PASSES')
    """

    solver: Any
    passes: float
    goal: float = -math.inf
    returned: bool = False
    checked: bool = False
    steps: int = field(default=0, repr=False)
    curve: list[tuple[float, float]] = field(default_factory=list, repr=False)

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        return str(self.solver.requirement(problem))

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run the solver under observation."""

        def note(value: float) -> None:
            updates = run.passes - run.evaluations
            self.curve.append((updates, value))
            if run.going and value <= self.goal:
                run.status = Status.CALLBACK
            elif run.going and updates >= self.passes:
                run.status = Status.MAX_PASSES

        def watch(iterate: Iterate) -> None:
            if self.checked:
                run.next_check = run.passes
            value = primal_point(problem, iterate.weights()).value
            note(min(value, run.best.value) if self.returned else value)

        def certified(record: Record) -> Any:
            if run.passes - run.evaluations > self.curve[-1][0]:  # by a solver that does not show its iterates
                note(record.primal)
            return callback(record) if callback is not None else None

        self.curve.append((0.0, run.best.value))
        callback, run.callback, run.watcher = run.callback, certified, watch
        if hasattr(self.solver, "steps"):
            for _ in self.solver.steps(problem, run, alpha):
                self.steps += 1
        else:
            self.solver.minimize(problem, run, alpha)
