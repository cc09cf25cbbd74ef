"""Measure cells: `python -m benchmarks.peers --output cells.jsonl`; then `python -m benchmarks.table cells.jsonl`.

Ours is the time of `dualgap.solve` to a certified relative gap; a peer's the time of its fit to the same true suboptimality (P - P*)/P(0),
found by raising its effort until the objective is reached: in doublings, then once between the last two. One thread each, so what is
measured is the time of the processor, which other programs on the machine do not count in. `--like` measures ours alone, for cells whose
peers are in a file already.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dualgap as dg
from benchmarks.benchmark_utils import data, suite
from benchmarks.benchmark_utils.adapters import PEERS, Peer, quietly

ACCURACIES = (1e-3, 1e-6)


def seconds(run: Callable[[], Any], best_of: int = 3, enough: float = 0.5) -> tuple[float, Any]:
    """The least time of some runs, of one where that takes long."""
    least, out = math.inf, None
    for _ in range(best_of):
        start = time.process_time()
        out = run()
        taken = time.process_time() - start
        least = min(least, taken)
        if taken > enough:
            break
    return least, out


def ours(cell: suite.Cell, accuracy: float, limit: float) -> tuple[float, dg.Solution]:
    """Seconds to a certified gap, infinite if it was not reached."""
    taken, s = seconds(
        lambda: dg.solve(cell.X, cell.y, loss=cell.loss, penalty=cell.penalty, tol=accuracy, time_limit=limit, max_passes=1e6, **ONE)
    )
    return (taken if s.status is dg.Status.CERTIFIED else math.inf), s


ONE: dict[str, Any] = {"n_threads": 1} if "n_threads" in dg.solve.__kwdefaults__ else {}


def theirs(peer: Peer, cell: suite.Cell, goals: list[float], limit: float) -> list[float]:
    """Seconds until the objective is at or below each goal, infinite where that took more than the limit."""
    times = [math.inf] * len(goals)
    efforts = [1] if peer.direct else [2**k for k in range(1, 24)]
    before = None
    for effort in efforts:
        taken, w = seconds(lambda effort=effort: quietly(peer.fit, cell, effort))
        value = cell.primal(w)
        for k, goal in enumerate(goals):
            if value <= goal and times[k] == math.inf:
                times[k] = taken
                middle = before and round(math.sqrt(before * effort))
                if middle and before < middle < effort:
                    between, w_between = seconds(lambda middle=middle: quietly(peer.fit, cell, middle))
                    times[k] = min(taken, between) if cell.primal(w_between) <= goal else taken
        before = effort
        if taken > limit or times[-1] < math.inf:
            break
    return times


def measure(cell: suite.Cell, limit: float, known: dict[str, Any] | None) -> dict[str, Any]:
    """A row of the table; of a row that is known, ours anew."""
    row: dict[str, Any] = {"dataset": cell.dataset, "objective": cell.objective, "strength": cell.strength}
    row["ours"], row["solver"], best = [], "", math.inf
    for accuracy in ACCURACIES:
        taken, s = ours(cell, accuracy, 2.0 * limit)
        best = min(best, s.primal)
        row["ours"].append(taken)
        row["solver"] = " ".join(n.removeprefix("Chose ") for n in s.notes if "Chose" in n or "took" in n)
        row["passes"] = s.passes
    if known is not None:
        return row | {name: known[name] for name in ("optimum", "reference_gap", "peers")}
    reference = dg.solve(cell.X, cell.y, loss=cell.loss, penalty=cell.penalty, tol=1e-10, time_limit=3.0 * limit, max_passes=1e6)
    row["optimum"], row["reference_gap"], row["peers"] = min(best, reference.primal), reference.relative_gap, {}
    goals = [row["optimum"] + accuracy * cell.null for accuracy in ACCURACIES]
    longest = min(limit, max(1.0, 30.0 * row["ours"][-1]))
    for peer in PEERS:
        if peer.solves(cell):
            try:
                row["peers"][peer.name] = theirs(peer, cell, goals, longest)
            except Exception as error:  # a library that fails on a cell is a result
                row["peers"][peer.name] = [math.inf, math.inf]
                print(f"  {peer.name} failed: {type(error).__name__}: {error}", file=sys.stderr)
    return row


def read(path: Path | None) -> dict[tuple[str, str, float], dict[str, Any]]:
    """The rows of a file by their cells."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    return {(r["dataset"], r["objective"], r["strength"]): r for r in map(json.loads, lines)}


def main() -> None:
    """Measure the cells asked for, a line of JSON each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file to append results to; cells that it holds are not measured again")
    parser.add_argument("--objective", nargs="*", default=suite.OBJECTIVES, choices=suite.OBJECTIVES)
    parser.add_argument("--dataset", nargs="*", default=data.names(), choices=data.names())
    parser.add_argument("--strength", nargs="*", type=float, default=suite.STRENGTHS, help="lambda n (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds that a peer may take for a cell (default: %(default)s)")
    parser.add_argument("--like", type=Path, help="file of an earlier run: only its cells are measured, and of these only dualgap")
    options = parser.parse_args()
    done, known = read(options.output), read(options.like)
    for cell in suite.cells(options.objective, options.dataset, options.strength):
        key = (cell.dataset, cell.objective, cell.strength)
        if key in done or (options.like is not None and key not in known):
            continue
        row = measure(cell, options.limit, known.get(key))
        with options.output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        times = {name: t[-1] for name, t in row["peers"].items()}
        first = min(times, key=times.__getitem__, default="-")
        print(
            f"{cell.name:50s} ours {row['ours'][0]:8.3f} {row['ours'][1]:8.3f} s   best peer {times.get(first, math.inf):8.3f} s {first}",
            flush=True,
        )


if __name__ == "__main__":
    main()
