"""Pictures of solves."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dualgap.solution import Solution


def plot_history(solutions: Mapping[str, Solution], path: str | Path, *, title: str = "") -> None:
    """Draw the certified relative gap against passes, a line for each solution, into a file.

    Parameters
    ----------
    solutions : mapping of names to solutions
    path : path of a PNG, SVG or PDF file to write
    title : str
        What stands above the picture.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'dualgap[plot]'") from None
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, s in solutions.items():
        axes.plot(s.history.passes, np.maximum(s.history.gap / s.null, 1e-17), marker=".", label=name)
    axes.set(yscale="log", xlabel="passes over the data", ylabel="certified gap / null objective", title=title)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(solutions) > 1:
        axes.legend(frameon=False)
    figure.savefig(path, dpi=160)
