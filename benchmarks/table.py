"""The table of `benchmarks.peers`: `python -m benchmarks.table cells.jsonl --plot peers.png > table.md`.

A cell is lost where some peer reached the true suboptimality before dualgap had certified it. Lost cells come first.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

ACCURACIES = (1e-3, 1e-6)


def best(row: dict[str, Any], k: int) -> tuple[float, str]:
    """The fastest peer of a cell."""
    times = {name: t[k] for name, t in row["peers"].items()}
    name = min(times, key=times.__getitem__, default="-")
    return times.get(name, math.inf), name


def ratio(row: dict[str, Any], k: int) -> float:
    """How many times faster than the best peer: infinite where no peer got there, nan where nobody did."""
    theirs = best(row, k)[0]
    if math.isinf(row["ours"][k]):
        return math.nan if math.isinf(theirs) else 0.0
    return theirs / row["ours"][k]


def seconds(t: float) -> str:
    """A time, or a dash for one that was not reached."""
    return "-" if math.isinf(t) else f"{t:.3g}"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How many cells were won, and by how much, for each objective."""
    lines = [
        "| objective | accuracy | cells | lost | no peer got there | geometric mean of best peer / dualgap |",
        "|---|---|---|---|---|---|",
    ]
    for objective in [*dict.fromkeys(r["objective"] for r in rows), "all"]:
        for k, accuracy in enumerate(ACCURACIES):
            ratios = [ratio(r, k) for r in rows if objective in (r["objective"], "all")]
            finite = [x for x in ratios if 0.0 < x < math.inf]
            mean = math.exp(float(np.mean(np.log(finite)))) if finite else math.nan
            lost, alone = sum(x < 1.0 for x in ratios), sum(math.isinf(x) for x in ratios)
            lines.append(f"| {objective} | {accuracy:g} | {len(ratios)} | {lost} | {alone} | {mean:.2f} |")
    return lines


def table(rows: list[dict[str, Any]]) -> list[str]:
    """All cells, lost ones first."""
    head = "| data | objective | strength | dualgap 1e-3 | best peer | ratio | dualgap 1e-6 | best peer | ratio | solver |"
    lines = [head, "|---|---|---|---|---|---|---|---|---|---|"]

    def order(row: dict[str, Any]) -> float:
        return min(x for x in (ratio(row, 0), ratio(row, 1), math.inf) if not math.isnan(x))

    for row in sorted(rows, key=order):
        parts = []
        for k in range(2):
            theirs, name = best(row, k)
            x = ratio(row, k)
            shown = "nobody" if math.isnan(x) else ("alone" if math.isinf(x) else f"{x:.2f}")
            parts.append(f"{seconds(row['ours'][k])} | {seconds(theirs)} {name if not math.isinf(theirs) else ''} | {shown}")
        lines.append(f"| {row['dataset']} | {row['objective']} | {row['strength']:g} | {' | '.join(parts)} | {row['solver']} |")
    return lines


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """A point per cell: our seconds against those of the best peer, at the accuracy of 1e-6."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.add_subplot()
    ends = [1e-3, 60.0]
    for objective in dict.fromkeys(r["objective"] for r in rows):
        ours = np.array([[min(r["ours"][1], ends[1]), min(best(r, 1)[0], ends[1])] for r in rows if r["objective"] == objective])
        axes.scatter(ours[:, 1], ours[:, 0], s=18, label=objective, alpha=0.8)
    axes.plot(ends, ends, color="grey", lw=1)
    axes.plot(ends, [e / 4 for e in ends], color="grey", lw=1, ls=":")
    axes.annotate("4 times faster", (ends[1] / 8, ends[1] / 45), rotation=45, color="grey", fontsize=8)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="best peer: seconds to a true suboptimality of 1e-6",
        ylabel="dualgap: seconds to a certified gap of 1e-6",
    )
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__.splitlines()[0])
    parser.add_argument("cells", type=Path, nargs="+")
    parser.add_argument("--plot", type=Path, help="draw the cells into a PNG or SVG file")
    options = parser.parse_args()
    rows = [json.loads(line) for file in options.cells for line in file.read_text().splitlines()]
    print("\n".join([*summary(rows), "", *table(rows)]))
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
