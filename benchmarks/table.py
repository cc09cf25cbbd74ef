"""The table of `benchmarks.peers`: `python -m benchmarks.table cells.jsonl --plot peers.png --page page.md`.

A cell is lost where some peer reached the true suboptimality before dualgap had certified it. Lost cells come first.
"""

import argparse
import json
import math
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.benchmark_utils import suite

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
    panels[0].text(0.03, 0.95, "a peer is faster", transform=panels[0].transAxes, color="grey", fontsize=9)
    panels[0].text(60.0, 7.0, f"{NEEDED:g} times faster", rotation=45, ha="right", va="top", color="grey", fontsize=9)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=9, frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


LIBRARIES = ["numpy", "scipy", "numba", "scikit-learn", "liblinear-official", "cyanure", "snapml", "celer", "skglm", "adelie"]
PAGE = """# Against other libraries

Each cell is a data set, an objective without an intercept, and a strength of regularization: λn for those with an L2 part, and the part of
the least l1 that makes all coefficients zero for the lasso and the elastic net (where l2 = l1). dualgap's time is that of `dualgap.solve`
until the relative gap is *certified* to be 1e-3 or 1e-6; a peer's is that of its fit to the same *true* suboptimality (P - P*)/P(0), which
it does not know: its effort is raised until an outside check of the objective finds it there, and only the last fit counts. So a peer is
given for free what its user has to find out. Seconds are those of the processor, one thread each, conversions of the input included,
imports and compilation not. A peer is stopped where it has taken 4.2 times as long as dualgap: "> 4.20" says that nobody was faster than
that.

```sh
python3.11 -m venv .venv-bench && .venv-bench/bin/pip install -e ".[bench]"
.venv-bench/bin/python -m benchmarks.peers --output benchmarks/results/{stem}.jsonl
.venv-bench/bin/python -m benchmarks.table benchmarks/results/{stem}.jsonl --plot docs/benchmarks.png --page docs/benchmarks.md
```

Measured on {date}: {machine}, Python {python}, {libraries}. Of scikit-learn all solvers that fit the objective run; `cov1`, `covtype`,
`20newsgroups` and the others are described in the folder of data sets, and the two of arXiv stand in for the paper's text collections.

![Seconds of dualgap against those of the best peer, a point for each cell](benchmarks.png)

In the picture a hollow point is a bound: the best peer takes at least that long. Points below the line are won, those below the dotted one
by a factor of {needed:g}.

## Summary

{measured} of the {size} cells of the suite were measured. A lost cell is one where some peer was faster. The geometric means count bounds
as if they were times.

{summary}

## Every cell, lost ones first

Seconds; ratios are those of the best peer to dualgap; the last column has dualgap's passes to 1e-6, certificates included, and its choice.

{table}
"""


def page(rows: list[dict[str, Any]], file: Path) -> str:
    """The page of the documentation."""
    return PAGE.format(
        stem=file.stem,
        date=file.stem[:10],
        machine=machine(),
        python=platform.python_version(),
        libraries=", ".join(f"{name} {found}" for name in LIBRARIES if (found := installed(name))),
        needed=NEEDED,
        measured=len(rows) if len(rows) < suite.size() else "All",
        size=suite.size(),
        summary="\n".join(summary(rows)),
        table="\n".join(table(rows)),
    )


def machine() -> str:
    """The processor."""
    info = Path("/proc/cpuinfo")
    models = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    )
    return f"one core of a virtual machine with {len(models)} ({models[0]})" if models else platform.processor() or platform.machine()


def installed(name: str) -> str:
    """The version of a library, if it is there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def read(files: list[Path]) -> list[dict[str, Any]]:
    """The rows of some files of cells."""
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main() -> None:
    """Print the tables in Markdown, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__.splitlines()[0])
    parser.add_argument("cells", type=Path, nargs="+")
    parser.add_argument("--plot", type=Path, help="draw the cells into a PNG or SVG file")
    parser.add_argument("--page", type=Path, help="write the page of the documentation; without it the tables are printed")
    options = parser.parse_args()
    rows = read(options.cells)
    if options.page:
        options.page.write_text(page(rows, options.cells[0]))
    else:
        print("\n".join([*summary(rows), "", *table(rows)]))
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
