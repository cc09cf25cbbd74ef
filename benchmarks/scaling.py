"""What a solve costs as data grow and regularization falls: `python -m benchmarks.scaling --plot docs/scaling.png > table`.

On samples of one sparse set, rows and columns chosen at random: the time of a pass of dual ascent, and of a certificate, against the number
of nonzeros; and the passes of the default solver to a certified relative gap, certificates included, against lambda, n and d, beside the
bound of the theory without constants, 1 + min(c, sqrt(c)) with c = R^2/(lambda gamma n), and its logarithms, max(1, log(c)^2). One thread;
times are of the processor, which a busy machine disturbs less than those of a clock, and each is the least of several.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

import dualgap as dg
from benchmarks.benchmark_utils import data
from benchmarks.peers import ONE
from dualgap import theory
from dualgap.certificate import dual_point, primal_point
from dualgap.data.validation import make_problem
from dualgap.null import null_weights
from dualgap.solvers.ascent import Ascent
from dualgap.solvers.prox_sdca import update_rule
from dualgap.solvers.run import Run

SIZES = (10_000, 30_000, 100_000, 300_000)
PARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
MIDDLE = 100_000
LAMBDAS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
LAMBDA = 1e-7
LOSSES = {"smooth hinge": dg.SmoothHinge(1.0), "logistic": dg.Logistic()}
ACCURACIES = (1e-3, 1e-6)
COLOURS = {"smooth hinge": "#0072b2", "logistic": "#d55e00"}
ROUNDS = 15


def sample(X: Any, y: Any, n: int, part: float) -> tuple[Any, Any]:
    """So many of the rows and such a part of the columns, rows of norm 1 again."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(X.shape[0])[:n])
    columns = np.sort(rng.permutation(X.shape[1])[: round(part * X.shape[1])])
    X = X[rows] if part == 1.0 else X[rows][:, columns]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ X), y[rows]


class Bench:
    """A pass and a certificate on a sample, to be timed in turns."""

    def __init__(self, X: Any, y: Any) -> None:
        problem = make_problem(X, y, dg.SmoothHinge(1.0), dg.ElasticNet(1e-5, LAMBDA), None, False)[0]
        self.problem, self.nonzeros = problem, X.nnz
        null = primal_point(problem, null_weights(problem))
        run = Run(problem, null, tol=1e-6, max_passes=math.inf, time_limit=None, callback=None, random_state=0)
        self.null = null.value
        self.ascent = Ascent(problem, np.zeros(problem.n), run)
        self.ascent.settle(np.zeros(problem.shape), 1.0 / problem.n)
        self.ascent.use(update_rule(None, problem.loss, self.ascent.largest_step))
        self.least = [math.inf, math.inf]

    def turn(self) -> None:
        """Time both once."""
        for k, work in enumerate((self.ascent.sweep, self.certificate)):
            start = time.process_time()
            work()
            self.least[k] = min(self.least[k], time.process_time() - start)

    def certificate(self) -> None:
        """Evaluate P and D, each from its variables alone."""
        dual_point(self.problem, self.ascent.alpha, primal_point(self.problem, self.ascent.weights()), self.null)


def times(X: Any, y: Any) -> list[dict[str, Any]]:
    """Milliseconds of a pass and of a certificate, the least of some rounds in which all samples take turns."""
    grid = [*((n, 1.0) for n in SIZES), *((MIDDLE, part) for part in PARTS[:-1])]
    benches = [Bench(*sample(X, y, n, part)) for n, part in grid]
    for _ in range(ROUNDS):
        for bench in benches:
            bench.turn()
    return [
        {
            "n": bench.problem.n,
            "d": bench.problem.d,
            "nonzeros": bench.nonzeros,
            "ms per pass": 1e3 * bench.least[0],
            "certificate / pass": bench.least[1] / bench.least[0],
        }
        for bench in benches
    ]


def passes(X: Any, y: Any) -> list[dict[str, Any]]:
    """Passes to each accuracy, and the bound, as lambda, n and d vary."""
    grid = [
        *(("lambda", MIDDLE, 1.0, lam) for lam in LAMBDAS),
        *(("n", n, 1.0, LAMBDA) for n in SIZES),
        *(("d", MIDDLE, part, LAMBDA) for part in PARTS),
    ]
    out, done = [], {}
    for varied, n, part, lam in grid:
        A, b = sample(X, y, n, part)
        for name, loss in LOSSES.items():
            key = (n, part, lam, name)
            if key not in done:
                done[key] = [_passes(A, b, loss, lam, accuracy) for accuracy in ACCURACIES]
            size: dict[str, Any] = {"n": n, "radius": 1.0, "lam": lam, "gamma": loss.smoothness}
            c = theory.condition(**size)
            bound, logarithms = 1.0 + min(c, math.sqrt(c)), theory.log_factor(**size, eps=1.0 / math.e, delta=1.0 / math.e)
            out.append(
                {"varied": varied, "loss": name, "n": n, "d": A.shape[1], "lambda": lam, "bound": bound, "logarithms": logarithms}
                | {f"passes to {accuracy:g}": value for accuracy, value in zip(ACCURACIES, done[key], strict=True)}
            )
            print(out[-1], file=sys.stderr, flush=True)
    return out


def _passes(X: Any, y: Any, loss: Any, lam: float, accuracy: float) -> float:
    s = dg.solve(X, y, loss=loss, penalty=dg.ElasticNet(1e-5, lam), tol=accuracy, max_passes=3000, **ONE)
    return s.passes if s.status is dg.Status.CERTIFIED else math.nan


def exponent(at: list[float], values: list[float]) -> float:
    """The slope of the line of least squares through the logarithms."""
    return float(np.polyfit(np.log(at), np.log(values), 1)[0])


class Cost(NamedTuple):
    """Nanoseconds of a row, a column and a nonzero in a pass, and the largest relative error of their sum."""

    row: float
    column: float
    nonzero: float
    error: float

    def milliseconds(self, row: dict[str, Any]) -> float:
        """What a pass should take."""
        return 1e-6 * (self.row * row["n"] + self.column * row["d"] + self.nonzero * row["nonzeros"])

    def __str__(self) -> str:
        return f"{self.row:.0f} ns per row, {self.column:.1f} per column, {self.nonzero:.2f} per nonzero"


def cost(timed: list[dict[str, Any]]) -> Cost:
    """The parts of the time of a pass, by least squares of relative errors."""
    work = np.array([[row["n"], row["d"], row["nonzeros"]] for row in timed], dtype=float)
    relative = work / np.array([[1e6 * row["ms per pass"]] for row in timed])
    parts, _ = nnls(relative, np.ones(len(timed)))
    return Cost(*map(float, parts), float(np.max(np.abs(relative @ parts - 1.0))))


def exponents(timed: list[dict[str, Any]], counted: list[dict[str, Any]]) -> list[str]:
    """Lines of Markdown: what a pass costs, and how passes grow."""
    parts = cost(timed)
    whole = timed[: len(SIZES)]
    slope = exponent([r["nonzeros"] for r in whole], [r["ms per pass"] for r in whole])
    lines = [
        f"A pass takes {parts}, within {100.0 * parts.error:.0f} % on all samples. With n varied, its time grows like the nonzeros to the "
        f"power {slope:.2f}.",
        "",
        "| passes | against | loss | exponent | of the bound | of the bound with logarithms |",
        "|---|---|---|---|---|---|",
    ]
    for varied in ("lambda", "n", "d"):
        for loss in LOSSES:
            rows = [row for row in counted if row["varied"] == varied and row["loss"] == loss]
            at = [row[varied] for row in rows]
            bound = exponent(at, [row["bound"] for row in rows])
            full = exponent(at, [row["bound"] * row["logarithms"] for row in rows])
            for accuracy in ACCURACIES:
                slope = exponent(at, [row[f"passes to {accuracy:g}"] for row in rows])
                lines.append(f"| to {accuracy:g} | {varied} | {loss} | {_rounded(slope)} | {_rounded(bound)} | {_rounded(full)} |")
    return lines


def _rounded(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"


def markdown(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as a table."""

    def shown(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.0e}" if value < 1e-3 else f"{value:.3g}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    return lines + ["| " + " | ".join(map(shown, row.values())) + " |" for row in rows]


def draw(timed: list[dict[str, Any]], counted: list[dict[str, Any]], name: str, path: Path) -> None:
    """Time of a pass against nonzeros, and passes against lambda, n and d with the bound through their middle."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure = Figure(figsize=(9.0, 7.4), layout="constrained")
    panels = figure.subplots(2, 2)
    axes = panels[0, 0]
    for label, rows, mark in (("n varied", timed[: len(SIZES)], "o"), ("d varied", timed[len(SIZES) :], "s")):
        axes.plot([r["nonzeros"] for r in rows], [r["ms per pass"] for r in rows], mark, label=label, color="#0072b2", mfc="none", mew=1.5)
    parts = cost(timed)
    for rows in (timed[: len(SIZES)], [*timed[len(SIZES) :], timed[SIZES.index(MIDDLE)]]):
        axes.plot([r["nonzeros"] for r in rows], [parts.milliseconds(r) for r in rows], color="#888888", lw=1)
    axes.plot([], [], color="#888888", lw=1, label=str(parts).replace(", ", "\n"))
    axes.set(xscale="log", yscale="log", xlabel="nonzeros", ylabel="milliseconds of a pass")
    for axes, varied in zip(panels.flat[1:], ("lambda", "n", "d"), strict=True):
        for loss in LOSSES:
            rows = [r for r in counted if r["varied"] == varied and r["loss"] == loss]
            at, bound = [r[varied] for r in rows], np.array([r["bound"] for r in rows])
            for accuracy, style in zip(ACCURACIES, ("--", "-"), strict=True):
                values = np.array([r[f"passes to {accuracy:g}"] for r in rows])
                axes.plot(at, values, style, marker="o", ms=4, color=COLOURS[loss], label=f"{loss}, to {accuracy:g}")
            middle = math.exp(np.nanmean(np.log(values / bound)))
            axes.plot(at, middle * bound, color=COLOURS[loss], lw=0.8, alpha=0.8, label="bounds, moved" if loss == "logistic" else None)
        axes.set(xscale="log", yscale="log", ylabel="passes", ylim=(1.0, 1000.0))
        axes.set_xlabel(
            {
                "lambda": "$\\lambda$ (n = 100,000)",
                "n": "n, rows ($\\lambda = 10^{-7}$)",
                "d": "d, columns (n = 100,000, $\\lambda = 10^{-7}$)",
            }[varied]
        )
        if varied == "lambda":
            axes.invert_xaxis()
        else:
            axes.xaxis.set_major_locator(FixedLocator(sorted({r[varied] for r in counted if r["varied"] == varied})))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.xaxis.set_minor_locator(NullLocator())
    for axes in panels.flat:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].legend(frameon=False, fontsize=9)
    panels[0, 1].legend(frameon=False, fontsize=9)
    figure.suptitle(f"{name}: cost of a pass, and passes of the default solver", fontsize=12)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Print the tables in Markdown, and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="arxiv_large", choices=data.BINARY, help="a sparse set (default: %(default)s)")
    parser.add_argument("--plot", type=Path, help="draw into a PNG or SVG file")
    options = parser.parse_args()
    X, y = data.two_classes(options.dataset)
    if not sp.issparse(X) or X.shape[0] < SIZES[-1]:
        parser.error(f"argument --dataset: must be sparse with {SIZES[-1]:,} rows or more, got {X.shape[0]:,} rows of {options.dataset}")
    timed, counted = times(X, y), passes(X, y)
    print("\n".join([*exponents(timed, counted), "", *markdown(timed), "", *markdown(counted)]))
    if options.plot:
        draw(timed, counted, options.dataset, options.plot)


if __name__ == "__main__":
    main()
