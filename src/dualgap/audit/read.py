"""From what a caller has, a fitted model or coefficients, to the problems that are to be certified."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualgap.audit.statement import Data, Statement, dense, with_column

Array = npt.NDArray[np.float64]

# A library, and the module that reads its models. A library is needed only by who uses it: models are known by the names of their classes.
LIBRARIES = {
    "sklearn": "scikit_learn",
    "liblinear": "liblinear",
    "celer": "celer",
    "skglm": "skglm",
    "cyanure": "cyanure",
    "snapml": "snapml",
    "statsmodels": "statsmodels",
    "dualgap": "own",
}


@dataclass(frozen=True)
class Rows:
    """From rows as a model takes them to those of its problems: the steps before it in a pipeline, and a column for its intercept."""

    model: Any
    before: Any = None
    column: float | None = None

    def __call__(self, X: Any) -> Any:
        from sklearn.base import BaseEstimator
        from sklearn.utils.validation import check_array, validate_data

        if self.before is not None:
            X = self.before.transform(X)
        if isinstance(self.model, BaseEstimator) and hasattr(self.model, "n_features_in_"):
            validate_data(self.model, X, reset=False, skip_check_array=True)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
        return X if self.column is None else with_column(X, self.column)


class Reading(NamedTuple):
    """What a model stands for: its name, loss and classes, the problems, and how rows become theirs."""

    name: str
    loss: Any
    classes: npt.NDArray[Any] | None
    claims: list[Any]
    rows: Rows


def read(model: Any, X: Any, y: Any, sample_weight: Any, loss: Any, penalty: Any) -> Reading:
    """What a model of any kind was to minimize on the data, and what it has found."""
    model, before = _unwrapped(model)
    rows = Rows(model, before)
    matrix = rows(X)
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if len(y) != matrix.shape[0]:
        raise ValueError(f"y must have one target for each of the {matrix.shape[0]} rows of X, got {len(y)}")
    weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), (len(y),))
    data = Data(matrix, y, weight)
    if isinstance(model, np.ndarray | list | tuple):
        statement, name = _coefficients(model, loss, penalty), "coefficients"
    else:
        statement, name = _model(model, data, loss, penalty), f"{type(model).__name__} of {_library(type(model))}"
    if statement.penalty is None:
        raise ValueError(f"penalty must be given: {name} does not keep with what it was penalized")
    return Reading(name, statement.loss, statement.classes, statement.claims(data), replace(rows, column=statement.column))


def _unwrapped(model: Any) -> tuple[Any, Any]:
    """The model itself, and what comes before it in a pipeline."""
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "named_steps"):
        return model, None
    return model[-1], (model[:-1] if len(model) > 1 else None)


def _model(model: Any, data: Data, loss: Any, penalty: Any) -> Any:
    """The statement of a model, with the loss or the penalty of the caller in place of its own."""
    reader = _reader(model)
    if reader is None and (loss is None or penalty is None):
        raise TypeError(
            f"model must be a fitted linear model of one of {', '.join(LIBRARIES)}, or be given with loss and penalty; "
            f"got {type(model).__name__} of {_library(type(model))}"
        )
    statement = reader(model, data) if reader is not None else _attributes(model)
    return statement.restated(loss, penalty)


def _reader(model: Any) -> Callable[[Any, Data], Any] | None:
    """What reads a model: by its class, or the first class of a library that it derives from."""
    for kind in type(model).__mro__:
        library = _library(kind)
        if library not in LIBRARIES:
            continue
        module = import_module(f"dualgap.audit.readers.{LIBRARIES[library]}")
        if kind.__name__ in module.READERS:
            return module.READERS[kind.__name__]  # type: ignore[no-any-return]
        if kind.__name__ in module.REFUSED:
            raise TypeError(f"{kind.__name__} of {library} cannot be certified: {module.REFUSED[kind.__name__]}")
        return None
    return None


def _library(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _attributes(model: Any) -> Statement:
    """The coefficients of a model of an unknown kind; the loss and the penalty are the caller's."""
    if not hasattr(model, "coef_"):
        raise TypeError(f"model must have been fitted and have coef_, {type(model).__name__} has none")
    intercept = getattr(model, "intercept_", 0.0)
    fitted = getattr(model, "fit_intercept", bool(np.any(dense(intercept) != 0.0)))
    return Statement(None, None, model.coef_, intercept if fitted else None, getattr(model, "classes_", None))


def _coefficients(model: Any, loss: Any, penalty: Any) -> Statement:
    """The statement for coefficients with a loss and a penalty."""
    if loss is None or penalty is None:
        raise ValueError("loss and penalty must be given for coefficients")
    pair = isinstance(model, tuple)
    if pair and len(model) != 2:
        raise ValueError(f"model must be coefficients, or a pair of coefficients and intercept, got a tuple of {len(model)}")
    w, intercept = (np.asarray(model[0], dtype=np.float64), model[1]) if pair else (np.asarray(model, dtype=np.float64), None)
    joint = getattr(loss, "vector", False)
    if w.ndim != (2 if joint else 1):
        expected = "(d, k), one column for each class" if joint else "(d,)"
        raise ValueError(f"coefficients must have the shape {expected} for {type(loss).__name__}, got {w.shape}")
    signs = getattr(loss, "labels", "real") == "sign"
    classes = np.arange(w.shape[1]) if joint else np.array([-1.0, 1.0]) if signs else None
    return Statement(loss, penalty, w.T, intercept, classes)
