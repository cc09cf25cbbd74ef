"""Rows whose columns are cut into ranges, each of which belongs to one thread, with that part of u.

A range of a sparse row is a few entries only, so that loops over one row at a time would mostly pay for their ends. There are two ways out:

    Slabs     a copy of X, range by range, in which eight rows are one list of entries; rows of such a group are as far apart in X as can be,
              since rows that follow one another may be alike
    Split     X where it is, and where each range begins in each row; where ranges are short, a block of rows is first gathered into one list
              of entries, eight at a time whether they are needed or not

Slabs are for passes over all rows, in an order that keeps groups together, Split for passes over some.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dualgap.kernels.compile import jitable, kernel, resolved
from dualgap.kernels.prefetch import fetch, prefetch
from dualgap.rows import column, fetch_head, first, last, weight

ONE, LONGEST = np.uint64(1), np.uint64(65535)
# Entries that a thread goes through while memory answers, and the most rows that makes.
AHEAD, MOST_AHEAD = 320, 32
# Rows of a group, and entries that are gathered at a time.
GROUP, CHUNK = 8, np.uint64(8)
# Rows whose columns are counted to find ranges of the same size.
SAMPLE = 4096


class Split(NamedTuple):
    """Sparse rows and their ranges: range f of row i begins `splits[i, f]` entries after the row does."""

    rows: Any
    bounds: Any
    splits: Any
    ahead: int


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
    ahead: int


class Entries(NamedTuple):
    """The entries of a block of rows in each range: columns, values, and the number in the block of the row they are from."""

    columns: Any
    values: Any
    row: Any
    count: Any


@jitable
def begin(split: Any, i: Any, f: Any) -> Any:
    """Where range f of row i begins, which is where range f - 1 ends."""
    return first(split.rows, i) + np.uint64(split.splits[i, f])


def gather(parted: Any, order: Any, t: int, m: int, f: Any, entries: Any) -> Any:
    """Make a list of what range f of rows t to t + m - 1 of `order` holds, if there is room for it."""


def block_dots(parted: Any, order: Any, t: int, m: int, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> Any:
    """The part of range f in X w of some rows of `order`."""


def block_axpy(parted: Any, order: Any, t: int, m: int, f: Any, entries: Any, scale: Any, moves: Any, u: Any) -> Any:
    """u += scale X'moves in range f."""


def measured_axpy(parted: Any, order: Any, t: int, m: int, f: Any, entries: Any, moves: Any, prox: Any, u: Any) -> Any:
    """u += X'moves in range f; returns w'(change) for w halfway, which is the change of R* there."""


@jitable
def look_ahead(split: Any, order: Any, t: Any, f: Any) -> None:
    """Fetch range f of a row ahead, and what says where it lies of one as far ahead again."""
    if t + 2 * split.ahead < order.shape[0]:
        i = np.uint64(order[t + 2 * split.ahead])
        fetch_head(split.rows, i)
        prefetch(split.splits, i * np.uint64(split.splits.shape[1]) + f)
    if t + split.ahead < order.shape[0]:
        i = np.uint64(order[t + split.ahead])
        start, end = begin(split, i, f), begin(split, i, f + ONE)
        fetch(split.rows.indices, start, end)
        fetch(split.rows.data, start, end)


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


def _gather_rows(split: Any, order: Any, t: int, m: int, f: Any, entries: Any) -> None:
    rows = split.rows
    if entries.columns.shape[1] > 0:
        to_columns, to_values, to_row = entries.columns[f], entries.values[f], entries.row[f]
        size = np.uint64(min(rows.indices.shape[0], rows.data.shape[0]))
        count = np.uint64(0)
        for r in range(m):
            look_ahead(split, order, t + r, f)
            i = np.uint64(order[t + r])
            start, end = begin(split, i, f), begin(split, i, f + ONE)
            if end + CHUNK <= size:
                copy_chunk(to_columns, count, rows.indices, start)
                copy_chunk(to_values, count, rows.data, start)
                for s in range(CHUNK):
                    to_row[count + s] = r
                if end > start + CHUNK:
                    for e in range(CHUNK, end - start, CHUNK):
                        copy_chunk(to_columns, count + e, rows.indices, start + e)
                        copy_chunk(to_values, count + e, rows.data, start + e)
                        for s in range(CHUNK):
                            to_row[count + e + s] = r
            else:
                for e in range(np.uint64(0), end - start):
                    to_columns[count + e], to_values[count + e], to_row[count + e] = rows.indices[start + e], rows.data[start + e], r
            count += end - start
        entries.count[f, 0] = count


@jitable
def add_dots(columns: Any, values: Any, row: Any, start: Any, end: Any, base: Any, prox: Any, u: Any, z: Any) -> None:
    """Add the products of listed entries with w to the scores of their rows."""
    for t in range(start, end):
        j, x, r = base + columns[t], values[t], row[t]
        if u.ndim == 1:
            z[r] += x * weight(prox, u[j], j)
        else:
            for m in range(u.shape[1]):
                z[r, m] += x * weight(prox, u[j, m], j)


@jitable
def add_rows(columns: Any, values: Any, row: Any, start: Any, end: Any, base: Any, scale: Any, moves: Any, u: Any) -> None:
    """Add listed entries times the moves of their rows to u."""
    for t in range(start, end):
        j, x, r = base + columns[t], scale * values[t], row[t]
        if u.ndim == 1:
            u[j] += x * moves[r]
        else:
            for m in range(u.shape[1]):
                u[j, m] += x * moves[r, m]


@jitable
def add_measured(columns: Any, values: Any, row: Any, start: Any, end: Any, base: Any, moves: Any, prox: Any, u: Any) -> float:
    """The same, and the change of R*."""
    change = 0.0
    for t in range(start, end):
        j, x, r = base + columns[t], values[t], row[t]
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


def _row_dots(split: Any, order: Any, t: int, m: int, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    z[:m] = 0.0
    if entries.columns.shape[1] > 0:
        add_dots(entries.columns[f], entries.values[f], entries.row[f], np.uint64(0), entries.count[f, 0], np.uint64(0), prox, u, z)
        return
    for r in range(m):
        look_ahead(split, order, t + r, f)
        i = np.uint64(order[t + r])
        start, end = begin(split, i, f), begin(split, i, f + ONE)
        if u.ndim == 1:
            total = 0.0
            for e in range(start, end):
                j = split.rows.indices[e]
                total += split.rows.data[e] * weight(prox, u[j], j)
            z[r] = total
        else:
            for e in range(start, end):
                j, x = split.rows.indices[e], split.rows.data[e]
                for l in range(u.shape[1]):
                    z[r, l] += x * weight(prox, u[j, l], j)


def _row_axpy(split: Any, order: Any, t: int, m: int, f: Any, entries: Any, scale: Any, moves: Any, u: Any) -> None:
    if entries.columns.shape[1] > 0:
        columns, values, row, count = entries.columns[f], entries.values[f], entries.row[f], entries.count[f, 0]
        add_rows(columns, values, row, np.uint64(0), count, np.uint64(0), scale, moves, u)
        return
    for r in range(m):
        i = np.uint64(order[t + r])
        for e in range(begin(split, i, f), begin(split, i, f + ONE)):
            j, x = split.rows.indices[e], scale * split.rows.data[e]
            if u.ndim == 1:
                u[j] += x * moves[r]
            else:
                for l in range(u.shape[1]):
                    u[j, l] += x * moves[r, l]


def _measured_row_axpy(split: Any, order: Any, t: int, m: int, f: Any, entries: Any, moves: Any, prox: Any, u: Any) -> Any:
    if entries.columns.shape[1] > 0:
        columns, values, row, count = entries.columns[f], entries.values[f], entries.row[f], entries.count[f, 0]
        return add_measured(columns, values, row, np.uint64(0), count, np.uint64(0), moves, prox, u)
    change = 0.0
    for r in range(m):
        i = np.uint64(order[t + r])
        for e in range(begin(split, i, f), begin(split, i, f + ONE)):
            j, x = split.rows.indices[e], split.rows.data[e]
            if u.ndim == 1:
                old, move = u[j], x * moves[r]
                u[j] = old + move
                change += move * (weight(prox, old, j) + weight(prox, u[j], j))
            else:
                for l in range(u.shape[1]):
                    old, move = u[j, l], x * moves[r, l]
                    u[j, l] = old + move
                    change += move * (weight(prox, old, j) + weight(prox, u[j, l], j))
    return 0.5 * change


@jitable
def group_of(slabs: Any, order: Any, t: Any) -> Any:
    """The group that begins at place t of the order."""
    i = np.uint64(order[t])
    stride = np.uint64(slabs.stride)
    return i if i < stride else stride


@jitable
def fetch_group(slabs: Any, order: Any, t: Any, f: Any) -> None:
    """Fetch range f of a group ahead, and what says where it lies of one as far ahead again."""
    if t + 2 * slabs.ahead < order.shape[0]:
        prefetch(slabs.starts, f * np.uint64(slabs.starts.shape[1]) + group_of(slabs, order, t + 2 * slabs.ahead))
    if t + slabs.ahead < order.shape[0]:
        g = group_of(slabs, order, t + slabs.ahead)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        fetch(slabs.values, start, end)
        fetch(slabs.columns, start, end)
        fetch(slabs.row, start, end)


def _slab_dots(slabs: Any, order: Any, t: int, m: int, f: Any, entries: Any, prox: Any, u: Any, z: Any) -> None:
    z[:m] = 0.0
    for r in range(0, m, GROUP):
        fetch_group(slabs, order, t + r, f)
        g = group_of(slabs, order, t + r)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        add_dots(slabs.columns, slabs.values, slabs.row, start, end, slabs.bounds[f], prox, u, z[r:])


def _slab_axpy(slabs: Any, order: Any, t: int, m: int, f: Any, entries: Any, scale: Any, moves: Any, u: Any) -> None:
    for r in range(0, m, GROUP):
        g = group_of(slabs, order, t + r)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        add_rows(slabs.columns, slabs.values, slabs.row, start, end, slabs.bounds[f], scale, moves[r:], u)


def _measured_slab_axpy(slabs: Any, order: Any, t: int, m: int, f: Any, entries: Any, moves: Any, prox: Any, u: Any) -> Any:
    change = 0.0
    for r in range(0, m, GROUP):
        g = group_of(slabs, order, t + r)
        start, end = slabs.starts[f, g], slabs.starts[f, g + ONE]
        change += add_measured(slabs.columns, slabs.values, slabs.row, start, end, slabs.bounds[f], moves[r:], prox, u)
    return change


def _by_storage(function: Any, of_split: Any, of_slabs: Any) -> None:
    resolved(function, lambda parted: of_slabs if parted.instance_class is Slabs else of_split)


_by_storage(gather, _gather_rows, lambda parted, order, t, m, f, entries: None)
_by_storage(block_dots, _row_dots, _slab_dots)
_by_storage(block_axpy, _row_axpy, _slab_axpy)
_by_storage(measured_axpy, _measured_row_axpy, _measured_slab_axpy)


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
    """Sparse rows cut into ranges of about the same size, one for each part of a team's jobs, and the most entries of a range of a row.

    None if columns of a row are out of order, or if a row is too long for two bytes to say where its ranges begin.
    """
    parts = team.parts
    n = len(rows.indptr) - 1
    counts = np.zeros(d, np.int64)
    count_columns(rows, max(1, n // SAMPLE), counts)
    total = np.cumsum(counts)
    ends = np.searchsorted(total, [total[-1] * f / parts for f in range(1, parts)])
    bounds = np.concatenate([[0], ends, [d]]).astype(np.uint64)
    splits = np.empty((n, parts + 1), np.uint16)
    most = team.each(lambda part: split_rows(rows, bounds, part.start, splits[part]), n)
    ahead = max(2, min(MOST_AHEAD, AHEAD * n * parts // max(1, int(rows.indptr[-1]))))
    return (Split(rows, bounds, splits, ahead), max(most)) if min(most) >= 0 else None


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
    slabs = Slabs(columns, np.empty(size, source.rows.data.dtype), np.empty(size, np.uint8), starts, source.bounds, stride, -(-source.ahead // GROUP) * GROUP)
    team.each(lambda part: fill_slabs(source, part.start, part.stop, slabs), groups)
    return slabs
