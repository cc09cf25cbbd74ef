"""What a solve needs beside the matrix: at most 8 (6n + 8d) k bytes, but for Newton's method, which `auto` takes on the tall data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import dualgap as dg

SOLVERS = ["auto", "adaptive", "prox_sdca", "accelerated", "fista"]


def tall(n=100_000, d=20):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), np.where(rng.random(n) < 0.5, -1.0, 1.0), dg.Logistic(), 1


def wide(n=100_000, d=60_000):
    X, rng = sparse(n, d)
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0), dg.Logistic(), 1


def classes(n=30_000, d=20_000, k=5):
    X, rng = sparse(n, d)
    return X, rng.integers(0, k, n), dg.Softmax(), k


def sparse(n, d):
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d // 3, (n, 3)) + d // 3 * np.arange(3)
    return sp.csr_array(
        (rng.standard_normal(3 * n), indices.ravel().astype(np.int32), np.arange(0, 3 * n + 1, 3, dtype=np.int32)), (n, d)
    ), rng


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("data", "solver"), [(data, s) for data in (tall, wide, classes) for s in SOLVERS if (data, s) != (tall, "auto")])
def test_memory_beyond_the_matrix(data, solver, intercept):
    X, y, loss, k = data()
    n, d = X.shape
    ill = {"loss": loss, "penalty": dg.L2(1e-8), "intercept": intercept, "solver": solver, "tol": 1e-14, "max_passes": 14}
    dg.solve(X, y, **ill)  # what is compiled and imported takes memory, too
    tracemalloc.start()
    s = dg.solve(X, y, **ill)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert s.passes > 8.0
    assert peak <= 8 * (6 * n + 8 * d) * k
