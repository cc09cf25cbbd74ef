"""Files of every format give the same table; what is wrong with one is named, with its place."""

import csv
import gzip
import io
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dualgap.data.errors import InputError
from dualgap.data.layout import Reading
from dualgap.data.readers import detect, load

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5)) * (RNG.random((40, 5)) < 0.6)
Y = RNG.integers(0, 3, 40).astype(float)
WEIGHT = RNG.random(40)
NAMES = ("a", "b", "c", "d", "e")


def write_svmlight(path):
    rows = (" ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row.tolist()) if x) for row in X)
    path.write_text("".join(f"{y} {row}\n" for y, row in zip(Y.tolist(), rows, strict=True)))


def write_csv(path, delimiter=",", header=True, text=False):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        if header:
            writer.writerow(["w", *NAMES[:2], "target", *NAMES[2:]])
        for w, x, y in zip(WEIGHT.tolist(), X.tolist(), Y.tolist(), strict=True):
            writer.writerow([w, *x[:2], f"class, {y:.0f}" if text else y, *x[2:]])


def table():
    return {"w": WEIGHT, **dict(zip(NAMES, X.T, strict=True)), "target": Y}


def write_parquet(path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table(table()), path, row_group_size=7)


def write_arrow(path, new="new_file"):
    pyarrow = pytest.importorskip("pyarrow")
    content = pyarrow.table(table())
    with getattr(pyarrow.ipc, new)(str(path), content.schema) as file:
        file.write_table(content, max_chunksize=11)


TABULAR = {
    "a.csv": write_csv,
    "a.tsv": lambda path: write_csv(path, "\t"),
    "semicolon": lambda path: write_csv(path, ";"),
    "a.parquet": write_parquet,
    "a.feather": write_arrow,
    "a.arrows": lambda path: write_arrow(path, "new_stream"),
    "parquet": write_parquet,
}


@pytest.mark.parametrize("name", TABULAR)
def test_tables(tmp_path, name):
    path = tmp_path / name
    TABULAR[name](path)
    found = load([str(path)], Reading(weight="w"))
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, Y)
    assert np.array_equal(found.weight, WEIGHT)
    assert found.names == NAMES
    found = load([str(path), str(path)], Reading(target="b", drop=("w", "target"), wanted=("e", "a"), supervised=False))
    assert np.array_equal(found.X, np.vstack([X, X])[:, [4, 0]])
    assert np.array_equal(found.y, np.tile(X[:, 1], 2))
    assert found.weight is None
    for option, value in (("target", "z"), ("weight", "99"), ("drop", ("z",))):
        with pytest.raises(InputError, match=rf"{name}: {option} must be a column of the file, which has 'w', 'a', 'b', .*; got '(z|99)'"):
            load([str(path)], Reading(**{option: value}))
    with pytest.raises(InputError, match="lacks the column 'q' of the model"):
        load([str(path)], Reading(wanted=("a", "q")))


def test_a_table_whose_target_has_another_name(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"say which column is the target \(--target\): none is named target, label, y or class"):
        load([str(tmp_path / "a.csv")], Reading())


def test_csv_without_header(tmp_path):
    path = tmp_path / "a.csv"
    write_csv(path, header=False)
    found = load([str(path)], Reading(target="3", weight="0"))
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, Y)
    assert found.names is None
    found = load([str(path)], Reading(target="-4", drop=("0",)))
    assert np.array_equal(found.y, Y)
    with pytest.raises(InputError, match="which has 7 columns, 0 to 6, without names"):
        load([str(path)], Reading())
    with pytest.raises(InputError, match="has no names of columns, which the model goes by"):
        load([str(path)], Reading(target="3", wanted=("a",)))


def test_targets_that_are_text(tmp_path):
    write_csv(tmp_path / "a.csv", text=True)
    found = load([str(tmp_path / "a.csv")], Reading(drop=("w",)))
    assert found.y.tolist() == [f"class, {y:.0f}" for y in Y]
    assert np.array_equal(found.X, X)
    write_csv(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv: does not go with the rows before: the targets of one are numbers"):
        load([str(tmp_path / name) for name in ("a.csv", "b.csv")], Reading(drop=("w",)))
    pyarrow = pytest.importorskip("pyarrow")
    content = {**table(), "target": [f"k{y:.0f}" for y in Y]}
    with pyarrow.ipc.new_file(str(tmp_path / "a.arrow"), pyarrow.table(content).schema) as file:
        file.write_table(pyarrow.table(content))
    assert load([str(tmp_path / "a.arrow")], Reading()).y.tolist() == content["target"]


def test_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y, s=WEIGHT)
    found = load([str(tmp_path / "a.npz")], Reading(weight="s"))
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, Y)
    assert np.array_equal(found.weight, WEIGHT)
    matrix = sp.coo_array(X)
    sp.save_npz(tmp_path / "b.npz", matrix)
    with np.load(tmp_path / "b.npz") as archive:
        np.savez(tmp_path / "c.npz", **archive, z=Y)
    found = load([str(tmp_path / "c.npz")], Reading(target="z"))
    assert np.array_equal(found.X.toarray(), X)
    assert np.array_equal(found.y, Y)
    with pytest.raises(InputError, match=r"b\.npz: say which key holds the targets"):
        load([str(tmp_path / "b.npz")], Reading())
    np.save(tmp_path / "a.npy", np.column_stack([X, Y]))
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    np.save(tmp_path / "y.npy", Y[:, None])
    found = load([str(tmp_path / "a.npy")], Reading(target="-1"))
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, Y)
    found = load([str(tmp_path / "X.npy")], Reading(target=str(tmp_path / "y.npy")))
    assert np.array_equal(found.X, X.astype(np.float32))
    assert found.X.dtype == np.float32
    assert np.array_equal(found.y, Y)


def test_svmlight_with_weights_apart(tmp_path):
    write_svmlight(tmp_path / "a.svm")
    np.save(tmp_path / "w.npy", np.tile(WEIGHT, 2))
    (tmp_path / "w.txt").write_text("\n".join(map(repr, WEIGHT.tolist())))
    found = load([str(tmp_path / "a.svm")] * 2, Reading(weight=str(tmp_path / "w.npy")), np.float32)
    assert np.array_equal(found.X.toarray(), np.vstack([X, X]).astype(np.float32))
    assert np.array_equal(found.weight, np.tile(WEIGHT, 2))
    assert found.first_column == 1
    assert np.array_equal(load([str(tmp_path / "a.svm")], Reading(weight=str(tmp_path / "w.txt"))).weight, WEIGHT)
    with pytest.raises(InputError, match="has 80 rows, and there are 40 weights"):
        load([str(tmp_path / "a.svm")] * 2, Reading(weight=str(tmp_path / "w.txt")))
    with pytest.raises(InputError, match="svmlight text has no columns that target could name, got '3'"):
        load([str(tmp_path / "a.svm")], Reading(target="3"))


def test_formats_are_found_by_content(tmp_path):
    write_svmlight(tmp_path / "a.svm")
    text = (tmp_path / "a.svm").read_bytes()
    for name, content in (("a", text), ("b.gz", gzip.compress(text)), ("c.txt", b"1\n-1\n" + text), ("d.dat", b"# 3,4\n" + text)):
        (tmp_path / name).write_bytes(content)
        assert detect(str(tmp_path / name)) == "svmlight"
    for name, content in (("e", b"a,b\n1,2\n"), ("f.txt", b"1\t2\n"), ("g.csv.gz", gzip.compress(b"1:2 3:4\n")), ("h", b"at 12:30,5\n")):
        (tmp_path / name).write_bytes(content)
        assert detect(str(tmp_path / name)) == "csv"
    np.save(tmp_path / "i.npy", X)
    (tmp_path / "i.npy").rename(tmp_path / "i.csv")
    assert detect(str(tmp_path / "i.csv")) == "npy"
    (tmp_path / "j").write_bytes(b"1\n2\n")
    with pytest.raises(InputError, match=r"j: neither its name nor its first bytes say what format it has \(--format\): svmlight, csv"):
        detect(str(tmp_path / "j"))


def test_files_that_do_not_go_together(tmp_path):
    write_svmlight(tmp_path / "a.svm")
    write_csv(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("a,target\n1,2\n")
    (tmp_path / "c.csv").write_text("w,a,b,c,d,f,target\n1,2,3,4,5,6,7\n")
    for names, message in (
        (("a.csv", "a.svm"), "sparse rows True instead of False"),
        (("a.csv", "b.csv"), "number of features 1 instead of 6"),
        (("a.csv", "c.csv"), "names of features w, a, b, c, d ... instead of w, a, b, c, d ..."),
    ):
        with pytest.raises(InputError, match=rf"{names[1]}: does not go with .*{names[0]}: {message}"):
            load([str(tmp_path / name) for name in names], Reading())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n\n3,x\n", "4:3: the target must be a finite number as in the first row, got 'x'"),
        ("a,y\n1,2\n 1e999 ,2\n", "3:2: column 'a' must hold finite numbers, got '1e999'"),
        ("a,y\n,2\n", "2:1: column 'a' must hold finite numbers, got ''"),
        ('a,b,y\n1,"x, y",2\n', "2:4: column 'b' must hold finite numbers, got 'x'"),
        ('a,y\n"1"" ,2\n', "2:8: a field in quotes must end before the line does, and the delimiter follow it"),
        ('a,y\n"1"2,2\n', "2:4: a field in quotes must end before the line does"),
        ("a,y\r\n1,2\r\n1\r\n", "3: a row must have 2 fields as the first line has, got 1"),
        ("a,y\n1,2,\n", "2: a row must have 2 fields as the first line has, got 3"),
        ("a,y\n", "has a header and no rows"),
        ("\n \n", "has no rows"),
        ("a,a,y\n1,2,3\n", "each column must have a name of its own, got 'a' twice"),
        ("y\n1\n", "has no column that is a feature"),
        ("y,label,b\n1,2,3\n", "say which column is the target (--target): several could be the target"),
    ],
)
def test_messages_about_csv(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    with pytest.raises(InputError, match=re.escape(f"a.csv:{'' if message[0].isdigit() else ' '}{message}")):
        load([str(path)], Reading())


NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
QUOTED = st.one_of(NUMBERS, NUMBERS.map('"{}"'.format), NUMBERS.map(" {}  ".format))
WORDS = (
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 5), st.sampled_from(",;|\t"), st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_csv_against_the_standard_library(tmp_path_factory, data, d, delimiter, words, end):
    rows = data.draw(st.lists(st.lists(QUOTED, min_size=d, max_size=d), min_size=1, max_size=6))
    if words:
        targets = ["no number", *data.draw(st.lists(WORDS, min_size=len(rows) - 1, max_size=len(rows) - 1))]
        buffer = io.StringIO()
        for t in targets:
            csv.writer(buffer, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow([t])
        written = buffer.getvalue().split("\n")[:-1]
    else:
        written = data.draw(st.lists(QUOTED, min_size=len(rows), max_size=len(rows)))
        targets = [float(t.strip().strip('"')) for t in written]
    text = "".join(delimiter.join([t, *row]) + end for t, row in zip(written, rows, strict=True))
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_text(delimiter.join(["y", *NAMES[:d]]) + end + text, newline="", encoding="utf-8")
    found = load([str(path)], Reading(delimiter=delimiter))
    assert found.X.tolist() == [[float(x.strip().strip('"')) for x in row] for row in rows]
    assert [t.replace('""', '"') if words else t for t in found.y.tolist()] == targets


def test_wide_and_long_files(tmp_path):
    path = tmp_path / "a.csv"
    wide = RNG.random((3, 30_000))
    path.write_text(
        ",".join(["y", *(f"x{j}" for j in range(30_000))]) + "\n" + "\n".join(",".join(["1", *map(repr, r.tolist())]) for r in wide)
    )
    assert np.array_equal(load([str(path)], Reading()).X, wide)
    long = RNG.random((200_000, 2))
    path.write_text("x,y\n" + "\n".join(f"{x!r},{y!r}" for x, y in long.tolist()))
    found = load([str(path)], Reading())
    assert np.array_equal(np.column_stack([found.X, found.y]), long)


def test_missing_values_of_parquet(tmp_path):
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    for values, message in (
        ([1.0, None, 3.0], "column 'a' must have no missing values, got one in row 1"),
        ([1.0, 2.0, np.inf], "column 'a' must hold finite numbers, got inf in row 2"),
        (["x", "y", "z"], "column 'a' must hold numbers, not string"),
    ):
        parquet.write_table(pyarrow.table({"a": values, "y": [1, 2, 3]}), tmp_path / "a.parquet")
        with pytest.raises(InputError, match=message):
            load([str(tmp_path / "a.parquet")], Reading())


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X, "y": Y[:-1]}, r"must hold a number for each of the 40 rows, got shape \(39,\)"),
        ({"X": X[0], "y": Y}, r"must hold an array of 2 dimensions that is not empty, got shape \(5,\)"),
        ({"X": np.full_like(X, np.inf), "y": Y}, r"must hold finite numbers, got \S+ in row 0"),
        ({"X": X, "y": Y * np.nan}, "must hold finite numbers, got nan"),
        ({"X": X.astype(object), "y": Y}, "Object arrays cannot be loaded"),
        ({"A": X, "y": Y}, "must hold X, or a matrix saved by"),
        ({"X": X + 1j, "y": Y}, "must hold real numbers, got dtype complex128"),
    ],
)
def test_messages_about_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=rf"a\.npz: .*{message}"):
        load([str(tmp_path / "a.npz")], Reading())


def test_numbers_too_large_for_the_type(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1e39\n")
    with pytest.raises(InputError, match=r"a\.svm: holds 1e\+39, which is too large for float32"):
        load([str(tmp_path / "a.svm")], Reading(), np.float32)


@pytest.mark.parametrize(("name", "module"), [("a.parquet", "pyarrow"), ("a.svm.zst", "zstandard")])
def test_absent_packages_are_named(tmp_path, name, module):
    content = b"PAR1" if name == "a.parquet" else b"\x28\xb5\x2f\xfd"
    (tmp_path / name).write_bytes(content)
    code = (
        f"import sys; sys.modules[{module!r}] = None; sys.modules['compression.zstd'] = None\n"
        "from dualgap.data.layout import Reading; from dualgap.data.readers import load\n"
        f"load([{str(tmp_path / name)!r}], Reading())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(rf"InputError: .*{name}: .*{module}: pip install 'dualgap\[io\]'", ended.stderr)
