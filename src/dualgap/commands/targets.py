"""Targets as a loss wants them: -1 and +1, or 0 .. k-1, whatever the classes are called in the files."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.commands.options import UsageError

Labels = tuple[Any, ...] | None


def encoded(y: npt.NDArray[Any], loss: Any, name: str, labels: Labels = None) -> tuple[npt.NDArray[Any], Labels]:
    """The targets as the loss wants them, and the classes they stand for; `labels` are those of a model, to be used again."""
    vector = getattr(loss, "vector", False)
    if not vector and getattr(loss, "labels", "real") != "sign":
        if y.dtype == object:
            raise UsageError(f"the loss {name} is for targets that are numbers, got {y[0]!r}")
        return y, None
    found = tuple(sorted(set(y.tolist()))) if y.dtype == object else tuple(np.unique(y).tolist())
    if labels is None:
        labels = found
        if not vector and len(labels) != 2:
            advice = ": for more, say --loss softmax" if len(labels) > 2 else ""
            raise UsageError(f"the loss {name} is for two classes, got {len(labels)} ({_listed(labels)}){advice}")
        if len(labels) < 2:
            raise UsageError(f"the loss {name} is for two classes or more, got only {labels[0]!r}")
    unknown = [label for label in found if label not in labels]
    if unknown:
        raise UsageError(f"the targets must be classes of the model ({_listed(labels)}), got {unknown[0]!r}")
    place = {label: k for k, label in enumerate(labels)}
    codes = np.array([place[label] for label in found])
    index = codes[np.searchsorted(np.array(found, dtype=y.dtype), y)] if y.dtype != object else np.array([place[label] for label in y])
    return (index, labels) if vector else (2.0 * index - 1.0, labels)


def _listed(labels: tuple[Any, ...]) -> str:
    return ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
