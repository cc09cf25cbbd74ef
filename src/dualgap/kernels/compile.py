"""How the formulas become machine code, and how that is cached.

a. A kernel is a plain function marked `@kernel`. Its arguments are NamedTuples (rows, loss, penalty, update rule), and numba compiles it
   once for each combination of their types.
b. The names in `dualgap.formulas` are resolved, when a kernel is compiled, to the method of the class at hand, and inlined. Options of the
   compiler are not inherited by what is inlined, so they are given here once. Fast-math leaves out `nnan` and `ninf`, since the infinite
   value of a conjugate outside its domain is part of a certificate. `_nrt` is off: kernels allocate nothing, and without it numba counts
   references to each array each time it is taken out of a NamedTuple (1.2x on text, 1.3x on short dense rows).
c. Machine code is kept on disk between processes under a key made of the types and of a fingerprint of everything that went into it: the
   byte code of an own loss or penalty with all it refers to, and the stamp of each file of this package. numba by itself looks only at the
   file of the kernel, and would run stale code after a formula in another file changes.
d. A class that lives in `__main__` can not be found again by another process, so what is compiled for it is not kept.
"""

import hashlib
import types as python_types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import FunctionCache
from numba.extending import overload

from dualgap import formulas, multiclass
from dualgap.kernels import rules

FASTMATH = frozenset({"contract", "reassoc", "nsz", "arcp"})
OPTIONS = {"fastmath": set(FASTMATH), "error_model": "numpy", "boundscheck": False, "_nrt": False}
EXACT = {**OPTIONS, "fastmath": False}
PACKAGE = Path(__file__).parents[1]


def _classes(type_: Any) -> Iterator[type]:
    """The NamedTuple classes in a numba type or signature, with those nested in them."""
    if isinstance(type_, types.BaseNamedTuple):
        yield type_.instance_class
    if isinstance(type_, types.BaseTuple):
        for part in type_:
            yield from _classes(part)


@cache
def package_stamp() -> str:
    """Time and size of each file of this package."""
    stats = [(str(f.relative_to(PACKAGE)), f.stat()) for f in sorted(PACKAGE.rglob("*.py"))]
    return repr([(name, s.st_mtime_ns, s.st_size) for name, s in stats])


def _describe(thing: Any, seen: dict[int, Any]) -> str:
    """What decides the machine code of a function or class: byte code, constants, and whatever globals it names, followed."""
    if id(thing) in seen:
        return ""
    seen[id(thing)] = thing
    function = getattr(thing, "py_func", thing)
    if isinstance(function, property):
        function = function.fget
    if isinstance(function, python_types.FunctionType):
        code = function.__code__
        text = [code.co_code.hex(), repr([c for c in code.co_consts if not isinstance(c, python_types.CodeType)])]
        text += [_describe(c.cell_contents, seen) for c in function.__closure__ or ()]
        names = [name for name in code.co_names if name in function.__globals__]
        text += [name + _describe(function.__globals__[name], seen) for name in names]
        return "|".join([function.__qualname__, *text])
    if isinstance(function, type):
        module = function.__module__ or ""
        head = f"{module}.{function.__qualname__}"
        if module == "dualgap" or module.startswith("dualgap."):
            return head
        parts = [f"{k}={_describe(v, seen)}" for c in function.__mro__[:-2] for k, v in sorted(vars(c).items()) if k[:2] != "__"]
        return head + ";".join(parts)
    if isinstance(function, (int, float, str, bytes, tuple, frozenset, bool, type(None))):
        return repr(function)
    return str(type(function))


def fingerprint(classes: tuple[type, ...]) -> str:
    """A digest of the formulas of classes and of this package."""
    seen: dict[int, Any] = {}
    text = [package_stamp(), *(_describe(c, seen) for c in classes)]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


class _FormulaCache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk with the fingerprint of the formulas in its key (a string, so that the index never has to import a class)."""

    def _index_key(self, sig: Any, codegen: Any) -> str:
        _, *rest = super()._index_key(sig, codegen)
        return repr((str(sig), rest, fingerprint(tuple(dict.fromkeys(_classes(types.Tuple(sig)))))))

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not any(c.__module__ == "__main__" for c in _classes(types.Tuple(sig))):
            super()._save_overload(sig, data)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for each combination of types it is called with, and keep the machine code on disk."""
    return _cached(function, **OPTIONS)


def exact_kernel(function: Callable[..., Any]) -> Any:
    """A kernel whose own sums must not be reassociated: compensated summation."""
    return _cached(function, **EXACT)


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = numba.njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _FormulaCache(function)
    except RuntimeError:
        # numba finds no folder that it may write: everything works, each process compiles anew
        return dispatcher
    return dispatcher


def resolved(function: Callable[..., Any], choose: Callable[..., Any]) -> None:
    """Let kernels call `function(obj, ...)`, which becomes what `choose` returns for the numba type of obj."""

    @overload(function, jit_options=OPTIONS, strict=False)
    def typed(obj: Any, *rest: Any) -> Any:
        return choose(obj)


def jitable(function: Callable[..., Any], options: Any = OPTIONS) -> Callable[..., Any]:
    """Let kernels call a plain function of this package."""

    @overload(function, jit_options=options, strict=False)
    def typed(*args: Any) -> Any:
        return function

    return function


def exact_jitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a function whose sums must not be reassociated."""
    return jitable(function, EXACT)


def _method(name: str) -> Callable[[Any], Any]:
    return lambda obj: getattr(obj.instance_class, name)


def _constant(name: str) -> Callable[[Any], Any]:
    def choose(obj: Any) -> Any:
        attribute = getattr(obj.instance_class, name)
        if isinstance(attribute, property):
            return attribute.fget
        return lambda obj: attribute

    return choose


def _per_coefficient(name: str, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The method of a penalty, with the index of the coefficient dropped where the penalty does not look at it."""

    def choose(obj: Any) -> Any:
        method = getattr(obj.instance_class, name)
        return method if getattr(obj.instance_class, "indexed", False) else plain(jitable(method))

    return choose


def _domain(obj: Any) -> Any:
    if hasattr(obj.instance_class, "domain"):
        method = jitable(obj.instance_class.domain)
        return lambda loss, alpha, y: method(loss, y)
    return lambda loss, alpha, y: (min(alpha, 0.0), max(alpha, 0.0))


def _moved(obj: Any) -> Any:
    if getattr(obj.instance_class, "coupled", False):
        return obj.instance_class.moved
    return lambda penalty, old, new, j: None


for _name in ("value", "derivative", "conjugate", "dual_step", "step", "vector_step", "dual_norm2", "stretch"):
    resolved(getattr(formulas, _name), _method(_name))
for _name in ("value", "derivative", "conjugate", "dual_step"):
    resolved(getattr(formulas, "vector_" + _name), _method(_name))
resolved(formulas.smoothness, _constant("smoothness"))
resolved(formulas.penalty_value, _per_coefficient("value", lambda f: lambda penalty, w, j: f(penalty, w)))
resolved(formulas.penalty_conjugate, _per_coefficient("conjugate", lambda f: lambda penalty, a, j: f(penalty, a)))
resolved(formulas.primal, _per_coefficient("primal", lambda f: lambda penalty, u, kappa, j: f(penalty, u, kappa)))
resolved(formulas.moved, _moved)
resolved(formulas.domain, _domain)
for _helper in (*rules.HELPERS, *multiclass.HELPERS):
    jitable(_helper)
