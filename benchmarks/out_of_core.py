"""A solve on data four times as large as the memory that the process may have, against reading the file and against a solve in memory.

    python benchmarks/out_of_core.py [--size MB] [--folder DIR]

Synthetic text is written to a store as it is made. Each solve is a process of its own whose private memory is limited by RLIMIT_DATA to a
quarter of the file of float32 values and 32-bit columns; the other types keep that limit. The same process then reads the file, chunks in a
random order, without looking at it. Pages are dropped from the cache of the system after use in both (a store does that by itself
where memory is that short); what lies below the system, such as the cache of the host of a virtual machine, is out of reach.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import dualgap as dg
from dualgap.data.stream import ChunkFile
from dualgap.data.writer import Writer, chunks_of

FEATURES, LENGTH, PIECE, PART = 50_000, 250, 4_000, 4
PROBLEMS = {
    "smooth hinge, 1e-5": (dg.SmoothHinge(), dg.L2(1e-5)),
    "smooth hinge, 1e-6": (dg.SmoothHinge(), dg.L2(1e-6)),
    "logistic, 1e-6": (dg.Logistic(), dg.L2(1e-6)),
    "logistic, 1e-7": (dg.Logistic(), dg.L2(1e-7)),
}
TYPES = {"float32, uint32": ("float32", "uint32"), "float32, delta16": ("float32", "delta16"), "float16, delta16": ("float16", "delta16")}


def pieces(rows):
    """Rows like those of text: columns by Zipf's law, weights like tf-idf, unit norm; labels of a linear rule with noise."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(FEATURES)
    for start in range(0, rows, PIECE):
        n = min(PIECE, rows - start)
        columns = np.minimum(FEATURES ** rng.random((n, LENGTH)), FEATURES).astype(np.int32) - 1
        values = (np.log1p(columns) + 0.1) * rng.random(columns.shape)
        X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * LENGTH + 1, LENGTH)), shape=(n, FEATURES))
        X.sum_duplicates()
        norms = np.sqrt(X.multiply(X).sum(axis=1))
        X.data /= np.repeat(norms, np.diff(X.indptr))
        y = np.where(X @ truth + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
        yield X.astype(np.float32), y


def write(folder, rows):
    """All stores at once, each from the same pieces."""
    writers = {}
    for name, (values, indices) in TYPES.items():
        path = folder / name.replace(", ", "-")
        if not path.exists():
            writers[name] = Writer(path, values=values, indices=indices).__enter__()
    if not writers:
        return
    for X, y in pieces(rows):
        for chunk in chunks_of(X, y, None):
            for writer in writers.values():
                writer.add(chunk)
    for writer in writers.values():
        writer.finish(columns=FEATURES, first_column=0)


def work(path, problem, limit):
    """What a process is started for: a solve, and then as many seconds as reading takes."""
    loss, penalty = PROBLEMS[problem]
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    begun = time.perf_counter()
    store = dg.Store.open(path)
    X, memory = (store, store.memory) if limit else (store.load(), 0)
    loaded = time.perf_counter() - begun
    s = dg.solve(X, store.y, loss=loss, penalty=penalty, tol=1e-3, n_threads=1)
    seconds = time.perf_counter() - begun
    report = {"seconds": seconds, "loaded": loaded, "passes": s.passes, "gap": s.relative_gap, "status": s.status.name}
    report |= {
        "fits": store.fits,
        "memory": memory,
        "largest": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    report["reads"] = float(s.notes[-1].split()[4]) if limit else 0.0
    if limit:
        report["reading"] = float(np.median([reading(store) for _ in range(3)]))
    print(json.dumps(report))


def reading(store):
    """The seconds that reading all chunks takes, in a random order and with the same hints to the system."""
    begun = time.perf_counter()
    with ChunkFile(store, np.random.default_rng(0).permutation(len(store))) as file:
        for _ in range(len(store)):
            file.read_next()
            file.done()
    return time.perf_counter() - begun


def started(path, problem, limit):
    """The report of a process."""
    os.sync()
    with open(path / "chunks", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--work", str(path), problem, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1600, help="MB of the file of float32 values and 32-bit columns")
    parser.add_argument("--folder", help="where stores are kept for another run (default: a temporary folder)")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], options.work[1], int(options.work[2]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        write(folder, options.size * 2**20 // (8 * LENGTH))
        plain = folder / "float32-uint32" / "chunks"
        limit = plain.stat().st_size // PART
        print(f"{plain.stat().st_size / 2**20:.0f} MB of float32 values and 32-bit columns, limit {limit / 2**20:.0f} MB\n")
        print(
            "| problem | on disk | MB | memory for rows | reads | seconds | reading that often | ratio | in memory, and loading | ratio |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for problem in options.problems:
            started(plain.parent, problem, 0)  # so that what is compiled is there, which the limit is not meant for
            whole = started(plain.parent, problem, 0)
            for name in options.types:
                path = folder / name.replace(", ", "-")
                s = started(path, problem, limit)
                cost, inside = s["reads"] * s["reading"], whole["seconds"]
                cells = [
                    problem,
                    name,
                    f"{(path / 'chunks').stat().st_size / 2**20:.0f}",
                    f"{s['memory'] / 2**20:.0f} MB",
                    f"{s['reads']:.0f}",
                ]
                cells += [f"{s['seconds']:.1f}", f"{cost:.1f}", f"{s['seconds'] / cost:.2f}"]
                cells += [f"{inside:.1f} ({whole['passes']:.0f} passes), {whole['loaded']:.1f}", f"{s['seconds'] / inside:.2f}"]
                print("| " + " | ".join(cells) + " |", flush=True)
                assert s["status"] == whole["status"] == "CERTIFIED"
                assert not s["fits"]


if __name__ == "__main__":
    main()
