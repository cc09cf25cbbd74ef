"""How long a new process waits for its first fit, with and without machine code on disk: `python -m benchmarks.micro.latency`.

The fit is that of the README. Each process reads the data without scikit-learn, which would bring scipy along; the least of some runs
counts. What numba and scipy take to be imported is the scale: a busy machine slows both down.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FIT = """
import json, sys, time

def now():
    return time.perf_counter(), time.process_time()

started = now()
import dualgap as dg

imported = now()
import numpy as np

X, y = (np.load(f"{sys.argv[1]}/{name}.npy") for name in "Xy")

def fit():
    begun = now()
    dg.solve(
        X, np.where(y == 1, 1.0, -1.0), loss=dg.SmoothHinge(gamma=1.0), penalty=dg.ElasticNet(l1=1e-3, l2=1e-4), intercept=True, tol=1e-6
    )
    return [b - a for a, b in zip(begun, now())]

first_fit = fit()
imports = [b - a for a, b in zip(started, imported)]
print(json.dumps({"import": imports, "fit": first_fit, "again": fit()}))
"""
SCALE = """
import json, time

started = time.perf_counter(), time.process_time()
import numba, scipy.sparse

print(json.dumps([time.perf_counter() - started[0], time.process_time() - started[1]]))
"""


def save_data(folder: Path) -> None:
    """The data of the README, as arrays that numpy alone reads."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    np.save(folder / "X.npy", (X - X.mean(axis=0)) / X.std(axis=0))
    np.save(folder / "y.npy", y)


def run(code: str, *arguments: str, cache: Path) -> Any:
    """What a new process prints, with this folder for machine code."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def least(pairs: list[list[float]]) -> list[float]:
    """The least seconds on the clock and of the processor."""
    return [min(pair[k] for pair in pairs) for k in range(2)]


def measure(runs: int) -> dict[str, list[float]]:
    """Seconds on the clock and of the processor, processes of each kind in turns."""
    taken: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_data(folder)
        for r in range(runs):
            cold = run(FIT, name, cache=folder / f"cache{r}")
            warm = run(FIT, name, cache=folder / f"cache{r}")
            for title, pair in (
                ("import dualgap", warm["import"]),
                ("first fit, machine code on disk", warm["fit"]),
                ("first fit, nothing on disk", cold["fit"]),
                ("the same fit again", warm["again"]),
                ("import numba, scipy.sparse", run(SCALE, cache=folder)),
            ):
                taken.setdefault(title, []).append(pair)
    return {title: least(pairs) for title, pairs in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    found = measure(parser.parse_args().runs)
    print("| | seconds | of the processor |\n| --- | --- | --- |")
    for title, (clock, processor) in found.items():
        print(f"| {title} | {clock:.3f} | {processor:.3f} |")


if __name__ == "__main__":
    main()
