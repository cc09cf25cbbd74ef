"""Rows whose columns are cut into ranges, each of which belongs to one thread, with that part of u.

A range of a sparse row is a few entries only, so that loops over one row at a time would mostly pay for their ends. A block of rows is
therefore gathered first, range by range, into one list of entries (eight at a time, whether they are needed or not), and the loops run over
that. Dense rows are read where they are.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dualgap.kernels.compile import exact_kernel, jitable, kernel, resolved
from dualgap.kernels.gap import lost
from dualgap.kernels.prefetch import prefetch
from dualgap.rows import LINE, Csr, Dense, column, entry, fetch_head, first, last, weight

ONE, CHUNK, LONGEST = np.uint64(1), np.uint64(8), np.uint64(65535)
HEAD, ROW = 8, 4
# Rows whose columns are counted to find ranges of the same size.
SAMPLE = 4096


class Parted(NamedTuple):
    """Rows and their ranges: range f of row i begins `splits[i, f]` entries after a sparse row does, and at column `bounds[f]` of a dense one."""

    rows: Any
    bounds: Any
    splits: Any


class Entries(NamedTuple):
    """The entries of a block of rows in each range: columns, values, and the number in the block of the row they are from."""

    columns: Any
    values: Any
    row: Any
    count: Any


def begin(parted: Any, i: Any, f: Any) -> Any:
    """Where range f of row i begins, which is where range f - 1 ends."""


def fetch_splits(parted: Any, i: Any) -> Any:
    """Ask for the memory that says where the ranges of row i lie."""


def fetch_range(parted: Any, i: Any, f: Any) -> Any:
    """Ask for the memory of range f of row i."""


def gather(parted: Any, order: Any, f: Any, entries: Any) -> Any:
    """Make a list of what range f of the rows of `order` holds."""


def block_dots(parted: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> Any:
    """The part of range f in X w of the rows of `order`."""


def block_axpy(parted: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    """u += scale X'moves in range f; returns w'(change) for w halfway, which is the change of R* there."""


def _fetch_csr_splits(parted: Any, i: Any) -> None:
    fetch_head(parted.rows, i)
    prefetch(parted.splits, i * np.uint64(parted.splits.shape[1]))


def _fetch_csr_range(parted: Any, i: Any, f: Any) -> None:
    start, end = begin(parted, i, f), begin(parted, i, f + ONE)
    prefetch(parted.rows.indices, start)
    prefetch(parted.rows.data, start)
    prefetch(parted.rows.data, end)
    if end - start > CHUNK:
        for t in range(start + CHUNK, end, CHUNK):
            prefetch(parted.rows.data, t)
            prefetch(parted.rows.indices, t)


def _fetch_dense_range(parted: Any, i: Any, f: Any) -> None:
    start = i * np.uint64(parted.rows.values.shape[1])
    for t in range(start + parted.bounds[f], start + parted.bounds[f + ONE], np.uint64(LINE // parted.rows.values.itemsize)):
        prefetch(parted.rows.values, t)


@jitable
def look_ahead(parted: Any, order: Any, r: Any, f: Any) -> None:
    """Fetch what says where a row's ranges are eight rows ahead, and range f four ahead."""
    if r + HEAD < order.shape[0]:
        fetch_splits(parted, np.uint64(order[r + HEAD]))
    if r + ROW < order.shape[0]:
        fetch_range(parted, np.uint64(order[r + ROW]), f)


@intrinsic  # type: ignore[untyped-decorator]
def copy_chunk(_typingctx: Any, to: Any, at: Any, source: Any, start: Any) -> Any:
    """Copy eight elements by one instruction; both arrays must reach that far."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ends = []
        for k in (2, 0):
            data = context.make_array(signature.args[k])(context, builder, args[k]).data
            type_ = ir.VectorType(context.get_data_type(signature.args[k].dtype), int(CHUNK))
            ends.append(builder.bitcast(builder.gep(data, [args[k + 1]]), type_.as_pointer()))
        value = builder.load(ends[0], align=1)
        builder.store(value, ends[1], align=1)
        return context.get_dummy_value()

    return types.void(to, at, source, start), codegen


def _gather_csr(parted: Any, order: Any, f: Any, entries: Any) -> None:
    rows = parted.rows
    to_columns, to_values, to_row = entries.columns[f], entries.values[f], entries.row[f]
    size = np.uint64(min(rows.indices.shape[0], rows.data.shape[0]))
    count = np.uint64(0)
    for r in range(order.shape[0]):
        look_ahead(parted, order, r, f)
        i = np.uint64(order[r])
        start, end = begin(parted, i, f), begin(parted, i, f + ONE)
        length = end - start
        if end + CHUNK <= size:
            copy_chunk(to_columns, count, rows.indices, start)
            copy_chunk(to_values, count, rows.data, start)
            for s in range(CHUNK):
                to_row[count + s] = r
            if length > CHUNK:
                for t in range(CHUNK, length, CHUNK):
                    copy_chunk(to_columns, count + t, rows.indices, start + t)
                    copy_chunk(to_values, count + t, rows.data, start + t)
                    for s in range(CHUNK):
                        to_row[count + t + s] = r
        else:
            for t in range(np.uint64(0), length):
                to_columns[count + t], to_values[count + t], to_row[count + t] = rows.indices[start + t], rows.data[start + t], r
        count += length
    entries.count[f, 0] = count


def _csr_dots(parted: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    columns, values, row = entries.columns[f], entries.values[f], entries.row[f]
    z[: order.shape[0]] = 0.0
    for t in range(entries.count[f, 0]):
        j, x, r = columns[t], values[t], row[t]
        if u.ndim == 1:
            z[r] += x * weight(prox, u[j], j)
        else:
            for m in range(u.shape[1]):
                z[r, m] += x * weight(prox, u[j, m], j)


def _csr_axpy(parted: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    columns, values, row = entries.columns[f], entries.values[f], entries.row[f]
    change = 0.0
    for t in range(entries.count[f, 0]):
        j, x, r = columns[t], scale * values[t], row[t]
        if u.ndim == 1:
            old, move = u[j], x * moves[r]
            u[j] = old + move
            change += move * (weight(prox, old, j) + weight(prox, u[j], j))
        else:
            for m in range(u.shape[1]):
                old, move = u[j, m], x * moves[r, m]
                u[j, m] = old + move
                change += move * (weight(prox, old, j) + weight(prox, u[j, m], j))
    return 0.5 * change


def _dense_dots(parted: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    for r in range(order.shape[0]):
        look_ahead(parted, order, r, f)
        i = np.uint64(order[r])
        if u.ndim == 1:
            total = 0.0
            for j in range(parted.bounds[f], parted.bounds[f + ONE]):
                total += parted.rows.values[i, j] * weight(prox, u[j], j)
            z[r] = total
        else:
            for m in range(u.shape[1]):
                z[r, m] = 0.0
            for j in range(parted.bounds[f], parted.bounds[f + ONE]):
                x = parted.rows.values[i, j]
                for m in range(u.shape[1]):
                    z[r, m] += x * weight(prox, u[j, m], j)


def _dense_axpy(parted: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    change = 0.0
    for r in range(order.shape[0]):
        i = np.uint64(order[r])
        for j in range(parted.bounds[f], parted.bounds[f + ONE]):
            x = scale * parted.rows.values[i, j]
            if u.ndim == 1:
                old, move = u[j], x * moves[r]
                u[j] = old + move
                change += move * (weight(prox, old, j) + weight(prox, u[j], j))
            else:
                for m in range(u.shape[1]):
                    old, move = u[j, m], x * moves[r, m]
                    u[j, m] = old + move
                    change += move * (weight(prox, old, j) + weight(prox, u[j, m], j))
    return 0.5 * change


def _by_storage(function: Any, csr: Any, dense: Any) -> None:
    resolved(function, lambda parted: csr if parted.types[0].instance_class is Csr else dense)


_by_storage(begin, lambda parted, i, f: first(parted.rows, i) + np.uint64(parted.splits[i, f]), lambda parted, i, f: parted.bounds[f])
_by_storage(fetch_splits, _fetch_csr_splits, lambda parted, i: None)
_by_storage(fetch_range, _fetch_csr_range, _fetch_dense_range)
_by_storage(gather, _gather_csr, lambda parted, order, f, entries: None)
_by_storage(block_dots, _csr_dots, _dense_dots)
_by_storage(block_axpy, _csr_axpy, _dense_axpy)


@kernel
def count_columns(rows: Any, stride: int, counts: Any) -> None:
    """How often each column occurs in every stride-th row."""
    for r in range(0, rows.indptr.shape[0] - 1, stride):
        i = np.uint64(r)
        for t in range(first(rows, i), last(rows, i)):
            counts[column(rows, t)] += 1


@kernel
def split_rows(rows: Any, bounds: Any, start: int, splits: Any) -> int:
    """Where the ranges begin in the rows from `start` on; the most entries a range has, or -1 if columns are out of order or too many."""
    parts, most = bounds.shape[0] - 1, np.uint64(0)
    for r in range(splits.shape[0]):
        i = np.uint64(start + r)
        begun, end = first(rows, i), last(rows, i)
        if end - begun > LONGEST:
            return -1
        f, before, previous = 0, begun, np.uint64(0)
        for t in range(begun, end):
            j = np.uint64(column(rows, t))
            if j < previous:
                return -1
            previous = j
            while j >= bounds[f]:
                splits[r, f] = t - begun
                most, before = max(most, t - before), t
                f += 1
        most = max(most, end - before)
        for g in range(f, parts + 1):
            splits[r, g] = end - begun
    return np.int64(most)


@exact_kernel
def parted_transposed(parted: Any, f: int, share: Any, alpha: Any, a: Any, low: Any) -> None:
    """a + low = X'(share alpha) in one range, by the very sums of `gap.transposed`; the last element is not touched."""
    rows, f = parted.rows, np.uint64(f)
    for r in range(alpha.shape[0]):
        i = np.uint64(r)
        for t in range(begin(parted, i, f), begin(parted, i, f + ONE)):
            j, x = column(rows, t), entry(rows, i, t)
            if alpha.ndim == 1:
                term = share[r] * alpha[r] * x
                low[j] += lost(a[j], term)
                a[j] += term
            else:
                x *= share[r]
                for m in range(alpha.shape[1]):
                    term = x * alpha[r, m]
                    low[j, m] += lost(a[j, m], term)
                    a[j, m] += term


def part_rows(rows: Any, d: int, team: Any) -> tuple[Parted, int] | None:
    """Rows cut into ranges of features of about the same size, one for each part of a team's jobs, and the most entries of a range of a row.

    None if columns of a row are out of order, or if a row is too long for two bytes to say where its ranges begin.
    """
    parts = team.parts
    if isinstance(rows, Dense):
        bounds = np.array([d * f // parts for f in range(parts + 1)], dtype=np.uint64)
        return Parted(rows, bounds, np.empty((0, 0), np.uint16)), 0
    n = len(rows.indptr) - 1
    counts = np.zeros(d, np.int64)
    count_columns(rows, max(1, n // SAMPLE), counts)
    total = np.cumsum(counts)
    ends = np.searchsorted(total, [total[-1] * f / parts for f in range(1, parts)])
    bounds = np.concatenate([[0], ends, [d]]).astype(np.uint64)
    splits = np.empty((n, parts + 1), np.uint16)
    most = team.each(lambda part: split_rows(rows, bounds, part.start, splits[part]), n)
    return (Parted(rows, bounds, splits), max(most)) if min(most) >= 0 else None
