"""The figure of the paper: the primal objective against passes, for three data sets and four strengths of regularization.

Three lines are the paper's, as printed: Accelerated-Prox-SDCA with the parameters and the stopping conditions of the theory, Prox-SDCA that
stops at its gap, looked at after each pass, both drawing rows at random with replacement, and FISTA without restart, which does not stop.
The fourth is our default.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import dualgap as dg
from dualgap import theory
from dualgap.experiments.data import DataSet
from dualgap.experiments.lab import Lab, Run
from dualgap.experiments.record import Recorded
from dualgap.experiments.table import number

LAMBDAS = (1e-6, 1e-7, 1e-8, 1e-9)
SIGMA, GAMMA, EPS = 1e-5, 1.0, 1e-3
NULL = 1.0 - 0.5 * GAMMA
REFERENCE_PASSES, NEVER = 3000.0, 1e-12

ACCELERATED, PLAIN, BATCH, OURS = "Accelerated-Prox-SDCA", "Prox-SDCA", "FISTA", "dualgap (auto)"
STYLES: dict[str, dict[str, Any]] = {
    ACCELERATED: {"color": "#0072b2", "ls": "-", "lw": 1.8},
    PLAIN: {"color": "#d55e00", "ls": "--", "lw": 1.8},
    BATCH: {"color": "#009e73", "ls": "-.", "lw": 1.8},
    OURS: {"color": "#000000", "ls": ":", "lw": 2.2},
}


@dataclass(frozen=True)
class Settings:
    """What is run: the paper's setting, or parts of it."""

    lambdas: tuple[float, ...] = LAMBDAS
    passes: float = 100.0
    inner: int | str = "theory"
    sampling: str = "iid"
    seed: int = 0
    reference: float = 1e-8

    def lines(self) -> dict[str, tuple[Any, float, float]]:
        """The solvers by the names of their lines, each with its tolerance and its limit of passes; "reference" is not drawn."""
        tol = EPS / NULL
        return {
            ACCELERATED: (dg.AcceleratedProxSDCA(inner=self.inner, stop="paper", sampling=self.sampling), tol, self.passes),
            PLAIN: (dg.ProxSDCA(sampling=self.sampling), tol, self.passes),
            BATCH: (dg.FISTA(restart=False), NEVER, self.passes),
            OURS: (dg.Auto(), tol, self.passes),
            "reference": (dg.Auto(), self.reference, REFERENCE_PASSES),
        }

    def count(self, data_sets: int) -> int:
        """How many runs there are, the references included."""
        return data_sets * len(self.lambdas) * (len(STYLES) + 1)


Cells = dict[tuple[str, float], dict[str, Run]]


def measure(data: Sequence[DataSet], settings: Settings, lab: Lab) -> Cells:
    """All runs of the figure."""
    cells: Cells = {}
    for one, lam in product(data, settings.lambdas):
        problem: dict[str, Any] = {"loss": dg.SmoothHinge(GAMMA), "penalty": dg.ElasticNet(l1=SIGMA, l2=lam), "random_state": settings.seed}
        cells[one.name, lam] = {}
        for name, (solver, tol, passes) in settings.lines().items():
            recorded = Recorded(solver, passes, returned=name == OURS, checked=name == PLAIN)
            cells[one.name, lam][name] = lab.run(f"{one.name}  lambda={lam:.0e}  {name}", one, recorded, tol=tol, **problem)
    return cells


def passes_to(run: Run, goal: float) -> float | None:
    """The first pass with an objective at or below the goal."""
    return next((passes for passes, value in run["curve"] if value <= goal), None)


def rows(cells: Cells) -> list[dict[str, Any]]:
    """A row for each line: how it ended, how far from the minimum, and when its objective was within eps of it."""
    out = []
    for (name, lam), lines in cells.items():
        floor = lines["reference"]["dual"]
        for solver in STYLES:
            run = lines[solver]
            out.append(
                {
                    "data": name,
                    "lambda": lam,
                    "solver": solver,
                    "stopped": run["status"] == "CERTIFIED",
                    "passes": run["passes"],
                    "passes to P - min <= 1e-3": passes_to(run, floor + EPS),
                    "P - min at the end": run["curve"][-1][1] - floor,
                    "certified gap": run["gap"],
                    "notes": "; ".join(run["notes"]),
                }
            )
    return out


def beside(table: Sequence[dict[str, Any]], passes: float) -> list[dict[str, Any]]:
    """The rows of a table with the solvers beside each other: passes until P(w) was within eps of its minimum, and until they stopped."""
    out: dict[tuple[str, float], dict[str, Any]] = {}
    for row in table:
        there = row["passes to P - min <= 1e-3"]
        reached = f"more than {number(passes)}" if there is None else number(there)
        stopped = f", stops at {number(row['passes'])}" if row["stopped"] else ""
        out.setdefault((row["data"], row["lambda"]), {"data": row["data"], "lambda": row["lambda"]})[row["solver"]] = reached + stopped
    return list(out.values())


def bound_rows(cells: Cells, data: Sequence[DataSet]) -> list[dict[str, Any]]:
    """The theorems beside what happened: passes of Prox-SDCA until it stopped, and the inner problems of the acceleration."""
    rows_of = {one.name: one.X.shape[0] for one in data}
    out: list[dict[str, Any]] = []
    for (name, lam), lines in cells.items():
        n, plain, fast = rows_of[name], lines[PLAIN], lines[ACCELERATED]
        size: dict[str, Any] = {"n": n, "radius": 1.0, "lam": lam, "gamma": GAMMA}
        goal: dict[str, Any] = {"gap0": NULL, "eps": EPS}
        row: dict[str, Any] = {"data": name, "lambda": lam, "R^2/(lambda gamma n)": theory.condition(**size)}
        row |= {"Prox-SDCA, passes": _count(plain, "passes"), "Theorem 1": theory.sdca_iterations(**size, **goal) / n}
        accelerated = theory.accelerate(**size)
        row |= {
            "accelerated, inner problems": _count(fast, "steps") if accelerated else None,
            "Theorem 3": theory.outer_iterations_bound(**size, **goal) - 1 if accelerated else None,
            "passes of each": fast["passes"] / fast["steps"] if accelerated else None,
            "its proof": theory.inner_iterations(**size) / n if accelerated else None,
        }
        out.append(row)
    return out


def _count(run: Run, what: str) -> str:
    """A count, of which more would have been needed where the run was stopped at the limit."""
    return f"{'' if run['status'] == 'CERTIFIED' else 'more than '}{run[what]:g}"


def curves(cells: Cells) -> list[dict[str, Any]]:
    """A row for each point of the figure."""
    return [
        {"data": name, "lambda": lam, "solver": solver, "pass": passes, "primal": value}
        for (name, lam), lines in cells.items()
        for solver in STYLES
        for passes, value in lines[solver]["curve"]
    ]


def draw(cells: Cells, data: Sequence[DataSet], settings: Settings, files: Sequence[Path], *, log: bool = False) -> None:
    """Draw the figure, or how far each objective is from the minimum, on a log scale."""
    from dualgap.report.plot import save

    figure, panels = panels_with_foot(len(settings.lambdas), len(data), caption(data, settings.reference if log else 0.0))
    for (i, lam), (j, one) in product(enumerate(settings.lambdas), enumerate(data)):
        axes, lines = panels[i, j], cells[one.name, lam]
        _panel(axes, lines, settings.passes, log=log)
        if i == 0:
            axes.set_title(one.title, fontsize=11, color="#a00000" if one.stand_in else "black")
        if j == 0:
            axes.set_ylabel(f"$\\lambda = 10^{{{round(np.log10(lam))}}}$", fontsize=12)
        if i == len(settings.lambdas) - 1:
            axes.set_xlabel("passes over the data")
    what = "Primal objective less its minimum" if log else "Primal objective"
    figure.suptitle(f"{what}: smooth hinge ($\\gamma=1$), $\\sigma=10^{{-5}}$, $\\epsilon=10^{{-3}}$", fontsize=12)
    key(figure, panels[0, 0])
    save(figure, files)


FOOT, NARROWEST = 1.0, 8.0


def panels_with_foot(rows: int, columns: int, caption: str) -> tuple[Any, Any]:
    """A figure of panels, with a caption below them and room for a key between."""
    from dualgap.report.plot import new_figure

    height = 2.3 * rows + 0.8 + FOOT
    figure = new_figure(figsize=(max(3.4 * columns + 0.6, NARROWEST), height))
    figure.get_layout_engine().set(rect=(0.0, FOOT / height, 1.0, 1.0 - FOOT / height))
    figure.text(0.5, 0.1 / height, caption, ha="center", va="bottom", fontsize=8, color="#444444")
    return figure, figure.subplots(rows, columns, squeeze=False)


def key(figure: Any, axes: Any) -> None:
    """The key to the lines of a panel, below all of them."""
    handles, labels = axes.get_legend_handles_labels()
    place = (0.5, 0.6 / figure.get_figheight())
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=place, ncols=len(labels), frameon=False, fontsize=10)


def _panel(axes: Any, lines: dict[str, Run], passes: float, *, log: bool) -> None:
    floor = lines["reference"]["dual"]
    shift, least = (floor, lines["reference"]["gap"]) if log else (0.0, -np.inf)
    for name, style in STYLES.items():
        run = lines[name]
        curve = np.array(run["curve"])
        values = np.maximum(curve[:, 1] - shift, least)
        axes.plot(curve[:, 0], values, label=name, **style)
        if run["status"] == "CERTIFIED":
            axes.plot(curve[-1, 0], values[-1], "o", ms=5, color=style["color"], zorder=5)
    axes.set_xlim(0.0, passes)
    if log:
        axes.set_yscale("log")
        axes.axhline(EPS, color="#888888", lw=0.8)
    else:
        axes.set_ylim(floor - 0.04 * (NULL - floor), NULL + 0.02 * (NULL - floor))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def caption(data: Sequence[DataSet], floor: float = 0.0) -> str:
    """What a reader of the picture must know: stand-ins, samples, what a dot is, how passes are counted."""
    stand_ins = [f"{one.name} is a STAND-IN ({one.stand_in})" for one in data if one.stand_in]
    parts = [". ".join(stand_ins) + "."] if stand_ins else []
    parts.append("A dot: the method's own stopping condition was met. Updates count as passes, evaluations of the objective do not.")
    parts.append(f"{OURS} shows what it would return if it were stopped, the others their iterate.")
    if floor:
        parts[-1] += f" The minimum is known to a relative gap of {floor:.0e}; what is closer is drawn there."
    return "\n".join(parts)
