"""Rows whose columns are cut into ranges, each of which belongs to one thread, with that part of u.

A range of a sparse row is a few entries only, so that loops over one row at a time would mostly pay for their ends. There are two ways out:

    Slabs     a copy of X, range by range, in which eight rows are one list of entries; rows of such a group are as far apart in X as can be,
              since rows that follow one another may be alike
    Split     X where it is, and where each range begins in each row; a block of rows is first gathered into one list of entries, eight at a
              time whether they are needed or not

Slabs are for passes over all rows, in an order that keeps groups together, Split for passes over some. Dense rows are read where they are.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dualgap.kernels.compile import jitable, kernel, resolved
from dualgap.kernels.prefetch import prefetch
from dualgap.rows import LINE, Csr, Dense, column, fetch_head, first, last, weight

ONE, LONGEST = np.uint64(1), np.uint64(65535)
HEAD, ROW = 8, 4
# Rows of a group, and entries that are gathered at a time.
GROUP, CHUNK = 8, np.uint64(8)
# Rows whose columns are counted to find ranges of the same size.
SAMPLE = 4096


class Split(NamedTuple):
    """Rows and their ranges: range f of row i begins `splits[i, f]` entries after a sparse row does, and at column `bounds[f]` of a dense one."""

    rows: Any
    bounds: Any
    splits: Any


class Slabs(NamedTuple):
    """Groups of rows range by range: columns less `bounds[f]`, values, the number of the row in its group, and where a group starts.

    Group g holds the rows g, g + stride, g + 2 stride, ...; the rows that are left over come last, as a group of their own.
    """

    columns: Any
    values: Any
    row: Any
    starts: Any
    bounds: Any
    stride: int


class Entries(NamedTuple):
    """The entries of a block of rows in each range: columns, values, and the number in the block of the row they are from."""

    columns: Any
    values: Any
    row: Any
    count: Any


def begin(split: Any, i: Any, f: Any) -> Any:
    """Where range f of row i begins, which is where range f - 1 ends."""


def fetch_splits(split: Any, i: Any) -> Any:
    """Ask for the memory that says where the ranges of row i lie."""


def fetch_range(split: Any, i: Any, f: Any) -> Any:
    """Ask for the memory of range f of row i."""


def gather(parted: Any, order: Any, f: Any, entries: Any) -> Any:
    """Make a list of what range f of the rows of `order` holds."""


def block_dots(parted: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> Any:
    """The part of range f in X w of the rows of `order`."""


def block_axpy(parted: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    """u += scale X'moves in range f; returns w'(change) for w halfway, which is the change of R* there."""


def _fetch_csr_splits(split: Any, i: Any) -> None:
    fetch_head(split.rows, i)
    prefetch(split.splits, i * np.uint64(split.splits.shape[1]))


def _fetch_csr_range(split: Any, i: Any, f: Any) -> None:
    start, end = begin(split, i, f), begin(split, i, f + ONE)
    prefetch(split.rows.indices, start)
    prefetch(split.rows.data, start)
    prefetch(split.rows.data, end)
    if end - start > CHUNK:
        for t in range(start + CHUNK, end, CHUNK):
            prefetch(split.rows.data, t)
            prefetch(split.rows.indices, t)


def _fetch_dense_range(split: Any, i: Any, f: Any) -> None:
    start = i * np.uint64(split.rows.values.shape[1])
    for t in range(start + split.bounds[f], start + split.bounds[f + ONE], np.uint64(LINE // split.rows.values.itemsize)):
        prefetch(split.rows.values, t)


@jitable
def look_ahead(split: Any, order: Any, r: Any, f: Any) -> None:
    """Fetch what says where a row's ranges are eight rows ahead, and range f four ahead."""
    if r + HEAD < order.shape[0]:
        fetch_splits(split, np.uint64(order[r + HEAD]))
    if r + ROW < order.shape[0]:
        fetch_range(split, np.uint64(order[r + ROW]), f)


@intrinsic  # type: ignore[untyped-decorator]
def copy_chunk(_typingctx: Any, to: Any, at: Any, source: Any, start: Any) -> Any:
    """Copy eight elements by one instruction; both arrays must reach that far."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ends = []
        for k in (2, 0):
            data = context.make_array(signature.args[k])(context, builder, args[k]).data
            type_ = ir.VectorType(context.get_data_type(signature.args[k].dtype), int(CHUNK))
            ends.append(builder.bitcast(builder.gep(data, [args[k + 1]]), type_.as_pointer()))
        builder.store(builder.load(ends[0], align=1), ends[1], align=1)
        return context.get_dummy_value()

    return types.void(to, at, source, start), codegen


def _gather_csr(split: Any, order: Any, f: Any, entries: Any) -> None:
    rows = split.rows
    to_columns, to_values, to_row = entries.columns[f], entries.values[f], entries.row[f]
    size = np.uint64(min(rows.indices.shape[0], rows.data.shape[0]))
    count = np.uint64(0)
    for r in range(order.shape[0]):
        look_ahead(split, order, r, f)
        i = np.uint64(order[r])
        start, end = begin(split, i, f), begin(split, i, f + ONE)
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


@jitable
def list_dots(columns: Any, values: Any, row: Any, start: Any, end: Any, base: Any, prox: Any, u: Any, z: Any) -> None:
    """Add the products of entries with w to the scores of their rows."""
    for t in range(start, end):
        j, x, r = base + columns[t], values[t], row[t]
        if u.ndim == 1:
            z[r] += x * weight(prox, u[j], j)
        else:
            for m in range(u.shape[1]):
                z[r, m] += x * weight(prox, u[j, m], j)


@jitable
def list_axpy(
    columns: Any, values: Any, row: Any, start: Any, end: Any, base: Any, scale: Any, moves: Any, prox: Any, u: Any
) -> float:
    """Add entries times the moves of their rows to u; returns twice the change of R*."""
    change = 0.0
    for t in range(start, end):
        j, x, r = base + columns[t], scale * values[t], row[t]
        if u.ndim == 1:
            old, move = u[j], x * moves[r]
            u[j] = old + move
            change += move * (weight(prox, old, j) + weight(prox, u[j], j))
        else:
            for m in range(u.shape[1]):
                old, move = u[j, m], x * moves[r, m]
                u[j, m] = old + move
                change += move * (weight(prox, old, j) + weight(prox, u[j, m], j))
    return change


def _csr_dots(split: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    z[: order.shape[0]] = 0.0
    list_dots(entries.columns[f], entries.values[f], entries.row[f], np.uint64(0), entries.count[f, 0], np.uint64(0), prox, u, z)


def _csr_axpy(split: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    columns, values, row, end = entries.columns[f], entries.values[f], entries.row[f], entries.count[f, 0]
    return 0.5 * list_axpy(columns, values, row, np.uint64(0), end, np.uint64(0), scale, moves, prox, u)


@jitable
def group_of(slabs: Any, order: Any, r: Any) -> Any:
    """The group that begins with row r of a block."""
    i = np.uint64(order[r])
    stride = np.uint64(slabs.stride)
    return i if i < stride else stride


@jitable
def fetch_group(slabs: Any, f: Any, g: Any) -> None:
    """Ask for the memory of a group."""
    for t in range(slabs.starts[f, g], slabs.starts[f, g + ONE], np.uint64(LINE // slabs.values.itemsize)):
        prefetch(slabs.values, t)
    prefetch(slabs.columns, slabs.starts[f, g])
    prefetch(slabs.columns, slabs.starts[f, g + ONE])
    prefetch(slabs.row, slabs.starts[f, g])


def _slab_dots(slabs: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    z[: order.shape[0]] = 0.0
    for r in range(0, order.shape[0], GROUP):
        if r + 4 * GROUP < order.shape[0]:
            prefetch(slabs.starts, f * np.uint64(slabs.starts.shape[1]) + group_of(slabs, order, r + 4 * GROUP))
        if r + 2 * GROUP < order.shape[0]:
            fetch_group(slabs, f, group_of(slabs, order, r + 2 * GROUP))
        g = group_of(slabs, order, r)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        list_dots(slabs.columns, slabs.values, slabs.row, start, end, slabs.bounds[f], prox, u, z[r:])


def _slab_axpy(slabs: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    change = 0.0
    for r in range(0, order.shape[0], GROUP):
        g = group_of(slabs, order, r)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        change += list_axpy(slabs.columns, slabs.values, slabs.row, start, end, slabs.bounds[f], scale, moves[r:], prox, u)
    return 0.5 * change


def _dense_dots(split: Any, order: Any, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    for r in range(order.shape[0]):
        look_ahead(split, order, r, f)
        i = np.uint64(order[r])
        if u.ndim == 1:
            total = 0.0
            for j in range(split.bounds[f], split.bounds[f + ONE]):
                total += split.rows.values[i, j] * weight(prox, u[j], j)
            z[r] = total
        else:
            for m in range(u.shape[1]):
                z[r, m] = 0.0
            for j in range(split.bounds[f], split.bounds[f + ONE]):
                x = split.rows.values[i, j]
                for m in range(u.shape[1]):
                    z[r, m] += x * weight(prox, u[j, m], j)


def _dense_axpy(split: Any, order: Any, f: Any, entries: Any, scale: Any, moves: Any, prox: Any, u: Any) -> Any:
    change = 0.0
    for r in range(order.shape[0]):
        i = np.uint64(order[r])
        for j in range(split.bounds[f], split.bounds[f + ONE]):
            x = scale * split.rows.values[i, j]
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


def _by_storage(function: Any, csr: Any, dense: Any, slabs: Any = None) -> None:
    def choose(parted: Any) -> Any:
        if parted.instance_class is Slabs:
            return slabs
        return csr if parted.types[0].instance_class is Csr else dense

    resolved(function, choose)


_by_storage(begin, lambda split, i, f: first(split.rows, i) + np.uint64(split.splits[i, f]), lambda split, i, f: split.bounds[f])
_by_storage(fetch_splits, _fetch_csr_splits, lambda split, i: None)
_by_storage(fetch_range, _fetch_csr_range, _fetch_dense_range)
_by_storage(gather, _gather_csr, lambda parted, order, f, entries: None, lambda parted, order, f, entries: None)
_by_storage(block_dots, _csr_dots, _dense_dots, _slab_dots)
_by_storage(block_axpy, _csr_axpy, _dense_axpy, _slab_axpy)


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


@kernel
def group_sizes(splits: Any, stride: int, low: int, high: int, starts: Any) -> None:
    """The number of entries of groups low to high - 1 in each range, one place further on than the group."""
    parts, n = splits.shape[1] - 1, splits.shape[0]
    for g in range(low, high):
        for f in range(parts):
            total = np.uint64(0)
            for k in range(GROUP):
                i = g + k * stride if g < stride else GROUP * stride + k
                if i < n:
                    total += np.uint64(splits[i, f + 1]) - np.uint64(splits[i, f])
            starts[f, g + 1] = total


@kernel
def fill_slabs(split: Any, low: int, high: int, slabs: Any) -> None:
    """Copy groups low to high - 1, an entry of each row in turn, so that sums over consecutive entries do not wait for one another."""
    parts, n, stride = split.splits.shape[1] - 1, split.splits.shape[0], slabs.stride
    for g in range(low, high):
        for f in range(parts):
            to, at, taken = np.uint64(f), slabs.starts[f, g], np.uint64(0)
            while at < slabs.starts[f, g + 1]:
                for k in range(GROUP):
                    i = g + k * stride if g < stride else GROUP * stride + k
                    if i < n:
                        t = begin(split, np.uint64(i), to) + taken
                        if t < begin(split, np.uint64(i), to + ONE):
                            slabs.columns[at] = split.rows.indices[t] - slabs.bounds[f]
                            slabs.values[at] = split.rows.data[t]
                            slabs.row[at] = k
                            at += ONE
                taken += ONE


@kernel
def expand_groups(groups: Any, stride: int, low: int, high: int, order: Any) -> None:
    """The rows of the groups at places low to high - 1."""
    for t in range(low, high):
        for k in range(GROUP):
            order[GROUP * t + k] = groups[t] + k * stride


def split(rows: Any, d: int, team: Any) -> tuple[Split, int] | None:
    """Rows cut into ranges of features of about the same size, one for each part of a team's jobs, and the most entries of a range of a row.

    None if columns of a row are out of order, or if a row is too long for two bytes to say where its ranges begin.
    """
    parts = team.parts
    if isinstance(rows, Dense):
        bounds = np.array([d * f // parts for f in range(parts + 1)], dtype=np.uint64)
        return Split(rows, bounds, np.empty((0, 0), np.uint16)), 0
    n = len(rows.indptr) - 1
    counts = np.zeros(d, np.int64)
    count_columns(rows, max(1, n // SAMPLE), counts)
    total = np.cumsum(counts)
    ends = np.searchsorted(total, [total[-1] * f / parts for f in range(1, parts)])
    bounds = np.concatenate([[0], ends, [d]]).astype(np.uint64)
    splits = np.empty((n, parts + 1), np.uint16)
    most = team.each(lambda part: split_rows(rows, bounds, part.start, splits[part]), n)
    return (Split(rows, bounds, splits), max(most)) if min(most) >= 0 else None


def slabs_of(source: Split, team: Any) -> Slabs:
    """The copy of sparse rows in groups, range by range."""
    n, parts = len(source.splits), team.parts
    stride = n // GROUP
    groups = stride + (n > GROUP * stride)
    starts = np.zeros((parts, groups + 1), np.uint64)
    team.each(lambda part: group_sizes(source.splits, stride, part.start, part.stop, starts), groups)
    starts[1:, 0] = np.cumsum(starts[:-1].sum(axis=1))
    np.cumsum(starts, axis=1, out=starts)
    size = int(starts[-1, -1])
    narrow = np.max(np.diff(source.bounds.astype(np.int64))) <= 1 << 16
    columns: npt.NDArray[Any] = np.empty(size, np.uint16 if narrow else np.uint32)
    slabs = Slabs(columns, np.empty(size, source.rows.data.dtype), np.empty(size, np.uint8), starts, source.bounds, stride)
    team.each(lambda part: fill_slabs(source, part.start, part.stop, slabs), groups)
    return slabs
