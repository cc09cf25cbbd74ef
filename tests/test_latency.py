"""How long a new process waits for its first fit, against the import of numba and scipy, which a busy machine slows down as much.

On a machine where that takes 0.2 seconds the bounds are 0.2 seconds for the import, 0.5 for a first fit and 4 where nothing is on disk.
"""

import pytest
from benchmarks.micro import latency

PROCESSOR = 1
SCALE = "import numba, scipy.sparse"


@pytest.fixture(scope="module")
def taken():
    return {title: seconds[PROCESSOR] for title, seconds in latency.measure(2).items()}


@pytest.mark.parametrize(
    ("title", "most"),
    [
        ("import dualgap", 1.0),
        ("first fit, machine code on disk", 2.5),
        ("first fit, nothing on disk", 25.0),
        ("the same fit again", 0.25),
    ],
)
def test_nobody_waits_long(taken, title, most):
    assert taken[title] <= most * taken[SCALE]


def test_import_brings_nothing_large_along(tmp_path):
    code = 'import json, sys, dualgap; print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))'
    modules = latency.run(code, cache=tmp_path)
    assert "dualgap" in modules
    assert not {"numba", "llvmlite", "scipy", "sklearn", "rich", "matplotlib", "pandas"} & set(modules)
