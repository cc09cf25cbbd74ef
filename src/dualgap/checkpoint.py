"""The state of a solve in a folder, from which another process goes on.

What is kept is what takes long to find: the dual variables as the solver has them, the best certified pair, and what else the solver goes
by (the momentum of an acceleration, who leads a race). Everything else is computed anew. The state is written beside the last one and then
takes its place, so that there is a whole one at any time.
"""

import json
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap.data.container import read_container, write_container
from dualgap.data.errors import InputError
from dualgap.described import described
from dualgap.problem import Problem
from dualgap.solution import Record
from dualgap.solvers.run import Run

Array = npt.NDArray[np.float64]
WHAT = "a checkpoint of dualgap"
VERSION, EVERY, MOST, SHARE = 1, 30.0, 60.0, 20.0
PART = 1 << 20


class Checkpoint:
    """A folder for the state of a solve.

    Parameters
    ----------
    folder : path
        It is made if it does not exist.
    every : float
        Seconds between two states; where writing one takes long it is longer, but not above a minute.
    resume : bool
        Whether to go on from the state in the folder, if there is one. Without it a state of a solve that did not end is an error, so that
        it is not lost by mistake.

    Examples
    --------
    >>> import tempfile, dualgap as dg
    >>> problem = {"loss": dg.Logistic(), "penalty": dg.L2(0.1)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], **problem, max_passes=1, checkpoint=dg.Checkpoint(folder))
    ...     b = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], **problem, checkpoint=dg.Checkpoint(folder, resume=True))
    >>> a.status.name, b.status.name
    ('MAX_PASSES', 'CERTIFIED')
    """

    def __init__(self, folder: str | Path, *, every: float = EVERY, resume: bool = False) -> None:
        if not every >= 0.0:
            raise ValueError(f"every must be a number of seconds, got {every!r}")
        self.folder, self.every, self.resume = Path(folder), float(every), bool(resume)
        self.next = time.monotonic() + self.every

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.folder)!r}, every={self.every!r}, resume={self.resume!r})"

    @property
    def path(self) -> Path:
        return self.folder / "state"

    def begin(self, run: Run) -> Array | None:
        """Take up the state in the folder, which is then certified; the dual variables to go on from, None if there is no state."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(str(self.folder), f"can not hold a checkpoint: {(error.strerror or str(error)).lower()}") from None
        self.print = _print_of(run.problem)
        run.checkpoint = self
        if not self.path.exists():
            return None
        arrays, record = read_container(self.path, WHAT)
        if not self.resume:
            if record.get("ended"):
                return None
            raise InputError(str(self.folder), "holds the state of a solve that did not end: resume it, or remove the folder")
        return self._take_up(run, arrays, record)

    def _take_up(self, run: Run, arrays: dict[str, Array], record: dict[str, Any]) -> Array:
        try:
            if record["version"] != VERSION:
                raise InputError(str(self.path), f"is {WHAT} of version {record['version']}, and this one reads {VERSION}")
            for what, ours in self.print.items():
                theirs = record["print"][what]
                if theirs != ours and not (what == "norm" and abs(theirs - ours) <= 1e-9 * abs(ours)):
                    raise InputError(str(self.path), f"is the state of another problem: its {what} is {theirs}, not {ours}")
            passes, seconds = float(record["passes"]), float(record["seconds"])
            history = [
                Record(float(p), float(s), float(primal), float(dual), float(gap), str(note))
                for p, s, primal, dual, gap, note in record["history"]
            ]
            w, dual = arrays["w"].copy(), arrays["dual"].copy()
            working = arrays.get("working", dual).copy()
            for name, keys in record["memories"].items():
                run.recalled[name] = {key: arrays[f"{name}.{key}"] for key in keys}
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(str(self.path), f"is {WHAT} that makes no sense: {error}") from None
        run.take_up(history, passes, seconds)
        run.certify(w, dual)
        run.note(f"Resumed after {passes:.1f} passes and {seconds:.1f} s.")
        return working

    def keep(self, run: Run) -> None:
        """Write the state if it is time."""
        if time.monotonic() >= self.next and run.best_dual is not None:
            self.save(run)

    def save(self, run: Run, *, ended: bool = False) -> None:
        """Write the state."""
        begun = time.monotonic()
        assert run.best_dual is not None
        arrays: dict[str, npt.NDArray[Any]] = {"w": run.best.w, "dual": run.best_dual.alpha}
        if run.working is not None and not ended:
            arrays["working"] = run.working
        memories: dict[str, list[str]] = {}
        for name, memory in run.memories.items():
            kept = memory()
            memories[name] = list(kept)
            arrays |= {f"{name}.{key}": np.asarray(value, dtype=np.float64) for key, value in kept.items()}
        record = {
            "version": VERSION,
            "print": self.print,
            "passes": run.passes,
            "seconds": time.perf_counter() - run.started,
            "history": [list(row) for row in run.history],
            "memories": memories,
            "ended": ended,
        }
        write_container(self.path, arrays, record)
        now = time.monotonic()
        self.next = now + min(max(self.every, SHARE * (now - begun)), max(MOST, self.every))


def _print_of(problem: Problem) -> dict[str, Any]:
    """What a state must agree with: the size and the content of the data, loss and penalty."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    loss, penalty = (
        described(thing, name, arrays) or repr(thing) for thing, name in ((problem.loss, "loss"), (problem.penalty, "penalty"))
    )
    arrays |= {"targets": problem.y, "weights": problem.share if problem.share.strides != (0,) else problem.share[:1]}
    return {
        "rows": problem.n,
        "features": problem.d,
        "norm": problem.mean_norm2,
        "loss": json.dumps(loss),
        "penalty": json.dumps(penalty),
        "intercept": problem.intercept,
        **{f"checksum of {name}": _checksum(a) for name, a in sorted(arrays.items())},
    }


def _checksum(a: npt.NDArray[Any]) -> str:
    check = 0
    flat = a.reshape(-1)
    for start in range(0, len(flat), PART):
        check = zlib.crc32(np.ascontiguousarray(flat[start : start + PART]).data, check)
    return f"{check:08x}"
