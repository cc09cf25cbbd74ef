"""The command line as a user meets it: files in, a certified model out, exit statuses, interruptions, and what is said about mistakes."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dualgap as dg
from dualgap.cli import COMMANDS, main
from dualgap.data.container import read_container, write_container
from dualgap.data.errors import InputError
from dualgap.model import Model

RNG = np.random.default_rng(0)
N, D = 300, 12
X = np.round(RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.5), 3)
SCORES = X @ RNG.standard_normal(D) + RNG.standard_normal(N) + 0.5


def write_svm(path, y, rows=slice(None)):
    lines = [f"{t} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(r.tolist()) if x) for t, r in zip(y, X, strict=True)][rows]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_csv(path, y, name="target"):
    lines = [",".join([f"x{j}" for j in range(D)] + [name])]
    lines += [",".join([*map(str, r.tolist()), str(t)]) for t, r in zip(y, X, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def dualgap(*arguments, status=0):
    """Run a command in this process; what it wrote to standard output and to standard error."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGTERM)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            ended = main([str(a) for a in arguments])
        except SystemExit as exit_:
            ended = exit_.code
        finally:
            signal.signal(signal.SIGTERM, before)
    assert ended == status, (ended, out.getvalue(), err.getvalue())
    return out.getvalue(), err.getvalue()


FITS = [
    ("logistic", ["--l2", "1e-2"], dg.Logistic(), dg.L2(1e-2)),
    ("smooth-hinge", ["--gamma", "0.5", "--lambda", "0.5", "--l1-ratio", "0.25"], dg.SmoothHinge(0.5), dg.ElasticNet(0.125, 0.375)),
    ("hinge", ["--C", "0.1"], dg.Hinge(), dg.L2(1 / (0.1 * N))),
    ("squared-hinge", ["--alpha", "0.01", "--l1-ratio", "1"], dg.SquaredHinge(), dg.L1(0.01)),
]


@pytest.mark.parametrize("labels", [("-1", "1"), ("0", "1"), ("no", "yes")])
@pytest.mark.parametrize(("loss", "strength", "loss_object", "penalty"), FITS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_classifier(tmp_path, loss, strength, loss_object, penalty, labels):
    said = [labels[int(s > 0)] for s in SCORES]
    file = write_csv(tmp_path / "a.csv", said)
    model = tmp_path / "m"
    out, _ = dualgap(
        "fit", file, "--loss", loss, *strength, "--intercept", "--tol", "1e-7", "--model", model, "--json", tmp_path / "m.json"
    )
    direct = dg.solve(X, np.where(SCORES > 0, 1.0, -1.0), loss=loss_object, penalty=penalty, intercept=True, tol=1e-7)
    m = Model.load(model)
    assert np.array_equal(m.w, direct.w)
    assert m.intercept == direct.intercept
    assert [str(a).removesuffix(".0") for a in m.labels] == list(labels)
    assert m.loss == loss_object
    assert m.names == tuple(f"x{j}" for j in range(D))
    record = json.loads((tmp_path / "m.json").read_text())
    assert record["certificate"]["gap"] == direct.gap
    assert record["status"] == "CERTIFIED"
    assert "No coefficients whatever have an objective below" in out
    _, err = dualgap("predict", file, "--model", model, "--output", tmp_path / "p.txt")
    expected = [labels[int(s > 0)] for s in X @ direct.w + direct.intercept]
    assert (tmp_path / "p.txt").read_text().split() == expected
    accuracy = np.mean([a == b for a, b in zip(expected, said, strict=True)])
    assert f"{N} rows, accuracy {accuracy:.4%}" in err
    out, _ = dualgap("predict", file, "--model", model, "--what", "score")
    assert np.allclose([float(line) for line in out.split()], X @ direct.w + direct.intercept, rtol=1e-15, atol=0.0)
    out, _ = dualgap("certify", file, "--model", model, "--tol", "1e-6")
    assert "within the tolerance of 1e-06" in out


def test_regression_with_weights(tmp_path):
    weight = RNG.random(N)
    np.savez(tmp_path / "a.npz", X=X, y=SCORES, s=weight)
    options = ["--loss", "huber", "--delta", "0.7", "--C", "3", "--weight", "s", "--model", tmp_path / "m"]
    dualgap("fit", tmp_path / "a.npz", *options, "--tol", "1e-8", "--quiet")
    direct = dg.solve(X, SCORES, loss=dg.Huber(0.7), penalty=dg.L2(1 / (3 * weight.sum())), sample_weight=weight, tol=1e-8)
    assert np.array_equal(Model.load(tmp_path / "m").w, direct.w)
    out, err = dualgap("predict", tmp_path / "a.npz", "--model", tmp_path / "m", "--weight", "s")
    said = np.array(out.split(), dtype=float)
    assert np.allclose(said, X @ direct.w)
    r2 = 1 - weight @ (said - SCORES) ** 2 / (weight @ (SCORES - np.average(SCORES, weights=weight)) ** 2)
    assert f"R^2 {r2:.6f}, mean absolute error {np.average(abs(said - SCORES), weights=weight):.6g}" in err


def test_several_classes(tmp_path):
    y = np.digitize(SCORES, [-1, 1]) * 10
    file = write_svm(tmp_path / "a.svm", y)
    dualgap("fit", file, "--loss", "softmax", "--l2", "1e-3", "--intercept", "--model", tmp_path / "m", "--quiet")
    direct = dg.solve(X, y // 10, loss=dg.Softmax(), penalty=dg.L2(1e-3), intercept=True)
    m = Model.load(tmp_path / "m")
    assert np.linalg.norm(m.w - direct.w) <= 2.0 * np.sqrt(2.0 * 1e-6 * direct.null / 1e-3)
    assert m.labels == (0.0, 10.0, 20.0)
    out, err = dualgap("predict", file, "--model", tmp_path / "m")
    assert set(out.split()) <= {"0", "10", "20"}
    assert "accuracy" in err
    out, _ = dualgap("predict", file, "--model", tmp_path / "m", "--what", "probability", "--quiet")
    p = np.array([line.split() for line in out.splitlines()], dtype=float)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(10 * p.argmax(axis=1), m.predict(X))


def test_penalties_of_every_kind(tmp_path):
    y = np.where(SCORES > 0, 1, -1)
    file = write_svm(tmp_path / "a.svm", y)
    (tmp_path / "groups").write_text("\n".join(str(j // 3) for j in range(D)))
    np.save(tmp_path / "factors.npy", np.arange(D) % 3)
    (tmp_path / "upper").write_text("\n".join(["0.1"] * D))
    cases = [
        (
            ["--penalty", "group", "--l1", "0.01", "--l2", "0.01", "--groups", tmp_path / "groups"],
            dg.GroupL1(0.01, 0.01, np.arange(D) // 3),
        ),
        (["--penalty", "q-norm", "--l2", "0.1", "--q", "1.5"], dg.QNorm(0.1, 1.5)),
        (["--penalty", "entropy", "--l2", "0.1"], dg.Entropy(0.1)),
        (["--l2", "0.1", "--factors", tmp_path / "factors.npy"], dg.Factors(dg.L2(0.1), np.arange(D) % 3)),
        (["--l2", "0.1", "--lower", "0", "--upper", tmp_path / "upper"], dg.Box(dg.L2(0.1), 0.0, np.full(D, 0.1))),
    ]
    for options, penalty in cases:
        dualgap("fit", file, "--loss", "logistic", *options, "--model", tmp_path / "m", "--tol", "1e-5", "--quiet")
        direct = dg.solve(X, y.astype(float), loss=dg.Logistic(), penalty=penalty, tol=1e-5)
        m = Model.load(tmp_path / "m")
        assert np.allclose(m.w, direct.w, rtol=1e-12, atol=1e-14)
        assert type(m.penalty) is type(penalty)
        out, _ = dualgap("certify", file, "--model", tmp_path / "m", "--tol", "1e-4")
        assert "within the tolerance" in out


def test_certify_bounds_the_distance_of_any_model(tmp_path):
    y = np.where(SCORES > 0, 1.0, -1.0)
    file = write_svm(tmp_path / "a.svm", y.astype(int))
    problem = {"loss": dg.Logistic(), "penalty": dg.L2(1e-2), "intercept": True}
    best = dg.solve(X, y, **problem, tol=1e-12)
    for factor in (1.0, 1.01, 2.0):
        w = factor * best.w
        Model(w, best.intercept, problem["loss"], problem["penalty"], True, (-1.0, 1.0), None, 1).save(tmp_path / "m")
        z = y * (X @ w + best.intercept)
        excess = np.mean(np.logaddexp(0.0, -z)) + 0.005 * w @ w - best.primal
        status = 0 if factor == 1.0 else 3
        out, _ = dualgap("certify", file, "--model", tmp_path / "m", "--tol", "1e-6", "--json", tmp_path / "c.json", status=status)
        record = json.loads((tmp_path / "c.json").read_text())
        assert record["at_least"] - 1e-12 <= excess <= record["at_most"]
        assert record["at_most"] <= 1.2 * excess + 1e-6 * best.null
        assert ("within the tolerance" in out) == (factor == 1.0)
        assert ("proved to be farther off" in out) == (factor != 1.0)


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_path(tmp_path, suffix):
    y = np.where(SCORES > 0, 1.0, -1.0)
    file = write_csv(tmp_path / "a.csv", y)
    output = tmp_path / f"p.{suffix}"
    problem = ["--loss", "logistic", "--l1-ratio", "0.5", "--intercept", "--tol", "1e-8"]
    out, _ = dualgap("path", file, *problem, "--number", "5", "--output", output, "--json", tmp_path / "p.json")
    records = json.loads((tmp_path / "p.json").read_text())
    lambdas = [r["lambda"] for r in records]
    assert len(out.splitlines()) == 5
    assert np.allclose(lambdas, np.geomspace(lambdas[0], 1e-3 * lambdas[0], 5))
    for lam, record in zip(lambdas, records, strict=True):
        direct = dg.solve(X, y, loss=dg.Logistic(), penalty=dg.ElasticNet(lam / 2, lam / 2), intercept=True, tol=1e-8)
        assert record["certificate"]["primal"] == pytest.approx(direct.primal, rel=1e-7)
        assert (lam == lambdas[0]) == (np.count_nonzero(direct.w) == 0)
    if suffix == "npz":
        with np.load(output) as arrays:
            assert np.array_equal(arrays["lambdas"], lambdas)
            assert np.allclose(arrays["coefficients"][-1], direct.w, atol=1e-3)
    else:
        lines = output.read_text().splitlines()
        assert lines[0] == "lambda,class,feature,coefficient"
        last = {line.split(",")[2]: float(line.split(",")[3]) for line in lines if line.startswith(f"{lambdas[-1]!r},")}
        assert last["intercept"] == pytest.approx(direct.intercept, abs=1e-3)
        assert all(last.get(f"x{j}", 0.0) == pytest.approx(direct.w[j], abs=1e-3) for j in range(D))


def test_a_store_is_input_like_any_other(tmp_path):
    y = np.where(SCORES > 0, 1, -1)
    files = [write_svm(tmp_path / "a.svm", y, slice(0, 100)), write_svm(tmp_path / "b.svm", y, slice(100, None))]
    out, _ = dualgap("convert", *files, tmp_path / "s", "--chunk", "4K")
    assert re.search(r"300 rows, 12 features, .* entries of float64 and delta16 in \d+ chunks\): .* MB in", out)
    options = ["--loss", "logistic", "--l2", "1e-2", "--intercept", "--tol", "1e-7", "--quiet"]
    dualgap("fit", *files, *options, "--model", tmp_path / "m")
    dualgap("fit", tmp_path / "s", *options, "--model", tmp_path / "n")
    dualgap("fit", tmp_path / "s", *options, "--memory", "6K", "--model", tmp_path / "o", "--json", tmp_path / "o.json")
    one, same, other = (Model.load(tmp_path / name) for name in "mno")
    assert np.array_equal(one.w, same.w)
    assert np.linalg.norm(one.w - other.w) <= 2.0 * np.sqrt(2.0 * 1e-7 / 1e-2)
    assert one.first_column == same.first_column == other.first_column == 1
    assert dualgap("predict", files[0], "--model", tmp_path / "o")[0] == dualgap("predict", files[0], "--model", tmp_path / "m")[0]
    assert dualgap("predict", tmp_path / "s", "--model", tmp_path / "m") == dualgap("predict", *files, "--model", tmp_path / "m")
    out, _ = dualgap("certify", tmp_path / "s", "--memory", "6K", "--model", tmp_path / "m")
    assert "within the tolerance" in out
    dualgap("path", tmp_path / "s", "--loss", "logistic", "--memory", "6K", "--number", "3", "--quiet", "--output", tmp_path / "p.csv")


@pytest.mark.parametrize("suffix", ["csv", "npz", "npy", "parquet", "svm.gz"])
def test_files_of_any_format_become_stores(tmp_path, suffix):
    said = (
        np.array(["no", "yes"], dtype=object)[(SCORES > 0).astype(int)] if suffix in ("csv", "parquet") else np.where(SCORES > 0, 1.0, -1.0)
    )
    file, more = tmp_path / f"a.{suffix}", []
    if suffix == "csv":
        write_csv(file, said)
    elif suffix == "npz":
        np.savez(file, X=X, y=said)
    elif suffix == "npy":
        np.save(file, np.column_stack([X, said]))
        more = ["--target", "-1"]
    elif suffix == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "target": said}), file)
    else:
        import gzip

        write_svm(tmp_path / "a.svm", said)
        file.write_bytes(gzip.compress((tmp_path / "a.svm").read_bytes()))
    dualgap("convert", file, tmp_path / "s", *more, "--quiet")
    store = dg.Store.open(tmp_path / "s")
    whole = store.load()
    assert np.array_equal(whole if isinstance(whole, np.ndarray) else whole.toarray(), X)
    assert np.array_equal(store.y, said)
    assert store.names == (tuple(f"x{j}" for j in range(D)) if suffix in ("csv", "parquet") else None)
    dualgap("fit", file, *more, "--loss", "logistic", "--l2", "0.1", "--quiet", "--model", tmp_path / "m")
    dualgap("fit", tmp_path / "s", "--loss", "logistic", "--l2", "0.1", "--quiet", "--model", tmp_path / "n")
    one, same = (Model.load(tmp_path / name) for name in "mn")
    assert np.array_equal(one.w, same.w)
    assert (one.labels, one.names) == (same.labels, same.names)
    _, err = dualgap("convert", file, tmp_path / "s", *more, status=2)
    assert "s: is there already (overwrite, --overwrite)" in err
    dualgap("convert", file, tmp_path / "s", *more, "--overwrite", "--values", "float16", "--quiet")
    assert dg.Store.open(tmp_path / "s").values == "float16"


def test_a_conversion_that_fails_leaves_nothing(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n" * 1000 + "1 2:x\n")
    _, err = dualgap("convert", tmp_path / "a.svm", tmp_path / "s", status=2)
    assert "a.svm:1001:5: a value must be a finite number, got '2:x'" in err
    assert [p.name for p in tmp_path.iterdir()] == ["a.svm"]


def test_stopping_short_still_writes_a_model(tmp_path):
    file = write_svm(tmp_path / "a.svm", np.where(SCORES > 0, 1, -1))
    options = ["--loss", "hinge", "--l2", "1e-5", "--tol", "1e-9", "--max-passes", "3", "--solver", "prox_sdca"]
    out, err = dualgap("fit", file, *options, "--model", tmp_path / "m", "--json", tmp_path / "j", status=3)
    assert "Stopped at max_passes" in out
    assert re.search(r"4\.0 passes   gap \d\.\d+e-\d+ of 1e-09", err)
    record = json.loads((tmp_path / "j").read_text())
    assert record["status"] == "MAX_PASSES"
    assert Model.load(tmp_path / "m").record == record


def test_svmlight_files_of_a_part_of_the_columns(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:2 3:1\n-1 1:-1 2:3\n1 3:2\n-1 2:1\n")
    dualgap("fit", tmp_path / "a.svm", "--loss", "logistic", "--l2", "0.1", "--model", tmp_path / "m", "--quiet")
    w = Model.load(tmp_path / "m").w
    (tmp_path / "b.svm").write_text("0 2:1\n0 1:1 9:5\n0\n")
    out, _ = dualgap("predict", tmp_path / "b.svm", "--model", tmp_path / "m", "--what", "score", "--quiet")
    assert np.allclose([float(s) for s in out.split()], [w[1], w[0], 0.0])
    (tmp_path / "c.svm").write_text("0 0:1\n")
    _, err = dualgap("predict", tmp_path / "c.svm", "--model", tmp_path / "m", status=2)
    assert "c.svm:1:3: an index must be at least 1, got '0:1'" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["spam"], "invalid choice: 'spam'"),
        (["fit", "a.csv"], "the following arguments are required: --loss"),
        (["fit", "a.csv", "--loss", "spam"], "invalid choice: 'spam'"),
        (["fit", "a.csv", "--loss", "logistic"], "say how much is penalized in one way"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--C", "1"], "say how much is penalized in one way"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "-1"], "argument --l2: must be >= 0, got -1"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "0"], "l2 must be > 0"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--tol", "0"], "argument --tol: must be > 0, got 0"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--gamma", "1"], "--gamma is no parameter of the loss logistic"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--l1-ratio", "1"], "--l1-ratio goes with --lambda"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--resume"], "--resume needs --checkpoint"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--groups", "g"], "--groups goes with --penalty group"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--factors", "f"], "there is no file 'f'"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--upper", "f"], "--upper must be a number or a file of numbers"),
        (["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--model", "no/m"], "no/m can not be written: there is no folder"),
        (["fit", "nowhere", "--loss", "logistic", "--l2", "1"], "nowhere: no such file or directory"),
        (["fit", "three.csv", "--loss", "logistic", "--l2", "1"], "for two classes, got 3 (a, b, c): for more, say --loss softmax"),
        (["fit", "three.csv", "--loss", "squared", "--l2", "1"], "the loss squared is for targets that are numbers, got 'a'"),
        (["fit", "one.csv", "--loss", "softmax", "--l2", "1"], "for two classes or more, got only 'a'"),
        (["fit", "bad.svm", "--loss", "squared", "--l2", "1"], "bad.svm:2:5: a value must be a finite number, got '1:x'"),
        (["predict", "a.csv", "--model", "a.csv"], "a.csv: is not a model of dualgap"),
        (["predict", "a.csv", "--model", "nowhere"], "nowhere: no such file or directory"),
        (
            ["fit", "a.csv", "--loss", "logistic", "--l2", "1", "--memory", "much"],
            "argument --memory: must be a size such as 500M, got much",
        ),
        (["path", "a.csv", "--loss", "logistic", "--output", "p.txt"], "--output must end in .csv or .npz"),
        (["path", "a.csv", "--loss", "logistic", "--output", "p.csv", "--l2", "1"], "a path takes --lambdas"),
        (["path", "a.csv", "--loss", "logistic", "--output", "p.csv", "--lambdas", "1,x"], "--lambdas must be positive numbers"),
        (["path", "a.csv", "--loss", "logistic", "--output", "p.csv", "--start", "1", "--end", "2"], "--end must not be above"),
    ],
)
def test_mistakes_are_explained(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", np.where(SCORES > 0, 1, -1))
    (tmp_path / "three.csv").write_text("x,y\n1,a\n2,b\n3,c\n")
    (tmp_path / "one.csv").write_text("x,y\n1,a\n2,a\n")
    (tmp_path / "bad.svm").write_text("1 1:1\n2 1:x\n")
    out, err = dualgap(*arguments, status=2)
    assert out == ""
    assert message in " ".join(err.split())


def test_help_of_every_command(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        assert f"dualgap {name}" in capsys.readouterr().out


def test_models_that_others_made_up(tmp_path):
    path = tmp_path / "m"
    Model(np.arange(6.0).reshape(3, 2), np.zeros(2), dg.Softmax(), dg.L2(1.0), True, ("a", "b")).save(path)
    arrays, record = read_container(path, "a model")
    whole = path.read_bytes()
    wrong = [
        (arrays, {**record, "loss": {"name": "os.system"}}, "there is no loss or penalty 'os.system'"),
        (arrays, {**record, "loss": {"name": "Softmax", "state": 1}}, "Softmax has no parameter 'state'"),
        (arrays, {**record, "penalty": {"name": "Factors", "penalty": {"array": "nothing"}}}, "makes no sense"),
        (arrays, {**record, "features": 4}, "the sizes of its parts disagree"),
        (arrays, {**record, "features": "many"}, "makes no sense"),
        (arrays, {**record, "labels": ["a"]}, "not as many labels as classes"),
        (arrays, {**record, "names": ["x"]}, "the sizes of its parts disagree"),
        (arrays, {**record, "version": 2}, "of version 2, and this one reads 1"),
        (arrays, {k: v for k, v in record.items() if k != "loss"}, "makes no sense: 'loss'"),
        ({**arrays, "w": np.full((3, 2), np.nan)}, record, "numbers that are not finite"),
        ({**arrays, "w": np.zeros((2, 2)), "rows": np.array([0, 3])}, record, "out of range"),
        ({"w": arrays["w"]}, record, "makes no sense: 'intercept'"),
    ]
    for changed, about, message in wrong:
        write_container(path, changed, about)
        with pytest.raises(InputError, match=re.escape(message)):
            Model.load(path)
    for cut in (0, 7, 20, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"is not a model of dualgap|is a model of dualgap that is damaged"):
            Model.load(path)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            m = Model.load(path)
            assert np.array_equal(m.w, arrays["w"])


def test_models_are_files_of_safetensors(tmp_path):
    Model(np.arange(3.0), 0.5, names=("a", "b", "c")).save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    begin, end = header["w"]["data_offsets"]
    assert np.frombuffer(content[8 + length + begin : 8 + length + end], header["w"]["dtype"].replace("F64", "<f8")).tolist() == [0, 1, 2]
    assert all(isinstance(v, str) for v in header["__metadata__"].values())
    m = Model(np.where(np.arange(1000) == 7, 2.0, 0.0), 0.0)
    m.save(tmp_path / "s")
    assert (tmp_path / "s").stat().st_size < 1000
    assert np.array_equal(Model.load(tmp_path / "s").w, m.w)


def hard_problem(path):
    """A file whose solve takes some seconds, on one thread of whatever speed."""
    rng = np.random.default_rng(1)
    scales = np.geomspace(1, 300, 400)
    A = (rng.standard_normal((15_000, 400)) * scales).astype(np.float32)
    y = np.where(A @ (rng.standard_normal(400) / scales) + 5.0 * rng.standard_normal(len(A)) > 0, 1.0, -1.0)
    np.savez(path, X=A, y=y)
    return [str(path), "--loss", "logistic", "--l2", "1e-8", "--tol", "1e-6", "--solver", "adaptive", "--max-passes", "5000"]


def start(*arguments):
    command = [sys.executable, "-m", "dualgap", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_writes_the_best_model_so_far(tmp_path, number):
    fit = start("fit", *hard_problem(tmp_path / "a.npz"), "--model", tmp_path / "m")
    seen = fit.stderr.readline()
    fit.send_signal(number)
    out, err = fit.communicate(timeout=60)
    assert fit.returncode == 3, (out, err)
    assert "passes   gap" in seen
    assert "Interrupted before the certified gap came within the tolerance." in out
    record = Model.load(tmp_path / "m").record
    assert 1e-6 < record["certificate"]["relative_gap"] < np.inf


def test_a_killed_fit_resumes(tmp_path):
    problem = hard_problem(tmp_path / "a.npz")
    whole = start("fit", *problem, "--json", tmp_path / "whole.json")
    rng, kills, every = np.random.default_rng(), 0, 0.2
    state = tmp_path / "ck" / "state"
    resume = ["--checkpoint", tmp_path / "ck", "--every", every, "--resume", "--json", tmp_path / "parts.json"]
    passes = []
    while kills < 3:
        fit = start("fit", *problem, *resume)
        fit.stderr.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            fit.wait(timeout=float(rng.uniform(0.0, 1.5)))
        killed = time.time()
        fit.kill()
        fit.communicate()
        if fit.returncode != -signal.SIGKILL:
            break
        kills += 1
        if state.exists():
            passes.append(read_container(state, "a checkpoint")[1]["passes"])
            assert state.stat().st_mtime > killed - every - 2.0
    assert passes == sorted(passes)
    out, err = start("fit", *problem, *resume).communicate(timeout=120)
    assert "The objective is proved to be within the tolerance" in out, err
    whole.communicate(timeout=120)
    one, other = (json.loads((tmp_path / name).read_text()) for name in ("whole.json", "parts.json"))
    for record in (one, other):
        assert record["status"] == "CERTIFIED"
        assert record["certificate"]["relative_gap"] <= 1e-6
    assert abs(one["certificate"]["primal"] - other["certificate"]["primal"]) <= 1e-6 * one["certificate"]["null"]
    assert other["passes"] <= 2.0 * one["passes"] + 10.0
    assert any(note.startswith("Resumed after") for note in other["notes"])
