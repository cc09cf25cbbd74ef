"""The report: complete, well-formed and escaped for every kind of problem, and in a real browser right at any width and in the dark."""

import json
import re
import shutil
import subprocess
import sys
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualgap as dg
from dualgap.report.html import number, told_apart
from dualgap.report.svg import HEIGHT, WIDTH, Axis, label, line_chart, scatter_chart

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
SIGNS = np.sign(X[:, 0] + 0.5 * RNG.standard_normal(60))
NUMBERS = X[:, 0] - X[:, 2] + 0.1 * RNG.standard_normal(60)
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
PROBLEMS = {
    "logistic": (dg.Logistic(), dg.ElasticNet(l1=1e-2, l2=1e-3), SIGNS),
    "hinge": (dg.Hinge(), dg.L2(1e-2), SIGNS),
    "squared": (dg.Squared(), dg.L1(1e-1), NUMBERS),
    "quantile": (dg.Quantile(0.9), dg.L2(1e-1), NUMBERS),
    "softmax": (dg.Softmax(), dg.L2(1e-2), CLASSES),
    "crammer_singer": (dg.MaxHinge(), dg.L2(1e-1), CLASSES),
    "groups": (dg.Squared(), dg.GroupL1(l1=0.1, l2=0.0, groups=np.array([0, 0, 1, 1, 2])), NUMBERS),
}
VOID = {"meta", "br", "circle", "line", "rect", "path", "polyline", "col"}


class Page(HTMLParser):
    """The text, the tags and the attributes of a page; a tag that is not closed, or closed twice, is an error."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.tags, self.attributes = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.text).split())


def fit(name, **options):
    loss, penalty, y = PROBLEMS[name]
    return dg.solve(X[:40], y[:40], loss=loss, penalty=penalty, intercept=True, **{"tol": 1e-5, **options})


def report(tmp_path, s, **options):
    s.report(tmp_path / "r.html", **options)
    return (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_report_is_well_formed_complete_and_loads_nothing(name, tmp_path):
    s = fit(name)
    html = report(tmp_path, s, X_test=X[40:], y_test=PROBLEMS[name][2][40:])
    page = Page(html)
    assert s.status.value in page.said
    assert number(s.relative_gap) in page.said
    digits = told_apart(s.primal, s.primal - s.gap)
    assert number(s.primal, digits) != number(s.primal - s.gap, digits)
    assert number(s.primal - s.gap, digits) in page.said
    for heading in ("Certificate", "Progress", "How it was solved", "Coefficients", "Held-out data", "Every certificate"):
        assert heading in page.said
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not [v for k, v in page.attributes if k in ("src", "href", "srcset", "xlink:href", "action") or "//" in (v or "")]
    assert "url(" not in html
    assert "@import" not in html
    assert page.tags.count("svg") == 5 + (getattr(s.loss, "labels", "") == "real")
    assert all(note in page.said for note in s.notes)


def test_what_auto_chose_and_why_is_said(tmp_path):
    page = Page(report(tmp_path, fit("logistic")))
    assert "40 rows, 5 features, and R^2/(lambda gamma n) =" in page.said
    assert "How the solver is chosen" in page.said
    assert "How the solver is chosen" not in Page(report(tmp_path, fit("logistic", solver="fista"))).said


@given(st.floats(1e-6, 1e6), st.floats(1e-14, 1.0))
def test_objective_and_bound_are_shown_with_enough_digits(primal, gap):
    lower = primal * (1.0 - gap)
    digits = told_apart(primal, lower)
    assert number(primal, digits) != number(lower, digits)
    assert digits <= 17


def test_estimators_know_their_names(tmp_path):
    from sklearn.exceptions import NotFittedError

    labels = np.where(SIGNS > 0.0, "tall", "small")
    for model in (dg.LogisticRegression(), dg.LinearSVC(), dg.RidgeClassifier(), dg.LinearClassifier("softmax")):
        with pytest.raises(NotFittedError):
            model.report(tmp_path / "r.html")
        model.fit(X[:40], labels[:40])
        model.report(tmp_path / "r.html", X_test=X[40:], y_test=labels[40:])
        said = Page((tmp_path / "r.html").read_text(encoding="utf-8")).said
        right = int(np.sum(model.predict(X[40:]) == labels[40:]))
        assert f"{type(model).__name__}" in said
        assert f"{right} of 20 rows are classified correctly" in said
        assert all(name in said for name in ("tall", "small", "feature 0"))
        assert model.solution_.primal == model.primal_
        with pytest.raises(ValueError, match="y_test must hold classes of the fit, small, tall, got wide"):
            model.report(tmp_path / "r.html", X_test=X[40:], y_test=np.full(20, "wide"))
        model.feature_names_in_ = np.array([f"column {j}" for j in range(5)])
        model.report(tmp_path / "r.html")
        assert "column 0" in Page((tmp_path / "r.html").read_text(encoding="utf-8")).said
    model = dg.Ridge().fit(X, NUMBERS)
    model.report(tmp_path / "r.html", X_test=X, y_test=NUMBERS, title="A title")
    assert "A title" in Page((tmp_path / "r.html").read_text(encoding="utf-8")).said
    several = dg.LinearSVC().fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"this LinearSVC has made 3, .* write that of solution_\[k\]"):
        several.report(tmp_path / "r.html")
    several.solution_[1].report(tmp_path / "r.html")


def test_a_solve_that_stopped_short_says_so(tmp_path):
    s = fit("logistic", tol=1e-14, max_passes=2, solver="prox_sdca")
    said = Page(report(tmp_path, s)).said
    assert s.status is dg.Status.MAX_PASSES
    assert "ended short of its tolerance" in said
    assert number(s.gap) in said


def test_names_are_shown_in_order_of_size_and_escaped(tmp_path):
    s = fit("squared")
    names = ["<script>alert(1)</script>", "a & b", 'q"uote', "d", "e"]
    html = report(tmp_path, s, feature_names=names, title="<b>bold</b>")
    page = Page(html)
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "<b>bold</b>" in page.said
    order = [names[j] for j in np.argsort(-np.abs(s.w)) if s.w[j] != 0.0]
    places = [html.index(escape(name)) for name in order]
    assert len(order) >= 2
    assert places == sorted(places)
    shown = [name for name in names if f'<th scope="row">{escape(name)}</th>' in html]
    assert sorted(shown) == sorted(order)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_the_confusion_matrix_counts_every_row(name, tmp_path):
    s, y = fit(name), PROBLEMS[name][2][40:]
    z = X[40:] @ s.w + s.intercept
    said = z.argmax(axis=1) if z.ndim == 2 else np.where(z > 0.0, 1, -1)
    labels = np.unique(PROBLEMS[name][2])
    html = report(tmp_path, s, X_test=X[40:], y_test=y)
    table = re.search(r'<table class="confusion".*?</table>', html).group()
    counts = [int(cell) for cell in re.findall(r"<td[^>]*background[^>]*>(\d+)</td>", table)]
    assert counts == [int(np.sum((y == a) & (said == b))) for a in labels for b in labels]
    assert f"{int(np.sum(y == said))} of 20 rows are classified correctly" in Page(html).said


def test_residuals_are_those_of_the_model(tmp_path):
    s = fit("squared")
    html = report(tmp_path, s, X_test=X[40:], y_test=NUMBERS[40:])
    residual = NUMBERS[40:] - X[40:] @ s.w - s.intercept
    assert (
        f"Root mean squared error {np.sqrt(np.mean(residual**2)):.4g}, mean absolute error {np.abs(residual).mean():.4g}" in Page(html).said
    )
    assert html.count('class="dot"') == 20


def test_many_classes_and_many_rows_stay_readable(tmp_path):
    k = 40
    y = np.arange(400) % k
    wide = RNG.standard_normal((400, 6))
    s = dg.solve(wide, y, loss=dg.Softmax(), penalty=dg.L2(1e-1), tol=1e-3)
    html = report(tmp_path, s, X_test=wide, y_test=y, class_names=[f"kind {c}" for c in range(k)])
    assert "What is confused most" in html
    assert "The first 30 of 40 classes." in html
    long = dg.solve(np.tile(X, (40, 1)), np.tile(NUMBERS, 40), loss=dg.Squared(), penalty=dg.L2(1e-1), tol=1e-3)
    html = report(tmp_path, long, X_test=np.tile(X, (40, 1)), y_test=np.tile(NUMBERS, 40))
    assert html.count('class="dot"') == 1500
    assert "on 2,400 rows. 1,500 of the rows are drawn" in html


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"feature_names": ["a"]}, "feature_names must hold 5 names, got 1"),
        ({"feature_names": "abcde"}, "feature_names must hold 5 names, got 'abcde'"),
        ({"class_names": ["a", "b", "c"]}, "class_names must hold 2 names, got 3"),
        ({"X_test": X}, "X_test and y_test must be given together, got only X_test"),
        ({"y_test": SIGNS}, "X_test and y_test must be given together, got only y_test"),
        ({"X_test": X[:, :2], "y_test": SIGNS}, "X_test must have at least one row and 5 columns"),
        ({"X_test": X, "y_test": SIGNS[:3]}, "y_test must have one target per row"),
        ({"X_test": X, "y_test": SIGNS + 1.0}, "y_test must hold the labels -1 and \\+1, got [02]"),
        ({"X_test": X * np.inf, "y_test": SIGNS}, "X_test must hold finite numbers"),
        ({"X_test": X, "y_test": SIGNS * np.nan}, "y_test must hold finite numbers"),
    ],
)
def test_bad_input_is_named(options, error, tmp_path):
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ValueError, match=error),
    ):
        fit("logistic").report(tmp_path / "r.html", **options)
    assert not (tmp_path / "r.html").exists()


positive = st.floats(1e-12, 1e12)


@given(st.lists(positive, min_size=1, max_size=5), st.booleans())
def test_ticks_lie_in_the_range_in_order_and_read_differently(values, log):
    axis = Axis.over(np.array(values), log=log)
    ticks = axis.ticks()
    assert all(0.0 <= axis.at(v) <= 1.0 for v in values)
    assert all(-1e-9 <= axis.at(t) <= 1.0 + 1e-9 for t in ticks)
    assert ticks == sorted(ticks)
    assert 2 <= len(ticks) <= 15
    spread = max(values) / min(values)
    if log or spread > 1.01 or spread == 1.0:
        assert len({label(t) for t in ticks}) == len(ticks)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6), st.booleans())
def test_charts_stay_inside_their_picture(points, scatter):
    x, y = np.array(points).T
    common = {"x_label": "x", "y_label": "y", "description": "d"}
    text = scatter_chart(x, y, **common) if scatter else line_chart(x, {"a": y, "b": 2.0 * y}, **common)
    Page(text)
    for cx, cy in re.findall(r'cx="([^"]*)" cy="([^"]*)"', text):
        assert 0.0 <= float(cx) <= WIDTH
        assert 0.0 <= float(cy) <= HEIGHT


def test_plot_draws_the_gap_against_passes_and_seconds():
    s = fit("logistic")
    axes = s.plot().axes
    for panel, x in zip(axes, (s.history.passes, s.history.seconds), strict=True):
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        gap, primal, dual = (line.get_ydata() for line in panel.lines)
        np.testing.assert_allclose(panel.lines[0].get_xdata(), x)
        np.testing.assert_allclose(gap, s.history.gap / s.null)
        assert np.all(primal <= gap * (1.0 + 1e-9))
        assert np.all(dual <= gap * (1.0 + 1e-9))
        np.testing.assert_allclose([primal[-1], dual[-1]], s.relative_gap, rtol=1e-3)


def test_without_matplotlib_the_extra_is_named_and_the_report_still_works(tmp_path):
    code = f"""
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
import dualgap as dg
s = dg.solve([[1.0], [2.0], [3.0]], [-1.0, 1.0, 1.0], loss=dg.Logistic(), penalty=dg.L2(0.1))
s.report({str(tmp_path / "r.html")!r})
try:
    s.plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert "dualgap[plot]" in done.stdout
    Page((tmp_path / "r.html").read_text(encoding="utf-8"))


def colours(theme):
    """The variables of the light theme, or of the dark one."""
    from importlib.resources import files

    css = (files("dualgap.report") / "report.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--([\w-]+): (#\w{6})", css.split("@media (prefers-color-scheme: dark)")[theme == "dark"].split("* {")[0]))


def contrast(a, b):
    """The ratio of the Web Content Accessibility Guidelines."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_accessible(theme):
    c = colours(theme)
    for text in ("ink", "soft", "good", "warn"):
        for ground in ("paper", "panel"):
            assert contrast(c[text], c[ground]) >= 4.5
    for line in ("c0", "c1", "c2", "bar", "bar-minus"):
        assert contrast(c[line], c["paper"]) >= 3.0


# In a real browser: the report in frames of several widths, measured by a script around it (it has none of its own).
PROBE = """<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><pre id="found"></pre>
<script>
const widths = [1200, 768, 375, 320], found = {};
let left = widths.length;
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    page.querySelectorAll("details").forEach(d => d.open = true);
    const inWide = e => e.closest(".wide") && !e.classList.contains("wide");
    const cut = [...page.querySelectorAll("body *")].filter(e => !inWide(e) && e.getBoundingClientRect().right > width + 1);
    const texts = [...page.querySelectorAll("figure svg text")];
    const overlaps = [];
    for (const svg of page.querySelectorAll("figure svg")) {
      const boxes = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
      boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1) overlaps.push(a + " | " + b);
      }));
    }
    found[width] = {
      scroll: root.scrollWidth, cut: cut.map(e => e.tagName + "." + e.className), overlaps,
      scale: Math.min(...[...page.querySelectorAll("figure svg")].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)),
      outside: texts.filter(t => { const b = t.getBoundingClientRect(), s = t.closest("svg").getBoundingClientRect();
        return b.left < s.left - 1 || b.right > s.right + 1 || b.bottom > s.bottom + 1; }).map(t => t.textContent),
      loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
      ground: getComputedStyle(page.body).backgroundColor, ink: getComputedStyle(page.body).color,
      headings: [...page.querySelectorAll("h2")].map(h => h.textContent),
    };
    if (--left === 0) document.getElementById("found").textContent = JSON.stringify(found);
  };
  frame.srcdoc = REPORT;
  document.body.append(frame);
}
</script></body></html>"""
FLAGS = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"]
FLAGS += ["disable-component-update", "disable-sync", "virtual-time-budget=5000", "dump-dom"]


def browse(html, tmp_path, *, dark=False):
    """What the browser measured, by width."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("no chromium or chrome is installed")
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.replace("REPORT", json.dumps(html).replace("</", "<\\/")), encoding="utf-8")
    flags = [*FLAGS, f"user-data-dir={tmp_path / 'profile'}", f"blink-settings=preferredColorScheme={0 if dark else 1}"]
    done = subprocess.run(
        [browser, *("--" + flag for flag in flags), probe.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL).group(1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logistic", "squared", "softmax"])
def test_in_a_browser_nothing_is_cut_or_overlaps_at_any_width(name, tmp_path):
    y = PROBLEMS[name][2]
    names = ["short", "a_very_long_name_of_a_feature_without_a_single_space_in_it_" * 2, "b", "words " * 20, "e"]
    html = report(tmp_path, fit(name), X_test=X[40:], y_test=y[40:], feature_names=names)
    for width, page in browse(html, tmp_path).items():
        assert page["scroll"] <= int(width), width
        assert page["cut"] == [], width
        assert page["overlaps"] == [], width
        assert page["outside"] == [], width
        assert page["scale"] >= 0.8, width  # of letters of 12 pixels
        assert page["loaded"] == 0
        assert page["headings"] == [
            "Certificate",
            "Progress",
            "How it was solved",
            "Coefficients",
            "Held-out data",
            "Every certificate",
        ]


@pytest.mark.slow
def test_in_a_browser_the_page_is_dark_where_that_is_preferred(tmp_path):
    def brightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    html = report(tmp_path, fit("logistic"))
    light, dark = (browse(html, tmp_path, dark=dark)["1200"] for dark in (False, True))
    assert brightness(light["ground"]) > 700 > 200 > brightness(light["ink"])
    assert brightness(dark["ground"]) < 100 < 600 < brightness(dark["ink"])
