"""`auto` against what it builds on, over several hundred problems: `python -m benchmarks.stress --jobs 2 --output stress.jsonl`.

Real data (rows as they are and of unit length) and synthetic data (scaled and unscaled columns, n < d and n > d), three smooth losses and
the hinge, R^2/(lambda gamma n) from 1e-3 to 1e6. Each solver has the same limit of passes and seconds; what counts are passes to a
certified relative gap, evaluations included. The table says how often a solver failed, and its passes over those of the better of the
paper's two.
"""

import argparse
import json
import math
import os
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
import scipy.sparse as sp

import dualgap as dg
from benchmarks.benchmark_utils import data

CONDITIONS = [1e-3, 1e-1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]
LOSSES = {"smooth hinge l1+l2": dg.SmoothHinge(1.0), "logistic": dg.Logistic(), "squared": dg.Squared(), "hinge": dg.Hinge()}
SOLVERS = ("prox_sdca", "accelerated", "adaptive", "auto")
ACCURACIES = (1e-3, 1e-6)
MOST_ROWS = 20000
SYNTHETIC = ["tall", "wide", "square", "unscaled tall", "unscaled wide", "heavy rows", "correlated", "sparse"]


def synthetic(name: str, seed: int = 0) -> tuple[Any, Any]:
    """Made-up data of an awkward kind."""
    rng = np.random.default_rng([seed, SYNTHETIC.index(name)])
    n, d = {"wide": (150, 1500), "unscaled wide": (100, 800), "square": (400, 400)}.get(name, (4000, 40))
    X = rng.standard_normal((n, d))
    if name.startswith("unscaled"):
        X *= 10.0 ** rng.uniform(-2.0, 2.0, d)
    if name == "heavy rows":
        X *= rng.lognormal(0.0, 1.5, (n, 1))
    if name == "correlated":
        X = 0.1 * X + rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))
    if name == "sparse":
        X = sp.random(n, 5 * d, density=0.02, random_state=rng, format="csr")
    w = rng.standard_normal(X.shape[1])
    z = X @ w
    return X, np.where(z + 0.3 * z.std() * rng.standard_normal(n) > 0.0, 1.0, -1.0)


def load(name: str, unit: bool) -> tuple[Any, Any]:
    """A data set of labels, of at most MOST_ROWS rows."""
    X, y = synthetic(name) if name in SYNTHETIC else data.regression(name)
    if X.shape[0] > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:MOST_ROWS])
        X, y = X[rows], y[rows]
    if unit:
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X))
        scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
        X = sp.csr_matrix(sp.diags(scale) @ X) if sp.issparse(X) else X * scale[:, None]
    return X, np.where(y > np.median(y), 1.0, -1.0) if name in data.REGRESSION else y


def problems(names: list[str]) -> Iterator[tuple[str, bool, str, float]]:
    """Data set, whether rows have unit length, loss and condition."""
    for name in names:
        for unit in (False, True):
            for loss in LOSSES:
                for condition in CONDITIONS:
                    yield name, unit, loss, condition


def run(task: tuple[str, bool, str, float, float, float]) -> dict[str, Any]:
    """All solvers on a problem: passes to each accuracy, infinite if it was not reached, and whether the certificates are consistent."""
    name, unit, loss_name, condition, max_passes, time_limit = task
    X, y = load(name, unit)
    loss = LOSSES[loss_name]
    norms2 = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lam = float(norms2.max()) / (condition * (loss.smoothness or 1.0) * len(y))
    penalty = dg.ElasticNet(1e-5, lam) if "l1" in loss_name else dg.L2(lam)
    row: dict[str, Any] = {"data": name, "unit": unit, "loss": loss_name, "condition": condition, "passes": {}, "seconds": {}, "gap": {}}
    primal, dual = math.inf, -math.inf
    for solver in SOLVERS:
        limits = {"max_passes": max_passes, "time_limit": time_limit}
        s = dg.solve(X, y, loss=loss, penalty=penalty, solver=solver, tol=ACCURACIES[-1], **limits)
        relative = s.history.gap / s.null
        row["passes"][solver] = [float(s.history.passes[relative <= a][0]) if np.any(relative <= a) else math.inf for a in ACCURACIES]
        row["seconds"][solver], row["gap"][solver] = s.seconds, s.relative_gap
        primal, dual = min(primal, s.primal), max(dual, s.primal - s.gap)
        if solver == "auto":
            row["chose"] = [note for note in s.notes if "took" in note or "Chose" in note]
    row["consistent"] = bool(dual <= primal)
    return row


def report(rows: list[dict[str, Any]]) -> str:
    """The table."""
    lines = [f"{len(rows)} problems, certificates consistent on {sum(r['consistent'] for r in rows)}"]
    lines.append(
        f"{'':12s} failures 1e-3/1e-6     passes over the better of prox_sdca and accelerated: median, 90 %, largest at 1e-3 | 1e-6"
    )
    for solver in SOLVERS:
        failed = [sum(r["passes"][solver][a] == math.inf for r in rows) for a in range(2)]
        parts = []
        for a in range(2):
            ratios = []
            for r in rows:
                best = min(r["passes"]["prox_sdca"][a], r["passes"]["accelerated"][a])
                mine = r["passes"][solver][a]
                if best < math.inf or mine < math.inf:
                    ratios.append(mine / best if best < math.inf else 0.0)
            finite = np.array(ratios) if ratios else np.zeros(1)
            parts.append(" ".join(f"{np.quantile(finite, q, method='lower'):6.2f}" for q in (0.5, 0.9, 1.0)))
        lines.append(f"{solver:12s} {failed[0]:8d} {failed[1]:6d}         {parts[0]} | {parts[1]}")
    worst = sorted(rows, key=lambda r: -r["passes"]["auto"][1] / min(r["passes"]["prox_sdca"][1], r["passes"]["accelerated"][1], 1e9))[:15]
    lines.append("where auto is worst, passes to 1e-6 (1e9 stands for a failure of both others):")
    for r in worst:
        passes = ", ".join(f"{s} {r['passes'][s][1]:.0f} ({r['seconds'][s]:.2f} s)" for s in SOLVERS)
        lines.append(
            f"  {r['data']}{' unit' if r['unit'] else ''} | {r['loss']} | {r['condition']:g}: {passes}; "
            f"gap {r['gap']['auto']:.1e} {r['chose']}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the problems and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stress", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="file for a line of JSON per problem")
    parser.add_argument("--data", nargs="*", default=[*SYNTHETIC, *data.names()])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--passes", type=float, default=1000.0, help="limit of passes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="limit of seconds (default: %(default)s)")
    options = parser.parse_args()
    tasks = [(*problem, options.passes, options.seconds) for problem in problems(options.data)]
    if options.jobs == 1:
        rows = [run(task) for task in tasks]
    else:
        with get_context("spawn").Pool(options.jobs) as pool:
            # each combination of kernels is compiled by one process, and read from its cache by the others
            pool.map(run, [(name, False, loss, 10.0, 5.0, 60.0) for name in ("tall", "sparse") for loss in LOSSES], chunksize=1)
            rows = pool.map(run, tasks, chunksize=4)
    if options.output:
        options.output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(report(rows))


if __name__ == "__main__":
    main()
