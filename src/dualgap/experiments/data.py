"""The three data sets of the experiments: the originals where they can be had, and stand-ins that are called so everywhere.

A folder may hold, in the order in which they are preferred:

=========== ==================================================================================================
astro-ph    astro-ph.svm and astro-ph.test.svm, svmlight text (also .gz, .bz2, .xz, .zst); or arxiv_astro_ph.npz, a stand-in
cov1        cov1.svm and cov1.test.svm; or covtype.npz; or what scikit-learn's fetch_covtype keeps
CCAT        CCAT.svm and CCAT.test.svm; or what scikit-learn's fetch_rcv1 keeps; or arxiv_large.npz, a stand-in
=========== ==================================================================================================
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[np.float64]
NAMES = ("astro-ph", "cov1", "CCAT")
ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst")
COV1_ROWS, CCAT_TEST = 522_911, 23_149


@dataclass(frozen=True)
class DataSet:
    """Rows of norm 1 with labels -1 and +1, and where they come from; `stand_in` says what they are if they are not the paper's."""

    name: str
    X: Any
    y: Array
    test_rows: int
    source: str
    stand_in: str = ""
    total_rows: int = 0

    @property
    def label(self) -> str:
        """The name as it stands in tables: a stand-in is called one."""
        return f"{self.name} (STAND-IN)" if self.stand_in else self.name

    @property
    def title(self) -> str:
        """The name as it stands on pictures: a sample is called one too."""
        return self.label + (f"\n{self.X.shape[0]:,} of {self.total_rows:,} rows" if self.total_rows > self.X.shape[0] else "")

    @property
    def fingerprint(self) -> str:
        """What tells one data set from another in the file of finished runs."""
        return f"{self.name} from {self.source}, {self.X.shape[0]} x {self.X.shape[1]}, {self.X.nnz} entries"

    def sampled(self, rows: int | None, seed: int = 0) -> "DataSet":
        """At most so many of the rows, at random, without the columns that are left empty: their coefficients are zero anyway."""
        total = max(self.total_rows, self.X.shape[0])
        if rows is None or rows >= self.X.shape[0]:
            return replace(self, total_rows=total)
        chosen = np.sort(np.random.default_rng(seed).permutation(self.X.shape[0])[:rows])
        X = self.X[chosen]
        return replace(self, X=X[:, np.unique(X.indices)], y=self.y[chosen], total_rows=total)


class MissingDataError(FileNotFoundError):
    """A data set that is nowhere to be had, and how to get it."""


def load(name: str, folder: Path | None, *, fetch: bool = False, say: Callable[[str], object] = str) -> DataSet:
    """A data set, from a folder or from the internet.

    Parameters
    ----------
    name : {"astro-ph", "cov1", "CCAT"}
    folder : path or None
        Where files lie, and where scikit-learn keeps what it fetches.
    fetch : bool
        Whether to fetch an original although the folder holds a stand-in.
    say : function of a text
        Told what takes long.
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(map(repr, NAMES))}, got {name!r}")
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"--data must be a folder that exists, got {str(folder)!r}")
    from_text = _svmlight(name, folder) if folder is not None else None
    if from_text is not None:
        return from_text
    packed = folder / _PACKED[name] if folder is not None else None
    if packed is not None and packed.is_file() and (name != "CCAT" or not fetch):
        return _from_packed(name, packed)
    if name in _FETCHED:
        say(f"Fetching {name} through scikit-learn, or what it has kept")
        return _fetched(name, folder)
    raise MissingDataError(
        f"there is no {name}{f' in {folder}' if folder else ''}, and it cannot be fetched. Name a folder with --data that holds it as "
        f"svmlight text, {name}.svm (and {name}.test.svm), or its stand-in, {_PACKED[name]}; or leave it out with --datasets"
    )


def unit_rows(X: Any) -> Any:
    """CSR rows of Euclidean norm 1, in float64; rows of zeros stay."""
    X = sp.csr_matrix(X, dtype=np.float64)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    norms[norms == 0.0] = 1.0
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def _svmlight(name: str, folder: Path) -> DataSet | None:
    """A data set from text files, if the folder holds them."""
    from dualgap.data.svmlight import read_svmlight

    files = [[folder / f"{name}{part}.svm{ending}" for ending in ENDINGS] for part in ("", ".test")]
    train, test = (next((file for file in some if file.is_file()), None) for some in files)
    if train is None:
        return None
    X, y = read_svmlight(train)
    rows = len(read_svmlight(test)[1]) if test is not None else 0
    return DataSet(name, unit_rows(X), _signs(y, train), rows, train.name)


def _signs(y: Array, source: object) -> Array:
    """Labels -1 and +1 from any two."""
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"{source} must have two different labels, got {len(classes)}")
    return np.where(y == classes[1], 1.0, -1.0)


def read_packed(file: Path, part: str = "X") -> Any:
    """A matrix of a packed file: `part`_dense as it is, or CSR from row pointers, differences of column indices, and values.

    The first column index of a row is a difference from 0; a single value stands for as many as there are indices, and `part`_unit says
    that rows are to be scaled to norm 1.
    """
    with np.load(file) as z:
        if f"{part}_dense" in z:
            return z[f"{part}_dense"].astype(np.float64)
        missing = [key for key in ("indptr", "shape", "delta", "data", "unit") if f"{part}_{key}" not in z]
        if missing:
            raise ValueError(f"{file} lacks {', '.join(f'{part}_{key}' for key in missing)}: it is not a packed data set")
        indptr, (n, d) = z[f"{part}_indptr"].astype(np.int64), map(int, z[f"{part}_shape"])
        steps, values, unit = z[f"{part}_delta"].astype(np.int64), z[f"{part}_data"].astype(np.float64), bool(z[f"{part}_unit"])
    reached = np.concatenate([[0], np.cumsum(steps)])
    columns = reached[1:] - np.repeat(reached[indptr[:-1]], np.diff(indptr))
    values = np.broadcast_to(values, columns.shape).copy() if values.size == 1 else values
    X = sp.csr_matrix((values, columns.astype(np.int32), indptr.astype(np.int32)), shape=(n, d))
    return unit_rows(X) if unit else X


def _from_packed(name: str, file: Path) -> DataSet:
    with np.load(file) as z:
        y, test_rows = np.asarray(z["y"]), len(z["yt"]) if "yt" in z else 0
    X = read_packed(file)
    if name == "cov1":
        return _cov1(X, y, file.name)
    return DataSet(name, unit_rows(X), _signs(y.astype(np.float64), file), test_rows, file.name, _STAND_INS[name])


def _cov1(X: Any, y: npt.NDArray[Any], source: str) -> DataSet:
    """Class 1 of covertype against the rest: columns scaled to a largest entry of 1, unit rows, as many training rows as in the paper."""
    X = sp.csr_matrix(X, dtype=np.float64)
    largest = np.maximum(abs(X).max(axis=0).toarray().ravel(), np.finfo(float).tiny)
    order = np.random.default_rng(0).permutation(len(y))[:COV1_ROWS]
    X = unit_rows(X[order] @ sp.diags_array(1.0 / largest))
    return DataSet("cov1", X, np.where(y[order] == 1, 1.0, -1.0), len(y) - len(order), source)


def _fetched(name: str, folder: Path | None) -> DataSet:
    """A data set through scikit-learn, from its folder or the internet."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Retry downloading")
            return _FETCHED[name](None if folder is None else str(folder))
    except OSError as error:  # no connection is a URLError, which is one
        ways = f"{_PACKED[name]} or svmlight text, {name}.svm, in the folder of --data"
        raise MissingDataError(
            f"could not fetch {name} ({error}). Without internet it needs {ways}; or leave it out with --datasets"
        ) from error


def _fetch_cov1(folder: str | None) -> DataSet:
    from sklearn.datasets import fetch_covtype

    bunch = fetch_covtype(data_home=folder)
    return _cov1(bunch.data, bunch.target, "scikit-learn fetch_covtype")


def _fetch_ccat(folder: str | None) -> DataSet:
    """CCAT of RCV1; the paper trains on the long part, what scikit-learn calls its test set."""
    from sklearn.datasets import fetch_rcv1

    bunch = fetch_rcv1(data_home=folder, subset="test")
    labels = bunch.target[:, list(bunch.target_names).index("CCAT")].toarray().ravel()
    return DataSet("CCAT", unit_rows(bunch.data), np.where(labels > 0, 1.0, -1.0), CCAT_TEST, "scikit-learn fetch_rcv1")


_FETCHED: dict[str, Callable[[str | None], DataSet]] = {"cov1": _fetch_cov1, "CCAT": _fetch_ccat}
_PACKED = {"astro-ph": "arxiv_astro_ph.npz", "cov1": "covtype.npz", "CCAT": "arxiv_large.npz"}
_STAND_INS = {
    "astro-ph": "rebuilt from arXiv abstracts: tf-idf, unit rows",
    "CCAT": "arXiv abstracts with the label 'any mathematics': tf-idf, unit rows",
}
