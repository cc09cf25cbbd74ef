"""How far a model of any origin is from the optimum of what it was to minimize, with proof.

    P(w, b) - D(alpha) >= P(w, b) - min P

for any coefficients and any feasible alpha, so a fitted model needs nothing but its data and its objective to be judged. The first alpha is
-phi'(X w + b), brought to feasibility; where that proves too little, a solve of the problem from there looks for a better one. The
coefficients of the model stay as they are: what the solve finds serves to bound how far they are from the optimal ones.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """The certificate of one problem: of the model, or of one class against the rest, or of one target.

    `lower` and `upper` enclose the minimum of the objective, `alpha` proves the first and `reference` attains the second. `bounds` are
    those of the model by its own gap, `reference_bounds` those of the reference.
    """

    w: Array
    intercept: Any
    alpha: Array
    primal: float
    dual: float
    gap: float
    null: float
    lower: float
    upper: float
    convexity: float
    loss: Any
    penalty: Any
    reference: Array
    bounds: Any
    reference_bounds: Any


@dataclass(frozen=True)
class Certificate:
    """What is proved about a model.

    Attributes
    ----------
    parts : tuple of Part
        One for each problem that the model solved. What follows are sums over these.
    primal, dual : float
        The objective of the model, and the best bound from below that was found.
    gap : float
        primal - dual and an allowance for rounding: the model is at most this far from optimal.
    relative_gap : float
        The gap over the objective of the null model (w = 0 and the best intercept).
    at_least : float
        The model is at least this far from optimal.
    passes, seconds : float
        What it took to find that out.
    """

    parts: tuple[Part, ...]
    classes: Any
    column: float | None
    joint: bool
    name: str
    passes: float
    seconds: float

    @property
    def primal(self) -> float:
        return math.fsum(p.primal for p in self.parts)

    @property
    def dual(self) -> float:
        return math.fsum(p.dual for p in self.parts)

    @property
    def gap(self) -> float:
        return math.fsum(p.gap for p in self.parts)

    @property
    def null(self) -> float:
        return math.fsum(p.null for p in self.parts)

    @property
    def relative_gap(self) -> float:
        return self.gap / self.null if self.null > 0.0 else (0.0 if self.gap == 0.0 else math.inf)

    @property
    def at_least(self) -> float:
        return max(math.fsum(max(p.primal - p.upper, 0.0) for p in self.parts), 0.0)

    @property
    def alpha(self) -> Any:
        """The dual variables that prove it: an array, or a list with one for each part."""
        return self.parts[0].alpha if len(self.parts) == 1 else [p.alpha for p in self.parts]

    @property
    def distance(self) -> float:
        """A bound on |w - w*|, the coefficients of all parts taken together; infinite without a penalty that is strongly convex."""
        return math.sqrt(math.fsum(_distance(p) ** 2 for p in self.parts))

    def decision_bounds(self, X: Any) -> tuple[Array, Array]:
        """Where the decision values, or predictions, of the optimal model are.

        Parameters
        ----------
        X : array or sparse matrix of n x d
            Rows, with the columns of the data.

        Returns
        -------
        low, high : arrays of n, or n x k for several classes or targets
            Bounds, infinite where nothing is known.
        """
        from dualgap.data.validation import check_matrix
        from dualgap.foreign import with_column

        X = check_matrix(X, [])
        X = X if self.column is None else with_column(X, self.column)
        low, high = zip(*(_interval(part, X, self.joint) for part in self.parts), strict=True)
        return (low[0], high[0]) if len(self.parts) == 1 else (np.column_stack(low), np.column_stack(high))

    def decided(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether the optimal model has the same sign, or the same largest decision value, as this one.

        Parameters
        ----------
        X : array or sparse matrix of n x d
            Rows, with the columns of the data.

        Returns
        -------
        array of n bools
        """
        low, high = self.decision_bounds(X)
        if low.ndim == 1:
            return np.asarray((low > 0.0) | (high < 0.0))
        z = self._scores(X)
        rows, chosen = np.arange(len(z)), np.argmax(z, axis=1)
        least, others = low[rows, chosen], high.copy()
        others[rows, chosen] = -np.inf
        return np.asarray(least > np.max(others, axis=1))

    def _scores(self, X: Any) -> Array:
        from dualgap.data.validation import check_matrix
        from dualgap.foreign import with_column

        X = check_matrix(X, [])
        X = X if self.column is None else with_column(X, self.column)
        scores = [np.asarray(X @ p.w) + p.intercept for p in self.parts]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def __repr__(self) -> str:
        parts = f" in {len(self.parts)} problems" if len(self.parts) > 1 else ""
        distance = f"{self.distance:.3g}" if self.distance < math.inf else "infinite: the penalty is not strongly convex"
        return (
            f"Certificate of {self.name}{parts}\n"
            f"  objective {self.primal:.10g}, proved to be at most {self.gap:.2e} above its minimum, and at least {self.at_least:.2e}\n"
            f"  relative to the model without features: {self.relative_gap:.2e}\n"
            f"  |w - w*| at most {distance}; {self.passes:.0f} passes in {self.seconds:.2f} s"
        )


def _distance(part: Part) -> float:
    """A bound on |w - w*|: by the gap of the model, or by way of the reference."""
    if part.convexity <= 0.0:
        return math.inf
    away = float(np.linalg.norm(part.w - part.reference[: len(part.w)]))
    scale = 1.0 / math.sqrt(part.convexity)
    return float(min(scale * part.bounds.radius, away + scale * part.reference_bounds.radius))


def _interval(part: Part, X: Any, joint: bool) -> tuple[Array, Array]:
    """The decision values of the optimal model of a part: where the bounds around the model and around the reference meet."""
    from dualgap.bounds import rounding

    norms2 = (
        np.asarray(X.multiply(X).sum(axis=1)).ravel() if not isinstance(X, np.ndarray) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
    )
    d = len(part.w)
    low, high = np.array(-np.inf), np.array(np.inf)
    for w, b, bounds in (
        (part.w, part.intercept, part.bounds),
        (part.reference[:d], part.reference[d], part.reference_bounds),
    ):
        z = np.asarray(X @ w) + b
        size = bounds.scores(X) + rounding(norms2, np.append(w.ravel(), np.max(np.abs(b))))
        size = size[:, None] if joint else size
        low, high = np.maximum(low, z - size + (-bounds.high if joint else bounds.low)), np.minimum(high, z + size + bounds.high)
    return low, high


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = None,
    penalty: Any = None,
    sample_weight: Any = None,
    effort: float = 100.0,
    time_limit: float | None = None,
    solver: Any = "auto",
) -> Certificate:
    """Prove how far a fitted model is from the optimum of what it was to minimize.

    Parameters
    ----------
    model : fitted model, coefficients, or pair of coefficients and intercept
        A linear model of scikit-learn, liblinear, cyanure, celer, skglm, snapml, statsmodels or this library, whose parameters say what it
        was to minimize; a pipeline or a search that ends with one; or coefficients of d numbers, or d x k, with or without an intercept,
        which counts as unpenalized.
    X, y : data
        What the model was fitted to.
    loss, penalty : as for `solve`
        The objective; needed for coefficients, and instead of what a model says about itself.
    sample_weight : array of n nonnegative numbers, optional
        The weights that the model was fitted with; those of classes are known from the model.
    effort : float
        How many passes over the data may be spent on a better proof, if -phi'(Xw + b) proves too little. It ends early when the gap is
        known to a percent.
    time_limit : float, optional
        Limit of that in seconds, for each problem.
    solver : {"auto", ...} or a solver object
        What looks for the better proof, see `solve`.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import dualgap as dg
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(tol=1e-2).fit(X, y)
    >>> certificate = dg.certify(model, X, y)
    >>> bool(0.0 < certificate.at_least <= certificate.gap < 1e-2)
    True
    """
    from dualgap.auditing import audit, reading_of

    started = time.perf_counter()
    reading, name = reading_of(model, X, y, loss, penalty, sample_weight)
    if not effort >= 0.0:
        raise ValueError(f"effort must be a number of passes, got {effort!r}")
    passes, parts = 0.0, []
    for claim in reading.claims:
        part, spent = audit(claim, reading, effort, time_limit, solver)
        parts.append(part)
        passes += spent
    return Certificate(tuple(parts), reading.classes, reading.column, reading.joint, name, passes, time.perf_counter() - started)
