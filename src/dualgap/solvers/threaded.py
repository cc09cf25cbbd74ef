"""How a pass of Prox-SDCA is done by a team: in blocks, in rounds, or not at all.

    blocks    each thread owns a range of the features; for rows long enough to be cut into as many pieces as there are threads
    rounds    each thread has its own rows and a copy of u; for two or three threads, and for rows too short to cut where u is short

Both measure how much rows that are in flight at the same time conflict, and keep their number where the dual objective rises about as it
does with one thread. Where only so few may be in flight that threads would mostly wait for one another, the rest of a pass is done by one.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dualgap import formulas
from dualgap.kernels import gap
from dualgap.kernels.blocks import Work, block_epoch
from dualgap.kernels.parted import GROUP, Entries, Slabs, Split, expand_groups
from dualgap.kernels.rounds import Copies, round_epoch
from dualgap.kernels.threads import Share
from dualgap.problem import Problem
from dualgap.rows import Csr
from dualgap.team import SMALL

Array = npt.NDArray[np.float64]
# Of blocks: the longest, the first, and the shortest, which should take as long as two meetings.
LONGEST_BLOCK, FIRST_BLOCK, WORTH = 1024, 64, 3000.0
# Of rounds, for each thread: the longest, and the first.
LONGEST_ROUND, FIRST_ROUND = 4096, 256
# A row is cut into pieces of at least so many entries; so many coefficients are cheap to merge; two or three threads take turns in rounds.
PIECE, SHORT, FEW = 2.0, 4096, 3
# Entries of the list of a block, for each range.
MOST_ENTRIES = 1 << 22
LINE = 16


class Passes:
    """A team at work on the passes over a problem; `slabs` is the copy of X for passes over all rows, where there is one."""

    def __init__(self, problem: Problem, kernel: Any, leading: tuple[Any, ...], work: Any, least: int, slabs: Slabs | None = None) -> None:
        self.team, self.kernel, self.leading, self.work, self.least, self.slabs = problem.team, kernel, leading, work, least, slabs
        self.parts = work.sums.shape[1]
        self.few = SMALL * problem.n // max(1, problem.entries * max(1, problem.outputs)) // 4
        self.groups = np.arange(problem.n // GROUP, dtype=np.uint32)

    def shuffle(self, order: npt.NDArray[Any], seed: npt.NDArray[Any]) -> None:
        """A random order of all rows, with groups of rows together where there are slabs."""
        if self.slabs is None:
            gap.shuffle(order, seed)
            return
        gap.shuffle(self.groups, seed)
        stride, groups = self.slabs.stride, self.groups
        self.team.each(lambda part: expand_groups(groups, stride, part.start, part.stop, order), stride)
        order[GROUP * stride :] = np.arange(GROUP * stride, len(order))

    def run(
        self, data: Any, prox: Any, alpha: Array, u: Array, order: npt.NDArray[Any], scores: Array, *, grouped: bool
    ) -> tuple[int, float]:
        """Work on rows in this order, `grouped` if it is from `shuffle`; how many rows were done, and the losses met on the way."""
        work, done = self.work, [0]
        leading = (self.slabs,) if grouped and self.slabs is not None else self.leading
        work.losses[:] = 0.0

        def job(share: Share) -> None:
            done[0] = self.kernel(share, *leading, data, prox, alpha, u, order, work, scores, self.least)

        self.team.run(job, self.parts)
        return done[0], float(work.losses[:, 0].sum())


def threaded_passes(problem: Problem, sampling: str) -> Passes | None:
    """How the problem's team makes passes; None where that is better left to one thread."""
    team = problem.team
    if team.parts == 1 or sampling != "permuted" or formulas.penalty_is_coupled(problem.penalty):
        return None
    cuttable = isinstance(problem.rows, Csr) and problem.entries >= PIECE * team.parts * problem.n
    if team.parts > FEW and cuttable and problem.split is not None:
        return _blocks(problem, *problem.split)
    if team.parts <= FEW or problem.d * max(1, problem.outputs) <= SHORT:
        return _rounds(problem, team.parts)
    return None


def _blocks(problem: Problem, source: Split, most: int) -> Passes:
    parts, tail, outputs = problem.team.parts, problem.shape[1:], max(1, problem.outputs)
    size = max(GROUP, min(LONGEST_BLOCK, MOST_ENTRIES // max(1, most)) // GROUP * GROUP)
    least = min(size, GROUP + int(WORTH * problem.n / (problem.entries * outputs)) // GROUP * GROUP)
    room = size * most + 2 * LINE
    entries = Entries(
        columns=np.empty((parts, room), source.rows.indices.dtype),
        values=np.empty((parts, room), source.rows.data.dtype),
        row=np.empty((parts, room), np.uint16),
        count=_lines(parts, 1, np.uint64),
    )
    work = Work(
        parts=np.empty((parts, size + LINE, *tail)),
        z=np.empty((size, *tail)),
        old=np.empty((size, *tail)),
        moves=np.empty((size, *tail)),
        intercept=_lines(parts, outputs),
        scratch=_lines(parts, 4 * outputs),
        sums=np.zeros((2, parts, LINE)),
        losses=_lines(parts, 1),
        pace=_lines(parts, 3, np.int64),
        length=np.array([min(size, max(FIRST_BLOCK, least))]),
        entries=entries,
    )
    return Passes(problem, block_epoch, (source,), work, least, problem.slabs)


def _rounds(problem: Problem, parts: int) -> Passes:
    tail, outputs = problem.shape[1:], max(1, problem.outputs)
    merging = 4.0 * problem.d * outputs + WORTH
    least = max(4, int(merging / (2.0 * problem.entries / problem.n * outputs)))
    size = max(least, LONGEST_ROUND)
    work = Copies(
        u=np.empty((2, *problem.shape)),
        copies=np.empty((parts, *problem.shape)),
        old=np.empty((parts, size, *tail)),
        moves=np.empty((parts, size, *tail)),
        scratch=_lines(parts, 4 * outputs),
        sums=np.zeros((2, parts, LINE)),
        losses=_lines(parts, 1),
        pace=_lines(parts, 3, np.int64),
        length=np.array([max(FIRST_ROUND, least)]),
    )
    return Passes(problem, round_epoch, (), work, least)


def _lines(parts: int, numbers: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Room for some numbers of each part, in cache lines of their own."""
    return np.zeros((parts, -(-numbers // LINE) * LINE), dtype)

