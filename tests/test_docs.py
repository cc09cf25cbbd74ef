"""The code of the documentation runs and prints what stands below it, and its links lead somewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Runs the blocks one after the other, as in one interactive session, and reports what each prints.
RUN = """
import contextlib, io, json, sys

sys.path.insert(0, ".")
names, printed = {"__name__": "__main__"}, []
for k, block in enumerate(json.load(sys.stdin)):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block, f"block {k + 1}", "exec"), names)
    printed.append(output.getvalue())
print(json.dumps(printed))
"""


def blocks(page):
    """The kinds and the texts of the blocks of code."""
    return BLOCK.findall(page.read_text())


def links(page):
    """Where the links and the pictures of a page point, code aside."""
    return re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", page.read_text()))


def anchors(page):
    """The names of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_pages():
    assert {"README.md", "own_losses.md", "kernels.md", "certificates.md"} <= {page.name for page in PAGES}


def test_the_index_lists_every_page():
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= set(links(ROOT / "docs" / "README.md"))


@pytest.mark.parametrize("page", [page for page in PAGES if any(kind == "python" for kind, _ in blocks(page))], ids=lambda page: page.name)
def test_code_runs_and_prints_what_is_shown(page, tmp_path):
    code, shown, before = [], {}, ""
    for kind, text in blocks(page):
        file = re.match(r"# (\w+\.py)\n", text)
        if kind == "python" and file:
            (tmp_path / file[1]).write_text(text)
        elif kind == "python":
            code.append(text)
        elif kind == "text" and before == "python":
            shown[len(code) - 1] = text
        before = kind
    # seen from another folder, the package must still be the one that is tested
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN],
        input=json.dumps(code),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert {k: printed[k] for k in shown} == shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert target.is_relative_to(ROOT), f"{page.name} links outside the repository: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    for path in re.findall(r"`((?:src|docs|tests|benchmarks)/[\w/.*-]+)`", page.read_text()):
        assert list(ROOT.glob(path)), f"{page.name} names {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_print_tables_exist(page):
    for module in set(re.findall(r"python -m ((?:benchmarks|dualgap)[\w.]*)", page.read_text())):
        done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr
