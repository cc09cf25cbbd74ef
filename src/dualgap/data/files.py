"""Files as streams of bytes: what a file is, by its first bytes; decompression; reading ahead in a thread."""

import bz2
import gzip
import io
import lzma
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dualgap.data.errors import InputError

PIECE, BEHIND = 1 << 20, 8
GZIP, BZIP2, XZ, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
S = TypeVar("S")
T = TypeVar("T")


@contextmanager
def open_bytes(path: str) -> Iterator[Any]:
    """A file as a stream of bytes, decompressed if its first bytes are those of gzip, bzip2, xz or zstd."""
    with ExitStack() as opened:
        with naming(path):
            raw: Any = opened.enter_context(Path(path).open("rb"))
            head = raw.peek(8)[:8]
        if head.startswith((GZIP, BZIP2, XZ)):
            module = {GZIP[0]: gzip, BZIP2[0]: bz2, XZ[0]: lzma}[head[0]]
            yield opened.enter_context(module.open(raw))
        else:
            yield io.BufferedReader(_Zstd(path, raw)) if head.startswith(ZSTD) else raw


class _Zstd(io.RawIOBase):
    """A stream compressed by zstd, in frames; Python 3.14 reads them itself, earlier ones by a package of the extra 'io'."""

    def __init__(self, path: str, stream: Any) -> None:
        self.stream, self.rest, self.ready = stream, b"", b""
        self.frame: Any = None
        for module in ("compression.zstd", "zstandard"):
            with suppress(ImportError):
                self.decompressor = import_module(module).ZstdDecompressor
                return
        raise InputError(path, "zstd needs Python 3.14 or the package zstandard: pip install 'dualgap[io]'")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, or what there is of it; a file that ends within a frame is an error."""
        while not self.ready:
            self.rest = self.rest or self.stream.read(PIECE)
            if not self.rest:
                if self.frame is not None:
                    raise EOFError("the file ends before the end of its last frame")
                return 0
            if self.frame is None:
                made = self.decompressor()
                self.frame = made.decompressobj() if hasattr(made, "decompressobj") else made
            self.ready, self.rest = self.frame.decompress(self.rest), b""
            if self.frame.eof:
                self.rest, self.frame = self.frame.unused_data, None
        count = min(len(buffer), len(self.ready))
        buffer[:count], self.ready = self.ready[:count], self.ready[count:]
        return count


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Say which file can not be read, and why."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        raise InputError(path, (error.strerror or f"can not be read: {error}").lower()) from None
    except Exception as error:
        # each decompressor has errors of its own
        raise InputError(path, f"can not be read: {error}") from None


def first_bytes(path: str, count: int = 1 << 16) -> bytes:
    """The first bytes of a file, decompressed."""
    with open_bytes(path) as stream, naming(path):
        return bytes(stream.read(count))


class Lines(NamedTuple):
    """Whole lines of a file: the first `stop` bytes of a buffer, and at least BEHIND of anything after them."""

    buffer: npt.NDArray[np.uint8]
    stop: int

    def text(self) -> bytes:
        return self.buffer[: self.stop].tobytes()


def read_lines(path: str, size: int = PIECE) -> Iterator[Lines]:
    """The text of a file in pieces of whole lines, each in a buffer of its own; the last line ends in a line end too.

    A byte order mark is left out. A line longer than the buffer makes it grow.
    """
    buffer, filled, begun = np.empty(size + BEHIND, dtype=np.uint8), 0, False
    with open_bytes(path) as stream:
        while True:
            if filled == len(buffer) - BEHIND:
                buffer = np.concatenate([buffer, np.empty_like(buffer)])
            with naming(path):
                count = stream.readinto(buffer.data[filled:-BEHIND])
            if not count:
                break
            filled += count
            if not begun and filled >= len(BYTE_ORDER_MARK):
                begun = True
                if buffer[: len(BYTE_ORDER_MARK)].tobytes() == BYTE_ORDER_MARK:
                    buffer[: len(BYTE_ORDER_MARK)] = ord(" ")
            cut = _line_end(buffer, filled)
            if cut:
                filled -= cut
                piece, buffer = Lines(buffer, cut), np.empty(max(size, 2 * filled) + BEHIND, dtype=np.uint8)
                buffer[:filled] = piece.buffer[cut : cut + filled]
                yield piece
    if filled:
        buffer[filled] = ord("\n")
        yield Lines(np.append(buffer, np.zeros(BEHIND, dtype=np.uint8)), filled + 1)


def _line_end(buffer: npt.NDArray[np.uint8], filled: int) -> int:
    """The position behind the last line end, 0 if there is none."""
    step = 1 << 12
    for stop in range(filled, 0, -step):
        start = max(0, stop - step)
        at = buffer[start:stop].tobytes().rfind(b"\n")
        if at >= 0:
            return start + at + 1
    return 0


def in_order(function: Callable[[S], T], items: Iterable[S], threads: int) -> Iterator[T]:
    """The function of each item, in their order, computed by some threads."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="dualgap-parser") as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def ahead(items: Iterator[T], depth: int = 2) -> Iterator[T]:
    """The same items, made by a thread that is at most `depth` of them ahead."""
    waiting: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    ended = threading.Event()

    def offer(item: T | None, error: BaseException | None) -> bool:
        while not ended.is_set():
            try:
                waiting.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer(item, None):
                    break
            else:
                offer(None, None)
        except BaseException as error:
            offer(None, error)
        finally:
            getattr(items, "close", lambda: None)()

    thread = threading.Thread(target=work, name="dualgap-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        ended.set()
        thread.join()
