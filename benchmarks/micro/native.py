"""The same epoch in C, compiled when it is asked for and called in the same process."""

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.micro.problems import State

SOURCE = Path(__file__).with_name("epoch.c")
# The liberties that kernels take with floating-point numbers; -ffast-math would make the whole process round subnormal numbers to zero.
MATH = ("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-ffp-contract=fast")
NAMES = {"SmoothHinge": "smooth_hinge", "Logistic": "logistic", "Softmax": "softmax"}


class _Problem(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("n", "d", "k", "ahead", "share_step")),
        *((name, ctypes.c_void_p) for name in ("indptr", "indices", "data", "share", "norms2", "y")),
        *((name, ctypes.c_double) for name in ("gamma", "l1", "inverse")),
    ]


@cache
def library(*macros: str) -> ctypes.CDLL:
    """The epochs of epoch.c, compiled with these macros."""
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "epoch.so")
        options = ["-O3", "-march=native", *MATH, *(f"-D{macro}" for macro in macros), "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, str(SOURCE), "-o", target, "-lm"], check=True)
        return ctypes.CDLL(target)


def epoch(state: State, *macros: str) -> Any:
    """The epoch in C as a function of alpha and u."""
    p = state.problem
    sparse = not isinstance(p.X, np.ndarray)
    arrays = (p.X.indptr, p.X.indices, p.X.data) if sparse else (None, None, p.X)
    addresses = [None if a is None else a.ctypes.data for a in (*arrays, p.share, p.norms2, p.y)]
    sizes = (p.n, p.d, p.outputs, p.rows.ahead, p.share.strides[0] // p.share.itemsize)
    packed = _Problem(*sizes, *addresses, p.loss.smoothness, p.penalty.l1, state.prox.inverse)
    name = ("sparse_" if sparse else "dense_") + NAMES[type(p.loss).__name__]
    function = getattr(library(*macros), name)
    function.restype = None
    pointer, size = ctypes.c_void_p, ctypes.c_int64

    def run(alpha: Any, u: Any) -> None:
        function(ctypes.byref(packed), *(pointer(a.ctypes.data) for a in (alpha, u, state.order)), size(len(state.order)))

    return run
