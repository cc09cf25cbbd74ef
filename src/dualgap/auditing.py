"""The proof behind `certify`: what a model claims, the dual point of its coefficients, and the search for a better one."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.bounds import certified_bounds
from dualgap.certificate import dual_point, primal_point
from dualgap.certify import Part
from dualgap.data.validation import check_matrix, make_problem
from dualgap.foreign import Claim, Data, Reading, read
from dualgap.null import null_weights
from dualgap.solution import Record, Solution
from dualgap.solve import Stated, solve_stated

Array = npt.NDArray[np.float64]
KNOWN, FINEST = 0.01, 1e-13


def reading_of(model: Any, X: Any, y: Any, loss: Any, penalty: Any, sample_weight: Any) -> tuple[Reading, str]:
    """What a model of any kind stands for, and its name."""
    if hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        if len(model.steps) > 1:
            X = model[:-1].transform(X)
        model = model.steps[-1][1]
    if (loss is None) != (penalty is None):
        raise ValueError("loss and penalty must be given together, or neither")
    weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), (len(y),))
    X, y = check_matrix(X, []), np.asarray(y)
    if len(y) != X.shape[0]:
        raise ValueError(f"y must have one target per row of X, {X.shape[0]}, got {len(y)}")
    plain = isinstance(model, np.ndarray | list | tuple)
    if not plain and loss is None:
        return read(model, Data(X, y, weight)), f"{type(model).__name__} of {type(model).__module__.partition('.')[0]}"
    if loss is None:
        raise ValueError("loss and penalty must be given for coefficients")
    w, b, classes = _coefficients(model, X.shape[1])
    if classes is not None:
        y = _as_the_loss_wants(y, classes, loss)
    return Reading([Claim(y, loss, penalty, w, b)], X, weight, b is not None, None, classes, w.ndim == 2), "coefficients"


def _coefficients(model: Any, d: int) -> tuple[Array, Any, Any]:
    """Coefficients d or d x k, the intercept if there is one, and the classes if the model has any."""
    classes = getattr(model, "classes_", None)
    if hasattr(model, "coef_"):
        coef = np.asarray(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_, dtype=np.float64)
        fitted = bool(getattr(model, "fit_intercept", True))
        w = coef.ravel() if coef.ndim == 1 or len(coef) == 1 else np.ascontiguousarray(coef.T)
        b = np.ravel(np.asarray(model.intercept_, dtype=np.float64)) if fitted else None
    else:
        pair = isinstance(model, tuple)
        if pair and len(model) != 2:
            raise ValueError(f"model must be coefficients, or a pair of coefficients and intercept, got a tuple of {len(model)}")
        w = np.ascontiguousarray(model[0] if pair else model, dtype=np.float64)
        b = np.ravel(np.asarray(model[1], dtype=np.float64)) if pair else None
    if w.ndim not in (1, 2) or w.shape[0] != d or not np.all(np.isfinite(w)):
        raise ValueError(f"coefficients must be finite numbers of shape ({d},) or ({d}, k), got shape {w.shape}")
    if b is not None and (b.shape != (w.shape[1] if w.ndim == 2 else 1,) or not np.all(np.isfinite(b))):
        raise ValueError(f"the intercept must be one finite number for each column of coefficients, got {b!r}")
    return w, (b if b is None or w.ndim == 2 else float(b[0])), classes


def _as_the_loss_wants(y: Any, classes: Any, loss: Any) -> npt.NDArray[Any]:
    """Classes as -1 and +1, or as 0 .. k-1 for a vector-valued loss."""
    labels = np.searchsorted(classes, y)
    return labels if getattr(loss, "vector", False) else np.where(labels == 1, 1.0, -1.0)


def audit(claim: Claim, reading: Reading, effort: float, time_limit: float | None, solver: Any) -> tuple[Part, float]:
    """The certificate of one problem, and the passes it took."""
    problem, notes = make_problem(reading.X, claim.y, claim.loss, claim.penalty, reading.weight, reading.intercept)
    b = np.zeros((1, *problem.shape[1:])) if claim.b is None else np.asarray(claim.b, dtype=np.float64).reshape(1, *problem.shape[1:])
    w = np.concatenate([claim.w, b])
    null = primal_point(problem, null_weights(problem))
    point = primal_point(problem, w)
    if not math.isfinite(point.value):
        raise ValueError("the coefficients violate the bounds of the penalty, so that their objective is infinite")
    dual = dual_point(problem, problem.dual_points(w, np.empty(problem.alpha_shape)), point, null.value)
    alpha, value, lower, passes = dual.alpha * dual.scale, dual.value, dual.value - dual.doubt, 3.0
    upper, reference = point.value + point.doubt, w
    if effort > 0.0 and null.value > 0.0 and point.value + point.doubt > lower:
        best = _searched(Stated(problem, claim.loss, claim.penalty, tuple(notes)), w, alpha, point.value, null, effort, time_limit, solver)
        passes += best.passes
        if best.primal - best.gap > lower:
            alpha, value, lower = best.alpha, best.dual, best.primal - best.gap
        if best.primal < upper:
            upper, reference = best.primal, np.concatenate([best.w, np.asarray(best.intercept).reshape(b.shape)])
    gap = max(point.value + point.doubt - lower, 0.0)
    return Part(
        w=claim.w,
        intercept=b[0] if problem.outputs else float(b[0]),
        alpha=alpha,
        primal=point.value,
        dual=value,
        gap=gap,
        null=null.value,
        lower=lower,
        upper=upper,
        convexity=float(problem.penalty.convexity),
        loss=claim.loss,
        penalty=claim.penalty,
        reference=reference,
        bounds=certified_bounds(problem, w, gap),
        reference_bounds=certified_bounds(problem, reference, max(upper - lower, 0.0)),
    ), passes


def _searched(
    stated: Stated, w: Array, alpha: Array, value: float, null: Any, effort: float, time_limit: float | None, solver: Any
) -> Solution:
    """A solve from the model, until the gap of the model is known to a percent."""
    d = stated.problem.d
    start = SimpleNamespace(w=w[:d], alpha=alpha, intercept=w[d])

    def known(record: Record) -> bool:
        return record.gap <= KNOWN * (value - record.dual)

    return solve_stated(
        stated, tol=FINEST, max_passes=effort, time_limit=time_limit, solver=solver, warm_start=start, callback=known, null=null
    )
