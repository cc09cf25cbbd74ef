"""The real data sets, from the folder named by DUALGAP_DATA or the one beside the checkout."""

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(os.environ.get("DUALGAP_DATA", Path(__file__).parents[3] / "shared" / "data"))


@cache
def _loader() -> Any:
    path = FOLDER / "load.py"
    if not path.is_file():
        raise FileNotFoundError(f"no data sets at {FOLDER}: set DUALGAP_DATA to the folder that holds load.py")
    spec = importlib.util.spec_from_file_location("load", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _two_classes(name: str) -> tuple[Any, Any]:
    X, y = _loader().load(name)
    classes = np.unique(y)
    if name == "20newsgroups":
        return X, np.where(y < classes[len(classes) // 2], 1.0, -1.0)
    if name == "covtype":
        return X, np.where(y == 1, 1.0, -1.0)
    if name == "usps":
        return X, np.where(y % 2 == 0, 1.0, -1.0)
    return X, np.where(y == classes.max(), 1.0, -1.0)


def _numbers(name: str) -> tuple[Any, Any]:
    X, y = _loader().load(name)
    y = np.asarray(y, dtype=np.float64)
    return X, (y - y.mean()) / y.std()


def _classes(name: str) -> tuple[Any, Any]:
    X, y = _loader().load(name)
    return X, np.unique(y, return_inverse=True)[1]


def names() -> list[str]:
    """What `two_classes` and `regression` can load."""
    return [*BINARY, *REGRESSION]


BINARY = ["arxiv_astro_ph", "arxiv_large", "cov1", "covtype", "a9a", "w8a", "ijcnn1", "usps", "20newsgroups", "leukemia", "colon_cancer"]
REGRESSION = ["cadata", "nycflights13"]
MULTICLASS = ["usps", "20newsgroups", "covtype"]


@cache
def two_classes(name: str) -> tuple[Any, Any]:
    """X and labels -1, +1."""
    return _loader().cov1() if name == "cov1" else _two_classes(name)


@cache
def regression(name: str) -> tuple[Any, Any]:
    """X and standardized numbers, or labels where that is what the data set has."""
    return _numbers(name) if name in REGRESSION else two_classes(name)


@cache
def classes(name: str) -> tuple[Any, Any]:
    """X and labels 0 .. k-1."""
    return _classes(name)


def forget() -> None:
    """Free the memory of the data sets loaded so far."""
    loaders: tuple[Callable[..., Any], ...] = (two_classes, regression, classes)
    for loader in loaders:
        loader.cache_clear()
