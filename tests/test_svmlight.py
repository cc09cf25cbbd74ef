"""The reader of svmlight text against a slow one that follows the grammar word by word."""

import bz2
import gzip
import lzma
import math
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dualgap.data.errors import InputError
from dualgap.data.svmlight import MESSAGES, read_svmlight, svmlight_chunks
from dualgap.kernels import text as kernels

BLANK = re.compile(rb"[ \t\r\v\f]+")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NUMBER_BEGUN = re.compile(rb"[+-]?([0-9]*\.?[0-9]*)(?:(?<=[0-9])[eE][+-]?[0-9]*|(?<=[0-9]\.)[eE][+-]?[0-9]*)?")
MOST = 2**31 - 2


class Wrong(Exception):
    """What is wrong, and where in its line."""


def reference_line(line, low, high):
    """One line of text, as (target, indices, values); None for a line without a row."""
    line = line.partition(b"#")[0]
    fields = [(m.start(), m[0]) for m in re.finditer(rb"[^ \t\r\v\f]+", line)]
    if not fields:
        return None
    start, field = fields.pop(0)
    y = reference_number(field, start, kernels.TARGET)
    if fields and fields[0][1][:1] == b"q":
        start, field = fields.pop(0)
        if not re.fullmatch(rb"qid:[0-9]+", field):
            begun = re.match(rb"qid:[0-9]*|qid|qi|q", field).end()
            raise Wrong(kernels.QUERY, start + begun)
    indices, values = [], []
    for start, field in fields:
        digits = re.match(rb"[0-9]*", field)[0]
        at = start + len(digits)
        if not digits:
            raise Wrong(kernels.INDEX, start)
        if field[len(digits) : len(digits) + 1] != b":":
            raise Wrong(kernels.INDEX, at)
        if not low <= int(digits) <= high:
            raise Wrong(kernels.SMALL_INDEX if int(digits) < low else kernels.LARGE_INDEX, start)
        values.append(reference_number(field[len(digits) + 1 :], at + 1, kernels.VALUE))
        indices.append(int(digits))
    for k, j in enumerate(indices):
        if j in indices[:k]:
            raise Wrong(kernels.REPEATED, fields[k][0])
    order = np.argsort(indices, kind="stable")
    return y, [indices[k] for k in order], [values[k] for k in order]


def reference_number(field, start, kind):
    if NUMBER.fullmatch(field):
        if not math.isfinite(float(field)):
            raise Wrong(kind, start)
        return float(field)
    begun = NUMBER_BEGUN.match(field).end()
    rest = field[begun : begun + 1]
    if kind == kernels.TARGET and NUMBER.fullmatch(field[:begun]) and rest in (b":", b","):
        kind = kernels.NO_TARGET if rest == b":" else kernels.SEVERAL_TARGETS
    raise Wrong(kind, start + begun)


def reference(text, low=0, high=MOST):
    """All rows of a text, or (kind, line, column) of the first fault."""
    rows = []
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n")):
        try:
            row = reference_line(line, low, high)
        except Wrong as fault:
            return fault.args[0], number + 1, fault.args[1] + 1
        if row is not None:
            rows.append(row)
    return rows


def read(path, size, **options):
    """The same from the library, a piece of `size` bytes at a time."""
    rows = []
    try:
        for chunk in svmlight_chunks(str(path), size=size, **options):
            entries = chunk.rows
            for r, y in enumerate(chunk.y):
                part = slice(entries.indptr[r], entries.indptr[r + 1])
                rows.append((y, entries.indices[part].tolist(), entries.values[part].tolist()))
    except InputError as error:
        kind = next(k for k, m in MESSAGES.items() if error_matches(m, str(error)))
        return kind, error.line, error.column
    return rows


def error_matches(message, error):
    start, _, end = message.partition("{field}")
    start = start.replace("{low}", r"\d+").replace("{high}", r"\d+")
    return re.search(r":\d+:\d+: " + start + ".*" + re.escape(end) + "$", error) is not None


DIGITS = st.text("0123456789", max_size=22)
EXPONENT = st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 400)))
DECIMAL = st.builds(
    lambda sign, a, b, e: sign + (a + b if a + b.strip(".") else "0") + e,
    st.sampled_from(["", "+", "-"]), DIGITS, st.one_of(st.just(""), st.builds(".{}".format, DIGITS)), EXPONENT,
)  # fmt: skip
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    DECIMAL,
    FLOATS.map(repr),
    st.builds(lambda x, k: f"{x:.{k}g}", FLOATS, st.integers(1, 21)),
    st.integers(-(10**6), 10**6).map(str),
)
SPACES = st.sampled_from([" ", " ", " ", "  ", "\t", " \t ", "\v", "\f"])
PAIRS = st.builds("{}:{}".format, st.one_of(st.integers(0, 40), st.integers(0, MOST)), NUMBERS)
LINES = st.builds(
    lambda y, query, pairs, space, comment, end: space.join([y, *query, *pairs]) + comment + end,
    NUMBERS,
    st.lists(st.integers(0, 10**12).map("qid:{}".format), max_size=1),
    st.lists(PAIRS, max_size=12),
    SPACES,
    st.sampled_from(["", "", " # a comment 3:1", "#x", " ", "\r"]),
    st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\n# 1 2:3\n", "\n \t\n"]),
)
NOISE = st.sampled_from([bytes([c]) for c in b"0123456789+-.eE:#, \t\r\n\vqidnaif\x00\xff_x"])
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.one_of(st.just(b""), NOISE)), max_size=3)


def changed(text, changes):
    """The text with some bytes replaced or left out or put in."""
    for where, length, new in changes:
        at = int(where * len(text))
        text = text[:at] + new + text[at + length :]
    return text


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("svmlight") / "a.svm"


def small_enough(numbers):
    return all(math.isfinite(float(s)) for s in numbers)


@settings(max_examples=400, deadline=None)
@given(st.lists(LINES, max_size=8), CHANGES, st.integers(1, 200), st.booleans(), st.sampled_from([1, 1, 1, 3]))
@example(["1 3:1 2:2 3:4 x\n"], [], 8, True, 1)
@example(["1 2:1e999 2:1\n"], [], 8, True, 1)
@example(["1 3:1 2:2 3:4\n", "x\n"], [], 100, True, 1)
@example(["1 1e5:3\n"], [], 8, False, 1)
@example(["1 qid:3 1:1\n", "1:1 2:2\n"], [], 8, False, 1)
@example(["1 99999999999999999999999999:1\n"], [], 8, False, 1)
def test_it_reads_what_the_grammar_says_and_names_the_first_fault(path, lines, changes, size, newline, threads):
    text = changed("".join(lines).encode(), changes)
    text = text if newline else text.rstrip(b"\n")
    path.write_bytes(text)
    assert read(path, size, threads=threads) == reference(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, max_size=5), st.sampled_from([0, 1]), st.integers(1, 41), st.integers(1, 200))
def test_bounds_of_columns(path, lines, first_column, features, size):
    text = "".join(lines).encode()
    path.write_bytes(text)
    high = features - 1 + first_column
    assert read(path, size, first_column=first_column, features=features, threads=1) == reference(text, first_column, high)


def check_numbers(path, numbers):
    path.write_text("\n".join(numbers))
    y = np.concatenate([chunk.y for chunk in svmlight_chunks(str(path))])
    expected = np.array([float(s) for s in numbers])
    assert np.array_equal(y.view(np.int64), expected.view(np.int64))


@settings(max_examples=300, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=50).filter(small_enough))
def test_numbers_are_rounded_correctly(path, numbers):
    check_numbers(path, numbers)


def test_numbers_next_to_the_middle_between_two_floats(path):
    rng = np.random.default_rng(0)
    floats = np.abs(rng.integers(0, 0x7FE0000000000000, 20_000, dtype=np.int64).view(np.float64))
    floats = np.concatenate([floats, rng.integers(0x3E00000000000000, 0x4200000000000000, 20_000, dtype=np.int64).view(np.float64)])
    numbers = []
    for x in floats.tolist():
        mantissa, exponent = math.frexp(x)
        middle, shift = 2 * int(mantissa * 2**53) + 1, exponent - 54
        # the first digits of the middle, cut and rounded away from zero
        digits = middle << shift if shift >= 0 else middle * 10 ** (-shift) >> -shift
        scale = 0 if shift >= 0 else shift
        text = str(digits)
        count = int(rng.integers(1, 21))
        cut = max(0, len(text) - count)
        head = int(text[: len(text) - cut])
        numbers += [f"{head}e{scale + cut}", f"{head + 1}e{scale + cut}"]
    check_numbers(path, numbers)


def test_every_power_of_ten(path):
    rng = np.random.default_rng(1)
    mantissas = [1, 5, 9007199254740991, 9007199254740993, 2**63, 10**19 - 1, *rng.integers(1, 2**63, 20).tolist()]
    numbers = [f"{m}e{e}" for e in range(-400, 291) for m in mantissas]
    numbers = [s for s in numbers if math.isfinite(float(s))]
    numbers += ["1.7976931348623157e308", "4.9e-324", "2.4703282292062327e-324", "2.2250738585072011e-308", "-0.0", "-0"]
    check_numbers(path, numbers)


def test_many_numbers_that_are_hard_to_round_in_one_line(path):
    pairs = [f"{j}:0.{'0' * 30}{'123456789' * 3}{j}" for j in range(5000)]
    path.write_text("1 " + " ".join(pairs))
    X, _ = read_svmlight(path)
    assert X.data.tolist() == [float(p.partition(":")[2]) for p in pairs]


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def zstd_compress(text):
    half = len(text) // 2
    compress = pytest.importorskip("zstandard").compress
    return compress(text[:half]) + compress(text[half:])


@pytest.mark.parametrize("suffix", [*COMPRESSIONS, "zst"])
def test_compressed_files_of_any_name(tmp_path, suffix):
    text = b"".join(b"%d 1:%d 7:0.25\n" % (i % 2, i) for i in range(100_000))
    packed = COMPRESSIONS.get(suffix, zstd_compress)(text)
    for name in (f"a.svm.{suffix}", "anything"):
        (tmp_path / name).write_bytes(packed)
        X, y = read_svmlight(tmp_path / name)
        assert X.shape == (100_000, 7)
        assert np.array_equal(X.toarray()[:, 0], np.arange(100_000))
        assert np.array_equal(y, np.arange(100_000) % 2)
    (tmp_path / "short").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"short: can not be read"):
        read_svmlight(tmp_path / "short")
    assert len(packed) < len(text)


def test_several_files_have_the_columns_of_all(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf1 1:1 2:2")
    (tmp_path / "b").write_text("2 5:1\n")
    (tmp_path / "c").write_text("3 0:7\n")
    X, y = read_svmlight([tmp_path / "a", tmp_path / "b"])
    assert X.toarray().tolist() == [[1, 2, 0, 0, 0], [0, 0, 0, 0, 1]]
    X, y = read_svmlight([tmp_path / name for name in "abc"], dtype=np.float32)
    assert X.toarray().tolist() == [[0, 1, 2, 0, 0, 0], [0, 0, 0, 0, 0, 1], [7, 0, 0, 0, 0, 0]]
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    assert y.tolist() == [1, 2, 3]
    X, _ = read_svmlight(tmp_path / "a", features=9, first_column=0)
    assert X.shape == (1, 9)
    with pytest.raises(InputError, match=r"c:1:3: an index must be at least 1, got '0:7'"):
        read_svmlight([tmp_path / "a", tmp_path / "c"], first_column=1)
    with pytest.raises(InputError, match="a column 0 appears, so that an index must be at most 4, but 5 appears too"):
        read_svmlight([tmp_path / name for name in "abc"], features=5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n-1 2:nan\n", "2:6: a value must be a finite number, got '2:nan'"),
        ("1 1:1\n-1 2:-inf\n", "2:7: a value must be a finite number, got '2:-inf'"),
        ("1 1:1e400\n", "1:5: a value must be a finite number, got '1:1e400'"),
        ("1,2 1:1\n", "1:2: a row must have one target, got '1,2'"),
        ("\n\n1:1 2:1\n", "3:2: a row must begin with its target, got '1:1'"),
        ("spam 1:1\n", "1:1: the target must be a finite number, got 'spam'"),
        ("1 1:1 2:2 1:3\n", "1:11: a row must have each column once, got '1:3' again"),
        ("1 4:1 2:0\r\n1 2:0 2:0\r\n", "2:7: a row must have each column once, got '2:0' again"),
        ("1 3:\r\n", "1:5: a value must be a finite number, got '3:'"),
        ("1 3: 4\n", "1:5: a value must be a finite number, got '3:'"),
        ("1 3 4\n", "1:4: expected index:value with a whole number as the index, got '3'"),
        ("1 -3:4\n", "1:3: expected index:value with a whole number as the index, got '-3:4'"),
        ("1 2147483647:1\n", "1:3: an index must be at most 2147483646, got '2147483647:1'"),
        ("1 qid:x 1:1\n", "1:7: expected qid: and a whole number, got 'qid:x'"),
        ("# nothing\n\n", "has no rows"),
    ],
)
def test_messages(path, text, message):
    path.write_text(text, newline="")
    with pytest.raises(InputError, match=re.escape(message) + "$"):
        read_svmlight(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.svm: no such file or directory"):
        read_svmlight(tmp_path / "nowhere.svm")


@pytest.mark.parametrize("options", [{"features": 0}, {"features": 1.5}, {"first_column": 2}, {"dtype": int}])
def test_options_are_checked(path, options):
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"{name} must be .*{re.escape(repr(value))}"):
        read_svmlight(path, **options)
