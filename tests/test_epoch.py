"""The kernels of Prox-SDCA do what their docstrings say: against plain Python on dense arrays, and whatever is fetched ahead."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from cases import STORAGES, stored
from dualgap.data.validation import make_problem
from dualgap.kernels import ahead, gap
from dualgap.kernels.epoch import Data, Prox, epoch, vector_epoch
from dualgap.kernels.rules import OptionI
from dualgap.kernels.scored import ENOUGH, carried_by, entries_of, rows_above, scored_epoch, small_scores, vector_scored_epoch
from dualgap.rows import as_rows

KAPPA, FREE, CLASSES = 0.3, 0.7, 3
PENALTY = dg.ElasticNet(0.05, 0.2)


class State:
    """A problem and the arguments of its epochs."""

    def __init__(self, X, y, loss, weight=None):
        self.problem = make_problem(X, y, loss, PENALTY, weight)[0]
        p = self.problem
        self.data = Data(p.rows, p.y, p.share, p.norms2, p.loss, OptionI())
        self.prox = Prox(p.penalty, KAPPA, 1.0 / (PENALTY.l2 + KAPPA), FREE)
        self.alpha, self.u = np.zeros(p.alpha_shape), np.zeros(p.shape)
        self.scores = np.full(p.n, np.nan)

    def run(self, order, *, scored=False):
        p, scratch = self.problem, np.empty(4 * self.problem.outputs)
        if p.outputs and scored:
            return vector_scored_epoch(self.data, self.prox, self.alpha, self.u, order, scratch, self.scores)
        if p.outputs:
            return vector_epoch(self.data, self.prox, self.alpha, self.u, order, scratch)
        if scored:
            return scored_epoch(self.data, self.prox, self.alpha, self.u, order, self.scores)
        return epoch(self.data, self.prox, self.alpha, self.u, order)


def plain_epoch(state, X, order):
    """The same in plain Python; alpha, u, the scores of the rows, and the sum of the losses met."""
    p, d = state.problem, X.shape[1]
    alpha, u = np.zeros(p.alpha_shape), np.zeros(p.shape)
    scores, total = np.full(p.n, np.nan), 0.0
    for i in order:
        w = np.array([PENALTY.primal(float(v), KAPPA) for v in u[:d].ravel()]).reshape(u[:d].shape)
        z = X[i] @ w + FREE * u[d]
        q = p.share[i] * (X[i] @ X[i] / (PENALTY.l2 + KAPPA) + FREE)
        if p.outputs:
            costs, new = p.loss.costs[p.y[i]], np.empty(p.outputs)
            p.loss.dual_step(alpha[i], p.y[i], costs, z, q, new)
            total += p.share[i] * p.loss.value(z, p.y[i], costs)
        else:
            new = p.loss.dual_step(float(alpha[i]), float(p.y[i]), float(z), float(q))
            total += p.share[i] * p.loss.value(float(z), float(p.y[i]))
        move = np.asarray(new - alpha[i])
        scores[i] = np.sqrt(p.share[i] * np.sum(move * move) * (q + float(p.loss.smoothness)))
        u += p.share[i] * np.multiply.outer(np.append(X[i], 1.0), move)
        alpha[i] = new
    return alpha, u, scores, total


def case(n, d, seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (n, d)) / 4.0 * (rng.random((n, d)) < 0.5)
    y = np.arange(n) % CLASSES if getattr(loss, "vector", False) else np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    # some rows twice, some not at all
    return X, y, rng.integers(0, n, n + 5).astype(np.uint32), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.SmoothHinge(0.5), dg.Softmax(), dg.MaxHinge()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("scored", [False, True], ids=["epoch", "scored"])
@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(CLASSES, 40),
    d=st.integers(1, 30),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    kind=st.sampled_from(list(zip(STORAGES, (np.float64, np.float64, np.float32), strict=True))),
)
def test_an_epoch_is_what_it_says(loss, scored, n, d, seed, weighted, kind):
    X, y, order, weight = case(n, d, seed, loss)
    state = State(stored(X, *kind), y, loss, weight if weighted else None)
    total = state.run(order, scored=scored)
    alpha, u, scores, plain_total = plain_epoch(state, X, order)
    np.testing.assert_allclose(state.alpha, alpha, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(state.u, u, rtol=0.0, atol=1e-10)
    if scored:
        np.testing.assert_allclose(state.scores, scores, rtol=1e-6, atol=1e-6)
        assert total == pytest.approx(plain_total, abs=1e-10)


@pytest.mark.parametrize("loss", [dg.Logistic(), dg.Softmax()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("scored", [False, True], ids=["epoch", "scored"])
def test_many_columns_change_nothing(loss, scored):
    """Where u is large its elements are fetched ahead, too."""
    X, y, order, _ = case(60, 8, 0, loss)
    far = np.sort(np.random.default_rng(1).choice(ahead.LARGE + 1, 8, replace=False))
    X = sp.csr_array(X)
    wide = sp.csr_array((X.data, far[X.indices].astype(np.int32), X.indptr), shape=(60, ahead.LARGE + 1))
    near, wide = State(X, y, loss), State(wide, y, loss)
    assert near.run(order, scored=scored) == wide.run(order, scored=scored)
    np.testing.assert_array_equal(wide.alpha, near.alpha)
    np.testing.assert_array_equal(wide.u[[*far, -1]], near.u)
    assert np.count_nonzero(wide.u) == np.count_nonzero(near.u)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 200), seed=st.integers(0, 1000), part=st.floats(0.0, 1.0))
def test_scores_below_the_threshold_carry_about_the_part(n, seed, part):
    rng = np.random.default_rng(seed)
    scores = (np.exp(rng.uniform(-40.0, 40.0, n)) * (rng.random(n) < 0.9)).astype(np.float32)
    squares = scores.astype(np.float64) ** 2
    threshold, total = small_scores(scores, part, np.empty(4096))
    assert total == pytest.approx(squares.sum(), rel=1e-12)
    assert squares[scores < threshold].sum() <= part * total * (1.0 + 1e-12)
    out = np.empty(n, np.uint32)
    count = rows_above(scores, threshold, out)
    np.testing.assert_array_equal(out[:count], np.flatnonzero(scores > threshold))
    assert carried_by(scores, out[:count]) == pytest.approx(squares[scores > threshold].sum(), rel=1e-12)


def test_thresholds_of_many_scores_come_from_some_of_them():
    scores = np.random.default_rng(0).lognormal(0.0, 1.0, 10 * ENOUGH).astype(np.float32)
    threshold, total = small_scores(scores, 0.02, np.empty(4096))
    assert 0.003 * total <= np.sum(scores[scores < threshold].astype(np.float64) ** 2) <= 0.05 * total


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 30), seed=st.integers(0, 1000))
def test_entries_are_counted_alike_in_both_storages(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * (rng.random((n, 4)) < 0.5)
    chosen = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.uint32)
    assert entries_of(as_rows(sp.csr_array(X)), chosen) == np.count_nonzero(X[chosen])
    assert entries_of(as_rows(X), chosen) == 4 * len(chosen)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 1000), seed=st.integers(1, 2**62))
def test_shuffles_are_permutations_and_draws_are_rows(n, seed):
    order, state = np.arange(n, dtype=np.uint32), np.array([seed], np.uint64)
    gap.shuffle(order, state)
    assert np.array_equal(np.sort(order), np.arange(n))
    gap.draw(order, n, state)
    assert order.max() < n
    assert state[0] != seed


def test_shuffles_and_draws_are_uniform():
    n, rounds, state = 8, 20_000, np.array([7], np.uint64)
    places, drawn, order = np.zeros((n, n)), np.zeros(n), np.empty(n, np.uint32)
    for _ in range(rounds):
        order[:] = np.arange(n)
        gap.shuffle(order, state)
        places[np.arange(n), order] += 1.0
        gap.draw(order, n, state)
        drawn += np.bincount(order, minlength=n)
    # six standard deviations of a count
    assert np.max(np.abs(places - rounds / n)) < 6.0 * np.sqrt(rounds / n)
    assert np.max(np.abs(drawn - rounds)) < 6.0 * np.sqrt(rounds)
