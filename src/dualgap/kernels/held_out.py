"""Scores of some of the rows, wherever they lie: what is held out of a fit is read in place too."""

from typing import Any

import numpy as np

from dualgap.kernels.compile import kernel
from dualgap.rows import column, entry, first, last


@kernel
def scores_at(rows: Any, chosen: Any, w: Any, z: Any) -> None:
    """Z = X W + b for the rows that are chosen; w and z have two dimensions, and w holds the intercepts last."""
    for r in range(chosen.shape[0]):
        i = np.uint64(chosen[r])
        for m in range(w.shape[1]):
            z[r, m] = w[w.shape[0] - 1, m]
        for t in range(first(rows, i), last(rows, i)):
            j, x = column(rows, t), entry(rows, i, t)
            for m in range(w.shape[1]):
                z[r, m] += x * w[j, m]
