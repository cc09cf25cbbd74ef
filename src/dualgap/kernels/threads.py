"""How threads inside one compiled call wait for one another, so that they can meet thousands of times a second.

Kernels hold no lock of the interpreter, so plain Python threads can run them side by side; only going back to Python at every meeting
would cost more than the work between two. `wait` is a barrier in shared memory: the last thread to arrive turns the page, the others look
at the page number, a little while without rest, then leaving the processor to whoever wants it, then asleep. Nothing is burnt for long, and
nobody is stuck, where there are fewer cores than threads. The functions of the operating system that rest are called by their addresses,
which travel in the same array: an address compiled into a kernel would be wrong in the next process that reads it from the cache.
"""

import ctypes
import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dualgap.kernels.compile import jitable, kernel

# Where things are in the shared array; each that is written often has a cache line of its own.
LINE = 16
ARRIVED, PAGE, STOPPED, NAPS, YIELD, SLEEP, PAUSE = (LINE * k for k in range(7))
SIZE = 7 * LINE
SPINS, YIELDS = 400, 40
MICROSECONDS = 100
ONE = np.int64(1)


class Share(NamedTuple):
    """What one of several threads is to do: parts `first` to `last` - 1 of a job that is cut into parts, and where it meets the others."""

    first: int
    last: int
    threads: int
    sync: npt.NDArray[np.int64]


def _pointer(context: Any, builder: Any, type_: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(type_)(context, builder, array).data, [index])


@intrinsic  # type: ignore[untyped-decorator]
def load(_typingctx: Any, array: Any, index: Any) -> Any:
    """Element `index` as other threads last stored it, and with it all that they wrote before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(array, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def store(_typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Store an element, so that a thread that loads it sees all that was written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _pointer(context, builder, signature.args[0], *args[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def add(_typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Add to an element and return what was there before, both as one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(context, builder, signature.args[0], *args[:2]), args[2], "acq_rel")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def rest(_typingctx: Any, address: Any, amount: Any) -> Any:
    """Call a function of the operating system that takes one number."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        function = builder.inttoptr(args[0], ir.FunctionType(number, [number]).as_pointer())
        builder.call(function, [builder.trunc(args[1], number)])
        return _context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def relax(_typingctx: Any) -> Any:
    """Tell the processor that this is a loop that waits."""

    def codegen(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        if builder.module.triple.startswith(("x86", "i386", "i686", "amd64")):
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse2.pause")
            builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), codegen


@cache
def _system() -> tuple[int, int, int]:
    """The addresses of two functions, one that lets other threads run and one that sleeps, and for how long to call the second."""
    if sys.platform == "win32":
        library, names, amount = ctypes.WinDLL("kernel32"), ("SwitchToThread", "Sleep"), 1
    else:
        library, names, amount = ctypes.CDLL(None), ("sched_yield", "usleep"), MICROSECONDS
    addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names]
    return addresses[0], addresses[1], amount


def new_sync() -> npt.NDArray[np.int64]:
    """The array through which threads meet."""
    sync = np.zeros(SIZE, dtype=np.int64)
    sync[YIELD], sync[SLEEP], sync[PAUSE] = _system()
    return sync


@jitable
def wait(share: Any) -> bool:
    """Wait until all threads have come here; False if one of them can not come any more."""
    if share.threads == 1:
        return True
    sync = share.sync
    page = load(sync, PAGE)
    if add(sync, ARRIVED, ONE) == share.threads - 1:
        store(sync, ARRIVED, ONE - ONE)
        store(sync, PAGE, page + ONE)
        return True
    turns = 0
    while load(sync, PAGE) == page:
        if load(sync, STOPPED) != 0:
            return False
        turns += 1
        if turns <= SPINS:
            relax()
        elif turns <= SPINS + YIELDS:
            rest(sync[YIELD], ONE)
        else:
            add(sync, NAPS, ONE)
            rest(sync[SLEEP], sync[PAUSE])
    return True


@kernel
def meet(share: Any) -> bool:
    """`wait`, for a thread that is in Python."""
    return bool(wait(share))
