"""The table of run times of the paper's introduction, measured: passes against regularization, accuracy and number of rows.

A run time of that table over d n is a number of passes. With x = 1/(lambda eps) for the SVM, 1/lambda for ridge and 1/eps for the lasso,
where x has the factor (ybar/sigma)^2 that the table leaves out and the analysis gives, since which term of a sum counts depends on it:

    this paper    1 + min(x/n, sqrt(x/n))        AGD, FISTA    sqrt(x)        SDCA    1 + x/n

What is counted are the passes of updates until P(w) is within eps of a certified lower bound on its minimum. An exponent is the slope of
the least squares line through the logarithms, of what is measured and of the formula at the same points; runs that hit the limit of passes
are left out of both.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualgap as dg
from dualgap import theory
from dualgap.experiments.data import DataSet
from dualgap.experiments.figure import ACCELERATED, BATCH, OURS, PLAIN, STYLES, key, panels_with_foot
from dualgap.experiments.lab import Lab
from dualgap.experiments.record import Recorded
from dualgap.experiments.table import number

SOLVERS: dict[str, Any] = {
    ACCELERATED: dg.AcceleratedProxSDCA(inner="theory", sampling="iid"),
    PLAIN: dg.ProxSDCA(smoothing=True, sampling="iid"),
    BATCH: dg.FISTA(restart=False),
    OURS: dg.Auto(),
}
FORMULAS: dict[str, Callable[[float, float], float]] = {
    ACCELERATED: lambda n, x: 1.0 + min(x / n, math.sqrt(x / n)),
    PLAIN: lambda n, x: 1.0 + x / n,
    BATCH: lambda n, x: math.sqrt(x),
    OURS: lambda n, x: 1.0 + min(x / n, math.sqrt(x / n)),
}
EPS, L1_SHARE = 1e-3, 0.02
REFERENCE, REFERENCE_PASSES = 0.01, 1e4


class Task(NamedTuple):
    """A problem of the table: what is varied besides n, its values, the one at which n varies, and P(0)."""

    letter: str
    strengths: tuple[float, ...]
    fixed: float
    null: float


TASKS = {
    "SVM": Task("lambda", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), 1e-4, 1.0),
    "lasso": Task("eps", (1e-2, 1e-3, 1e-4, 1e-5), 1e-4, 0.5),
    "ridge": Task("lambda", (1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1e-6, 0.5),
}


def build(name: str, data: DataSet, strength: float) -> tuple[Any, Any, float, float]:
    """Loss, penalty, eps and x of a problem: hinge loss, or least squares on the labels."""
    if name == "SVM":
        return dg.Hinge(), dg.L2(strength), EPS, 1.0 / (strength * EPS)
    if name == "ridge":
        return dg.Squared(), dg.L2(strength), EPS, 1.0 / strength
    sigma = L1_SHARE * float(np.max(np.abs(data.X.T @ data.y))) / len(data.y)
    return dg.Squared(), dg.L1(sigma), strength, 1.0 / theory.lasso_lam(eps=strength, sigma=sigma, ybar=TASKS[name].null)


@dataclass(frozen=True)
class Settings:
    """What is run: rows of the samples, the number at which the strength varies, and the limit of passes."""

    sizes: tuple[int, ...] = (1000, 2000, 4000, 8000, 16000)
    size: int = 8000
    passes: float = 1000.0
    strengths: int = 5
    seed: int = 0

    def cells(self) -> list[tuple[str, str, int, float]]:
        """Problem, what varies, rows and strength of each point."""
        return [
            (name, varied, n, strength)
            for name, task in TASKS.items()
            for varied, sizes, strengths in (
                (task.letter, (self.size,), task.strengths[: self.strengths]),
                ("n", self.sizes, (task.fixed,)),
            )
            for n, strength in product(sizes, strengths)
        ]

    def count(self, data_sets: int) -> int:
        """How many runs there are."""
        return data_sets * len(self.cells()) * (len(SOLVERS) + 1)


class Point(NamedTuple):
    """Passes that a solver took, if it came to the goal within the limit, and those of the formula."""

    data: str
    problem: str
    varied: str
    solver: str
    n: int
    strength: float
    passes: float
    reached: bool
    formula: float

    @property
    def at(self) -> float:
        """The value of what is varied."""
        return self.n if self.varied == "n" else self.strength


def measure(data: Sequence[DataSet], settings: Settings, lab: Lab) -> list[Point]:
    """All points."""
    points = []
    for one, (name, varied, n, strength) in product(data, settings.cells()):
        task, sample = TASKS[name], one.sampled(n, settings.seed)
        loss, penalty, eps, x = build(name, sample, strength)
        problem = {"loss": loss, "penalty": penalty, "random_state": settings.seed}
        title, tol = f"{one.name} {n} rows  {name} {task.letter}={strength:.0e}", eps / task.null
        reference = lab.run(f"{title}  reference", sample, Recorded(dg.Auto(), REFERENCE_PASSES), tol=REFERENCE * tol, **problem)
        for solver_name, solver in SOLVERS.items():
            recorded = Recorded(solver, settings.passes, goal=reference["dual"] + eps)
            run = lab.run(f"{title}  {solver_name}", sample, recorded, tol=tol, **problem)
            reached, formula = run["status"] != "MAX_PASSES", FORMULAS[solver_name](n, x)
            points.append(Point(one.name, name, varied, solver_name, n, strength, max(run["passes"], 1.0), reached, formula))
    return points


def exponent(at: Iterable[float], values: Iterable[float]) -> float:
    """The slope of the line of least squares through the logarithms."""
    return float(np.polyfit(np.log(list(at)), np.log(list(values)), 1)[0])


def rows(points: Sequence[Point]) -> list[dict[str, Any]]:
    """A row for each line of the picture: the exponents, and how many of the points were reached."""
    out = []
    for (data, problem, varied, solver), line in lines(points).items():
        reached = [point for point in line if point.reached]
        fit = len(reached) >= 3
        at = [point.at for point in reached]
        out.append(
            {
                "data": data,
                "problem": problem,
                "against": varied,
                "solver": solver,
                "exponent, formula": round(exponent(at, [point.formula for point in reached]), 2) + 0.0 if fit else None,
                "exponent, measured": round(exponent(at, [point.passes for point in reached]), 2) + 0.0 if fit else None,
                "passes": _span(line, reached),
                "points": f"{len(reached)} of {len(line)}",
            }
        )
    return out


def _span(line: Sequence[Point], reached: Sequence[Point]) -> str:
    """The fewest and the most passes; more than the limit where a point was not reached."""
    least = f"{number(min(p.passes for p in reached))} to " if reached else ""
    return f"{least}{'more than ' if len(reached) < len(line) else ''}{number(max(p.passes for p in line))}"


def beside(table: Sequence[dict[str, Any]], titles: dict[str, str]) -> list[dict[str, Any]]:
    """The rows of a table with the data sets beside each other: the exponent measured, in brackets that of the formula, and the passes."""
    out: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in table:
        place = row["problem"], row["against"], row["solver"]
        measured, formula = row["exponent, measured"], row["exponent, formula"]
        fit = "-" if measured is None else f"{measured:.2f} ({formula:.2f})"
        out.setdefault(place, dict(zip(("problem", "against", "solver"), place, strict=True)))[titles[row["data"]]] = (
            f"{fit}, {row['passes']}"
        )
    return list(out.values())


def lines(points: Sequence[Point]) -> dict[tuple[str, str, str, str], list[Point]]:
    """Points by data set, problem, what varies, and solver."""
    out: dict[tuple[str, str, str, str], list[Point]] = {}
    for point in points:
        out.setdefault((point.data, point.problem, point.varied, point.solver), []).append(point)
    return out


def draw(points: Sequence[Point], data: DataSet, settings: Settings, files: Sequence[Path]) -> None:
    """Draw what was measured on a data set, and the formulas as thin lines through it."""
    from dualgap.report.plot import save

    figure, panels = panels_with_foot(2, len(TASKS), _note(data))
    for i, j in product(range(2), range(len(TASKS))):
        _axes(panels[i, j], list(TASKS)[j], by_size=i == 1, settings=settings)
    for (name, problem, varied, solver), line in lines(points).items():
        if name == data.name:
            _line(panels[int(varied == "n"), list(TASKS).index(problem)], line, solver)
    figure.suptitle(f"{data.label}: passes until P(w) is within $\\epsilon$ of its minimum", fontsize=12)
    key(figure, panels[0, 0])
    save(figure, files)


def _note(data: DataSet) -> str:
    stand_in = f"{data.name} is a STAND-IN ({data.stand_in}).\n" if data.stand_in else ""
    return stand_in + "Thin lines: the formulas, moved to the middle of what was measured. A triangle: not there at the limit of passes."


def _axes(axes: Any, problem: str, *, by_size: bool, settings: Settings) -> None:
    """A panel without its lines, harder problems to the right where regularization or accuracy varies."""
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    task = TASKS[problem]
    axes.set(xscale="log", yscale="log", ylim=(0.7, 2.0 * settings.passes))
    axes.xaxis.set_minor_locator(NullLocator())
    if by_size:
        axes.set_xlabel(f"n, rows ($\\{'epsilon' if problem == 'lasso' else 'lambda'} = 10^{{{round(math.log10(task.fixed))}}}$)")
        axes.xaxis.set_major_locator(FixedLocator(settings.sizes))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    else:
        axes.set_title(problem, fontsize=11)
        axes.set_xlabel(f"$\\{'epsilon' if problem == 'lasso' else 'lambda'}$ (n = {settings.size:,})")
        axes.invert_xaxis()
    if problem == next(iter(TASKS)):
        axes.set_ylabel("passes")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _line(axes: Any, line: Sequence[Point], solver: str) -> None:
    """A solver's passes, and the formula through their middle; triangles of several solvers stand above each other."""
    style = STYLES[solver]
    reached, missed = [p for p in line if p.reached], [p for p in line if not p.reached]
    axes.plot([p.at for p in reached], [p.passes for p in reached], marker="o", ms=4, label=solver, **style)
    height = 1.15 ** (1 + list(SOLVERS).index(solver))
    axes.plot([p.at for p in missed], [height * p.passes for p in missed], "^", ms=5, color=style["color"], fillstyle="none")
    if len(reached) >= 3 and solver != OURS:
        middle = np.mean([math.log(p.passes / p.formula) for p in reached])
        axes.plot([p.at for p in line], [p.formula * math.exp(middle) for p in line], lw=0.8, color=style["color"], alpha=0.8)
