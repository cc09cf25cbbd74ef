"""A race between two solvers, so that a fast one without a theorem can be trusted like a slower one that has it.

    repeat: the leader takes a turn of B passes, and its rate is log2(gap before / gap after) per pass
            if that is less than 1/5, and less than twice the other's rate as far as that is known:
                the other takes a turn of B passes too, whoever had the better rate leads, and B doubles

Each starts from the best points of both when it takes over, so only one of them needs memory at a time, and the certificate of the run is
that of these points. So whatever the leader does, either the gap halves every five passes, which can go on for 5 log2(gap/tol) passes
whatever the conditioning, or the other gets as many passes as the leader, or it is known to be less than half as fast: its theorem
promises a linear rate from any start, so what a turn showed is what the next would. No theorem promises that without a smooth loss and a
strongly convex penalty, so a leader that slows down is compared again now and then.
The whole takes at most twice the passes of the better one, and those of the first turn.
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
WELL, LATE, SLOWER = 0.2, 0.75, 0.2


@dataclass(frozen=True)
class Race:
    """Two solvers in turns.

    Parameters
    ----------
    fast, safe : solver objects
        The one that leads at first, and the one that is tried when it does not go well.
    first : float
        Passes of the first turn.

    Examples
    --------
    >>> import dualgap as dg
    >>> dg.Race(dg.AdaptiveProxSDCA(), dg.AcceleratedProxSDCA()).first
    32.0
    """

    fast: Any
    safe: Any
    first: float = 32.0

    def __post_init__(self) -> None:
        for name in ("fast", "safe"):
            if not hasattr(getattr(self, name), "steps"):
                raise TypeError(f"{name} must be a solver object that works in steps, got {getattr(self, name)!r}")
        if not self.first > 0.0:
            raise ValueError(f"first must be a positive number of passes, got {self.first!r}")

    def requirement(self, problem: Problem) -> str:
        """What a problem must have that this one has not."""
        return str(self.fast.requirement(problem) or self.safe.requirement(problem))

    def plan(self) -> str:
        """What will happen, for the notes of a solution."""
        return (
            f"{called(self.fast)} races {called(self.safe)}: they work in turns, and the one that lowers the certified gap faster leads: "
            "the first is as a rule faster, and the second has a theorem."
        )

    def minimize(self, problem: Problem, run: Run, alpha: Array) -> None:
        """Run from alpha until the run ends."""
        run.exhaust(self.steps(problem, run, alpha))

    def steps(self, problem: Problem, run: Run, alpha: Array) -> Iterator[None]:
        """The race from alpha, a step of one of the two at a time."""
        leader, other = _Runner(self.fast, problem, run, alpha), _Runner(self.safe, problem, run, alpha)
        passes, compared, won, trial = self.first, 0.0, math.nan, False
        memory = run.remember(
            "Race",
            lambda: {
                **{"swapped": leader.solver is self.safe, "trial": trial, "turns": [passes, compared, won]},
                **{"leader": leader.memory(), "other": other.memory()},
            },
        )
        if memory:
            leader, other = (other, leader) if memory["swapped"] else (leader, other)
            trial, (passes, compared, won) = bool(memory["trial"]), map(float, memory["turns"])
            leader.recall(memory["leader"])
            other.recall(memory["other"])
        while run.going:
            if not trial:
                yield from leader.turn(passes)
                slower = leader.rate < SLOWER * won and run.passes > 2.0 * compared
                trial = leader.rate < WELL and (slower or not leader.rate > 2.0 * other.rate) and run.going
                if trial:
                    leader.leave()
            if trial:
                yield from other.turn(passes)
                trial = False
                if other.rate > leader.rate:
                    leader, other = other, leader
                    run.note(f"{type(leader.solver).__name__} took the lead.")
                else:
                    other.leave()
                passes, compared, won = 2.0 * passes, run.passes, leader.rate


def called(solver: Any) -> str:
    """The name of a solver; that of a race names both."""
    return f"the race of {called(solver.fast)} and {called(solver.safe)}" if isinstance(solver, Race) else type(solver).__name__


class _Runner:
    """One of the two, with the rate of its last turn: not a number before the first. Both work on the same dual variables."""

    def __init__(self, solver: Any, problem: Problem, run: Run, alpha: Array) -> None:
        self.solver, self.problem, self.run, self.alpha = solver, problem, run, alpha
        self.moves: Iterator[None] | None = None
        self.remembered: frozenset[str] = frozenset()
        self.rate = self.begun = self.gap = math.nan

    def memory(self) -> list[float]:
        """The rate of the last turn, and where the present one began, if it did."""
        return [self.rate, self.begun, self.gap]

    def recall(self, memory: Array) -> None:
        """Go on with that."""
        self.rate, self.begun, self.gap = map(float, memory)

    def leave(self) -> None:
        """Make way for the other, which goes on from the best dual point; what is left behind takes no memory."""
        self.moves = None
        self.run.forget(self.remembered)
        self.run.dual_start(self.alpha)

    def turn(self, passes: float) -> Iterator[None]:
        """Work for some passes, and on to a certificate if the last one is not of their last quarter: an older one misses too much."""
        run = self.run
        if math.isnan(self.begun):
            self.begun, self.gap = run.passes, run.gap
        if self.moves is None:
            self.remembered = frozenset(run.memories)
            self.moves = self.solver.steps(self.problem, run, self.alpha)
        while run.going and (run.passes < self.begun + passes or run.history[-1].passes < self.begun + LATE * passes):
            if next(self.moves, self) is self:
                break
            yield
        self.rate = math.log2(max(self.gap, 1e-300) / max(run.gap, 1e-300)) / max(run.history[-1].passes - self.begun, 1.0)
        self.begun = math.nan
