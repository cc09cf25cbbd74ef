"""Losses and penalties as JSON and arrays: their names and parameters, from a list of those that may be made again."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import dualgap as dg

KNOWN = {
    c.__name__: c
    for c in (
        *(dg.Absolute, dg.EpsilonInsensitive, dg.Hinge, dg.Huber, dg.Logistic, dg.Quantile, dg.SmoothHinge, dg.Squared, dg.SquaredHinge),
        *(dg.MaxHinge, dg.SmoothMaxHinge, dg.SoftMaxHinge, dg.Softmax, dg.Smoothed),
        *(dg.L2, dg.ElasticNet, dg.GroupL1, dg.QNorm, dg.Entropy, dg.Factors, dg.Box),
    )
}
# What solvers keep in a penalty, and no parameter of it.
WORKING = {"state", "vector", "free"}
Arrays = dict[str, npt.NDArray[Any]]


def described(thing: Any, key: str, arrays: Arrays) -> dict[str, Any] | None:
    """A loss or penalty as its name and parameters, arrays put into `arrays` under a key; None for one that is not of this library."""
    name = type(thing).__name__
    if KNOWN.get(name) is not type(thing):
        return None
    record: dict[str, Any] = {"name": name}
    for field, value in zip(thing._fields, thing, strict=True):
        if field in WORKING or value is None:
            continue
        if hasattr(value, "_fields"):
            inner = described(value, f"{key}.{field}", arrays)
            if inner is None:
                return None
            record[field] = inner
        elif np.ndim(value):
            values = np.asarray(value)
            arrays[f"{key}.{field}"] = values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)
            record[field] = {"array": f"{key}.{field}"}
        else:
            number = float(value)
            record[field] = number if math.isfinite(number) else str(number)
    return record


def rebuilt(record: Any, arrays: Arrays) -> Any:
    """What `described` described; an error if it names anything else."""
    if record is None:
        return None
    if record["name"] not in KNOWN:
        raise ValueError(f"there is no loss or penalty {record['name']!r}")
    made = KNOWN[record["name"]]
    fields: dict[str, Any] = {}
    for field, value in record.items():
        if field == "name":
            continue
        if field in WORKING or field not in made._fields:
            raise ValueError(f"{record['name']} has no parameter {field!r}")
        if isinstance(value, dict):
            fields[field] = arrays[value["array"]] if "array" in value else rebuilt(value, arrays)
        else:
            fields[field] = float(value)
    return made(**fields)
