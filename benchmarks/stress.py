"""`auto` against what it builds on, over several hundred problems: `python -m benchmarks.stress --output stress.jsonl > table.txt`.

Real data (rows as they are and of unit length) and synthetic data (scaled and unscaled columns, n < d and n > d), three smooth losses and
the hinge, R^2/(lambda gamma n) from 1e-3 to 1e6 (gamma = 1 for the hinge). Each solver has the same limit of passes and of seconds of the
processor; what counts are passes to a certified relative gap, evaluations included. The table says how often a solver failed, and its
passes over those of the better of the paper's two.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
import scipy.sparse as sp

import dualgap as dg
from benchmarks.benchmark_utils import data

ONE: dict[str, Any] = {"n_threads": 1} if "n_threads" in dg.solve.__kwdefaults__ else {}
CONDITIONS = [1e-3, 1e-1, 1e1, 1e3, 1e4, 1e6]
LOSSES = {"smooth hinge l1+l2": dg.SmoothHinge(1.0), "logistic": dg.Logistic(), "squared": dg.Squared(), "hinge": dg.Hinge()}
SOLVERS = ("prox_sdca", "accelerated", "auto")
ACCURACIES = (1e-3, 1e-6)
MOST_ROWS = 5000
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


@cache
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


def run(task: tuple[str, bool, str, float], max_passes: float, seconds: float) -> dict[str, Any]:
    """All solvers on a problem: passes to each accuracy, infinite if it was not reached, and whether the certificates are consistent."""
    name, unit, loss_name, condition = task
    X, y = load(name, unit)
    loss = LOSSES[loss_name]
    norms2 = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lam = float(norms2.max()) / (condition * (loss.smoothness or 1.0) * len(y))
    penalty = dg.ElasticNet(1e-5, lam) if "l1" in loss_name else dg.L2(lam)
    row: dict[str, Any] = {"data": name, "unit": unit, "loss": loss_name, "condition": condition, "wide": X.shape[0] < X.shape[1]}
    row |= {"passes": {}, "seconds": {}, "gap": {}, "rose": {}, "status": {}}
    primal, dual = math.inf, -math.inf
    for solver in SOLVERS:
        end = time.process_time() + seconds
        limits = {"max_passes": max_passes, "callback": lambda record, end=end: time.process_time() > end}
        s = dg.solve(X, y, loss=loss, penalty=penalty, solver=solver, tol=ACCURACIES[-1], **limits, **ONE)
        relative = s.history.gap / s.null
        row["passes"][solver] = [float(s.history.passes[relative <= a][0]) if np.any(relative <= a) else math.inf for a in ACCURACIES]
        row["seconds"][solver], row["gap"][solver], row["status"][solver] = s.seconds, s.relative_gap, s.status.name
        row["rose"][solver] = bool(s.gap > s.history[0].gap)
        primal, dual = min(primal, s.primal), max(dual, s.primal - s.gap)
        if solver == "auto":
            row["chose"] = [note for note in s.notes if "took" in note or "Chose" in note]
    row["consistent"] = bool(dual <= primal)
    return row


def ratio(row: dict[str, Any], solver: str, k: int) -> float:
    """Passes over those of the better of the paper's two: infinite where only these got there, nan where none did."""
    best, mine = min(row["passes"][other][k] for other in ("prox_sdca", "accelerated")), row["passes"][solver][k]
    if best < math.inf:
        return float(mine / best)
    return 0.0 if mine < math.inf else math.nan


def report(rows: list[dict[str, Any]]) -> str:
    """The tables, in Markdown."""
    lines = [
        f"{len(rows)} problems; the certificates of all solvers are consistent on {sum(r['consistent'] for r in rows)}, and the gap ended "
        f"above where it began in {sum(any(r['rose'].values()) for r in rows)}.",
        "",
        "Passes are those over the better of `prox_sdca` and `accelerated`: the median, the 90 % quantile, the largest, and the total.",
        "",
        "| problems | solver | failed at 1e-3 | at 1e-6 | at 1e-3: median | 90 % | largest | at 1e-6: median | 90 % | largest | total |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    groups = {"all": rows, **{loss: [r for r in rows if r["loss"] == loss] for loss in LOSSES}}
    groups |= {"n < d": [r for r in rows if r["wide"]], "n >= d": [r for r in rows if not r["wide"]]}
    for name, group in groups.items():
        for solver in SOLVERS:
            parts = [f"{sum(r['passes'][solver][k] == math.inf for r in group)}" for k in range(2)]
            for k in range(2):
                ratios = np.array([x for x in (ratio(r, solver, k) for r in group) if not math.isnan(x)] or [math.nan])
                parts += [f"{np.quantile(ratios, q, method='lower'):.2f}" for q in (0.5, 0.9, 1.0)]
            both = [r for r in group if ratio(r, solver, 1) > 0.0 and r["passes"][solver][1] < math.inf]
            total = sum(r["passes"][solver][1] for r in both) / max(sum(min(r["passes"][o][1] for o in SOLVERS[:2]) for r in both), 1.0)
            lines.append(f"| {name} | {solver} | {' | '.join(parts)} | {total:.2f} |")
    lines += ["", "Where `auto` is worst at 1e-6:", "", "| problem | condition | prox_sdca | accelerated | auto | gap of auto | chosen |"]
    lines.append("|---|---|---|---|---|---|---|")
    for r in sorted((r for r in rows if ratio(r, "auto", 1) > 1.0), key=lambda r: -ratio(r, "auto", 1))[:20]:
        passes = " | ".join(f"{r['passes'][s][1]:.0f}" for s in SOLVERS)
        problem = f"{r['data']}{', unit rows' if r['unit'] else ''}, {r['loss']} | {r['condition']:g}"
        lines.append(f"| {problem} | {passes} | {r['gap']['auto']:.1e} | {' '.join(r['chose'])} |")
    return "\n".join(lines)


def main() -> None:
    """Run the problems and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stress", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file for a line of JSON per problem; those it holds are not run again")
    parser.add_argument("--data", nargs="*", default=[*SYNTHETIC, *data.names()])
    parser.add_argument("--passes", type=float, default=400.0, help="limit of passes (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.7, help="limit of seconds for a solve (default: %(default)s)")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.output.read_text().splitlines()] if options.output.exists() else []
    done = {(r["data"], r["unit"], r["loss"], r["condition"]) for r in rows}
    for task in problems(options.data):
        if task not in done:
            rows.append(run(task, options.passes, options.seconds))
            with options.output.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(report(rows))


if __name__ == "__main__":
    main()
