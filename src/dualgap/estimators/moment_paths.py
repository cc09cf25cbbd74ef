"""Least squares along the paths of all folds from the moments of their rows: X is read once, or twice where folds overlap."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.data.validation import check_penalty_object
from dualgap.estimators.fold_paths import Point, Points, fold_problem
from dualgap.estimators.folds import Fold
from dualgap.losses import Squared
from dualgap.moments import Moments, Sums, certify, fits, moments, sums
from dualgap.path import Walk
from dualgap.penalties import scaled
from dualgap.problem import Problem, is_ridge
from dualgap.solution import Status
from dualgap.solve import Stated
from dualgap.solvers.model import Model
from dualgap.working_columns import wanted

Array = npt.NDArray[np.float64]
# Moments are worth it for so many columns at most, and for as many columns per point of all paths.
MOST, PASSES = 2048, 50
ROUNDS, FINER, NEW = 12, 0.3, 32
# From so many strengths of a ridge on, one decomposition is less work than as many linear systems.
DECOMPOSED = 24


class FoldMoments:
    """The sums over the rows of each fold, made when they are asked for."""

    def __init__(self, problems: Sequence[Problem], fitted: Array | None, folds: Sequence[Fold]) -> None:
        first = problems[0]
        self.X, self.Y = first.X, np.column_stack([problem.y for problem in problems])
        self.intercept, self.d = first.intercept, first.d
        self.weight = np.ones(first.n) if fitted is None else fitted
        self.folds = list(folds)
        self.shift = np.zeros(self.d + self.Y.shape[1] + 1)
        if self.intercept:
            if isinstance(self.X, np.ndarray):
                self.shift[: self.d] = first.share @ self.X
            self.shift[self.d : -1] = first.share @ self.Y
        self._held_out = [self._sums(fold.held_out, fold.held_out_weight) for fold in self.folds]
        self._all: Sums | None = None

    def held_out(self, fold: int) -> Sums:
        """Over the rows held out, with the weights that count."""
        return self._held_out[fold]

    def fitted(self, fold: int) -> Sums:
        """Over the rows to fit to."""
        left_out = self.weight - self.folds[fold].weight
        if np.any(left_out < 0.0):
            there = np.flatnonzero(self.folds[fold].weight)
            return self._sums(there, self.folds[fold].weight[there])
        rows = np.flatnonzero(left_out)
        known = self.folds[fold]
        order = np.argsort(known.held_out)
        same = np.array_equal(known.held_out[order], rows) and np.array_equal(held_out_weight(known)[order], left_out[rows])
        return self.all - (self._held_out[fold] if same else self._sums(rows, left_out[rows]))

    @property
    def all(self) -> Sums:
        """Over all rows: what the folds hold out, if each row is held out once."""
        if self._all is None:
            times = np.bincount(np.concatenate([fold.held_out for fold in self.folds]), minlength=len(self.weight))
            if np.array_equal(times, self.weight > 0.0) and all(
                np.array_equal(held_out_weight(fold), self.weight[fold.held_out]) for fold in self.folds
            ):
                self._all = self._held_out[0]
                for found in self._held_out[1:]:
                    self._all = self._all + found
            else:
                self._all = self._sums(None, self.weight)
        return self._all

    def _sums(self, rows: npt.NDArray[np.intp] | None, weight: Array | None) -> Sums:
        return sums(self.X, self.Y, self.shift, weight, rows)


def held_out_weight(fold: Fold) -> Array:
    """The weights of the rows held out."""
    return np.ones(len(fold.held_out)) if fold.held_out_weight is None else fold.held_out_weight


def suits(problems: Sequence[Problem], penalties: Sequence[Any], points: int, folds: int) -> bool:
    """Whether all points of all paths can be had from moments, and are worth them."""
    d, n = problems[0].d, problems[0].n
    few = d <= min(MOST, PASSES * points) and folds * d * d <= 8 * n * max(d, MOST)
    return (
        few
        and all(isinstance(problem.loss, Squared) for problem in problems)
        and all(fits(check_penalty_object(penalty, d, 0)) for penalty in penalties)
    )


class MomentWalk:
    """The path of one target on one fold, with the interface of `dualgap.path.Walk`."""

    def __init__(self, stated: Stated, found: Moments, options: dict[str, Any], deadline: float) -> None:
        self.stated, self.problem, self.found, self.options, self.deadline = stated, stated.problem, found, options, deadline
        self.null = 0.5 * found.yy
        self.target = options["tol"] * self.null
        self.w = np.zeros(self.problem.d)
        self.slope = found.slope(self.w)

    def solutions(self, strengths: Array) -> Iterator[Any]:
        """The points, from the first strength to the last, or to the time limit."""
        before = strengths[0]
        ridge = is_ridge(self.problem.penalty) and len(strengths) >= DECOMPOSED
        values, vectors = np.linalg.eigh(self.found.xx) if ridge else (np.empty(0), np.empty((0, 0)))
        along = vectors.T @ self.found.xy if ridge else values
        for strength in map(float, strengths):
            if time.perf_counter() >= self.deadline:
                return
            point: Any = None
            if strength > 0.0:
                problem = replace(self.problem, penalty=check_penalty_object(scaled(self.stated.penalty, strength), self.problem.d, 0))
                if ridge:
                    self.w = vectors @ (along / (np.maximum(values, 0.0) + problem.penalty.l2))
                point = self._point(problem, strength / max(2.0 * strength - before, 0.1 * strength))
            if point is None:
                # what rounding may do to the moments is too much for the tolerance
                point = next(Walk(self.stated, self.options, self.deadline).solutions(np.array([strength])), None)
                if point is None:
                    return
            before = strength
            yield point
            if self.options["callback"] is not None and point.status in (Status.CALLBACK, Status.INTERRUPTED):
                return

    def _point(self, problem: Problem, margin: float) -> Point | None:
        """The solution from the last one on working columns, certified on all; None if no certificate comes within the tolerance."""
        ridge, enough = is_ridge(problem.penalty), FINER * self.target
        chosen = np.ones(problem.d, dtype=np.bool_) if ridge else self._wanted(problem, margin) | (self.w != 0.0)
        for _ in range(ROUNDS):
            proof = certify(problem, self.found, self.w)
            if proof.gap <= self.target:
                self.slope = proof.slope
                b, relative = self.found.intercept(self.w), proof.gap / self.null
                return Point(self.w.copy(), b, np.empty(0), proof.gap, relative, 0.0, Status.CERTIFIED, self.null)
            self.slope = proof.slope
            missing = self._wanted(problem, 1.0) & ~chosen
            if np.any(missing):
                chosen |= missing
            self._minimize(problem, np.flatnonzero(chosen), enough)
            enough *= 0.1
        return None

    def _wanted(self, problem: Problem, margin: float) -> npt.NDArray[np.bool_]:
        """The columns whose coefficient leaves 0 if the correlations grow by the margin, the first of them if these are many."""
        wants = wanted(problem, np.append(margin * self.slope, 0.0))
        most = max(NEW, int(np.count_nonzero(self.w)))
        if np.count_nonzero(wants) > most:
            wants[wants < np.partition(wants, -most)[-most]] = 0.0
        return np.asarray(wants > 0.0)

    def _minimize(self, problem: Problem, columns: npt.NDArray[np.intp], enough: float) -> None:
        """Move the coefficients of some columns to their minimizer."""
        k = len(columns)
        gram, slope, w = np.zeros((k + 1, k + 1)), np.zeros(k + 1), np.zeros(k + 1)
        gram[:k, :k] = self.found.xx if k == problem.d else self.found.xx[np.ix_(columns, columns)]
        slope[:k], w[:k] = -self.slope[columns], self.w[columns]
        self.w[columns] = Model(problem.penalty, columns, False, gram, slope, w).minimizer(enough=enough)[:k]


def moment_walks(
    found: FoldMoments,
    fold: int,
    problems: Sequence[Problem],
    objectives: Sequence[tuple[Any, Any]],
    options: dict[str, Any],
    deadline: float,
) -> list[Points]:
    """The paths of the targets on a fold."""
    fitted, weight = found.fitted(fold), found.folds[fold].weight
    walks: list[Points] = []
    for target, (problem, objective) in enumerate(zip(problems, objectives, strict=True)):
        of_target = moments(fitted, target, found.d, found.shift, found.intercept)
        walks.append(MomentWalk(fold_problem(problem, weight, *objective), of_target, options, deadline))
    return walks


def mean_squared_errors(found: FoldMoments, fold: int, solutions: Sequence[Any]) -> tuple[Array, Array]:
    """The mean squared errors of each target on the rows held out, and those of their mean."""
    held_out, shift, d = found.held_out(fold), found.shift, found.d
    errors, spreads = np.empty(len(solutions)), np.empty(len(solutions))
    for target, s in enumerate(solutions):
        u = np.zeros(len(shift))
        u[:d], u[d + target] = -s.w, 1.0
        u[-1] = shift[d + target] - shift[:d] @ s.w - s.intercept
        errors[target] = max(float(u @ (held_out.products @ u)), 0.0) / held_out.total
        mean = held_out.products[d + target, -1] / held_out.total
        spreads[target] = max(held_out.products[d + target, d + target] / held_out.total - mean * mean, 0.0)
    return errors, spreads


def score_by_moments(kind: str, found: FoldMoments, fold: int) -> Any:
    """The score of a kind, from the moments of the rows held out."""

    def score(solutions: Sequence[Any]) -> float:
        errors, spreads = mean_squared_errors(found, fold, solutions)
        if kind == "r2":
            flat = spreads <= 1e-12 * held_size
            return float(np.mean(np.where(flat, errors <= 1e-12 * held_size, 1.0 - errors / np.where(flat, 1.0, spreads))))
        return -float(np.mean(errors)) * (0.5 if kind == "loss" else 1.0)

    targets = slice(found.d, len(found.shift) - 1)
    held_size = np.diagonal(found.held_out(fold).products)[targets] / found.held_out(fold).total + found.shift[targets] ** 2
    return score
