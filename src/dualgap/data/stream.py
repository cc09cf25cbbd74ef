"""Chunks of a store in any order, in groups: a thread reads and decodes the next group while the last one is in use."""

import os
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dualgap.data.coding import Buffer
from dualgap.data.errors import InputError
from dualgap.data.files import ahead, naming
from dualgap.data.store import Store

PIECE, ADVISED = 1 << 22, 1 << 23
Chunks = npt.NDArray[np.int64]


class ChunkFile:
    """The file of the chunks, read in an order that the system is told a little ahead."""

    def __init__(self, store: Store, order: Chunks) -> None:
        self.store, self.order, self.at, self.advised, self.read = store, order, 0, 0, 0
        self.path = str(Path(store.path) / "chunks")
        self.ends = np.cumsum(store.counts["bytes"][order])
        self.scratch = np.empty(int(store.counts["bytes"].max()), dtype=np.uint8)
        with naming(self.path):
            self.file = open(self.path, "rb", buffering=0)  # noqa: SIM115
        self._advise("RANDOM", 0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()

    def _advise(self, what: str, begin: int, length: int) -> None:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.file.fileno(), begin, length, getattr(os, f"POSIX_FADV_{what}"))

    def _place(self, at: int) -> tuple[int, int, int]:
        """A chunk of the order, where it begins, and its length."""
        chunk = int(self.order[at])
        begin, end = self.store.places[chunk : chunk + 2].tolist()
        return chunk, begin, end - begin

    def next_into(self, buffer: Buffer) -> None:
        """Read the next chunk, check it and put its rows behind those of a buffer."""
        self.store.decode(*self.read_next(), buffer)
        self.done()

    def read_next(self) -> tuple[int, npt.NDArray[np.uint8]]:
        """The next chunk and its bytes, before which the system is told what comes after it."""
        while self.advised < len(self.order) and self.ends[self.advised] <= self.read + ADVISED:
            self._advise("WILLNEED", *self._place(self.advised)[1:])
            self.advised += 1
        chunk, begin, length = self._place(self.at)
        raw, got = self.scratch[:length], 0
        with naming(self.path):
            self.file.seek(begin)
            while got < length:
                count = self.file.readinto(raw.data[got:])
                if not count:
                    raise InputError(self.path, f"ends within chunk {chunk}, after {begin + got:,} bytes")
                got += count
        return chunk, raw

    def done(self) -> None:
        """Go on to the next chunk."""
        _, begin, length = self._place(self.at)
        if self.store.passing:
            self._advise("DONTNEED", begin, length)
        self.at += 1
        self.read += length


class Stream:
    """The rows of a store for a solve that can not have them all in memory, and how often they were read."""

    def __init__(self, store: Store) -> None:
        self.store, self.bytes = store, 0
        self.pools: dict[int, list[Buffer]] = {}

    @property
    def reads(self) -> float:
        """How often the whole of the chunks was read, in all."""
        return self.bytes / int(self.store.places[-1])

    @cached_property
    def chunk_of_row(self) -> npt.NDArray[np.uint32]:
        """The chunk that each row lies in."""
        return np.repeat(np.arange(len(self.store), dtype=np.uint32), self.store.counts["rows"])

    def pieces(self) -> Iterator[tuple[slice, Any]]:
        """All rows in their order, some at a time: which, and as kernels read them."""
        size = min(PIECE, self.store.memory // 2)
        groups = _packed(self.store, np.arange(len(self.store)), *self._room(size))
        for group, buffer in self._read(groups, size):
            yield slice(int(self.store.starts[group[0]]), int(self.store.starts[group[-1] + 1])), buffer.rows()

    def groups_of(self, order: Chunks) -> list[Chunks]:
        """Chunks in an order, as many at a time as half of the memory takes."""
        return _packed(self.store, order, *self._room(self.store.memory // 2))

    def fills(self, groups: list[Chunks]) -> Iterator[tuple[Chunks, Any]]:
        """These groups of chunks, and their rows one behind the other, as kernels read them."""
        for group, buffer in self._read(groups, self.store.memory // 2):
            yield group, buffer.rows()

    def _room(self, size: int) -> tuple[int, int]:
        """How many rows and entries of a mean length there are in so many bytes; at least those of the largest chunk."""
        store, part = self.store, size / max(1, self.store.matrix_bytes)
        rows, entries = int(part * store.shape[0]), int(part * store.nnz)
        return max(rows, int(store.counts["rows"].max())), max(entries, int(store.counts["entries"].max()))

    def _read(self, groups: list[Chunks], size: int) -> Iterator[tuple[Chunks, Buffer]]:
        room = self._room(size)
        idle = self.pools.setdefault(size, [])
        buffers = [idle.pop() if idle else Buffer(self.store.coding, *room) for _ in range(2)]
        with ChunkFile(self.store, np.concatenate(groups)) as file:
            try:
                yield from _ahead(file, groups, buffers)
            finally:
                self.bytes += file.read
                idle += buffers


def _packed(store: Store, order: Chunks, rows: int, entries: int) -> list[Chunks]:
    """Chunks in groups of at most so many rows and entries."""
    starts, r, e = [0], 0, 0
    sizes = zip(store.counts["rows"][order].tolist(), store.counts["entries"][order].tolist(), strict=True)
    for at, (chunk_rows, chunk_entries) in enumerate(sizes):
        r, e = r + chunk_rows, e + chunk_entries
        if r > rows or e > entries:
            starts.append(at)
            r, e = chunk_rows, chunk_entries
    return np.split(order, starts[1:])


def _ahead(file: ChunkFile, groups: list[Chunks], buffers: list[Buffer]) -> Iterator[tuple[Chunks, Buffer]]:
    """The groups with the buffers that hold them, of which one is filled by a thread while another is in use."""
    free: SimpleQueue[Buffer] = SimpleQueue()
    ended = threading.Event()
    for buffer in buffers:
        free.put(buffer)

    def filled() -> Iterator[tuple[Chunks, Buffer]]:
        for group in groups:
            buffer = free.get()
            buffer.clear()
            for _ in range(len(group)):
                if ended.is_set():
                    return
                file.next_into(buffer)
            yield group, buffer

    reading = ahead(filled(), len(buffers))
    try:
        for group, buffer in reading:
            yield group, buffer
            free.put(buffer)
    finally:
        ended.set()
        free.put(buffers[0])
        reading.close()  # type: ignore[attr-defined]


def load(store: Store) -> Any:
    """The rows as a matrix in memory."""
    buffer = Buffer(store.coding, store.shape[0], store.nnz)
    with ChunkFile(store, np.arange(len(store))) as file:
        for _ in range(len(store)):
            file.next_into(buffer)
    return buffer.matrix()
