"""The table of `benchmarks.peers`: `python -m benchmarks.table cells.jsonl --plot peers.png > table.md`.

A cell is lost where some peer reached the true suboptimality before dualgap had certified it. Lost cells come first.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ACCURACIES = (1e-3, 1e-6)
NEEDED = 4.0


class Ratio(NamedTuple):
    """Time of the best peer over ours, exact or at least; 0 where only a peer got there, nan where nobody did."""

    value: float
    exact: bool

    @property
    def lost(self) -> bool:
        return self.value < 1.0

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "nobody"
        return f"{'' if self.exact else '> '}{self.value:.2f}" if math.isfinite(self.value) else "alone"


def best(row: dict[str, Any], k: int) -> tuple[float, str]:
    """The fastest peer of a cell."""
    times = {name: t["seconds"][k] for name, t in row["peers"].items()}
    name = min(times, key=times.__getitem__, default="-")
    return times.get(name, math.inf), name


def ratio(row: dict[str, Any], k: int) -> Ratio:
    """How many times faster than the best peer."""
    mine, theirs = row["ours"][k]["seconds"], best(row, k)[0]
    if math.isinf(mine):
        return Ratio(math.nan if math.isinf(theirs) else 0.0, True)
    if math.isfinite(theirs):
        return Ratio(theirs / mine, True)
    return Ratio(min((t["over"][k] for t in row["peers"].values()), default=math.inf) / mine, False)


def lead(row: dict[str, Any]) -> float:
    """The smaller of the two ratios."""
    return min((r.value for r in (ratio(row, 0), ratio(row, 1)) if not math.isnan(r.value)), default=math.inf)


def seconds(t: float) -> str:
    """A time, or a dash for one that was not reached."""
    return "-" if math.isinf(t) else f"{t:.3g}"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How many cells were lost and won, and by how much, for each objective."""
    lines = [
        f"| objective | accuracy | cells | lost | at least {NEEDED:g} times faster | geometric mean of best peer / dualgap |",
        "|---|---|---|---|---|---|",
    ]
    for objective in [*dict.fromkeys(r["objective"] for r in rows), "all"]:
        for k, accuracy in enumerate(ACCURACIES):
            ratios = [ratio(r, k) for r in rows if objective in (r["objective"], "all")]
            values = [r.value for r in ratios if 0.0 < r.value < math.inf]
            mean = math.exp(float(np.mean(np.log(values)))) if values else math.nan
            lost, far = sum(r.lost for r in ratios), sum(r.value >= NEEDED for r in ratios)
            lines.append(f"| {objective} | {accuracy:g} | {len(ratios)} | {lost} | {far} | {mean:.2f} |")
    return lines


def table(rows: list[dict[str, Any]]) -> list[str]:
    """All cells, lost ones first."""
    head = "| data | objective | strength | dualgap 1e-3 | best peer | ratio | dualgap 1e-6 | best peer | ratio | passes, solver |"
    lines = [head, "|---|---|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lead):
        parts = []
        for k in range(2):
            theirs, name = best(row, k)
            parts.append(
                f"{seconds(row['ours'][k]['seconds'])} | {seconds(theirs)} {name if math.isfinite(theirs) else ''} | {ratio(row, k)}"
            )
        last = row["ours"][-1]
        solver = " ".join(note.removeprefix("Chose ") for note in last["notes"])
        lines.append(
            f"| {row['dataset']} | {row['objective']} | {row['strength']:g} | {' | '.join(parts)} | {last['passes']:.0f} {solver} |"
        )
    return lines


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """A point per cell: our seconds against those of the best peer, hollow where the peers are known to take longer than that."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    ends = [3e-4, 1e2]
    for k, axes in enumerate(panels):
        for c, objective in enumerate(dict.fromkeys(r["objective"] for r in rows)):
            of = [(r, ratio(r, k)) for r in rows if r["objective"] == objective]
            for exact in (True, False):
                points = [(r["ours"][k]["seconds"], x.value) for r, x in of if x.exact is exact and 0.0 < x.value < math.inf]
                mine, ratios = np.array(points or np.empty((0, 2))).T
                face = {} if exact else {"facecolors": "none"}
                axes.scatter(mine * ratios, mine, s=20, color=f"C{c}", label=objective if exact else None, alpha=0.85, linewidths=1, **face)
        axes.plot(ends, ends, color="grey", lw=1)
        axes.plot(ends, [e / NEEDED for e in ends], color="grey", lw=1, ls=":")
        axes.set(
            xscale="log", yscale="log", xlabel=f"best peer: seconds to a true suboptimality of {ACCURACIES[k]:g}", xlim=ends, ylim=ends
        )
        axes.set_ylabel(f"dualgap: seconds to a certified gap of {ACCURACIES[k]:g}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_aspect("equal")
    panels[0].text(1.2e-3, 2.2e-3, "slower than a peer", rotation=45, color="grey", fontsize=8)
    panels[0].text(8.0, 1.0, f"{NEEDED:g} times faster", rotation=45, color="grey", fontsize=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=9, frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


def read(files: list[Path]) -> list[dict[str, Any]]:
    """The rows of some files of cells."""
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__.splitlines()[0])
    parser.add_argument("cells", type=Path, nargs="+")
    parser.add_argument("--plot", type=Path, help="draw the cells into a PNG or SVG file")
    options = parser.parse_args()
    rows = read(options.cells)
    print("\n".join([*summary(rows), "", *table(rows)]))
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
