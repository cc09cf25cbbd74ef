"""A problem whose rows stay on disk: the same sums in one reading of the store, and passes over random parts of it.

What a row has beside itself (its target, weight, norm and dual variable) is in memory. Rows come some at a time, from a thread that reads
ahead of their use:

a. in their order, for sums: scores, X'(s alpha)/S with its compensated sums, norms;
b. for a pass of dual ascent in fills of the memory: chunks of the store in a random order, as many at a time as there is room for. A fill
   is a small problem of its own, with copies of what its rows have in memory. Its rows are visited in the order of the pass; then, as
   visiting costs less than reading, those that carried most of the gain are visited again.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualgap.kernels import gap
from dualgap.kernels.chunks import count_rows, regroup
from dualgap.kernels.epoch import Data
from dualgap.kernels.scored import BUCKETS, rows_above, small_scores
from dualgap.problem import Problem, Total, Work, added
from dualgap.rows import as_matrix, frozen

Array = npt.NDArray[np.float64]
VISITS, SMALL = 3, 0.02


@dataclass(frozen=True)
class StreamedProblem(Problem):
    """A problem on a store; `rows` is the `Stream` that reads it."""

    resident: ClassVar[bool] = False
    worth: ClassVar[float] = 2.0

    @property
    def block_rows(self) -> int:
        """Of blocks of rows there are no sums: they would only be quicker to add up, and take as long to read."""
        return 0

    def pieces(self) -> Iterator[tuple[slice, Any]]:
        """The rows in their order, some at a time: which, and as kernels read them, counted from 0."""
        yield from self.rows.pieces()

    def scored(self, w: Array) -> Iterator[tuple[slice, Array]]:
        """The scores of all rows, some at a time; for coefficients that are all 0 nothing is read."""
        if np.any(w[: self.d]):
            for part, rows in self.pieces():
                yield part, self._scores_of(rows, w, part)
            return
        for part in self.blocks():
            yield part, np.array(np.broadcast_to(w[self.d], (part.stop - part.start, *self.shape[1:])))

    def _scores_of(self, rows: Any, w: Array, part: slice) -> Array:
        z = np.empty((part.stop - part.start, *self.shape[1:]))
        (gap.vector_scores if self.outputs else gap.scores)(rows, 0, w, z)
        return z

    def scores(self, w: Array, rows: slice) -> Array:
        """x_i'w + b of the rows of a slice."""
        z = np.empty((self.n, *self.shape[1:]))
        for part, some in self.scored(w):
            z[part] = some
        return z[rows]

    def mean_loss(self, w: Array) -> Total:
        """The weighted mean of the loss at w."""
        return Total(*added(self._loss(z, part) for part, z in self.scored(w)))

    def dual_points(self, w: Array, out: Array) -> Array:
        """alpha = -phi'(X w + b), the dual point of a primal one."""
        for part, z in self.scored(w):
            self._dual_points(z, part, out[part])
        return out

    def transposed(self, alpha: Array) -> Array:
        """X'(s alpha)/S with the sum of s alpha/S last, from alpha alone and compensated."""
        sums = np.zeros(self.shape), np.zeros(self.shape)
        for part, rows in self.pieces() if np.any(alpha) else ():
            self._transpose(rows, part, alpha, sums)
        return np.asarray(sums[0] + sums[1])

    def _transpose(self, rows: Any, part: slice, alpha: Array, sums: tuple[Array, Array]) -> None:
        (gap.vector_transposed if self.outputs else gap.transposed)(rows, self.share[part], alpha[part], *sums)

    def loss_and_transposed(self, w: Array, alpha: Array) -> tuple[Total, Array]:
        """The mean loss at w, and X'(s alpha)/S, in one reading."""
        sums, losses = (np.zeros(self.shape), np.zeros(self.shape)), []
        for part, rows in self.pieces():
            losses.append(self._loss(self._scores_of(rows, w, part), part))
            self._transpose(rows, part, alpha, sums)
        return Total(*added(losses)), np.asarray(sums[0] + sums[1])

    def _metric_norms(self, metric: Array, p: float) -> Array:
        out = np.empty(self.n)
        for part, rows in self.pieces():
            gap.metric_row_norms(rows, metric, p, out[part])
        return out

    def _columns(self, chosen: npt.NDArray[np.intp]) -> Array:
        out = np.empty((self.n, len(chosen)))
        for part, rows in self.pieces():
            columns = as_matrix(rows, self.d)[:, chosen]
            out[part] = columns if isinstance(columns, np.ndarray) else columns.toarray()
        return out

    def works(self, work: Work, seed: npt.NDArray[np.uint64]) -> Iterator[Work]:
        """A pass over rows in some order, a fill at a time: in that order, and then several times those that carried most of the gain."""
        groups, orders = self._grouped(work.order, seed)
        with closing(self.rows.fills(groups)) as fills:
            for chunks, rows in fills:
                yield from self._visits(work, rows, self._rows_of(chunks), next(orders), seed)

    def _grouped(self, order: npt.NDArray[Any], seed: npt.NDArray[np.uint64]) -> tuple[list[npt.NDArray[Any]], Iterator[npt.NDArray[Any]]]:
        """The chunks of each fill, random ones, and the order of the rows within each."""
        starts, parts = self.X.starts, self.rows.chunk_of_row
        counts = np.empty(len(starts) - 1, dtype=np.int64)
        count_rows(order, parts, counts)
        chunks = np.flatnonzero(counts).astype(np.uint32)
        gap.shuffle(chunks, seed)
        groups = self.rows.groups_of(chunks.astype(np.int64))
        group, shift = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
        for g, members in enumerate(groups):
            group[members] = g
            lengths = starts[members + 1] - starts[members]
            shift[members] = np.cumsum(lengths) - lengths - starts[members]
        ends = np.cumsum([counts[members].sum() for members in groups])
        mixed = np.empty_like(order)
        regroup(order, parts, group, shift, np.append(0, ends[:-1]), mixed)
        return groups, iter(np.split(mixed, ends[:-1]))

    def _rows_of(self, chunks: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The rows of chunks."""
        starts = self.X.starts
        return np.concatenate([np.arange(starts[c], starts[c + 1]) for c in chunks])

    def _visits(
        self, work: Work, rows: Any, index: npt.NDArray[np.int64], order: npt.NDArray[Any], seed: npt.NDArray[np.uint64]
    ) -> Iterator[Work]:
        """The visits to the rows of a fill, on copies of what belongs to them."""
        whole: list[Any] = [work.alpha, *([] if work.scores is None else [work.scores]), *work.sums]
        parts = [a[index] for a in whole]
        alpha, *rest = parts
        scores = None if work.scores is None else rest.pop(0)
        local = Work(self._data_of(work.data, rows, index), order, alpha, scores, tuple(rest))
        try:
            yield local
            for _ in range(VISITS - 1):
                if scores is not None:
                    order = _worthwhile(scores, order)
                gap.shuffle(order, seed)
                yield local._replace(order=order, again=True)
        finally:
            for a, part in zip(whole, parts, strict=True):
                a[index] = part

    def _data_of(self, data: Data, rows: Any, index: npt.NDArray[np.int64]) -> Data:
        """What belongs to some rows; the costs of a loss have a row for each, or one for each class."""
        loss = data.loss
        if self.outputs and loss.costs.shape[0] != self.outputs:
            costs = loss.costs[index]
            loss = loss._replace(costs=np.append(costs, costs[:1], axis=0) if len(costs) == self.outputs else costs)
        y, share, norms2 = (_taken(a, index) for a in (data.y, data.share, data.norms2))
        return Data(rows, y, share, norms2, loss, data.rule)


def _taken(a: npt.NDArray[Any], index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Elements as an array of the same kind: equal ones that take no memory, or not to be written."""
    if a.strides[0] == 0:
        return a[: len(index)]
    return a[index] if a.flags.writeable else frozen(a[index])


def _worthwhile(scores: npt.NDArray[np.float32], order: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The rows that carried most of the gain."""
    out = np.empty(len(scores), dtype=order.dtype)
    return out[: rows_above(scores, small_scores(scores, SMALL, np.empty(BUCKETS))[0], out)]
