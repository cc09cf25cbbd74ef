"""Stores: what is written comes back, what is damaged is named, and a solve that reads one is a solve like any other."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dualgap as dg
from dualgap.certificate import dual_point, primal_point
from dualgap.data import stream
from dualgap.data.coding import VALUES
from dualgap.data.container import read_container, write_container
from dualgap.data.errors import InputError
from dualgap.data.validation import make_problem
from dualgap.streamed import StreamedProblem

RNG = np.random.default_rng(0)
N, D = 3000, 200
X = sp.random_array((N, D), density=0.1, format="csr", rng=RNG)
X.data = RNG.standard_normal(X.nnz)
SCORES = X @ RNG.standard_normal(D) + 0.5 * RNG.standard_normal(N)
Y = np.where(SCORES > 0.0, 1.0, -1.0)
SMALL = {"chunk_bytes": 1 << 12, "overwrite": True}
MEMORY = 100_000


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.store")


def streamed(path, X=X, y=Y, weight=None, **options):
    """A store of which half a dozen chunks are in memory at a time."""
    dg.Store.write(path, X, y, weight, **{**SMALL, **options})
    return dg.Store.open(path, memory=MEMORY)


@st.composite
def matrices(draw):
    n, d = draw(st.integers(1, 30)), draw(st.sampled_from([1, 7, 1000, 70_000, 200_000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = sp.random_array((n, d), density=min(1.0, draw(st.sampled_from([0.0, 3.0, 40.0])) / d), format="csr", rng=rng)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-3, 4, X.nnz)
    return X.toarray() if d <= 7 and draw(st.booleans()) else X


@settings(max_examples=40, deadline=None)
@given(matrices(), st.sampled_from([*VALUES, None]), st.sampled_from(["delta16", "uint32"]), st.booleans(), st.booleans())
def test_what_is_written_comes_back(tmp_path_factory, X, values, indices, text, weighted):
    path = tmp_path_factory.mktemp("store") / "s"
    y = RNG.choice(["no", "yes", "maybe"], X.shape[0]) if text else RNG.standard_normal(X.shape[0])
    weight = RNG.random(X.shape[0]) if weighted else None
    store = dg.Store.write(path, X, y, weight, values=values, indices=indices, **SMALL)
    whole = store.load()
    dense, expected = (a if isinstance(a, np.ndarray) else a.toarray() for a in (whole, X))
    assert store.shape == X.shape
    assert (store.indices is None) == isinstance(X, np.ndarray)
    error = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}.get(values, 0.0)
    assert np.all(np.abs(dense - expected) <= error * np.abs(expected) + (2.0**-24 if values == "float16" else 0.0))
    assert (store.rounded > 0) == bool(np.any(dense != expected))
    assert np.array_equal(store.y, y)
    assert (store.sample_weight is None) if weight is None else np.array_equal(store.sample_weight, weight)
    pieces = list(store.pieces())
    assert np.array_equal(np.concatenate([p[1] for p in pieces]), y)
    assert np.array_equal(np.vstack([p[0] if isinstance(p[0], np.ndarray) else p[0].toarray() for p in pieces]), dense)


def test_halves_are_rounded_to_the_nearest(path):
    values = np.float32([1.0, 1.0 + 2.0**-9, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, -1.5, 3.3895314e38, 1e-40, 0.0])
    half = dg.Store.write(path, values[:, None], values=("bfloat16"), overwrite=True).load().ravel()
    assert half.tolist() == [1.0, 1.0, 1.0, 1.0 + 2.0**-6, -1.5, float(values[5]), half[6], 0.0]
    assert abs(half[6] - 1e-40) <= 2.0**-134
    rows = np.float64([[65504.0], [1.0009765625]])
    store = dg.Store.write(path, rows, values="float16", overwrite=True)
    assert store.load().ravel().tolist() == rows.ravel().tolist()
    assert store.rounded == 0
    for kind, value in (("float16", 65520.0), ("float32", 1e39), ("bfloat16", 3.4e38)):
        with pytest.raises(
            InputError, match=rf"can not hold rows 0 to 2: values must be finite and fit into {kind}, got {re.escape(repr(value))}"
        ):
            dg.Store.write(path, [[1.0], [value]], values=kind, overwrite=True)
    assert not Path(f"{path}.part").exists()


def test_pieces_are_written_as_they_come(path):
    def pieces():
        for start in range(0, N, 7):
            yield X[start : start + 7], Y[start : start + 7]

    store = dg.Store.write(path, pieces(), **SMALL)
    assert (store.load() != X).nnz == 0
    assert np.array_equal(store.y, Y)
    sizes = np.diff(store.places)
    assert np.all(sizes[:-1] <= 2 << 12)
    assert np.mean(sizes) >= 1 << 11
    with pytest.raises(ValueError, match="all pieces must have the 200 columns of the first, got 199"):
        dg.Store.write(path, iter([(X, Y), (X[:, :199], Y)]), **SMALL)
    with pytest.raises(ValueError, match="all rows must have targets"):
        dg.Store.write(path, iter([(X, Y), (X, None)]), **SMALL)
    assert (dg.Store.open(path).load() != X).nnz == 0


def test_arguments_are_checked(path):
    for options, message in (
        ({"values": "float8"}, "values must be one of None, 'float64'"),
        ({"indices": "int8"}, "indices must be one of 'delta16', 'uint32', got 'int8'"),
        ({"chunk_bytes": 10}, "chunk_bytes must be a number of bytes from 4,096"),
        ({"names": ["a"]}, "names must have one for each of the 200 columns, got 1"),
        ({"sample_weight": [1.0]}, "sample_weight must have numbers, one for each of the 3000 rows"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            dg.Store.write(path, X, Y, **options)
    dg.Store.write(path, X)
    with pytest.raises(InputError, match="is there already"):
        dg.Store.write(path, X)
    with pytest.raises(ValueError, match="memory must be a number of bytes, got '1'"):
        dg.Store.open(path, memory="1")
    with pytest.raises(ValueError, match="y must be given"):
        dg.solve(dg.Store.open(path, memory=1), loss=dg.Squared(), penalty=dg.L2(1.0))
    Path(path, "..", "other").mkdir()
    for other, message in (("other", "is a folder that holds no store"), ("nowhere", "no such file or directory")):
        with pytest.raises(InputError, match=message):
            dg.Store.open(Path(path).parent / other)


def test_damage_is_named(path):
    streamed(path, weight=np.arange(1.0, N + 1.0))
    for name in ("index", "chunks", "targets", "weights", "norms"):
        file = Path(path, name)
        whole = file.read_bytes()
        for place in RNG.integers(0, len(whole), 20 if name == "chunks" else 8):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << RNG.integers(8))]) + whole[place + 1 :])
            with pytest.raises(InputError, match=re.escape(f"{file}: ")) as error:
                _use(path)
            if name == "chunks":
                begin, end = map(int, re.search(r"bytes ([0-9,]+) to ([0-9,]+)\) is damaged", str(error.value).replace(",", "")).groups())
                assert begin <= place < end
        for cut in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:cut])
            with pytest.raises(InputError, match=re.escape(str(file))):
                _use(path)
        file.unlink()
        with pytest.raises(InputError, match=r"no such file|cut off"):
            _use(path)
        file.write_bytes(whole)
    _use(path)


def _use(path):
    store = dg.Store.open(path, memory=MEMORY)
    return dg.solve(store, loss=dg.Logistic(), penalty=dg.L2(1.0), max_passes=3)


def test_a_store_that_changes_while_it_is_solved_is_noticed(path):
    store = streamed(path)
    file = Path(path, "chunks")

    def cut(record):
        file.write_bytes(file.read_bytes()[:-5000])

    with pytest.raises(InputError, match=re.escape(f"{file}: ends within chunk ")):
        dg.solve(store, loss=dg.Logistic(), penalty=dg.L2(1e-6), tol=1e-9, callback=cut)


def test_stores_that_others_made_up(path):
    streamed(path)
    index = Path(path, "index")
    arrays, record = read_container(index, "it")
    rows, codes = arrays["rows"], arrays["codes"]
    wrong = [
        (arrays, {**record, "version": 9}, "is a store of version 9, and this one reads 1"),
        (arrays, {**record, "rows": N + 1}, "its chunks do not hold its rows"),
        (arrays, {**record, "columns": 0}, "none that there are"),
        (arrays, {**record, "values": "object"}, "none that there are"),
        (arrays, {**record, "indices": None}, "do not go with its rows and entries"),
        (arrays, {**record, "names": ["a"]}, "not as many names as columns"),
        (arrays, {**record, "checksums": {"../x": "0"}}, "its parts are none that there are"),
        ({**arrays, "rows": rows[::-1]}, record, "do not go with its rows and entries"),
        ({**arrays, "entries": arrays["entries"] + np.uint64(1)}, record, "do not go with its rows and entries"),
        ({**arrays, "codes": codes + np.uint64(2**63)}, record, "its chunks do not hold its rows"),
        ({k: v for k, v in arrays.items() if k != "codes"}, record, "makes no sense: 'codes'"),
    ]
    for made_up, about, message in wrong:
        write_container(index, made_up, about)
        with pytest.raises(InputError, match=re.escape(message)):
            _use(path)
    # checksums that agree, and content that would make a solver write where it must not
    low = {**record, "columns": 100}
    for about, message in ((low, "a column is none of the 100"), ({**record, "first_column": 1}, "a column is none of the 200")):
        write_container(index, arrays, about)
        with pytest.raises(InputError, match=re.escape(message)):
            _use(path)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_bytes_of_a_chunk_do_harm(tmp_path_factory, data):
    """Whatever a chunk says with a checksum that agrees: it is refused, or it is rows of the store."""
    import zlib

    path = tmp_path_factory.mktemp("store") / "s"
    indices = data.draw(st.sampled_from(["delta16", "uint32"]))
    dg.Store.write(path, X[:40], Y[:40], indices=indices, overwrite=True, chunk_bytes=1 << 20)
    chunks = Path(path, "chunks")
    raw = bytearray(chunks.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) // 2))
        raw[place] = data.draw(st.integers(0, 255))
    chunks.write_bytes(raw)
    arrays, record = read_container(Path(path, "index"), "it")
    write_container(Path(path, "index"), {**arrays, "checks": np.array([zlib.crc32(raw)], np.uint64)}, record)
    with contextlib.suppress(InputError):
        M = dg.Store.open(path).load()
        M.check_format()
        assert np.all(np.diff(M.indptr) >= 0)
        assert M.indices.min() >= 0
        assert M.indices.max() < D


def test_a_write_that_was_killed_is_named(tmp_path):
    script = """
import sys, numpy as np, dualgap as dg
def pieces():
    for k in range(10**6):
        yield np.full((1000, 50), float(k)), np.zeros(1000)
        if k == 20:
            print("writing", flush=True)
dg.Store.write(sys.argv[1], pieces())
"""
    path = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    process.kill()
    process.communicate()
    with pytest.raises(InputError, match=r"s: is not there: .*s\.part is what was written of it before the writing was cut off"):
        dg.Store.open(path)
    with pytest.raises(InputError, match=r"s\.part: is a store whose writing was cut off"):
        dg.Store.open(f"{path}.part")
    assert dg.Store.write(path, X, Y).shape == (N, D)
    assert sorted(os.listdir(tmp_path)) == ["s"]


SOLVERS = ["auto", "adaptive", "prox_sdca", "accelerated", "fista"]
PROBLEMS = {
    "logistic with an intercept and weights": (dg.Logistic(), dg.L2(1e-4), True, np.linspace(0.5, 2.0, N)),
    "smooth hinge with L1": (dg.SmoothHinge(), dg.ElasticNet(1e-4, 1e-4), False, None),
    "hinge with a column that is not penalized": (dg.Hinge(), dg.Factors(dg.L2(1e-2), np.arange(D) > 0), True, None),
    "softmax": (dg.Softmax(), dg.L2(1e-3), True, None),
    "lasso": (dg.Squared(), dg.L1(1e-2), False, None),
    "q-norm": (dg.Logistic(), dg.QNorm(1e-2, 1.5), False, None),
}


def targets(loss):
    return np.digitize(SCORES, [-1.0, 1.0]) if getattr(loss, "vector", False) else Y


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solve_on_a_store_is_certified_as_in_memory(path, name, solver):
    loss, penalty, intercept, weight = PROBLEMS[name]
    if name == "q-norm" and solver not in ("auto", "prox_sdca"):
        pytest.skip("acceleration needs the Euclidean norm")
    y = targets(loss)
    store = streamed(path, y=y, weight=weight, values="float32")
    stated = {"loss": loss, "penalty": penalty, "intercept": intercept, "solver": solver, "tol": 1e-3, "max_passes": 100}
    s = dg.solve(store, **stated)
    if s.status.name != "CERTIFIED":
        assert dg.solve(X, y, sample_weight=weight, **stated).status.name == "MAX_PASSES"
    problem, _ = make_problem(store.load(), y, loss, penalty, weight, intercept)
    assert type(problem).__name__ == "Problem"
    w = np.append(s.w, np.atleast_2d(s.intercept) if problem.outputs else [s.intercept], axis=0)
    best = primal_point(problem, w)
    dual = dual_point(problem, s.alpha, best, s.null)
    assert s.primal == pytest.approx(best.value, rel=1e-13)
    assert s.dual <= dual.value + dual.doubt + 1e-13 * s.null
    assert s.gap >= s.primal - s.dual
    assert re.fullmatch(r"The store was read [0-9.]+ times\.", s.notes[-1])


def test_sums_over_a_store_are_those_over_memory(path):
    store = streamed(path)
    options = {"loss": dg.Logistic(), "penalty": dg.Factors(dg.L2(1e-2), np.arange(D) % 3), "intercept": True}
    there, _ = make_problem(store, None, **options)
    here, _ = make_problem(X, Y, **options)
    assert isinstance(there, StreamedProblem)
    alpha, w = Y * RNG.random(N), RNG.standard_normal(D + 1)
    assert np.array_equal(there.transposed(alpha), here.transposed(alpha))
    assert np.array_equal(there.scores(w, slice(0, N)), here.scores(w, slice(0, N)))
    assert there.mean_loss(w).value == pytest.approx(here.mean_loss(w).value, rel=1e-15)
    assert np.array_equal(there.step_norms(0.5, 0.1)[0], here.step_norms(0.5, 0.1)[0])
    assert np.array_equal(there.unheld_columns, here.unheld_columns)
    assert np.array_equal(there.norms2, here.norms2)
    loss, a = there.loss_and_transposed(w, alpha)
    assert (loss.value, loss.doubt) == (there.mean_loss(w).value, there.mean_loss(w).doubt)
    assert np.array_equal(a, here.transposed(alpha))


def test_a_certificate_reads_the_rows_once(path):
    for intercept in (False, True):
        run = {"loss": dg.Logistic(), "penalty": dg.L2(1e-4), "intercept": intercept, "solver": dg.ProxSDCA()}
        s = dg.solve(streamed(path), **run, tol=1e-6)
        # the first certificate is that of the null model with alpha = 0, which needs no rows
        assert s.notes[-1] == f"The store was read {s.passes - 1.0:.1f} times."


def test_a_pass_visits_each_row_and_only_what_it_was_asked_for(path):
    store = streamed(path)
    problem, _ = make_problem(store, None, dg.Logistic(), dg.L2(1.0))
    seed = np.array([7], np.uint64)
    from dualgap.kernels.epoch import Data
    from dualgap.problem import Work

    data = Data(problem.rows, problem.y, problem.share, problem.norms2, problem.loss, None)
    for asked in (np.arange(N, dtype=np.uint32), np.arange(1000, 1200, dtype=np.uint32)):
        order = RNG.permutation(asked)
        ids, seen, before, fills = np.arange(N, dtype=np.float64), [], problem.rows.bytes, 0
        for work in problem.works(Work(data, order, ids), seed):
            assert np.array_equal(work.data.y[work.order], Y[work.alpha[work.order].astype(int)])
            if not work.again:
                seen.append(work.alpha[work.order])
                fills += 1
        assert np.array_equal(np.sort(np.concatenate(seen)), asked)
        assert np.array_equal(ids, np.arange(N))
        read = problem.rows.bytes - before
        assert (read == store.places[-1]) if len(asked) == N else (read < 0.2 * store.places[-1])
        assert fills >= (4 if len(asked) == N else 1)


def test_chunks_are_held_to_the_memory(path):
    store = streamed(path)
    room = stream.Stream(store)
    groups = room.groups_of(np.arange(len(store)))
    sizes = [8 * store.counts["entries"][g].sum() for g in groups]
    assert len(groups) > 5
    assert max(sizes) <= MEMORY / 2 + 12 * store.counts["entries"].max()


def test_a_solve_can_be_repeated_and_a_seed_changes_it(path):
    store = streamed(path)
    problem = {"loss": dg.Logistic(), "penalty": dg.L2(1e-4), "tol": 1e-4, "solver": "adaptive"}
    one, same, other = (dg.solve(store, **problem, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.w, same.w)
    assert one.passes == same.passes
    assert not np.array_equal(one.w, other.w)


def test_a_store_that_fits_is_solved_in_memory(path):
    dg.Store.write(path, X, Y)
    problem = {"loss": dg.Logistic(), "penalty": dg.L2(1e-4)}
    assert np.array_equal(dg.solve(dg.Store.open(path), **problem).w, dg.solve(X, Y, **problem).w)


def test_rounded_values_are_said_to_be(path):
    s = dg.solve(streamed(path, values="float16"), loss=dg.Logistic(), penalty=dg.L2(1e-2))
    assert any(
        re.match(r"The certificate is for the data as they are in .*: [0-9,]+ values rounded to float16\.", note) for note in s.notes
    )
    assert not any("rounded" in note for note in dg.solve(streamed(path), loss=dg.Logistic(), penalty=dg.L2(1e-2)).notes)


def test_as_many_passes_as_in_memory(path):
    """Also where the file is sorted by label, which solvers that take one block after the other do not survive."""
    rows = np.argsort(Y, kind="stable")
    store = streamed(path, X[rows], Y[rows])
    for solver in (dg.ProxSDCA(), dg.AdaptiveProxSDCA()):
        problem = {"loss": dg.SmoothHinge(), "penalty": dg.L2(1e-4), "tol": 1e-5, "solver": solver}
        here = dg.solve(X, Y, **problem)
        there = dg.solve(store, **problem)
        assert there.passes <= 2.0 * here.passes + 3.0


def test_solvers_that_need_the_rows_in_memory_say_so(path):
    store = streamed(path)
    for solver in (dg.GramNewton(), dg.ProximalPoint(), dg.WorkingSet()):
        with pytest.raises(ValueError, match="rows in memory"):
            dg.solve(store, loss=dg.Logistic(), penalty=dg.L2(1e-2), solver=solver)


def test_limits_interrupts_and_checkpoints(path, tmp_path):
    store = streamed(path)
    problem = {"loss": dg.Logistic(), "penalty": dg.L2(1e-6), "tol": 1e-9, "solver": "adaptive"}
    s = dg.solve(store, **problem, max_passes=4)
    assert s.status.name == "MAX_PASSES"
    s = dg.solve(store, **problem, callback=lambda record: signal.raise_signal(signal.SIGINT))
    assert s.status.name == "INTERRUPTED"
    s = dg.solve(store, **problem, time_limit=0.0)
    assert s.status.name == "TIME_LIMIT"
    first = dg.solve(store, **problem, max_passes=20, checkpoint=dg.Checkpoint(tmp_path / "c"))
    rest = dg.solve(store, **problem, checkpoint=dg.Checkpoint(tmp_path / "c", resume=True))
    assert rest.status.name == "CERTIFIED"
    assert rest.history[len(first.history) - 1].gap == first.history[-1].gap
