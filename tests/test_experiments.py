"""The experiments: data read as packed, curves that cost the solver nothing, runs that are kept, pictures that say what they show."""

import csv
import gzip
import importlib.util
import json
import math
import os
import subprocess
import sys
import warnings
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

import dualgap as dg
from dualgap import theory
from dualgap.cli import main
from dualgap.experiments import data, figure, scaling, table
from dualgap.experiments.lab import Lab
from dualgap.experiments.record import Recorded

DATA = Path(os.environ.get("DUALGAP_DATA", Path(__file__).parents[2] / "shared" / "data"))


def rows(n=60, d=8, seed=0):
    """Sparse rows with labels that they explain in part."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.5, rng=rng, format="csr", data_sampler=rng.standard_normal)
    return X, np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0.0, 1.0, -1.0)


def small(name="cov1", n=60, stand_in=""):
    X, y = rows(n)
    return data.DataSet(name, data.unit_rows(X), y, 7, "made up", stand_in)


# The data sets.


def packed(X, part="X"):
    """CSR in the packed layout: differences of column indices, each row's first one from 0."""
    starts = X.indptr[:-1][np.diff(X.indptr) > 0]
    delta = np.diff(X.indices, prepend=0)
    delta[starts] = X.indices[starts]
    return {f"{part}_indptr": X.indptr, f"{part}_shape": X.shape, f"{part}_delta": delta.astype(np.int32), f"{part}_data": X.data}


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.0, 1.0), st.booleans(), st.integers(0, 99))
def test_packed_rows_are_read_as_they_were(n, d, density, unit, seed):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(sp.random_array((n, d), density=density, rng=rng))
    X.sort_indices()
    file = BytesIO()
    np.savez(file, **packed(X), X_unit=unit)
    file.seek(0)
    read = data.read_packed(file).toarray()
    norms = np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    np.testing.assert_allclose(read, X.toarray() / np.where(unit & (norms > 0.0), norms, 1.0), rtol=1e-14)


def test_packed_files_may_be_dense_or_hold_one_value(tmp_path):
    X = sp.csr_array(np.array([[0.0, 3.0, 3.0], [3.0, 0.0, 0.0]]))
    np.savez(tmp_path / "one.npz", **packed(X) | {"X_data": np.array([3.0])}, X_unit=False)
    np.testing.assert_array_equal(data.read_packed(tmp_path / "one.npz").toarray(), X.toarray())
    np.savez(tmp_path / "dense.npz", X_dense=X.toarray().astype(np.int8))
    np.testing.assert_array_equal(data.read_packed(tmp_path / "dense.npz"), X.toarray())
    np.savez(tmp_path / "other.npz", a=1)
    with pytest.raises(ValueError, match="lacks X_indptr, X_shape, X_delta, X_data, X_unit"):
        data.read_packed(tmp_path / "other.npz")


@pytest.mark.data
def test_the_stand_ins_are_read_like_their_own_reader_does():
    if not (DATA / "load.py").is_file():
        pytest.skip(f"no data sets at {DATA}")
    spec = importlib.util.spec_from_file_location("load", DATA / "load.py")
    loader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loader)
    X, y = loader.load("arxiv_astro_ph")
    read = data.load("astro-ph", DATA)
    assert abs(X - read.X).max() < 1e-15
    np.testing.assert_array_equal(read.y, y)
    assert read.stand_in
    assert read.test_rows == 32_487
    X, y = loader.cov1()
    read = data.load("cov1", DATA)
    assert np.abs(X[:5000] - read.X[:5000].toarray()).max() < 1e-14
    np.testing.assert_array_equal(read.y, y)
    assert not read.stand_in


def test_originals_in_text_come_before_stand_ins(tmp_path):
    X, y = rows()
    np.savez(tmp_path / "arxiv_astro_ph.npz", **packed(X), X_unit=True, y=y)
    first = data.load("astro-ph", tmp_path)
    assert first.title == "astro-ph (STAND-IN)"
    with gzip.open(tmp_path / "astro-ph.svm.gz", "wb") as out:
        dump_svmlight_file(X, np.where(y > 0, 7, 3), out)
    dump_svmlight_file(X[:5], y[:5], str(tmp_path / "astro-ph.test.svm"))
    read = data.load("astro-ph", tmp_path)
    assert (read.title, read.test_rows, read.source) == ("astro-ph", 5, "astro-ph.svm.gz")
    np.testing.assert_array_equal(read.y, y)
    np.testing.assert_allclose(read.X.toarray(), first.X.toarray(), rtol=1e-6, atol=1e-12)
    norms = np.linalg.norm(read.X.toarray(), axis=1)
    np.testing.assert_allclose(norms[norms > 0.0], 1.0)


def offline(**options):
    warnings.warn("Retry downloading from url: somewhere", stacklevel=2)
    raise URLError("no network")


def fetched_cov1(**options):
    return SimpleNamespace(data=np.array([[1.0, -8.0], [4.0, 2.0], [0.0, 4.0]]), target=np.array([1, 2, 1]))


def fetched_rcv1(**options):
    assert options["subset"] == "test"
    X, _ = rows(20)
    return SimpleNamespace(data=X, target=sp.csr_array(np.arange(40).reshape(20, 2) % 3 == 0), target_names=np.array(["ECAT", "CCAT"]))


def test_originals_are_fetched(monkeypatch, tmp_path):
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", fetched_cov1)
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", fetched_rcv1)
    cov1 = data.load("cov1", None)
    scaled = np.array([[0.25, -1.0], [1.0, 0.25], [0.0, 0.5]])
    expected = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    assert sorted(map(tuple, cov1.X.toarray().round(9))) == sorted(map(tuple, expected.round(9)))
    assert sorted(cov1.y) == [-1.0, 1.0, 1.0]
    said = []
    ccat = data.load("CCAT", tmp_path, say=said.append)
    assert said == ["Fetching CCAT through scikit-learn, or what it has kept"]
    assert not ccat.stand_in
    np.testing.assert_array_equal(ccat.y > 0, np.arange(1, 40, 2) % 3 == 0)


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", offline)
    monkeypatch.setattr("sklearn.datasets.fetch_rcv1", offline)
    with pytest.raises(data.MissingDataError, match=r"astro-ph.svm.*arxiv_astro_ph.npz"):
        data.load("astro-ph", tmp_path)
    with pytest.raises(data.MissingDataError, match=r"could not fetch CCAT .*no network.*arxiv_large.npz or svmlight text, CCAT.svm"):
        data.load("CCAT", tmp_path)
    with pytest.raises(data.MissingDataError, match="could not fetch cov1"):
        data.load("cov1", None)
    with pytest.raises(FileNotFoundError, match="--data must be a folder that exists"):
        data.load("cov1", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="name must be one of 'astro-ph', 'cov1', 'CCAT'"):
        data.load("mnist", tmp_path)
    (tmp_path / "cov1.svm").write_text("one two three\n")
    with pytest.raises(ValueError, match=r"cov1.svm:1:1: "):
        data.load("cov1", tmp_path)
    (tmp_path / "cov1.svm").write_text("1 1:2\n1 2:1\n")
    with pytest.raises(ValueError, match="must have two different labels, got 1"):
        data.load("cov1", tmp_path)


def test_a_sample_has_the_problem_of_its_rows_and_says_so():
    whole = small(n=200, stand_in="made up")
    sample = whole.sampled(12)
    assert sample.title == "cov1 (STAND-IN)\n12 of 200 rows"
    assert whole.sampled(None).title == "cov1 (STAND-IN)"
    assert sample.sampled(5).total_rows == 200
    assert np.all(abs(sample.X).sum(axis=0) > 0.0)
    order = np.sort(np.random.default_rng(0).permutation(200)[:12])
    options = {"loss": dg.SmoothHinge(), "penalty": dg.L2(1e-2), "tol": 1e-10}
    assert dg.solve(sample.X, sample.y, **options).primal == pytest.approx(dg.solve(whole.X[order], whole.y[order], **options).primal)


# Curves.

SOLVERS = {
    "sdca": dg.ProxSDCA(),
    "accelerated": dg.AcceleratedProxSDCA(),
    "theory": dg.AcceleratedProxSDCA(inner="theory", stop="paper"),
    "fista": dg.FISTA(),
    "adaptive": dg.AdaptiveProxSDCA(),
    "newton": dg.GramNewton(),
    "working_set": dg.WorkingSet(),
    "auto": dg.Auto(),
}
PROBLEM = {"loss": dg.SmoothHinge(1.0), "penalty": dg.ElasticNet(l1=1e-4, l2=1e-4), "tol": 1e-5}


@pytest.mark.parametrize("name", SOLVERS)
def test_watching_costs_the_solver_nothing_and_counts_no_certificate(name):
    one = small()
    alone = dg.solve(one.X, one.y, solver=SOLVERS[name], max_passes=1e4, **PROBLEM)
    watched = Recorded(SOLVERS[name], passes=1e4)
    s = dg.solve(one.X, one.y, solver=watched, max_passes=1e4, **PROBLEM)
    np.testing.assert_array_equal(s.w, alone.w)
    assert s.passes == alone.passes
    passes, values = np.array(watched.curve).T
    assert passes[0] == 0.0
    assert values[0] == pytest.approx(0.5)
    assert np.all(np.diff(passes) >= 0.0)
    assert name == "working_set" or np.all(np.diff(passes) <= 3.0)
    assert passes[-1] <= s.passes - len(s.history) + 1e-9
    assert name != "theory" or np.all(np.diff(passes) == 1.0)
    assert np.min(values) >= s.dual * (1.0 - 1e-14)


@pytest.mark.parametrize("name", ["sdca", "fista"])
def test_the_curve_is_the_objective_of_the_iterates(name):
    one = small()
    watched = Recorded(SOLVERS[name], passes=5)
    dg.solve(one.X, one.y, solver=watched, max_passes=1e4, **PROBLEM | {"tol": 1e-14})
    for passes, value in watched.curve[1:]:
        s = dg.solve(one.X, one.y, solver=Recorded(SOLVERS[name], passes=passes), max_passes=1e4, **PROBLEM | {"tol": 1e-14})
        margin = one.y * (one.X @ s.w)
        loss = np.where(margin >= 1.0, 0.0, np.where(margin <= 0.0, 0.5 - margin, 0.5 * (1.0 - margin) ** 2))
        objective = loss.mean() + 1e-4 * np.abs(s.w).sum() + 0.5e-4 * s.w @ s.w
        assert s.status is dg.Status.MAX_PASSES
        assert objective <= value * (1.0 + 1e-12)  # the solution is the best certified iterate, and the last one is certified
        assert s.primal == pytest.approx(objective)


def test_a_goal_ends_a_run():
    one = small()
    watched = Recorded(dg.FISTA(), passes=1e4, goal=0.4)
    s = dg.solve(one.X, one.y, solver=watched, max_passes=1e4, **PROBLEM)
    values = [value for _, value in watched.curve]
    assert s.status is dg.Status.CALLBACK
    assert values[-1] <= 0.4 < min(values[:-1])


def test_steps_are_counted():
    one = small()
    solvers = {"plain": dg.ProxSDCA(), "accelerated": dg.AcceleratedProxSDCA(inner=3)}
    watched = {name: Recorded(solver, passes=12) for name, solver in solvers.items()}
    for solver in watched.values():
        dg.solve(one.X, one.y, solver=solver, max_passes=1e4, **PROBLEM | {"tol": 1e-14})
    assert (watched["plain"].steps, watched["accelerated"].steps) == (12, 4)


def test_a_run_that_is_checked_ends_at_the_first_certificate_that_is_enough():
    one = small()
    watched = Recorded(dg.ProxSDCA(), passes=1e3, checked=True)
    s = dg.solve(one.X, one.y, solver=watched, max_passes=1e4, **PROBLEM)
    assert s.status is dg.Status.CERTIFIED
    assert len(s.history) == 1 + len(watched.curve) - 1
    assert all(record.gap > s.null * PROBLEM["tol"] for record in s.history[:-1])
    alone = Recorded(dg.ProxSDCA(), passes=1e3)
    dg.solve(one.X, one.y, solver=alone, max_passes=1e4, **PROBLEM)
    assert watched.curve == alone.curve[: len(watched.curve)]


def test_what_is_returned_is_never_worse_than_the_iterate_or_the_certificate():
    one = small(n=40)
    options = PROBLEM | {"penalty": dg.ElasticNet(l1=1e-6, l2=1e-8)}
    curves = []
    for returned in (False, True):
        watched = Recorded(dg.ProxSDCA(), passes=30, returned=returned)
        dg.solve(one.X, one.y, solver=watched, max_passes=1e4, **options)
        curves.append(np.array(watched.curve)[:, 1])
    assert np.all(curves[1] <= curves[0])
    assert np.all(curves[1] <= 0.5)


# Runs that are kept.


class Console:
    """Where lines go in tests."""

    is_terminal = False

    def __init__(self):
        self.lines = []

    def print(self, *text, **options):
        self.lines.append(" ".join(map(str, text)))


@pytest.fixture
def lab(tmp_path, monkeypatch):
    from rich.progress import Progress

    monkeypatch.setattr("rich.progress.Progress", lambda *a, console, **o: Progress(*a, disable=True))
    return lambda: Lab(tmp_path / "runs.jsonl", Console())


def test_finished_runs_are_kept_and_cut_off_lines_made_again(lab, tmp_path):
    one, file = small(), tmp_path / "runs.jsonl"

    def go(penalty=PROBLEM["penalty"], passes=5):
        here = lab()
        with here.working(1):
            run = here.run("title", one, Recorded(dg.ProxSDCA(), passes), **PROBLEM | {"penalty": penalty})
        return run, here.console.lines[-1]

    first, line = go()
    assert "kept" not in line
    again, line = go()
    assert "kept" in line
    assert again == first
    assert "kept" not in go(penalty=dg.L2(1e-3))[1]
    assert "kept" not in go(passes=6)[1]
    lines = file.read_text().splitlines()
    assert len(lines) == 3
    file.write_text("\n".join([*lines[1:], lines[0][:100]]))
    remade, line = go()
    assert "kept" not in line
    assert {k: v for k, v in remade.items() if k != "seconds"} == {k: v for k, v in first.items() if k != "seconds"}
    assert [json.loads(line)["asked"] for line in file.read_text().splitlines()][-1] == first["asked"]


def test_an_interrupted_run_is_not_kept(lab, tmp_path, monkeypatch):
    one = small()

    def interrupted(*args, **options):
        return SimpleNamespace(status=dg.Status.INTERRUPTED)

    monkeypatch.setattr(dg, "solve", interrupted)
    here = lab()
    with pytest.raises(KeyboardInterrupt), here.working(1):
        here.run("title", one, Recorded(dg.ProxSDCA(), 5.0), **PROBLEM)
    assert not (tmp_path / "runs.jsonl").exists()


# Scaling.


@given(st.floats(-3.0, 3.0), st.floats(1e-3, 1e3), st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=8, unique=True))
def test_the_exponent_of_a_power_is_found(power, factor, at):
    at = sorted(at)
    if at[-1] < 1.5 * at[0]:
        at[-1] *= 2.0
    assert scaling.exponent(at, [factor * x**power for x in at]) == pytest.approx(power, abs=1e-6)


@given(st.integers(2, 10**6), st.integers(1, 10**5), st.floats(1e-9, 1.0))
def test_the_formulas_are_those_of_the_table_over_d_n(n, d, strength):
    eps = scaling.EPS
    cases = (
        ("svm", {"lam": strength, "eps": eps}, strength * eps),
        ("lasso", {"eps": strength}, strength),
        ("ridge", {"lam": strength}, strength),
    )
    for name, given_, inverse in cases:
        agd = "fista" if name == "lasso" else "agd"
        for line, row in ((scaling.ACCELERATED, "this"), (scaling.BATCH, agd)):
            assert scaling.FORMULAS[line](n, 1.0 / inverse) * d * n == pytest.approx(theory.runtime(name, row, n=n, d=d, **given_))
    assert scaling.FORMULAS[scaling.PLAIN](n, 1.0 / strength) * d * n == pytest.approx(
        theory.runtime("ridge", "sgd", n=n, d=d, lam=strength)
    )


@pytest.mark.parametrize("name", scaling.TASKS)
def test_the_problems_of_the_table(name):
    one = small(n=200)
    loss, penalty, eps, x = scaling.build(name, one, 1e-4)
    null = dg.solve(one.X, one.y, loss=loss, penalty=penalty, tol=1e-2).null
    assert null == pytest.approx(scaling.TASKS[name].null)
    expected = {"SVM": 1.0 / (1e-4 * eps), "ridge": 1e4}.get(name) or (null / penalty.l1) ** 2 / eps
    assert x == pytest.approx(expected)


def test_runs_at_the_limit_are_left_out_of_exponents():
    points = [
        scaling.Point("cov1", "ridge", "lambda", scaling.PLAIN, 100, lam, min(1.0 / lam, 500.0), 1.0 / lam < 500.0, 1.0 / lam)
        for lam in (1e-1, 1e-2, 2e-3, 1e-3)
    ]
    (row,) = scaling.rows(points)
    assert (row["exponent, measured"], row["points"], row["passes"]) == (None, "2 of 4", "10 to more than 500")
    (row,) = scaling.rows([*points[:2], points[0]._replace(strength=5e-2, passes=20.0, formula=20.0), *points[2:]])
    assert (row["exponent, measured"], row["exponent, formula"]) == (-1.0, -1.0)
    (wide,) = scaling.beside([row], {"cov1": "cov1 (STAND-IN)"})
    assert wide == {
        "problem": "ridge",
        "against": "lambda",
        "solver": scaling.PLAIN,
        "cov1 (STAND-IN)": "-1.00 (-1.00), 10 to more than 500",
    }
    (row,) = scaling.rows([points[-1]] * 3)
    assert row["passes"] == "more than 500"


def test_the_benchmark_of_scaling_times_what_it_says():
    code = """
import numpy as np, scipy.sparse as sp
from benchmarks import scaling
X, y = sp.random_array((300, 40), density=0.2, rng=np.random.default_rng(0), format="csr"), np.sign(np.arange(300) % 3 - 0.5)
A, b = scaling.sample(X, y, 200, 0.5)
assert A.shape == (200, 20) and abs(abs(A).power(2).sum(axis=1).max() - 1.0) < 1e-12
bench = scaling.Bench(A, b)
bench.turn()
assert all(0.0 < least < np.inf for least in bench.least)
sizes = [{"n": n, "d": d, "nonzeros": z} for n, d, z in ((10, 5, 40), (20, 5, 90), (20, 9, 70), (40, 9, 300), (50, 70, 800))]
parts = scaling.cost([row | {"ms per pass": 1e-6 * (30 * row["n"] + 5 * row["d"] + 2 * row["nonzeros"])} for row in sizes])
assert np.allclose(parts, (30, 5, 2, 0))
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[1])
    assert done.stdout == "done\n", done.stderr


# The command.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of data: two originals and a stand-in, of 1,000 rows."""
    out = tmp_path_factory.mktemp("data")
    X, y = rows(1000, 20)
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    for name in ("cov1", "CCAT"):
        dump_svmlight_file(X, y, str(out / f"{name}.svm"), zero_based=False)
    np.savez(out / "arxiv_astro_ph.npz", **packed(X), X_unit=True, y=y, yt=y[:10])
    return out


def texts(figure):
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.slow
def test_the_command_writes_everything_and_goes_on_where_it_was(folder, tmp_path, monkeypatch):
    import dualgap.report.plot as plot

    drawn, save = {}, plot.save

    def keep(figure, files):
        drawn[Path(files[0]).stem] = figure
        save(figure, files)

    monkeypatch.setattr(plot, "save", keep)
    command = ["paper", "--data", str(folder), "--output", str(tmp_path), "--quick", "--datasets", "astro-ph", "cov1"]
    assert main(command) == 0
    for name in ("figure", "suboptimality", "scaling-astro-ph", "scaling-cov1"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{name}.svg").read_text().startswith("<?xml")
        assert ("STAND-IN" in texts(drawn[name])) == (name != "scaling-cov1")

    with (tmp_path / "data.csv").open() as file:
        kinds = {row["data"]: (row["what"], row["training rows, paper"], row["training rows, here"]) for row in csv.DictReader(file)}
    assert kinds["astro-ph"] == ("STAND-IN", "29882", "1000")
    assert kinds["cov1"] == ("original", "522911", "1000")
    with (tmp_path / "curves.csv").open() as file:
        points = list(csv.DictReader(file))
    lines = {(p["data"], p["lambda"], p["solver"]) for p in points}
    assert len(lines) == 2 * 2 * 4
    assert all(float(p["primal"]) == pytest.approx(0.5) for p in points if p["pass"] == "0.0")
    with (tmp_path / "figure.csv").open() as file:
        ends = list(csv.DictReader(file))
    assert len(ends) == 16
    assert all(float(row["P - min at the end"]) >= 0.0 for row in ends)
    assert all(float(row["certified gap"]) <= 1e-3 for row in ends if row["stopped"] == "True")
    assert any(row["stopped"] == "True" for row in ends)
    with (tmp_path / "bounds.csv").open() as file:
        bounds = list(csv.DictReader(file))
    assert len(bounds) == 4
    for row in bounds:
        measured = row["Prox-SDCA, passes"].removeprefix("more than ")
        assert float(measured) <= float(row["Theorem 1"])
        if row["Theorem 3"]:
            assert float(row["accelerated, inner problems"].removeprefix("more than ")) <= float(row["Theorem 3"])
            assert float(row["passes of each"]) <= float(row["its proof"])
    with (tmp_path / "scaling.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 3 * 2 * 4

    before = (tmp_path / "runs.jsonl").read_text()
    figures = (tmp_path / "figure.csv").read_text()
    monkeypatch.setattr(dg, "solve", None)
    assert main(command) == 0
    assert (tmp_path / "runs.jsonl").read_text() == before
    assert (tmp_path / "figure.csv").read_text() == figures
    assert "| astro-ph | STAND-IN |" in (tmp_path / "data.md").read_text()


def test_a_sample_is_called_one_on_the_figure(folder, tmp_path, monkeypatch):
    import dualgap.report.plot as plot

    drawn = []
    monkeypatch.setattr(plot, "save", lambda figure, files: drawn.append(figure))
    options = ["--rows", "50", "--passes", "3", "--datasets", "cov1", "--parts", "figure", "--inner", "2", "--sampling", "permuted"]
    assert main(["paper", "--data", str(folder), "--output", str(tmp_path), "--quick", *options]) == 0
    assert len(drawn) == 2
    for one in drawn:
        assert "50 of 1,000 rows" in texts(one)
        assert all(panel.get_xlim() == (0.0, 3.0) for panel in one.axes)


def test_errors_of_the_command_are_one_line(folder, tmp_path, capsys):
    assert main(["paper", "--data", str(tmp_path / "nowhere"), "--output", str(tmp_path / "out")]) == 2
    assert "--data must be a folder that exists" in capsys.readouterr().err
    assert main(["paper", "--data", str(tmp_path), "--datasets", "astro-ph", "--output", str(tmp_path / "out")]) == 2
    assert "there is no astro-ph" in capsys.readouterr().err
    small_scale = ["--rows", "99", "--parts", "scaling", "--datasets", "cov1"]
    assert main(["paper", "--data", str(folder), "--output", str(tmp_path / "out"), *small_scale]) == 2
    assert "needs data sets of 4000 rows or more, got one of 99" in capsys.readouterr().err
    for bad in (["--rows", "0"], ["--inner", "-1"], ["--parts", "music"], ["--passes", "many"]):
        with pytest.raises(SystemExit, match="2"):
            main(["paper", "--output", str(tmp_path), *bad])


def test_the_figure_is_that_of_the_paper():
    settings = figure.Settings()
    assert settings.lambdas == (1e-6, 1e-7, 1e-8, 1e-9)
    lines = settings.lines()
    for name in (figure.ACCELERATED, figure.PLAIN, figure.OURS):
        _, tol, passes = lines[name]
        assert tol * dg.SmoothHinge(1.0).value(0.0, 1.0) == pytest.approx(1e-3)
        assert passes == 100.0
    assert lines[figure.ACCELERATED][0] == dg.AcceleratedProxSDCA(inner="theory", stop="paper", sampling="iid")
    run = {"curve": [[0.0, 0.5], [1.0, 0.3], [2.0, 0.2], [3.0, 0.25]]}
    assert figure.passes_to(run, 0.2) == 2.0
    assert figure.passes_to(run, 0.1) is None
    ends = [
        {"data": "cov1", "lambda": 1e-6, "solver": "a", "stopped": True, "passes": 11.0, "passes to P - min <= 1e-3": 8.0},
        {"data": "cov1", "lambda": 1e-6, "solver": "b", "stopped": False, "passes": 100.0, "passes to P - min <= 1e-3": None},
    ]
    assert figure.beside(ends, 100.0) == [{"data": "cov1", "lambda": 1e-6, "a": "8, stops at 11", "b": "more than 100"}]


def test_tables_read_well():
    text = table.markdown([{"data": "a", "lambda": 1e-6, "n": 12345, "sparsity": 0.0016, "x": None, "ok": True, "v": 0.123456}])
    assert text.splitlines()[-1] == "| a | 1e-06 | 12,345 | 0.16 % | - | yes | 0.123 |"
    assert [table.number(x) for x in (1234.5, 100.0, 12.34, 1e-5)] == ["1,234", "100", "12.3", "1e-05"]
    (row,) = table.data_rows([small("CCAT", stand_in="made up")])
    assert row["what"] == "STAND-IN"
    assert (row["features, paper"], row["features, here"]) == (47_236, 8)
    assert math.isclose(row["sparsity, here"], 0.5, abs_tol=0.1)


def test_importing_the_command_line_is_cheap():
    code = "import sys, dualgap.cli; print([m for m in ('numba', 'sklearn', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
