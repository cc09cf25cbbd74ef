"""The paths of one fold: every strength solved from the one before it, certified, and scored on the rows that are held out.

The solves of a strength (one for each target, or each class against the rest) go side by side down the path, so that no more than one point
of each is in memory. A class that a fold has no row of to fit to has no finite best intercept where there is one: it gets LOWEST, which
leaves it a probability of about exp(-700), and coefficients of 0.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dualgap.data.validation import check_penalty_object
from dualgap.estimators.base import falls_short
from dualgap.path import Walk
from dualgap.problem import Problem
from dualgap.rows import frozen
from dualgap.solution import Status
from dualgap.solve import Stated

Array = npt.NDArray[np.float64]
LOWEST = 700.0


class Point(NamedTuple):
    """A point of a path: its coefficients, and what is known of them."""

    w: Array
    intercept: Any
    alpha: Array
    gap: float
    relative_gap: float
    passes: float
    status: Status
    null: float = 1.0


class Points(Protocol):
    """What has a point for each strength."""

    def solutions(self, strengths: Array) -> Iterator[Any]: ...


class Stretch(NamedTuple):
    """What a fold has to say about the strengths that its path reached; `whole` says whether no class was missing."""

    scores: list[float]
    relative_gap: list[float]
    passes: list[float]
    status: list[Status]
    kept: list[list[Point]]
    whole: bool


class Budget:
    """Shares of what is left of a time limit, for jobs that run some at once."""

    def __init__(self, limit: float | None, jobs: int, at_once: int) -> None:
        self.ends = math.inf if limit is None else time.perf_counter() + limit
        self.jobs, self.at_once, self.lock = jobs, at_once, threading.Lock()

    def deadline(self) -> float:
        """When the next job is to be done."""
        with self.lock:
            now = time.perf_counter()
            share = (self.ends - now) * min(self.at_once / self.jobs, 1.0)
            self.jobs = max(self.jobs - 1, 1)
            return now + max(share, 0.0)


def fold_problem(problem: Problem, weight: Array, loss: Any, penalty: Any) -> Stated:
    """A problem with other weights and another penalty, which is that of the strength 1."""
    checked = check_penalty_object(penalty, problem.d, problem.outputs)
    return Stated(replace(problem, share=frozen(weight / math.fsum(weight)), penalty=checked), loss, penalty)


def fold_walks(
    problems: Sequence[Problem], objectives: Sequence[tuple[Any, Any]], weight: Array, options: dict[str, Any], deadline: float
) -> list[Points]:
    """The paths of the solves of a fold."""
    walks: list[Points] = []
    for problem, (loss, penalty) in zip(problems, objectives, strict=True):
        absent = _absent(problem, weight) if problem.intercept else np.empty(0, dtype=np.intp)
        if not absent.size:
            walks.append(Walk(fold_problem(problem, weight, loss, penalty), options, deadline))
        elif problem.outputs - absent.size > 1:
            walks.append(_FewerClasses(problem, absent, (weight, loss, penalty), options, deadline))
        else:
            walks.append(_OneClass(problem, absent))
    return walks


def _absent(problem: Problem, weight: Array) -> npt.NDArray[np.intp]:
    """The classes without a row to fit to, by number; for two labels 0 stands for -1 and 1 for +1."""
    if problem.outputs:
        return np.flatnonzero(np.bincount(problem.y, weight, minlength=problem.outputs) == 0.0)
    if getattr(problem.loss, "labels", "real") == "real":
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.bincount((problem.y > 0.0).astype(np.intp), weight, minlength=2) == 0.0)


class _FewerClasses:
    """A path without the classes that are absent."""

    def __init__(self, problem: Problem, absent: npt.NDArray[np.intp], stated: Any, options: dict[str, Any], deadline: float) -> None:
        weight, loss, penalty = stated
        self.k = problem.outputs
        self.present = np.setdiff1d(np.arange(self.k), absent)
        y = np.minimum(np.searchsorted(self.present, problem.y), len(self.present) - 1).astype(problem.y.dtype)
        costs = problem.loss.costs
        if costs.shape[0] == self.k:
            costs = costs[self.present]
        smaller = problem.loss._replace(costs=frozen(np.ascontiguousarray(costs[:, self.present])))
        fewer = replace(problem, y=frozen(y), loss=smaller, outputs=len(self.present))
        self.walk = Walk(fold_problem(fewer, weight, loss, penalty), options, deadline)

    def solutions(self, strengths: Array) -> Iterator[Point]:
        """The points, with the absent classes put in."""
        for s in self.walk.solutions(strengths):
            w, b = np.zeros((len(s.w), self.k)), np.full(self.k, np.min(s.intercept) - LOWEST)
            w[:, self.present], b[self.present] = s.w, s.intercept
            yield Point(w, b, np.empty((0, self.k)), s.gap, s.relative_gap, s.passes, s.status, s.null)


class _OneClass:
    """A path where there is one class alone to fit to: nothing but intercepts."""

    def __init__(self, problem: Problem, absent: npt.NDArray[np.intp]) -> None:
        k = problem.outputs
        self.w = np.zeros((problem.d, k) if k else problem.d)
        self.intercept: Any = -LOWEST if absent[0] == 1 else LOWEST
        if k:
            self.intercept = np.where(np.isin(np.arange(k), absent), -LOWEST, 0.0)

    def solutions(self, strengths: Array) -> Iterator[Point]:
        """The same point for each strength."""
        for _ in strengths:
            yield Point(self.w, self.intercept, np.empty((0, *self.w.shape[1:])), 0.0, 0.0, 0.0, Status.CERTIFIED)


def stretch(
    walks: Sequence[Points],
    strengths: Array,
    score: Callable[[Sequence[Any]], float],
    told: Callable[[Sequence[Any]], None],
    *,
    keep: bool,
    tol: float,
) -> Stretch:
    """Go down the paths of a fold together: the largest gap of the solves, and all their passes, stand for a strength."""
    found = Stretch([], [], [], [], [], not any(isinstance(walk, _FewerClasses | _OneClass) for walk in walks))
    for solutions in zip(*(walk.solutions(strengths) for walk in walks), strict=False):
        if any(s.status is Status.INTERRUPTED for s in solutions):
            raise KeyboardInterrupt
        short = [s for s in solutions if s.relative_gap > tol and falls_short(s, tol)]
        found.scores.append(score(solutions))
        found.relative_gap.append(max((s.relative_gap for s in short or solutions if s.relative_gap < math.inf), default=0.0))
        found.passes.append(sum(s.passes for s in solutions))
        found.status.append(short[0].status if short else Status.CERTIFIED)
        if keep:
            found.kept.append([Point(s.w, s.intercept, s.alpha[:0], s.gap, s.relative_gap, s.passes, s.status, s.null) for s in solutions])
        told(solutions)
    return found
