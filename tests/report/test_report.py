"""The report: its figures against the library, its page as text, and its page in a real browser."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC, radius_max, worst_case_risk
from drsvm.learn.model_selection import WassersteinSVCCV
from drsvm.model.problem import Problem
from drsvm.report import Report, make_report

pytest.importorskip("matplotlib")

NASTY = "<script>alert('&')</script>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def noisy():
    """Return breast-cancer data with a fifth of the training labels wrong: training, test, and which are wrong."""
    bunch = load_breast_cancer()
    names = bunch.target_names[bunch.target]
    wrong = np.random.default_rng(1).random(400) < 0.2
    train = np.where(wrong, bunch.target_names[1 - bunch.target[:400]], names[:400])
    return bunch.data[:400], train, bunch.data[400:], names[400:], wrong, bunch.feature_names


@pytest.fixture(scope="module")
def report(noisy):
    X, y, X_test, y_test, _, names = noisy
    told = []
    made = make_report(
        X,
        y,
        X_test=X_test,
        y_test=y_test,
        feature_names=names,
        title="Tumours",
        progress=lambda share, text: told.append((share, text)),
    )
    return made, told


@pytest.fixture(scope="module")
def nasty_report():
    """Return the report on three classes whose names, like those of rows and features, are long or hostile."""
    rng = np.random.default_rng(2)
    classes = np.array([NASTY, "x" * 90, "plain"])
    y = classes[rng.integers(3, size=90)]
    X = pd.DataFrame(
        rng.normal(size=(90, 4)) + (y == "plain")[:, None],
        columns=[NASTY, "f" * 120, "$a_b$ 100 %", "größe 大小"],
        index=[f"{NASTY}{k}" if k % 2 else "r" * 100 + str(k) for k in range(90)],
    )
    return make_report(X, y, title=f"{NASTY} {'T' * 150}", model=WassersteinSVC(radius=0.3, norm="inf"))


@pytest.fixture
def no_plots(monkeypatch):
    """Omit the plots in tests about numbers: they take most of the time."""
    monkeypatch.setattr("drsvm.report.draw_all", lambda analysis: defaultdict(str))


# Figures


def test_the_summary_agrees_with_a_manual_fit(noisy, report):
    X, y, X_test, y_test, _, _ = noisy
    summary = report[0].summary
    model = make_pipeline(StandardScaler(), WassersteinSVC()).fit(X, y)
    robust = model[-1]
    assert summary["objective"] == pytest.approx(robust.objective_, abs=1e-7)
    assert 0 <= summary["gap"] == summary["objective"] - summary["lower_bound"] <= 1e-6
    assert (summary["n_samples"], summary["n_features"]) == X.shape
    assert summary["classes"] == ["benign", "malignant"] and summary["positive"] == "malignant"
    own = summary["models"]["WassersteinSVC"]
    assert own["train_accuracy"] == model.score(X, y) and own["test_accuracy"] == model.score(X_test, y_test)
    assert own["worst_case_risk"] == pytest.approx(summary["objective"], rel=1e-10)
    plain = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    ball = {"radius": summary["radius"], "flip_cost": summary["flip_cost"]}
    rival = summary["models"]["LinearSVC"]
    assert rival["test_accuracy"] == plain.score(X_test, y_test)
    assert rival["worst_case_risk"] == pytest.approx(worst_case_risk(plain, X, y, **ball), rel=1e-6)
    assert rival["worst_case_error"] == pytest.approx(worst_case_risk(plain, X, y, loss="zero-one", **ball), rel=1e-6)
    assert own["worst_case_risk"] < rival["worst_case_risk"]


def test_the_summary_is_ready_for_json(report):
    text = json.dumps(report[0].summary, allow_nan=False)
    assert json.loads(text) == report[0].summary


def test_the_labels_to_check_are_mostly_wrong(noisy, report):
    wrong = noisy[4]
    rows = [int(row) for row in report[0].summary["labels_to_check"]]
    assert len(rows) == 20 and wrong[rows].mean() >= 0.8


def test_the_path_ends_at_radius_max_and_contains_the_radius_in_use(noisy, report):
    X, y, *_ = noisy
    path, radius = report[0].summary["radius_path"], report[0].summary["radius"]
    problem = Problem(StandardScaler().fit_transform(X), y, flip_cost=5.0, fit_intercept=True)
    assert max(path["radius"]) == pytest.approx(radius_max(problem), rel=1e-5)
    assert radius in path["radius"]
    at_radius = path["objective"][path["radius"].index(radius)]
    assert at_radius == pytest.approx(report[0].summary["objective"], abs=2e-5)
    assert max(path["gap"]) <= 1e-5


@pytest.mark.usefixtures("no_plots")
def test_rows_have_the_given_names(noisy, report):
    X, y, *_ = noisy
    named = make_report(X, y, row_names=[f"patient {k}" for k in range(400)], row_note="Named by <patient>.")
    rows = report[0].summary["labels_to_check"]
    assert named.summary["labels_to_check"] == [f"patient {row}" for row in rows]
    assert f"patient {rows[0]}<" in named.html
    assert "Named by &lt;patient&gt;." in named.html and "numbered by row" not in named.html
    assert "Samples are numbered by row, from 0." in report[0].html
    assert "Samples are named by the index of the data frame." in make_report(pd.DataFrame(X), y).html


def test_progress_is_reported_in_order(report):
    shares = [share for share, _ in report[1]]
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 1
    assert report[1][-1] == (1.0, "done") and len({text for _, text in report[1]}) == 6


@pytest.mark.usefixtures("no_plots")
def test_several_classes_show_the_largest_or_the_chosen_one():
    X, y = load_wine(return_X_y=True, as_frame=True)
    chosen = make_report(X, y, positive=2).summary
    assert chosen["positive"] == 2
    made = make_report(X, y)
    summary = made.summary
    assert summary["positive"] == int(y.mode()[0]) == 1 and len(summary["certificates"]) == 3
    assert summary["objective"] == summary["certificates"][1]["objective"]
    # Equal only if the audit weights the rows as the fit did.
    assert summary["models"]["WassersteinSVC"]["worst_case_risk"] == pytest.approx(summary["objective"], rel=1e-9)
    assert summary["models"]["WassersteinSVC"]["train_accuracy"] > 0.95
    assert "against the rest" in made.html
    with pytest.raises(ValueError, match=r"positive=7 is not one of the classes \[0, 1, 2\]"):
        make_report(X, y, positive=7)


@pytest.mark.usefixtures("no_plots")
def test_the_report_uses_the_settings_of_the_model(noisy):
    X, y, *_ = noisy
    model = WassersteinSVC(radius=0.2, flip_cost=np.inf, norm=1, l2=0.01, class_weight="balanced")
    summary = make_report(X[:, :6], y, model=model).summary
    assert (summary["radius"], summary["flip_cost"], summary["norm"], summary["l2"]) == (0.2, "inf", 1.0, 0.01)
    weights = np.array(list(summary["weights"].values()))
    risk = summary["models"]["WassersteinSVC"]["worst_case_risk"]
    assert summary["objective"] == pytest.approx(risk + 0.005 * weights @ weights, rel=1e-9)
    assert summary["flipped_share"] == 0 < summary["moved_share"]
    assert not hasattr(model, "coef_")  # a clone was fitted


@pytest.mark.usefixtures("no_plots")
def test_a_pipeline_keeps_its_steps_and_names(noisy):
    X, y, *_ = noisy
    pipeline = make_pipeline(StandardScaler(), PCA(3), WassersteinSVC())
    made = make_report(X, y, model=pipeline, feature_names=[f"f{k}" for k in range(30)])
    assert set(made.summary["weights"]) == {"pca0", "pca1", "pca2"}


@pytest.mark.usefixtures("no_plots")
def test_the_report_uses_the_parameters_chosen_by_the_fit(noisy):
    X, y, *_ = noisy
    model = WassersteinSVCCV(radii=[0.3, 0.1], flip_costs=[2.0], cv=2)
    summary = make_report(X[:100, :5], y[:100], model=model).summary
    assert summary["radius"] in (0.1, 0.3) and summary["flip_cost"] == 2.0
    assert summary["models"]["WassersteinSVC"]["worst_case_risk"] == pytest.approx(summary["objective"], rel=1e-9)
    assert 0 < make_report(X[:100, :5], y[:100], model=WassersteinSVC(radius="auto")).summary["radius"] < 1


@pytest.mark.usefixtures("no_plots")
def test_sparse_data_are_scaled_without_centring(noisy):
    X, y = noisy[0][:150, 4:10], noisy[1][:150]
    X = X * (np.median(X, axis=0) < X)
    summary = make_report(sparse.csr_matrix(X), y).summary
    expected = WassersteinSVC().fit(StandardScaler(with_mean=False).fit_transform(X), y)
    assert summary["objective"] == pytest.approx(expected.objective_, abs=1e-7)
    unscaled = make_report(X, y, standardise=False).summary
    assert unscaled["objective"] == pytest.approx(WassersteinSVC().fit(X, y).objective_, abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"radius": 5.0, "flip_cost": 1.0}, {"radius": 0.0}, {"radius": 0.1, "flip_cost": 0.0}, {"max_iter": 1}],
    ids=["constant", "no adversary", "free flips", "stopped early"],
)
def test_corner_cases_have_a_page_and_their_warnings_on_it(noisy, settings):
    X, y, *_ = noisy
    made = make_report(X[:60, :4], y[:60], model=WassersteinSVC(**settings))
    assert made.html.count("<h2>") == 6
    for warning in made.summary["warnings"]:
        assert escape(warning) in made.html
    assert bool(made.summary["warnings"]) == ("radius" not in settings or settings["radius"] > 0)


# The page


class Reader(HTMLParser):
    """Collects open tags, ids, and addresses."""

    VOID = frozenset({"meta", "br", "wbr", "link", "img", "hr", "input"})

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses, self.tags = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [value for name, value in attrs if name in ("href", "xlink:href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


def test_the_page_is_self_contained(report, nasty_report):
    for page in (report[0], nasty_report):
        reader = read(page.html)
        assert reader.open == [] and len(reader.ids) == len(set(reader.ids))
        assert not reader.tags & {"script", "link", "img", "iframe"}
        assert all(address[1:] in reader.ids for address in reader.addresses)  # plots refer only to themselves
        assert "http" not in page.html.replace("http-equiv", "") and "@import" not in page.html
        assert page.html.count("<svg") == 5


def test_strings_of_the_user_are_text(nasty_report):
    assert NASTY not in nasty_report.html
    assert escape(NASTY) in nasty_report.html
    seen = unescape(nasty_report.html)
    for name in ("$a_b$ 100 %", "größe 大小", "f" * 120, NASTY):
        assert name in seen


def test_the_page_shows_what_was_proven(report):
    made, summary = report[0], report[0].summary
    shown = [float(number) for number in re.findall(r"<strong>(0\.\d+)</strong>", made.html)[:2]]
    assert shown == pytest.approx([summary["objective"], summary["lower_bound"]], abs=1e-8) and shown[0] > shown[1]
    text = re.sub(r"<[^>]+>", "", made.html.split("</style>")[1])
    assert "distinguishes malignant and benign by 30 features" in text and "nan" not in text.lower().split()


def test_two_runs_make_the_same_page(noisy):
    X, y, *_ = noisy
    pages = [re.sub(r"[\d.]+\u202fs<", "", make_report(X[:60, :3], y[:60]).html) for _ in range(2)]
    assert pages[0] == pages[1]


# Files


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    assert Report(html="größer", summary={}).save(target) == target
    assert target.read_text(encoding="utf-8") == "größer"
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        Report(html="new", summary={}).save(target)
    assert target.read_text(encoding="utf-8") == "größer"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        Report(html="new", summary={}).save(tmp_path / "nowhere" / "page.html")


def test_the_plot_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    from drsvm import demo

    def cut_off(self, target, **_):
        stream = target if hasattr(target, "write") else open(target, "wb")  # noqa: SIM115
        stream.write(b"PNG")
        raise OSError("the disk is full")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", cut_off)
    with pytest.raises(OSError, match="the disk is full"):
        demo.draw(demo.load())
    assert list(tmp_path.iterdir()) == []


def _umask():
    current = os.umask(0)
    os.umask(current)
    return current


# Errors


def test_bad_input_is_rejected(noisy, monkeypatch):
    X, y, X_test, y_test, _, _ = noisy
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        make_report(X, y, X_test=X_test)
    with pytest.raises(ValueError, match=r"feature_names has 2 entries, but X has shape \(400, 30\)"):
        make_report(X, y, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="row_names has 1 entries, but X has 400 rows: give one per row"):
        make_report(X, y, row_names=["first"])
    with pytest.raises(TypeError, match=r"model must be an unfitted WassersteinSVC .* got LinearSVC"):
        make_report(X, y, model=LinearSVC())
    with pytest.raises(ValueError, match="y_test has the label 'unknown', but the training data have"):
        make_report(X, y, X_test=X_test, y_test=np.where(np.arange(169) == 3, "unknown", y_test))
    with pytest.raises(ValueError, match="X_test has 169 rows, but y_test has 5 labels"):
        make_report(X, y, X_test=X_test, y_test=y_test[:5])
    with pytest.raises(ValueError, match="one class"):
        make_report(X, np.zeros(400))
    with pytest.raises(TypeError, match="progress must be a function"):
        make_report(X, y, progress=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'make_report needs matplotlib: pip install "drsvm\[plot\]"'):
        make_report(X, y)


# The page in a browser

MEASURE = """<!DOCTYPE html><body style="margin:0">%s<pre id="answer">nothing</pre><script>
function measure(frame) {
  const page = frame.contentDocument, width = frame.clientWidth, root = page.documentElement;
  const beyond = [...page.body.querySelectorAll("*")].filter(
    (one) => !one.closest("svg") && one.getBoundingClientRect().right > width + 0.5);
  const scrolling = [...page.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1);
  return {width, needed: root.scrollWidth, height: root.scrollHeight, text: page.body.innerText.length,
          beyond: beyond.map((one) => one.tagName + "." + one.className), scrolling: scrolling.length};
}
window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(measure);
  document.getElementById("answer").textContent = JSON.stringify(found);
});
</script></body>"""

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=5000",
    "--window-size=1400,900",
    "--dump-dom",
]


@pytest.fixture(scope="module")
def measured(report, nasty_report, tmp_path_factory):
    """Return what a browser measured: each page in frames as wide as a phone and as a desktop."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    folder = tmp_path_factory.mktemp("browser")
    frames = "".join(
        f'<iframe srcdoc="{escape(page.html)}" style="border:0;height:600px;width:{width}px"></iframe>'
        for page in (report[0], nasty_report)
        for width in (375, 1280)
    )
    (folder / "host.html").write_text(MEASURE % frames, encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"file://{folder / 'host.html'}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r'<pre id="answer">(.*?)</pre>', run.stdout, re.DOTALL)
    assert found and found[1] != "nothing", run.stderr
    return json.loads(unescape(found[1]))


def test_nothing_overflows_on_a_phone_and_on_a_desktop(measured):
    assert [one["width"] for one in measured] == [375, 1280, 375, 1280]
    for one in measured:
        assert one["needed"] <= one["width"]
        assert one["height"] > 1500 and one["text"] > 1500  # the page was there


def test_tables_of_ordinary_names_fit_without_scrolling(measured):
    for one in measured[:2]:
        assert one["beyond"] == [] and one["scrolling"] == 0


def test_long_names_break_in_tables(measured):
    assert measured[3]["beyond"] == [] and measured[3]["scrolling"] == 0
