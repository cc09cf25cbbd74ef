"""Hints to fetch memory before it is used: the rows of a random order are no stream that a processor can foresee.

On text-like rows the same loop takes four to six times as long without them.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dualgap.kernels.compile import jitable, resolved

LINE = 64
ONE = np.uint64(1)


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typingctx: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of element `index`, counted in memory order, of a contiguous array; one of equal numbers needs no fetching."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if signature.args[0].layout == "C":
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
            flag = ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag]), "llvm.prefetch.p0"
            )
            read, keep, data_cache = flag(0), flag(3), flag(1)
            builder.call(function, [address, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, index), codegen


def per_line(array: Any) -> Any:
    """How many elements a cache line holds."""


def _per_line(array: Any) -> Any:
    count = np.uint64(8 * LINE // array.dtype.bitwidth)
    return lambda array: count


resolved(per_line, _per_line)


@jitable
def fetch(array: Any, begin: Any, end: Any) -> None:
    """Fetch elements `begin` to `end` - 1, a cache line at a time and the last one too, which may lie in a line of its own."""
    for t in range(begin, end, per_line(array)):
        prefetch(array, t)
    prefetch(array, end - ONE)


@jitable
def fetch_at(array: Any, i: Any) -> None:
    """Fetch element i of a vector, or row i of a matrix."""
    if array.ndim == 1:
        prefetch(array, i)
    else:
        width = np.uint64(array.shape[1])
        fetch(array, i * width, (i + ONE) * width)
