"""Pictures of solves."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.solution import Solution

LEAST = 1e-17
GAP, PRIMAL, DUAL = "#0072b2", "#d55e00", "#009e73"


def new_figure(**options: Any) -> Any:
    """A matplotlib Figure that belongs to no window, or an error that names the extra it comes with."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dualgap[plot]'") from None
    return Figure(layout="constrained", **options)


def save(figure: Any, files: Iterable[str | Path]) -> None:
    """Write a figure into files, of the formats that their names end in; a PNG has 256 colours, which makes it a third as large."""
    for file in files:
        if str(file).endswith(".png"):
            _save_small(figure, file)
        else:
            figure.savefig(file, metadata={"Date": None} if str(file).endswith(".svg") else None)


def _save_small(figure: Any, file: str | Path) -> None:
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, dpi=160, format="png")
    Image.open(drawn).convert("RGB").quantize(256).save(file, optimize=True)


def tidy(axes: Any) -> None:
    """Fewer lines than matplotlib draws by itself."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def plot_history(solutions: Mapping[str, Solution], path: str | Path, *, title: str = "") -> None:
    """Draw the certified relative gap against passes, a line for each solution, into a file.

    Parameters
    ----------
    solutions : mapping of names to solutions
    path : path of a PNG, SVG or PDF file to write
    title : str
        What stands above the picture.
    """
    figure = new_figure(figsize=(7.0, 4.0))
    axes = figure.add_subplot()
    for name, s in solutions.items():
        axes.plot(s.history.passes, np.maximum(s.history.gap / s.null, LEAST), marker=".", label=name)
    axes.set(yscale="log", xlabel="passes over the data", ylabel="certified gap / null objective", title=title)
    tidy(axes)
    if len(solutions) > 1:
        axes.legend(frameon=False)
    save(figure, [path])


def progress_lines(s: Solution) -> dict[str, Any]:
    """What goes to zero during a solve, relative to the null objective: the gap, and how far P and D were from the bounds at the end.

    No true error is known, but P(w) less the last lower bound is at least the error of w, and the last P(w) less D at least that of alpha.
    """
    scale = s.null if s.null > 0.0 else 1.0
    floor, ceiling, history = s.primal - s.gap, s.primal, s.history
    return {
        "certified gap": history.gap / scale,
        "P(w) less the best lower bound": (history.primal - floor) / scale,
        "least P(w) less the dual bound": (ceiling - history.dual) / scale,
    }


def plot_solution(s: Solution) -> Any:
    """Draw a solve against passes and against seconds, on log scales; a matplotlib Figure."""
    figure = new_figure(figsize=(10.0, 4.2))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, x, label in zip(panels, (s.history.passes, s.history.seconds), ("passes over the data", "seconds"), strict=True):
        for (name, values), color, marker in zip(progress_lines(s).items(), (GAP, PRIMAL, DUAL), "os^", strict=True):
            axes.plot(x, np.maximum(values, LEAST), color=color, marker=marker, ms=4, lw=1.5, label=name)
        axes.set(xscale="log", yscale="log", xlabel=label)
        tidy(axes)
    panels[0].set_ylabel("relative to the null objective")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(f"{type(s.loss).__name__}: {s.status.value} Relative gap {s.relative_gap:.1e}.", fontsize=11)
    return figure
