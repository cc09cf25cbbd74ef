"""Problems of the sizes that matter: text-like sparse rows and dense rows of few columns, made up or real."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import dualgap as dg
from benchmarks.benchmark_utils import data
from dualgap.data.validation import make_problem
from dualgap.kernels import gap
from dualgap.kernels.epoch import Data, Prox, epoch, vector_epoch
from dualgap.kernels.rules import OptionI
from dualgap.problem import Problem

CLASSES = 20
PENALTY = dg.ElasticNet(l1=1e-5, l2=1e-6)
LOSSES = {"smooth hinge": dg.SmoothHinge(1.0), "logistic": dg.Logistic(), f"softmax, {CLASSES} classes": dg.Softmax()}
# How often the r-th most frequent word of the abstracts of papers occurs, measured on the data set `arxiv_large`.
RANKS = [1, 3, 11, 51, 101, 501, 1001, 2001, 5001, 10001, 20001, 47236]
FREQUENCIES = [0.279, 0.238, 0.145, 0.082, 0.057, 0.0223, 0.0122, 0.0057, 0.00147, 0.00041, 0.0001, 0.00001]


def text_like(rows: int = 300_000, columns: int = 47_236, seed: int = 0) -> sp.csr_array:
    """Rows of unit length with the lengths and the frequencies of columns of `arxiv_large`: 56 nonzeros a row, lognormal."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(np.rint(rng.lognormal(3.94, 0.51, rows)), 2, 221).astype(np.int64)
    frequency = np.exp(np.interp(np.log(np.arange(1, columns + 1)), np.log(RANKS), np.log(FREQUENCIES)))
    drawn = rng.permutation(columns)[rng.choice(columns, int(lengths.sum()), p=frequency / frequency.sum())]
    # a word that is drawn twice for a row is there once
    key = np.unique(np.repeat(np.arange(rows), lengths) * columns + drawn)
    indptr = np.append(0, np.cumsum(np.bincount(key // columns, minlength=rows)))
    values = rng.lognormal(0.0, 0.5, key.size)
    values /= np.sqrt(np.repeat(np.add.reduceat(values * values, indptr[:-1]), np.diff(indptr)))
    return sp.csr_array((values, (key % columns).astype(np.int32), indptr.astype(np.int32)), shape=(rows, columns))


def table_like(rows: int = 522_911, columns: int = 54, seed: int = 0) -> Any:
    """Dense rows of unit length with the shape of `cov1`."""
    X = np.random.default_rng(seed).random((rows, columns))
    X /= np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X


def even_rows(entries: int, columns: int, size: int = 16_000_000, seed: int = 0) -> sp.csr_array:
    """Rows that all have as many nonzeros, some columns much more often than others."""
    rng = np.random.default_rng(seed)
    rows = size // entries
    indices = np.sort((columns * rng.random((rows, entries)) ** 3).astype(np.int32), axis=1)
    indptr = np.arange(0, rows * entries + 1, entries, dtype=np.int32)
    return sp.csr_array((rng.random(rows * entries) / np.sqrt(entries), indices.ravel(), indptr), shape=(rows, columns))


def matrices(real: bool) -> dict[str, Any]:
    """The sparse and the dense rows."""
    if real:
        return {"arxiv_large": data.two_classes("arxiv_large")[0], "cov1": data.two_classes("cov1")[0]}
    return {"like arxiv_large": text_like(), "like cov1": table_like()}


class State(NamedTuple):
    """A problem some epochs after the start, and the rows of the next epoch."""

    problem: Problem
    data: Data
    prox: Prox
    alpha: Any
    u: Any
    order: Any

    def epoch(self, alpha: Any, u: Any) -> None:
        """The epoch of the package."""
        if self.problem.outputs:
            vector_epoch(self.data, self.prox, alpha, u, self.order, np.empty(4 * self.problem.outputs))
        else:
            epoch(self.data, self.prox, alpha, u, self.order)

    def ahead(self, rows: int) -> "State":
        """The same, fetching so many rows ahead."""
        return self._replace(data=self.data._replace(rows=self.problem.rows._replace(ahead=rows)))

    @property
    def entries(self) -> int:
        """What an epoch reads, in nonzeros times classes."""
        X = self.problem.X
        return int(getattr(X, "nnz", X.size)) * max(1, self.problem.outputs)


def state(X: Any, loss: Any, epochs: int = 2, seed: int = 0) -> State:
    """Labels from a noisy linear model, and the state that some epochs of Prox-SDCA reach."""
    rng = np.random.default_rng(seed)
    vector = bool(getattr(loss, "vector", False))
    z = X @ rng.standard_normal((X.shape[1], CLASSES if vector else 1))
    z += 0.5 * z.std() * rng.standard_normal(z.shape)
    y = np.argmax(z - z.mean(axis=0), axis=1) if vector else np.where(z[:, 0] > np.median(z), 1.0, -1.0)
    problem, _ = make_problem(X, y, loss, PENALTY)
    prepared = Data(problem.rows, problem.y, problem.share, problem.norms2, problem.loss, OptionI())
    prox = Prox(problem.penalty, 0.0, 1.0 / problem.penalty.l2, 0.0)
    order = np.arange(problem.n, dtype=np.uint32)
    found = State(problem, prepared, prox, np.zeros(problem.alpha_shape), np.zeros(problem.shape), order)
    numbers = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    for _ in range(epochs):
        gap.shuffle(order, numbers)
        found.epoch(found.alpha, found.u)
    gap.shuffle(order, numbers)
    return found
