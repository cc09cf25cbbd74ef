"""The rows of X as kernels see them: every storage gives the same numbers, and what is wrong with a matrix is noticed."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import STORAGES, stored
from dualgap.kernels import gap
from dualgap.rows import LEAST_AHEAD, MOST_AHEAD, as_rows


def matrix(n, d, density, seed):
    """Numbers that float32 holds exactly, so that every storage has the same."""
    rng = np.random.default_rng(seed)
    return rng.integers(-8, 9, (n, d)) / 4.0 * (rng.random((n, d)) < density)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 12), d=st.integers(1, 12), density=st.floats(0.0, 1.0), seed=st.integers(0, 1000))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
def test_sums_over_rows_are_those_of_numpy(storage, dtype, n, d, density, seed):
    X = matrix(n, d, density, seed)
    rows, rng = as_rows(stored(X, storage, dtype)), np.random.default_rng(seed)
    w, alpha, share = rng.standard_normal(d + 1), rng.standard_normal(n), rng.random(n)
    norms2, z, a, low = np.empty(n), np.empty(n), np.zeros(d + 1), np.zeros(d + 1)
    assert gap.row_norms(rows, d, norms2)
    gap.scores(rows, 0, w, z)
    gap.transposed(rows, 0, share, alpha, a, low)
    np.testing.assert_allclose(norms2, np.sum(X * X, axis=1), rtol=1e-15)
    np.testing.assert_allclose(z, X @ w[:d] + w[d], rtol=0.0, atol=1e-13 * d)
    np.testing.assert_allclose(a + low, np.append(X.T @ (share * alpha), share @ alpha), rtol=0.0, atol=1e-14 * n)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("columns", "canonical", "inside"),
    [
        ([0, 2, 3], True, True),
        ([0, 3, 2], False, True),
        ([2, 2, 3], False, True),
        ([0, 2, 4], True, False),
        ([-1, 0, 2], False, False),
        ([4, 0, 1], False, False),
        ([], True, True),
    ],
)
def test_columns_out_of_order_repeated_or_outside_are_noticed(columns, canonical, inside, index):
    indptr = np.array([0, 1, 1 + len(columns), 2 + len(columns)], index)
    X = sp.csr_array((2, 4), dtype=np.float64)
    # not through the constructor, which would refuse some of these
    X.indptr, X.indices, X.data = indptr, np.array([3, *columns, 0], index), np.full(2 + len(columns), 2.0)
    norms2 = np.empty(3)
    assert gap.row_norms(as_rows(X), 4, norms2) == canonical
    np.testing.assert_array_equal(norms2, [4.0, 4.0 * len(columns) if inside else np.nan, 4.0])


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_are_read_in_place_and_not_written(storage):
    X = stored(matrix(5, 4, 0.5, 0), storage)
    rows = as_rows(X)
    held = (X,) if isinstance(X, np.ndarray) else (X.indptr, X.indices, X.data)
    for view, array in zip(rows, held, strict=False):
        assert np.shares_memory(view, array)
        assert not view.flags.writeable
        assert array.flags.writeable


@pytest.mark.parametrize("storage", STORAGES)
def test_short_rows_are_fetched_more_rows_ahead(storage):
    ahead = [as_rows(stored(np.ones((3, d)), storage)).ahead for d in (1, 10, 50, 100, 1000, 10_000)]
    assert ahead == sorted(ahead, reverse=True)
    assert (ahead[0], ahead[-1]) == (MOST_AHEAD, LEAST_AHEAD)
    assert as_rows(stored(np.zeros((3, 2)), storage)).ahead == MOST_AHEAD
