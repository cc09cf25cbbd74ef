"""Print the tables of docs/kernels.md: `python -m benchmarks.micro`, with `--real` on the real data sets.

The first compares an epoch with the same loop in C, compiled by gcc with -O3 -march=native; the second lists what each kernel takes. With
`--ahead` they are those of fetching ahead. Competitors take turns on the same state in one process, each gets the least of its runs, and
must end where the first one ends.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dualgap as dg
from benchmarks.micro import kernels, native, problems

SAME = 1e-10


def seconds(function: Callable[[], Any]) -> float:
    """The time that a call takes the processor, in which a busy machine shows less than on the clock."""
    begun = time.thread_time()
    function()
    return time.thread_time() - begun


def race(state: problems.State, competitors: list[Any], runs: int) -> list[float]:
    """The least seconds of each, in turns from the same state."""
    times, ends = [[] for _ in competitors], []
    for run in range(runs):
        for competitor, taken in zip(competitors, times, strict=True):
            alpha, u = state.alpha.copy(), state.u.copy()
            taken.append(seconds(lambda: competitor(alpha, u)))  # noqa: B023
            if run == 0:
                ends.append((alpha, u))
    for end in ends[1:]:
        for ours, theirs in zip(ends[0], end, strict=True):
            away = float(np.max(np.abs(ours - theirs))) / float(np.max(np.abs(ours)))
            if not away <= SAME:
                raise AssertionError(f"an epoch ends {away:.1e} from where the same epoch of another ends")
    return [min(taken) for taken in times]


def compare(matrices: dict[str, Any], runs: int) -> None:
    """The epochs of the package against those in C."""
    row("rows", "loss", "dualgap", "C, fetching ahead", "C", "dualgap over C, fetching ahead", "C over dualgap")
    row(*["---"] * 7)
    for name, X in matrices.items():
        for title, loss in problems.LOSSES.items():
            state = problems.state(X, loss)
            taken = race(state, [state.epoch, native.epoch(state), native.epoch(state, "FETCH=0")], runs)
            ns = [1e9 * t / state.entries for t in taken]
            row(name, title, *(f"{t:.2f}" for t in ns), f"{ns[0] / ns[1]:.2f}", f"{ns[2] / ns[0]:.1f}")


def each(matrices: dict[str, Any], runs: int) -> None:
    """What each kernel takes."""
    row("kernel", "rows", "nanoseconds", "per")
    row(*["---"] * 4)
    for name, X in matrices.items():
        for measured in kernels.kernels(X):
            report(name, measured, runs)
    report("like arxiv_large, 500 columns", kernels.gram(), runs)


def look_ahead(runs: int) -> None:
    """What fetching rows of different lengths at different distances takes, and fetching the elements of u."""
    distances = (1, 2, 4, 8, 16, 32)
    row("rows", "chosen", *(f"{k} rows ahead" for k in distances))
    row(*["---"] * (2 + len(distances)))
    for entries, dense in [(k, dense) for dense in (False, True) for k in (10, 30, 60, 150, 500)]:
        X = problems.table_like(26_000_000 // entries, entries) if dense else problems.even_rows(entries, 47_236)
        state = problems.state(X, dg.SmoothHinge(1.0), epochs=1)
        ns = [1e9 * t / state.entries for t in race(state, [state.ahead(k).epoch for k in distances], runs)]
        row(f"{entries} {'numbers' if dense else 'nonzeros'}", str(state.problem.rows.ahead), *(f"{t:.2f}" for t in ns))
    print()
    row("columns", "dualgap", "C, not fetching u", "C, fetching u")
    row(*["---"] * 4)
    for columns in (47_236, 250_000, 1_000_000, 4_000_000, 16_000_000):
        state = problems.state(problems.even_rows(60, columns), dg.SmoothHinge(1.0), epochs=1)
        taken = race(state, [state.epoch, native.epoch(state, "LARGE=(1L << 60)"), native.epoch(state, "LARGE=0")], runs)
        row(str(columns), *(f"{1e9 * t / state.entries:.2f}" for t in taken))


def report(rows: str, measured: kernels.Measured, runs: int) -> None:
    """A line of the table, after a call that compiles."""
    measured.call()
    row(measured.kernel, rows, f"{1e9 * min(seconds(measured.call) for _ in range(runs)) / measured.pieces:.2f}", measured.piece)


def row(*cells: str) -> None:
    """A line of a table, as soon as it is known."""
    print(f"| {' | '.join(cells)} |", flush=True)


def machine() -> str:
    """The processor and how many of its cores there are."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="on arxiv_large and cov1, from the folder that DUALGAP_DATA names")
    parser.add_argument("--runs", type=int, default=15, help="runs of each, of which the fastest counts")
    parser.add_argument("--ahead", action="store_true", help="what fetching at other distances takes, instead")
    options = parser.parse_args()
    print(f"{machine()}, nanoseconds per nonzero (and class)\n")
    if options.ahead:
        look_ahead(options.runs)
        return
    matrices = problems.matrices(options.real)
    compare(matrices, options.runs)
    print()
    each(matrices, options.runs)


if __name__ == "__main__":
    main()
