"""The only place that raises about input: each error names the argument, its value and what is allowed.

X is read in place where a kernel can read it (CSR with 32- or 64-bit indices or a C-contiguous array, of float32 or float64, read-only
memory included); any other layout is converted once, and the solution says so.
"""

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.cores import check_n_threads
from dualgap.data.store import Store
from dualgap.data.stream import Stream
from dualgap.kernels import gap
from dualgap.losses import Smoothed
from dualgap.penalties import ElasticNet, Factors
from dualgap.problem import Problem, column_factors, row_parts
from dualgap.rows import as_rows, frozen, row_slice
from dualgap.streamed import StreamedProblem
from dualgap.team import team_for

FLOATS = (np.float32, np.float64)
# Costs are an array of classes by classes: 32 GiB with so many.
MOST_CLASSES = 1 << 16


def make_problem(
    X: Any, y: Any, loss: Any, penalty: Any, sample_weight: Any = None, intercept: bool = False, n_threads: Any = 1
) -> tuple[Problem, list[str]]:
    """The problem that the arguments of `solve` state, and remarks about conversions."""
    n_threads = check_n_threads(n_threads)
    notes: list[str] = []
    if isinstance(X, Store):
        X, y, sample_weight = _of_store(X, y, sample_weight, notes)
    X = X if isinstance(X, Store) else check_matrix(X, notes)
    n, d = X.shape
    share = check_weights(sample_weight, n)
    loss = check_loss_object(loss)
    y, outputs = check_targets(y, n, loss)
    if outputs:
        loss = loss.with_costs(outputs, n)
    penalty = check_penalty_object(penalty, d, outputs)
    if not isinstance(intercept, (bool, np.bool_)):
        raise TypeError(f"intercept must be True or False, got {intercept!r}")
    parts = (frozen(y), share)
    if isinstance(X, Store):
        team = team_for(n_threads, X.nnz * max(1, outputs))
        problem: Problem = StreamedProblem(X, Stream(X), *parts, frozen(X.norms2), loss, penalty, bool(intercept), outputs, team)
        _check_held(problem)
        return problem, notes
    rows = as_rows(X)
    norms2 = np.empty(n)
    team = team_for(n_threads, getattr(X, "nnz", X.size) * max(1, outputs))
    with team.at_work():
        canonical = all(team.map(lambda part: gap.row_norms(row_slice(rows, part), d, norms2[part]), row_parts(X, team.parts)))
    if not np.all(np.isfinite(norms2)):
        raise ValueError(_explain_bad_matrix(X))
    if not canonical:
        gap.merged_row_norms(rows, np.zeros(d), norms2)
    problem = Problem(X, rows, *parts, frozen(norms2), loss, penalty, bool(intercept), outputs, team)
    _check_held(problem)
    return problem, notes


def _of_store(store: Store, y: Any, sample_weight: Any, notes: list[str]) -> tuple[Any, Any, Any]:
    """The rows of a store, read at once if they fit into memory; its targets and weights where there are no others."""
    y = store.y if y is None else y
    sample_weight = store.sample_weight if sample_weight is None else sample_weight
    if store.rounded:
        notes.append(f"The certificate is for the data as they are in {store.path}: {store.rounded:,} values rounded to {store.values}.")
    return store.load() if store.fits else store, y, sample_weight


def check_matrix(X: Any, notes: list[str]) -> Any:
    """X as something a kernel reads: CSR or a C-contiguous array."""
    if hasattr(X, "tocsr") and hasattr(X, "nnz"):
        return _check_sparse(X, notes)
    if not isinstance(X, np.ndarray):
        try:
            X = np.asarray(X)
        except (ValueError, TypeError) as error:
            raise TypeError(f"X must be an array or a scipy sparse matrix of numbers, got {type(X).__name__}: {error}") from None
        notes.append("X was converted to an array.")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, features), got shape {X.shape}")
    if 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    if X.dtype not in FLOATS or not X.dtype.isnative:
        X = _as_float64(X, notes)
    if not X.flags.c_contiguous or not X.flags.aligned:
        notes.append("X was copied once into C order.")
        X = np.array(X, order="C")
    return np.asarray(X)


def _as_float64(X: npt.NDArray[Any], notes: list[str]) -> npt.NDArray[Any]:
    if X.dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers, got dtype {X.dtype}")
    notes.append(f"X was converted once from {X.dtype} to float64.")
    return X.astype(np.float64)


def _check_sparse(X: Any, notes: list[str]) -> Any:
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have two dimensions, at least one row and one column, got shape {X.shape}")
    if X.format != "csr":
        notes.append(f"X was converted once from {X.format.upper()} to CSR.")
        X = X.tocsr()
    if X.dtype not in FLOATS or not X.dtype.isnative:
        X = type(X)((_as_float64(X.data, notes), X.indices, X.indptr), shape=X.shape)
    indptr = X.indptr
    if indptr[0] != 0 or indptr[-1] > len(X.data) or len(X.data) > len(X.indices) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("X is not a valid CSR matrix: indptr must start at 0, not decrease, and end within indices and data")
    if any(a.itemsize not in (4, 8) or a.dtype.kind != "i" or not a.flags.c_contiguous for a in (X.indptr, X.indices)):
        raise TypeError(f"X must have contiguous int32 or int64 indices, got {X.indices.dtype} and {X.indptr.dtype}")
    if not X.data.flags.c_contiguous:
        notes.append("The values of X were copied once into contiguous memory.")
        X = type(X)((np.ascontiguousarray(X.data), X.indices, X.indptr), shape=X.shape)
    return X


def _explain_bad_matrix(X: Any) -> str:
    values = X if isinstance(X, np.ndarray) else X.data
    if not isinstance(X, np.ndarray) and len(X.indices) and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):
        return f"X is not a valid CSR matrix: its column indices must lie in 0 .. {X.shape[1] - 1}"
    bad = np.flatnonzero(~np.isfinite(values.ravel()))
    if bad.size:
        return f"X must hold finite numbers, got {bad.size} that are nan or infinite"
    return "X must have rows whose squared norm is finite in float64: its largest entries are too large"


def check_weights(sample_weight: Any, n: int) -> npt.NDArray[np.float64]:
    """s_i/S; without weights an array that takes no memory."""
    if sample_weight is None:
        return np.broadcast_to(1.0 / n, (n,))
    s = _numbers("sample_weight", sample_weight)
    if s.ndim == 0:
        s = np.full(n, float(s))
    if s.shape != (n,):
        raise ValueError(f"sample_weight must have one number per row of X, shape ({n},), got shape {s.shape}")
    if np.any(s < 0.0):
        raise ValueError(f"sample_weight must not be negative, got {float(s.min())!r}")
    largest = float(np.max(s))
    if largest == 0.0:
        raise ValueError("sample_weight must not be zero for all rows")
    s = s / largest  # so that a sum of weights of any size neither overflows nor loses digits
    return frozen(s / math.fsum(s))


def _numbers(name: str, values: Any, infinite: bool = False) -> npt.NDArray[np.float64]:
    """An array of finite float64, or of ones that may be infinite."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise TypeError(f"{name} must hold real numbers, got sequences of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got {_dtype(values)}")
    array = np.asarray(array, dtype=np.float64, order="C")
    if infinite and np.any(np.isnan(array)):
        raise ValueError(f"{name} must not hold nan")
    if not infinite and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must hold finite numbers, got nan or infinite ones")
    return array


def _dtype(values: Any) -> str:
    return f"dtype {np.asarray(values).dtype}" if hasattr(values, "__len__") else repr(values)


def check_targets(y: Any, n: int, loss: Any) -> tuple[npt.NDArray[Any], int]:
    """y as the kernels read it, and the number of classes of a vector-valued loss (0 for a scalar one)."""
    name = type(loss).__name__
    if y is None:
        raise ValueError("y must be given: one target per row of X")
    try:
        values = np.asarray(y)
    except ValueError:
        raise TypeError("y must hold one number per row of X, got sequences of different lengths") from None
    if values.dtype.kind not in "fiub":
        raise TypeError(
            f"y must hold numbers, got dtype {values.dtype}; a classifier wants -1 and +1, or 0 .. k-1 for a vector-valued loss"
        )
    values = _numbers("y", values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.shape != (n,):
        raise ValueError(f"y must have one target per row of X, shape ({n},), got shape {values.shape}")
    if getattr(loss, "vector", False):
        if np.any(values != np.floor(values)) or values.min() < 0:
            raise ValueError(f"y must hold the classes 0 .. k-1 for {name}, got {np.unique(values)[:5].tolist()} ...")
        if values.max() >= MOST_CLASSES:
            raise ValueError(f"y must hold the classes 0 .. k-1 for {name}, with k <= {MOST_CLASSES}, got a class {values.max():.17g}")
        labels = values.astype(np.int64)
        k = int(labels.max()) + 1
        if k < 2 or np.all(labels == labels[0]):
            raise ValueError(f"y must hold at least two classes, got only {int(labels[0])}")
        return labels, k
    if getattr(loss, "labels", "real") == "sign":
        if not np.all(np.abs(values) == 1.0):
            raise ValueError(f"y must hold -1 and +1 for {name}, got {np.unique(values)[:5].tolist()}")
        if np.all(values == values[0]):
            raise ValueError(f"y must hold both classes, -1 and +1, got only {values[0]:+.0f}")
    return values, 0


def check_random_state(random_state: Any) -> np.random.Generator:
    """The generator that a seed stands for."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be a nonnegative integer, a numpy Generator or None, got {random_state!r}") from None


def check_number(name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """A finite number of an interval."""
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not math.isfinite(number) or number < low or number > high or (open_low and number == low):
        interval = f"{'>' if open_low else '>='} {low:g}" + (f" and <= {high:g}" if high < math.inf else "")
        raise ValueError(f"{name} must be finite and {interval}, got {value!r}")
    return number


POSITIVE_PARAMETERS = {"gamma", "delta"}


def check_loss_object(loss: Any) -> Any:
    """A loss with valid parameters, as floats."""
    if isinstance(loss, type) or not hasattr(loss, "_fields"):
        raise TypeError(f"loss must be a loss object such as dualgap.Logistic(), got {loss!r}")
    missing = [m for m in ("value", "conjugate", "derivative", "smoothness") if not hasattr(loss, m)]
    if missing:
        raise TypeError(f"loss must have value, conjugate, derivative and smoothness; {type(loss).__name__} lacks {', '.join(missing)}")
    if isinstance(loss, Smoothed):
        if not hasattr(loss.loss, "dual_step"):
            raise TypeError(f"Smoothed needs a loss with dual_step, got {type(loss.loss).__name__}")
        return Smoothed(check_loss_object(loss.loss), check_number("gamma", loss.gamma, 0.0, open_low=True))
    if not type(loss).__module__.startswith("dualgap."):
        return loss
    checked = {}
    for name in (f for f in loss._fields if f != "costs"):
        high = 1.0 if name == "level" else math.inf
        checked[name] = check_number(f"{type(loss).__name__}.{name}", getattr(loss, name), 0.0, high, open_low=name in POSITIVE_PARAMETERS)
    if "level" in checked and not 0.0 < checked["level"] < 1.0:
        raise ValueError(f"Quantile.level must lie between 0 and 1, got {loss.level!r}")
    return loss._replace(**checked)


def check_penalty_object(penalty: Any, d: int, outputs: int) -> Any:
    """A penalty with valid parameters, its arrays of length d, nested penalties included."""
    if isinstance(penalty, type) or not hasattr(penalty, "_fields"):
        raise TypeError(f"penalty must be a penalty object such as dualgap.L2(1e-4), got {penalty!r}")
    name = type(penalty).__name__
    checked: dict[str, Any] = {}
    if "penalty" in penalty._fields:
        inner = check_penalty_object(penalty.penalty, d, outputs)
        if formulas.penalty_is_coupled(inner):
            raise TypeError(f"{name} takes a penalty that treats each coefficient on its own, got {type(inner).__name__}")
        if isinstance(penalty, Factors) and "lower" in inner._fields:
            raise TypeError("Factors go inside Box: write Box(Factors(penalty, factors), lower, upper)")
        if isinstance(penalty, Factors) and isinstance(inner, Factors):
            raise TypeError("Factors inside Factors: multiply the factors instead")
        checked["penalty"] = inner
    elif not all(hasattr(penalty, m) for m in ("convexity",)):
        raise TypeError(f"penalty must have value, conjugate, primal and convexity; {name} lacks convexity")
    for field in ("l1", "l2"):
        if field in penalty._fields and type(penalty).__module__.startswith("dualgap."):
            checked[field] = check_number(f"{name}.{field}", getattr(penalty, field), 0.0)
    if "factors" in penalty._fields:
        checked["factors"] = _column_array("factors", penalty.factors, d)
        if np.any(checked["factors"] < 0.0):
            raise ValueError(f"factors must not be negative, got {float(checked['factors'].min())!r}")
    if "lower" in penalty._fields:
        checked["lower"] = _column_array("lower", penalty.lower, d, infinite=True)
        checked["upper"] = _column_array("upper", penalty.upper, d, infinite=True)
        if np.any(checked["lower"] > checked["upper"]):
            j = int(np.argmax(checked["lower"] > checked["upper"]))
            raise ValueError(
                f"lower must not exceed upper, got {float(checked['lower'][j])!r} > {float(checked['upper'][j])!r} for column {j}"
            )
        if np.any(checked["lower"] == np.inf) or np.any(checked["upper"] == -np.inf):
            raise ValueError("lower must be below infinity and upper above minus infinity")
    if "groups" in penalty._fields:
        checked["groups"] = _groups(penalty.groups, d)
    if "q" in penalty._fields:
        q = 1.0 + 1.0 / max(math.log(d), 1.0) if penalty.q is None else check_number("QNorm.q", penalty.q, 1.0, 2.0, open_low=True)
        checked["q"] = q
    if "state" in penalty._fields and outputs and "groups" not in penalty._fields:
        raise TypeError(f"{name} needs a scalar loss: its coefficients are one vector")
    return penalty._replace(**checked)


def _column_array(name: str, values: Any, d: int, infinite: bool = False) -> npt.NDArray[np.float64]:
    array = _numbers(name, values, infinite=infinite)
    if array.ndim == 0:
        array = np.full(d, float(array))
    if array.shape != (d,):
        raise ValueError(f"{name} must have one number per column of X, shape ({d},), got shape {array.shape}")
    return frozen(np.ascontiguousarray(array))


def _groups(groups: Any, d: int) -> npt.NDArray[np.int64]:
    array = np.asarray(groups)
    if array.dtype.kind not in "iu" or array.shape != (d,):
        raise ValueError(f"groups must have one integer per column of X, shape ({d},), got dtype {array.dtype}, shape {array.shape}")
    if array.min() < 0 or len(np.unique(array)) != array.max() + 1:
        raise ValueError("groups must be numbered 0 .. G-1, each with at least one column")
    return frozen(array.astype(np.int64))


def _check_held(problem: Problem) -> None:
    """Raise where nothing keeps the coefficients bounded."""
    penalty = problem.penalty
    if getattr(penalty, "norm", 2.0) != 2.0 and penalty.convexity <= 0.0:
        raise ValueError(f"l2 must be > 0 in {type(penalty).__name__}, got 0.0")
    factors = column_factors(penalty)
    if penalty.convexity > 0.0 or (factors is not None and not np.any(factors > 0.0)):
        return
    if not problem.radius(1.0) < 1e100:
        least = "l1 or l2" if isinstance(penalty, ElasticNet) else "l2"
        raise ValueError(f"{least} must be > 0, or bounds finite: with {penalty!r} nothing keeps the coefficients bounded")
