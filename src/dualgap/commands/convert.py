"""`dualgap convert`: files of any format as a store, in bounded memory."""

import argparse
import time
from pathlib import Path

from dualgap.commands.options import add_input, reading, size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_input(parser)
    parser.add_argument("store", metavar="STORE", help="the folder to be made")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    group = parser.add_argument_group("store")
    group.add_argument("--values", choices=("float64", "float32", "float16", "bfloat16"), help="type of values (default: as in the files)")
    group.add_argument(
        "--indices",
        choices=("delta16", "uint32"),
        default="delta16",
        help="columns as 16-bit differences, or as they are",
    )
    group.add_argument("--chunk", type=size, default=1 << 18, metavar="SIZE", help="size of a chunk (default: 256K)")
    group.add_argument("--overwrite", action="store_true", help="replace a store that is there already")
    group.add_argument("--quiet", action="store_true", help="say nothing about what was written")


def run(options: argparse.Namespace) -> int:
    """Write the store."""
    from dualgap.cli import CERTIFIED
    from dualgap.data.readers import Sources, counted_from
    from dualgap.data.store import Store
    from dualgap.data.writer import Writer

    begun = time.perf_counter()
    said = reading(options)
    how = {"values": options.values, "indices": options.indices, "chunk_bytes": options.chunk, "overwrite": options.overwrite}
    with Writer(options.store, **how) as writer:
        sources = Sources(options.files, said)
        for chunk in sources.chunks():
            writer.add(chunk)
        first = sources.first_column
        if sources.sparse and first is None:
            first = counted_from(writer.lowest, writer.highest, sources)
        writer.finish(columns=sources.d, first_column=first, names=sources.names)
    if not options.quiet:
        store = Store.open(options.store)
        length = sum(file.stat().st_size for file in Path(store.path).iterdir())
        rounded = f", {store.rounded:,} of them rounded" if store.rounded else ""
        print(f"{store}{rounded}: {length / 2**20:,.1f} MB in {time.perf_counter() - begun:.1f} s")  # noqa: T201
    return CERTIFIED
