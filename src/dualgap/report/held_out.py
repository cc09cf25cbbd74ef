"""How a solution does on data that it was not fitted to, for the report: a confusion matrix, or residuals."""

from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.report.svg import scatter_chart
from dualgap.solution import Solution

Array = npt.NDArray[np.float64]
MOST_POINTS, MOST_CLASSES, MOST_CONFUSED = 1500, 12, 10


def scores(s: Solution, X: Any) -> Array:
    """x'w + b of rows that have the features of the fit."""
    if getattr(X, "ndim", None) != 2:
        X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] != s.w.shape[0]:
        raise ValueError(
            f"X_test must have at least one row and {s.w.shape[0]} columns, as many as there are coefficients, got shape {X.shape}"
        )
    z = np.asarray(X @ s.w + s.intercept, dtype=np.float64)
    if not np.all(np.isfinite(z)):
        raise ValueError("X_test must hold finite numbers, got nan or infinite ones")
    return z


def section(s: Solution, X: Any, y: Any, classes: list[str] | None) -> str:
    """The section on held-out data: what is shown depends on whether the loss is that of a classifier."""
    z = scores(s, X)
    y = np.asarray(y)
    if y.shape != z.shape[:1]:
        raise ValueError(f"y_test must have one target per row of X_test, shape {z.shape[:1]}, got shape {y.shape}")
    if y.dtype.kind not in "fiub" or not np.all(np.isfinite(y)):
        raise ValueError(f"y_test must hold finite numbers, got dtype {y.dtype}")
    y = y.astype(np.float64)
    if z.ndim == 2:
        body = _confusion(_checked(y, np.arange(z.shape[1])), z.argmax(axis=1), classes or [f"class {k}" for k in range(z.shape[1])])
    elif classes is not None or getattr(s.loss, "labels", "real") == "sign":
        body = _confusion(_checked(y, np.array([-1, 1])), (z > 0.0).astype(int), classes or ["-1", "+1"])
    else:
        body = _residuals(z, y)
    return f"<h2>Held-out data</h2>\n{body}"


def _checked(y: Array, allowed: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The position of each label among those allowed."""
    wrong = y[~np.isin(y, allowed)]
    if wrong.size:
        span = "-1 and +1" if len(allowed) == 2 and allowed[0] == -1 else f"0 .. {len(allowed) - 1}"
        raise ValueError(f"y_test must hold the labels {span}, got {wrong[0]:g}")
    return np.searchsorted(allowed, y)


def _confusion(truth: npt.NDArray[np.intp], said: npt.NDArray[Any], names: list[str]) -> str:
    """A confusion matrix, or for many classes the pairs that are confused most."""
    k = len(names)
    counts = np.bincount(truth * k + said, minlength=k * k).reshape(k, k)
    right = int(np.trace(counts))
    majority = int(counts.sum(axis=1).max())
    lead = (
        f"<p>{right:,} of {len(truth):,} rows are classified correctly, {100.0 * right / len(truth):.1f} %. Always naming the most "
        f"frequent class would be right on {100.0 * majority / len(truth):.1f} %.</p>"
    )
    return lead + (_matrix(counts, names) if k <= MOST_CLASSES else _worst(counts, names))


def _matrix(counts: npt.NDArray[np.intp], names: list[str]) -> str:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(_cell(int(counts[i, j]), float(share[i, j]), hit=i == j) for j in range(len(names)))
        + f"<td>{100.0 * share[i, i]:.1f} %</td></tr>"
        for i, name in enumerate(names)
    )
    return (
        '<p class="soft">Confusion matrix: a row is a true class, a column what the model says; shaded by the share of the row.</p>'
        '<div class="wide"><table class="confusion" aria-label="Confusion matrix">'
        f'<thead><tr><td></td>{head}<th scope="col">right</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _cell(count: int, share: float, *, hit: bool) -> str:
    kind = ' class="hit"' if hit else ""
    return f'<td{kind} style="background:rgba(var(--heat), {0.45 * share:.3f})">{count:,}</td>'


def _worst(counts: npt.NDArray[np.intp], names: list[str]) -> str:
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = [divmod(int(at), len(names)) for at in order if wrong.flat[at] > 0]
    rows = "".join(
        f'<tr><th scope="row">{escape(names[i])}</th><td class="name">{escape(names[j])}</td><td>{counts[i, j]:,}</td></tr>'
        for i, j in pairs
    )
    head = '<thead><tr><th scope="col">true class</th><th scope="col">model says</th><th scope="col">rows</th></tr></thead>'
    return f'<div class="wide"><table><caption>What is confused most</caption>{head}<tbody>{rows}</tbody></table></div>'


def _residuals(z: Array, y: Array) -> str:
    """Residuals against predictions, and what they amount to."""
    residual = y - z
    spread = float(np.sum((y - y.mean()) ** 2))
    explained = f", R² {1.0 - float(np.sum(residual**2)) / spread:.3f}" if spread > 0.0 else ""
    rmse, mae = float(np.sqrt(np.mean(residual**2))), float(np.mean(np.abs(residual)))
    shown = np.arange(len(y)) if len(y) <= MOST_POINTS else np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_POINTS])
    sample = f" {MOST_POINTS:,} of the rows are drawn, chosen at random." if len(y) > MOST_POINTS else ""
    text = f"Root mean squared error {rmse:.4g}, mean absolute error {mae:.4g}{explained}, on {len(y):,} rows.{sample}"
    chart = scatter_chart(
        z[shown],
        residual[shown],
        x_label="prediction",
        y_label="target less prediction",
        description=f"Residuals against predictions. {text}",
    )
    return f'<p>{escape(text)}</p><div class="charts"><figure>{chart}</figure></div>'
