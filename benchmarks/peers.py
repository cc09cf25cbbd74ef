"""Measure cells: `python -m benchmarks.peers --output cells.jsonl`; then `python -m benchmarks.table cells.jsonl`.

Ours is the time of `dualgap.solve` to a certified relative gap; a peer's the time of its fit to the same true suboptimality (P - P*)/P(0),
found by raising its effort until the objective is reached: in doublings, then between the last two where that decides anything. One
thread each, every fit in a process of its own in which nothing is left to import or to compile, in seconds of the processor. A peer is
stopped where it has taken 4.2 times as long as dualgap, or as long as the best peer so far: then it is known to take longer than that.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dualgap as dg
from benchmarks.benchmark_utils import data, suite
from benchmarks.benchmark_utils.adapters import PEERS, Peer, quietly
from benchmarks.benchmark_utils.timed import timed

ACCURACIES = (1e-3, 1e-6)
REFERENCE = 1e-8
ENOUGH_TIMES, LEAST = 4.2, 0.02
CLOSE, FINE = 2.5, 1.15
ONE: dict[str, Any] = {"n_threads": 1} if "n_threads" in dg.solve.__kwdefaults__ else {}


def solve(cell: suite.Cell, accuracy: float, limit: float) -> dg.Solution:
    """The cell by dualgap, on one thread, for so many seconds of the processor."""
    end = time.process_time() + limit
    common = {"loss": cell.loss, "penalty": cell.penalty, "max_passes": 1e6, **ONE}
    return dg.solve(cell.X, cell.y, tol=accuracy, callback=lambda record: time.process_time() > end, **common)


def ours(cell: suite.Cell, accuracy: float, limit: float) -> dict[str, Any]:
    """Seconds to a certified gap, infinite if it was not reached, and what was done for it."""

    def run() -> tuple[bool, float, float, float, list[str]]:
        s = solve(cell, accuracy, limit)
        return s.status is dg.Status.CERTIFIED, s.primal, s.passes, s.relative_gap, [n for n in s.notes if "Chose" in n or "took" in n]

    taken, out = timed(run, 3.0 * limit + 10.0)
    if out is None:
        return {"seconds": math.inf, "primal": math.inf, "passes": math.inf, "gap": math.inf, "notes": []}
    certified, primal, passes, relative, notes = out
    return {"seconds": taken if certified else math.inf, "primal": primal, "passes": passes, "gap": relative, "notes": notes}


def theirs(peer: Peer, cell: suite.Cell, goals: list[float], caps: list[float], close: list[float]) -> dict[str, list[float]]:
    """For each goal the seconds until the objective is at or below it, or infinity and how long it takes at least."""
    seconds, over = [math.inf] * len(goals), [0.0] * len(goals)
    tried: dict[int, tuple[float, float]] = {}

    def attempt(effort: int, limit: float) -> tuple[float, float]:
        if effort not in tried:
            taken, w = timed(lambda: quietly(peer.fit, cell, effort), limit)
            tried[effort] = taken, math.inf if w is None else cell.primal(w)
        return tried[effort]

    def between(k: int, low: int, high: int) -> None:
        while high > FINE * low and seconds[k] < close[k]:
            middle = round(math.sqrt(low * high))
            if middle in (low, high):
                break
            taken, value = attempt(middle, caps[k])
            if value <= goals[k]:
                high, seconds[k] = middle, min(seconds[k], taken)
            else:
                low = middle

    def missing() -> list[int]:
        return [k for k in range(len(goals)) if seconds[k] == math.inf and over[k] < caps[k]]

    effort, before = 1, 0
    while missing() and effort < 2**24:
        limit = max(caps[k] for k in missing())
        taken, value = attempt(effort, limit)
        for k in missing():
            if value <= goals[k] and taken <= caps[k]:
                seconds[k] = taken
                if before:
                    between(k, before, effort)
            elif value > goals[k] or taken > caps[k]:
                over[k] = max(over[k], min(taken, limit))
        before, effort = effort, 2 * effort
        if peer.direct:
            over = [math.inf if seconds[k] == math.inf and over[k] < caps[k] else over[k] for k in range(len(goals))]
            break
    return {"seconds": seconds, "over": over}


def small(cell: suite.Cell) -> suite.Cell:
    """Some rows of a cell, on which a library imports and compiles what it needs."""
    rows = np.unique(np.linspace(0, len(cell.y) - 1, 60).astype(int))
    if cell.objective in suite.VECTOR:
        rows = np.union1d(rows, np.unique(cell.y, return_index=True)[1])
    elif cell.objective in suite.CLASSIFIERS:
        rows = np.union1d(rows, [np.flatnonzero(cell.y < 0)[0], np.flatnonzero(cell.y > 0)[0]])
    return replace(cell, X=cell.X[rows], y=cell.y[rows])


def measure(cell: suite.Cell, limit: float) -> dict[str, Any]:
    """A row of the table."""
    # the first solve of each kind also compiles
    reference, *_ = [solve(cell, accuracy, 2.0 * limit) for accuracy in (REFERENCE, *ACCURACIES)]
    mine = [ours(cell, accuracy, limit) for accuracy in ACCURACIES]
    best = min(reference.primal, *(m["primal"] for m in mine))
    goals = [best + accuracy * cell.null for accuracy in ACCURACIES]
    row = {"dataset": cell.dataset, "objective": cell.objective, "strength": cell.strength, "reference_gap": reference.relative_gap}
    row |= {"ours": mine, "peers": {}}
    first = [math.inf] * len(goals)
    warm = small(cell)
    for peer in PEERS:
        if peer.solves(cell):
            caps = [min(limit, first[k], max(LEAST, ENOUGH_TIMES * mine[k]["seconds"])) for k in range(len(goals))]
            try:
                quietly(peer.fit, warm, 1)
                row["peers"][peer.name] = theirs(peer, cell, goals, caps, [CLOSE * m["seconds"] for m in mine])
            except Exception as error:  # a library that fails on a cell is a result
                row["peers"][peer.name] = {
                    "seconds": [math.inf] * 2,
                    "over": [math.inf] * 2,
                    "error": f"{type(error).__name__}: {error}"[:200],
                }
            first = [min(a, b) for a, b in zip(first, row["peers"][peer.name]["seconds"], strict=True)]
    return row


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    parts = [f"{row['dataset']:15s} {row['objective']:15s} {row['strength']:7g}"]
    for k, mine in enumerate(row["ours"]):
        times = {name: t["seconds"][k] for name, t in row["peers"].items()}
        name = min(times, key=times.__getitem__, default="-")
        parts.append(f"{mine['seconds']:8.4f} {times.get(name, math.inf):8.4f} {name:25s}")
    return " | ".join([*parts, f"{row['ours'][-1]['passes']:.0f} passes {' '.join(row['ours'][-1]['notes'])}"])


def main() -> None:
    """Measure the cells asked for, a line of JSON each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file to append results to; cells that it holds are not measured again")
    parser.add_argument("--objective", nargs="*", default=suite.OBJECTIVES, choices=suite.OBJECTIVES)
    parser.add_argument("--dataset", nargs="*", default=data.names(), choices=data.names())
    parser.add_argument("--strength", nargs="*", type=float, default=suite.STRENGTHS, help="lambda n (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that a fit may take (default: %(default)s)")
    options = parser.parse_args()
    done = set()
    if options.output.exists():
        done = {(r["dataset"], r["objective"], r["strength"]) for r in map(json.loads, options.output.read_text().splitlines())}
    for cell in suite.cells(options.objective, options.dataset, options.strength):
        if (cell.dataset, cell.objective, cell.strength) in done:
            continue
        row = measure(cell, options.limit)
        with options.output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        sys.stdout.write(line(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
