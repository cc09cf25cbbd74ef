"""Reading svmlight text: this library's reader against scikit-learn's, side by side, on numbers of three kinds.

    python benchmarks/svmlight.py [--megabytes 50] [--repeats 5]

Prints for each kind the megabytes per second of both, each the best of some repeats in turns, and the ratio.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import dualgap as dg

KINDS = {
    "17 digits": lambda rng, size: map(repr, rng.random(size).tolist()),
    "6 digits": lambda rng, size: map("{:.6g}".format, rng.random(size).tolist()),
    "ones": lambda rng, size: ["1"] * size,
}


def write(path: Path, kind: str, megabytes: float) -> None:
    """Rows of 75 entries in increasing columns, drawn as those of text are: a few columns are in most rows."""
    rng = np.random.default_rng(0)
    width = 75
    with path.open("w") as file:
        while file.tell() < 1e6 * megabytes:
            values = iter(KINDS[kind](rng, 1000 * width))
            for _ in range(1000):
                columns = np.unique((47_000 * rng.random(width) ** 3).astype(int)) + 1
                label = "+1 " if rng.random() < 0.5 else "-1 "
                file.write(label + " ".join(f"{j}:{next(values)}" for j in columns.tolist()) + "\n")


def seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=50.0)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'values':<12}{'MB':>6}{'dualgap MB/s':>15}{'scikit-learn MB/s':>20}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = Path(folder) / "a.svm"
            write(path, kind, options.megabytes)
            X, y = dg.read_svmlight(path)
            A, b = load_svmlight_file(str(path))
            assert (abs(X - A)).nnz == 0
            assert np.array_equal(y, b)
            ours = theirs = np.inf
            for _ in range(options.repeats):
                ours = min(ours, seconds(lambda path=path: dg.read_svmlight(path)))
                theirs = min(theirs, seconds(lambda path=path: load_svmlight_file(str(path))))
            size = path.stat().st_size / 1e6
            print(f"{kind:<12}{size:>6.0f}{size / ours:>15.0f}{size / theirs:>20.1f}{theirs / ours:>8.1f}")


if __name__ == "__main__":
    main()
