"""How the formulas become machine code, and how that is cached.

a. A kernel is a plain function marked `@kernel`. Its arguments are NamedTuples (rows, loss, penalty, update rule), and numba compiles it
   once for each combination of their types.
b. The names in `dualgap.formulas` are resolved, when a kernel is compiled, to the method of the class at hand, and inlined: a call that is
   left, with its dozens of arguments, costs 1.1x. Options of the compiler are not inherited by what is inlined, so they are given here
   once. Fast-math leaves out `nnan` and `ninf`, since the infinite value of a conjugate outside its domain is part of a certificate. `_nrt`
   is off: kernels allocate nothing, and without it numba counts references to each array each time it is taken out of a NamedTuple (1.2x on
   text, 1.3x on short dense rows). Nobody calls a kernel from C, and not to provide for it saves a seventh of the time of compiling.
c. Machine code is kept on disk between processes, in files named by the types and by a fingerprint of everything that went into it: an own
   loss or penalty with all it refers to, and the files of this package. numba by itself looks only at the file of the kernel, and would run
   stale code after a formula in another file changes. It also numbers its files in an index, which two processes that save at once can
   mix up, so that one runs the other's code.
d. A class that another process can not find again by its name (of `__main__`, of a function) is compiled anew in each process.
e. The cache is never a reason to fail: what can not be read is compiled, what can not be written is not kept.
"""

import hashlib
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps
from numba.extending import overload

from dualgap import formulas, losses, multiclass, penalties
from dualgap.kernels import rules

FASTMATH = frozenset({"contract", "reassoc", "nsz", "arcp"})
OPTIONS = {"fastmath": set(FASTMATH), "error_model": "numpy", "boundscheck": False, "_nrt": False, "no_cfunc_wrapper": True}
EXACT = {**OPTIONS, "fastmath": False}
INLINED = {**OPTIONS, "forceinline": True}
EXACT_INLINED = {**EXACT, "forceinline": True}
PACKAGE = Path(__file__).parents[1]
COMPILED = ("formulas.py", "losses.py", "multiclass.py", "penalties.py", "rows.py", "kernels/*.py")
# Modules whose code goes with a version of numba or of this package, so that their names say enough.
KNOWN = {"builtins", "collections", "math", "cmath", "operator", "typing", "numpy", "scipy", "llvmlite", "numba", "dualgap"}


def _classes(type_: Any) -> Iterator[type]:
    """The NamedTuple classes in a numba type or signature, with those nested in them."""
    if isinstance(type_, types.BaseNamedTuple):
        yield type_.instance_class
    if isinstance(type_, types.BaseTuple):
        for part in type_:
            yield from _classes(part)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def package_stamp() -> str:
    """A digest of the files of this package whose functions become machine code."""
    files = hashlib.sha256()
    for file in sorted({file for pattern in COMPILED for file in PACKAGE.glob(pattern)}):
        files.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return files.hexdigest()


class _Reader:
    """What decides the machine code of classes and functions: byte code, constants, and whatever they name, followed.

    A thing met before is written as its number, so that things which refer to one another differently never read the same.
    """

    def __init__(self) -> None:
        self.seen: dict[Any, tuple[int, Any]] = {}
        self.files: set[str] = set()

    def read(self, thing: Any, names: tuple[str, ...] = ()) -> str:
        """A text that changes when the thing does; of a module, only what goes by the names given."""
        if isinstance(thing, Enum):
            return f"{self.read(type(thing))}.{thing.name}={self.read(thing.value)}"
        if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, np.generic)):
            return repr(thing)
        if isinstance(thing, (tuple, list)):
            return f"{self.read(type(thing))}({','.join(map(self.read, thing))})"
        if isinstance(thing, (set, frozenset)):
            return f"set({','.join(sorted(map(self.read, thing)))})"
        if isinstance(thing, dict):
            return f"dict({','.join(f'{k!r}:{self.read(v)}' for k, v in sorted(thing.items(), key=repr))})"
        if isinstance(thing, np.ndarray):
            return f"array({thing.dtype},{thing.shape},{hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()})"
        key = (id(thing), names)
        if key in self.seen:
            return f"#{self.seen[key][0]}"
        self.seen[key] = (len(self.seen), thing)
        return self._follow(thing, names)

    def _follow(self, thing: Any, names: tuple[str, ...]) -> str:
        module = getattr(thing, "__name__" if isinstance(thing, ModuleType) else "__module__", None) or ""
        head = f"{module}.{getattr(thing, '__qualname__', '')}"
        if module.partition(".")[0] in KNOWN and not hasattr(thing, "py_func"):
            return head
        self.files.add(module)
        if isinstance(thing, ModuleType):
            return head + "".join(f"|{n}={self.read(getattr(thing, n), names)}" for n in names if hasattr(thing, n))
        if isinstance(thing, type):
            return head + "".join(f"|{self._members(c)}" for c in thing.__mro__ if c not in (tuple, object))
        if isinstance(thing, FunctionType):
            cells = [self.read(c.cell_contents) for c in thing.__closure__ or ()]
            return f"{head}{self._code(thing.__code__, thing.__globals__)}{cells}{self.read(thing.__defaults__)}"
        inner = [n for n in ("py_func", "targetoptions", "fget", "__func__", "__wrapped__", "_dispatcher", "_defn") if hasattr(thing, n)]
        return f"{type(thing)}" + "".join(f"|{n}={self.read(getattr(thing, n))}" for n in inner)

    def _members(self, class_: type) -> str:
        return ";".join(f"{k}={self.read(v)}" for k, v in sorted(vars(class_).items()) if k == "_fields" or k[:1] != "_" or k[1:2] != "_")

    def _code(self, code: CodeType, scope: dict[str, Any]) -> str:
        constants = [self._code(c, scope) if isinstance(c, CodeType) else self.read(c) for c in code.co_consts]
        named = [f"{n}={self.read(scope[n], code.co_names)}" for n in code.co_names if n in scope]
        return f"({code.co_code.hex()}|{code.co_names}|{constants}|{named})"

    def sources(self) -> list[str]:
        """Digests of the files of the modules met, for what can not be followed (an `overload`, options of a decorator)."""
        paths = sorted({getattr(sys.modules.get(m), "__file__", None) or "" for m in self.files})
        return [hashlib.sha256(Path(p).read_bytes()).hexdigest() for p in paths if Path(p).is_file()]


def fingerprint(classes: tuple[type, ...]) -> str:
    """A digest of the formulas of classes and of this package."""
    reader = _Reader()
    text = [package_stamp(), *map(reader.read, classes)]
    return _digest("\n".join([*text, *reader.sources()]))


def _found_again(class_: type) -> bool:
    """Whether another process finds the class by its name."""
    with suppress(AttributeError):
        module = class_.__module__
        return module not in ("__main__", "__mp_main__") and attrgetter(class_.__qualname__)(sys.modules.get(module)) is class_
    return False


class _Files:
    """The machine code of a kernel on disk, a file for each key (slot, print); a slot holds one file, the newest."""

    def __init__(self, folder: str, stem: str) -> None:
        self.folder = Path(folder)
        self.stem = stem

    def load(self, key: tuple[str, str]) -> Any:
        """What was saved under a key, None if nothing was."""
        return pickle.loads((self.folder / self._name(*key)).read_bytes())

    def save(self, key: tuple[str, str], data: Any) -> None:
        """Save in a file that appears at once, and remove what was compiled from an earlier state of the same formulas."""
        path = self.folder / self._name(*key)
        draft = path.with_suffix(f".{uuid.uuid4().hex}")
        try:
            draft.write_bytes(dumps(data))
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        for earlier in self.folder.glob(self._name(key[0], "*")):
            if earlier != path:
                earlier.unlink(missing_ok=True)

    def flush(self) -> None:
        """Remove all files."""
        for path in self.folder.glob(self._name("*", "*")):
            path.unlink(missing_ok=True)

    def _name(self, slot: str, print_: str) -> str:
        return f"{self.stem}.{slot}.{print_}.nbc"


class _FormulaCache(FunctionCache):  # type: ignore[misc]
    """numba's cache on disk, with the fingerprint of the formulas in its key and files that are named by their key."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._cache_file = _Files(self._cache_path, f"{name}.{sys.implementation.cache_tag}")

    def _index_key(self, sig: Any, codegen: Any) -> tuple[str, str]:
        """The slot says which types and which processor, the print says from which state of the code."""
        classes = tuple(_classes(types.Tuple(sig)))
        places = [(c.__module__, c.__qualname__, getattr(sys.modules.get(c.__module__), "__file__", None)) for c in classes]
        _, magic, *body = super()._index_key(sig, codegen)
        code = (body, self._impl.locator.get_source_stamp(), numba.__version__, np.__version__, fingerprint(classes))
        return _digest(repr((str(sig), places, magic))), _digest(repr(code))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept; numba would first import all that it can compile, which takes as long as the rest of a first fit."""
        return self._load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        # whatever is wrong with a file (missing, cut short, of a disk that fails), the answer is to compile
        with suppress(Exception):
            return super()._load_overload(sig, target_context) if self._kept(sig) else None
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._kept(sig):
            with suppress(OSError):
                super()._save_overload(sig, data)

    def _kept(self, sig: Any) -> bool:
        return all(map(_found_again, _classes(types.Tuple(sig))))


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

    @overload(function, jit_options=INLINED, strict=False)
    def typed(obj: Any, *_rest: Any) -> Any:
        return choose(obj)


def jitable(function: Callable[..., Any], options: Any = INLINED) -> Callable[..., Any]:
    """Let kernels call a plain function of this package."""

    @overload(function, jit_options=options, strict=False)
    def typed(*_args: Any) -> Any:
        return function

    return function


def exact_jitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a function whose sums must not be reassociated."""
    return jitable(function, EXACT_INLINED)


@cache
def _callable(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that kernels may call; each is registered once."""
    return jitable(method)


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
        return method if getattr(obj.instance_class, "indexed", False) else plain(_callable(method))

    return choose


def _domain(obj: Any) -> Any:
    if hasattr(obj.instance_class, "domain"):
        method = _callable(obj.instance_class.domain)
        return lambda loss, alpha, y: method(loss, y)
    return lambda loss, alpha, y: (min(alpha, 0.0), max(alpha, 0.0))


def _curvature(obj: Any) -> Any:
    if hasattr(obj.instance_class, "curvature"):
        return obj.instance_class.curvature
    slope = _callable(obj.instance_class.derivative)

    def difference(loss: Any, z: Any, y: Any) -> Any:
        h = 1e-6 * (1.0 + abs(z))
        return (slope(loss, z + h, y) - slope(loss, z - h, y)) / (2.0 * h)

    return difference


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
resolved(formulas.curvature, _curvature)
for _helper in (*rules.HELPERS, *losses.HELPERS, *multiclass.HELPERS, *penalties.HELPERS):
    jitable(_helper)
