"""What each kernel takes on its own, in nanoseconds per piece of its work."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import dualgap as dg
from benchmarks.micro import problems
from benchmarks.micro.problems import CLASSES, State
from dualgap.kernels import gap
from dualgap.kernels.gram import add_gram
from dualgap.kernels.scored import scored_epoch, vector_scored_epoch


class Measured(NamedTuple):
    """A kernel, what its work consists of, how many pieces of that a call has, and the call."""

    kernel: str
    piece: str
    pieces: int
    call: Callable[[], Any]


def kernels(X: Any) -> Iterator[Measured]:
    """The kernels on these rows, a scalar loss before a vector-valued one."""
    for title in ("smooth hinge", "logistic"):
        s = problems.state(X, problems.LOSSES[title])
        yield from _scalar(s, title)
    yield from _rows(s)
    yield from _vector(problems.state(X, dg.Softmax()))


def _scalar(s: State, title: str) -> Iterator[Measured]:
    p, alpha, u = s.problem, s.alpha.copy(), s.u.copy()
    z = p.scores(p.weights(s.prox, u), slice(0, p.n))
    yield Measured(f"epoch, {title}", "nonzero", s.entries, lambda: s.epoch(alpha, u))
    yield Measured(f"scored_epoch, {title}", "nonzero", s.entries, lambda: scored_epoch(s.data, s.prox, alpha, u, s.order, np.empty(p.n)))
    yield Measured(f"loss_sum, {title}", "row", p.n, lambda: gap.loss_sum(p.loss, z, p.y, p.share, p.norms2))
    yield Measured(f"conjugate_sum, {title}", "row", p.n, lambda: gap.conjugate_sum(p.loss, s.alpha, 1.0, p.y, p.share, p.norms2))
    yield Measured(f"dual_points, {title}", "row", p.n, lambda: gap.dual_points(p.loss, z, p.y, alpha))


def _rows(s: State) -> Iterator[Measured]:
    p, z, w = s.problem, np.empty(s.problem.n), s.u.copy()
    a, low = np.zeros(p.shape), np.zeros(p.shape)
    order, seed = s.order.copy(), np.array([1], np.uint64)
    yield Measured("scores", "nonzero", s.entries, lambda: gap.scores(p.rows, 0, w, z))
    yield Measured("transposed", "nonzero", s.entries, lambda: gap.transposed(p.rows, p.share, s.alpha, a, low))
    part, size = np.zeros_like(a), max(p.block_rows, 64)
    blocks = (p.rows, p.share, s.alpha, size, a, low, part)
    yield Measured("transposed_in_blocks", "nonzero", s.entries, lambda: gap.transposed_in_blocks(*blocks))
    yield Measured("row_norms", "nonzero", s.entries, lambda: gap.row_norms(p.rows, p.d, z))
    yield Measured("shuffle", "row", p.n, lambda: gap.shuffle(order, seed))


def _vector(s: State) -> Iterator[Measured]:
    p, alpha, u = s.problem, s.alpha.copy(), s.u.copy()
    title, piece, z = f"softmax, {CLASSES} classes", "nonzero and class", np.empty(p.alpha_shape)
    a, low = np.zeros(p.shape), np.zeros(p.shape)
    scratch, scores, g = np.empty(4 * CLASSES), np.empty(p.n), np.empty(CLASSES)
    arguments = (p.y, p.share, p.norms2, g)
    gap.vector_scores(p.rows, 0, u, z)
    yield Measured(f"vector_epoch, {title}", piece, s.entries, lambda: s.epoch(alpha, u))
    yield Measured(
        f"vector_scored_epoch, {title}",
        piece,
        s.entries,
        lambda: vector_scored_epoch(s.data, s.prox, alpha, u, s.order, scratch, scores),
    )
    yield Measured(f"vector_scores, {CLASSES} classes", piece, s.entries, lambda: gap.vector_scores(p.rows, 0, u, z))
    yield Measured(
        f"vector_transposed, {CLASSES} classes", piece, s.entries, lambda: gap.vector_transposed(p.rows, p.share, s.alpha, a, low)
    )
    yield Measured(f"vector_loss_sum, {title}", "row and class", z.size, lambda: gap.vector_loss_sum(p.loss, 0, z, *arguments))
    yield Measured(
        f"vector_conjugate_sum, {title}", "row and class", z.size, lambda: gap.vector_conjugate_sum(p.loss, s.alpha, 1.0, *arguments)
    )


def gram(columns: int = 500) -> Measured:
    """The Gram matrix of sparse rows; of dense rows it is a product of matrices that numpy computes."""
    X = problems.text_like(20_000, columns)
    lengths = np.diff(X.indptr).astype(np.int64)
    rows, target = problems.state(X, dg.Squared(), epochs=0).problem.rows, np.zeros((columns + 1, columns + 1))
    weights, position, room = np.ones(X.shape[0]), np.arange(columns, dtype=np.int32), 2 * (int(lengths.max()) + 1)
    places, values = np.empty(room, dtype=np.uint32), np.empty(room)
    pieces = int(np.sum(lengths * (lengths + 1)) // 2)
    return Measured("add_gram", "product", pieces, lambda: add_gram(rows, weights, position, 0, places, values, target))
