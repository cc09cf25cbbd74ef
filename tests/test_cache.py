"""Machine code is kept between processes, and never runs after what it was made from has changed."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import dualgap

HEAD = """
import json, sys

sys.path.insert(0, sys.argv[1])
import numpy as np
from numba.core import event

compiled = []

class Names(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Names())
import dualgap as dg
from dualgap.kernels import gap

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 5))
scores = X @ rng.standard_normal(5) + 0.5 * rng.standard_normal(40)
signs = np.where(scores > 0.0, 1.0, -1.0)

def mean(loss):
    "One kernel that calls the formulas of a loss."
    n = np.linspace(-1.0, 1.0, 7)
    return gap.loss_sum(loss, 0.5 * n, n[::-1].copy(), np.full(7, 1.0 / 7), np.ones(7))[0]
"""
TAIL = """
print(json.dumps([compiled, result]))
"""
OWN = """
import math
from typing import NamedTuple

import numba
import numpy as np

import helpers

SCALE = 1.0
WEIGHT = 0.5
FACTORS = np.array([1.0, 1.0])

@numba.njit
def half(x):
    return 0.5 * x

class Own(NamedTuple):
    delta: float = 1.0
    smoothness = 1.0

    def value(self, z, y):
        r = abs(z - y)
        quadratic = half(SCALE * FACTORS[1] * helpers.square(r))
        return quadratic if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def derivative(self, z, y):
        return np.sign(z - y) * min(self.delta, abs(z - y))

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b if abs(b) <= self.delta else math.inf

class Ridge(NamedTuple):
    l2: float

    @property
    def convexity(self):
        return self.l2

    def value(self, w):
        return WEIGHT * self.l2 * w * w

    def conjugate(self, a):
        return 0.5 * a * a / self.l2

    def primal(self, u, kappa):
        return u / (self.l2 + kappa)
"""
HELPERS = """
import numba

@numba.njit
def square(x):
    return x * x
"""


@pytest.fixture
def own(tmp_path):
    """A folder with own formulas."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.py").write_text(OWN)
    (folder / "helpers.py").write_text(HELPERS)
    return folder


def start(body, own, tmp_path, package=Path(dualgap.__file__).parents[1]):
    """A new process that runs the body, with the formulas in `own` and the machine code in the same folder as others of the test."""
    paths = [str(package), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])]
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    code = HEAD + textwrap.dedent(body) + TAIL
    return subprocess.Popen(
        [sys.executable, "-c", code, str(own)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def end(process):
    """The functions that a process has compiled, and its result."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output)


def run(*args, **kwargs):
    return end(start(*args, **kwargs))


SOLVES = """
    import scipy.sparse as sp
    from own import Own, Ridge

    def solved(X, y, loss, penalty, **options):
        return dg.solve(X, y, loss=loss, penalty=penalty, tol=1e-6, **options).primal

    result = [
        solved(X, signs, dg.SmoothHinge(1.0), dg.ElasticNet(1e-3, 1e-4), intercept=True, solver="adaptive"),
        solved(sp.csr_array(X.astype(np.float32)), signs, dg.Logistic(), dg.Box(dg.L2(1e-2), -1.0, 1.0), solver="prox_sdca"),
        solved(X, scores, Own(), Ridge(1e-2), solver="prox_sdca"),
        solved(X, np.arange(40) % 3, dg.Softmax(), dg.L2(1e-2), solver="prox_sdca"),
    ]
"""


def test_a_second_process_compiles_nothing(own, tmp_path):
    compiled, result = run(SOLVES, own, tmp_path)
    assert "scored_epoch" in compiled
    assert run(SOLVES, own, tmp_path) == [[], result]


def test_kept_code_finds_the_functions_it_calls(own, tmp_path):
    """A process that only reads machine code has not imported what numba needs to compile it."""
    (own / "special.py").write_text("""
import cmath
import math

import numpy as np

from own import Own

class Special(Own):
    def value(self, z, y):
        x = abs(z - y) + 1.0
        plain = math.erf(z) + math.lgamma(x) + math.expm1(z) + math.frexp(x)[0] + math.ldexp(x, 3) + x**y + x % 0.7 + x // 0.3 + round(x, 2)
        return plain + np.arctan2(z, y) + np.cbrt(x) + np.hypot(z, y) + np.sin(z) + (complex(z, x) ** 1.5).real + abs(cmath.exp(1j * z))
""")
    body = "from special import Special\nresult = mean(Special())"
    compiled, value = run(body, own, tmp_path)
    assert "loss_sum" in compiled
    assert run(body, own, tmp_path) == [[], value]


def test_other_parameters_need_no_other_code(own, tmp_path):
    body = "result = [mean(dg.Huber(1.0)), len(compiled), mean(dg.Huber(0.5)), len(compiled)]"
    _, (first, once, second, twice) = run(body, own, tmp_path)
    assert first != second
    assert once == twice > 0


MEAN = """
    from own import Own

    result = [mean(Own())]
    by_kernel = list(compiled)
    # plain Python calls compiled helpers, which are not of this package
    result.append(float(np.mean([Own().value(0.5 * n, -n) for n in np.linspace(-1.0, 1.0, 7)])))
    compiled[:] = by_kernel
"""


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("own.py", "self.delta * (r - 0.5 * self.delta)", "self.delta * (r - 0.25 * self.delta)"),
        ("own.py", "SCALE = 1.0", "SCALE = 3.0"),
        ("own.py", "FACTORS = np.array([1.0, 1.0])", "FACTORS = np.array([1.0, 3.0])"),
        ("own.py", "return 0.5 * x", "return 0.75 * x"),
        ("own.py", "delta: float = 1.0", "delta: float = 2.0"),
        ("helpers.py", "return x * x", "return x * x * x"),
    ],
    ids=["method", "constant", "array", "function", "default", "other module"],
)
def test_an_edited_loss_is_not_served_stale(own, tmp_path, file, before, after):
    compiled, (value, plain) = run(MEAN, own, tmp_path)
    assert "loss_sum" in compiled
    assert value == pytest.approx(plain, rel=1e-14)
    text = (own / file).read_text()
    assert before in text
    (own / file).write_text(text.replace(before, after))
    _, (edited, edited_plain) = run(MEAN, own, tmp_path)
    assert edited == pytest.approx(edited_plain, rel=1e-14)
    assert edited != pytest.approx(value, rel=1e-3)


def test_a_solve_with_an_edited_penalty_is_that_of_the_edited_penalty(own, tmp_path):
    body = """
        from own import Own, Ridge

        s = dg.solve(X, scores, loss=Own(), penalty=Ridge(1.0), solver="prox_sdca", tol=1e-9)
        penalty = sum(Ridge(1.0).value(w) for w in s.w)
        result = [s.primal, float(np.mean([Own().value(z, y) for z, y in zip(X @ s.w, scores)])) + penalty, s.status.name]
    """
    text = (own / "own.py").read_text()
    found = []
    for twice in (False, True):
        # R(w) = l2 w^2 has twice the modulus, and half the minimizer
        edited = text.replace("WEIGHT = 0.5", "WEIGHT = 1.0").replace("0.5 * a * a / self.l2", "0.25 * a * a / self.l2")
        edited = edited.replace("u / (self.l2 + kappa)", "u / (2.0 * self.l2 + kappa)").replace("return self.l2", "return 2.0 * self.l2")
        (own / "own.py").write_text(edited if twice else text)
        _, (primal, plain, status) = run(body, own, tmp_path)
        assert primal == pytest.approx(plain, rel=1e-12)
        assert status == "CERTIFIED"
        found.append(primal)
    assert found[1] > 1.01 * found[0]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("losses.py", "self.delta * (r - 0.5 * self.delta)", "self.delta * (r - 0.25 * self.delta)"),
        (
            "kernels/gap.py",
            "term = share[r] * formulas.value(loss, z[r], y[r])",
            "term = 2.0 * share[r] * formulas.value(loss, z[r], y[r])",
        ),
    ],
)
def test_another_version_of_the_package_does_not_run_old_code(own, tmp_path, file, before, after):
    package = tmp_path / "package"
    shutil.copytree(Path(dualgap.__file__).parent, package / "dualgap", ignore=shutil.ignore_patterns("__pycache__"))
    body = "result = [mean(dg.Huber(1.0)), dg.__file__]"
    _, (value, file_run) = run(body, own, tmp_path, package=package)
    assert Path(file_run).is_relative_to(package)
    path = package / "dualgap" / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    compiled, (edited, _) = run(body, own, tmp_path, package=package)
    assert "loss_sum" in compiled
    assert edited > 1.01 * value


def test_a_class_that_no_other_process_can_find_is_compiled_and_not_kept(own, tmp_path):
    body = """
        from own import Own

        class Local(Own):
            pass

        result = mean(Local())
    """
    first = run(body, own, tmp_path)
    assert "loss_sum" in first[0]
    assert run(body, own, tmp_path) == first
    assert not list((tmp_path / "cache").rglob("*.nbc"))


def test_a_file_cut_short_is_written_anew(own, tmp_path):
    body = "result = mean(dg.Huber(1.0))"
    compiled, value = run(body, own, tmp_path)
    for left in (0, 1000):
        files = list((tmp_path / "cache").rglob("*.nbc"))
        assert len(files) == 1
        files[0].write_bytes(files[0].read_bytes()[:left])
        assert run(body, own, tmp_path) == [compiled, value]
    assert run(body, own, tmp_path) == [[], value]


def test_everything_works_where_nothing_can_be_written(own, tmp_path):
    without = """
        from numba.core import caching

        caching.CacheImpl._locator_classes.clear()
        for name in [name for name in sys.modules if name.startswith("dualgap")]:
            del sys.modules[name]
        import dualgap as dg
        from dualgap.kernels import gap

        result = mean(dg.Huber(1.0))
    """
    _, value = run(without, own, tmp_path)
    assert value == run("result = mean(dg.Huber(1.0))", own, tmp_path)[1]


def test_processes_that_compile_at_once_do_not_disturb_one_another(own, tmp_path):
    bodies = ["result = [mean(dg.Huber(1.0)), mean(dg.Logistic())]", "result = [mean(dg.Logistic()), mean(dg.Huber(1.0))][::-1]"] * 2
    processes = [start(body, own, tmp_path) for body in bodies]
    results = [end(process)[1] for process in processes]
    assert results == [results[0]] * len(bodies)
    assert run(bodies[0], own, tmp_path) == [[], results[0]]
