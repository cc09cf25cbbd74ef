"""A hint to fetch memory before it is used: the rows of a random order are no stream that a processor can foresee.

On text-like rows the same loop takes 1.3 ns per nonzero with it and 7 to 9 without.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typingctx: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of element `index`, counted in memory order, of a contiguous array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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
