"""The page as text."""

import re
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from plots import NASTY
from thorough import unless_long

from drsvm import WassersteinSVC
from drsvm.report import make_report


class Reader(HTMLParser):
    VOID = frozenset({"meta", "br", "wbr", "link", "img", "hr", "input"})

    def __init__(self):
        super().__init__()
        self.open = []
        self.ids = []
        self.addresses = []
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [
            value for name, value in attrs if name in ("href", "xlink:href", "src")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


CORNERS = [
    {"radius": 5.0, "flip_cost": 1.0},
    {"max_iter": 1},
    {"radius": 0.0},
    {"radius": 0.1, "flip_cost": 0.0},
]


@pytest.mark.parametrize("settings", unless_long(CORNERS[:2], CORNERS), ids=str)
def test_corner_cases_have_a_page_and_their_warnings_on_it(noisy, settings):
    X, y, *_ = noisy
    made = make_report(WassersteinSVC(**settings), X[:60, :4], y[:60])
    assert (made.summary["constant"] is not None) == ("flip_cost" in settings)
    # 15 rows say little
    told_little = made.summary["constant"] or made.summary["is_guess"]
    assert made.html.count("<h2>") == (4 if told_little else 8)
    for warning in made.summary["warnings"]:
        assert escape(warning) in made.html
    assert bool(made.summary["warnings"]) == (
        "radius" not in settings or settings["radius"] > 0
    )


def test_the_page_is_self_contained(report, nasty_report):
    for page in (report[0], nasty_report):
        reader = Reader()
        reader.feed(page.html)
        assert reader.open == [] and len(reader.ids) == len(set(reader.ids))
        assert not reader.tags & {"script", "link", "img", "iframe"}
        assert all(
            address[1:] in reader.ids for address in reader.addresses
        )  # plots refer only to themselves
        assert (
            "http" not in page.html.replace("http-equiv", "")
            and "@import" not in page.html
        )
        assert page.html.count("<svg") == 5


def test_strings_of_the_user_are_text(nasty_report):
    assert NASTY not in nasty_report.html
    assert escape(NASTY) in nasty_report.html
    seen = unescape(nasty_report.html)
    for name in ("$a_b$ 100 %", "größe 大小", "f" * 120, NASTY):
        assert name in seen


def test_names_in_tables_break_between_their_words(nasty_report):
    assert "$a_<wbr>b$ 100 %</td>" in nasty_report.html
    assert "f<wbr>f" not in nasty_report.html


def test_the_page_shows_what_was_proven(report):
    made = report[0]
    summary = report[0].summary
    shown = [
        float(number)
        for number in re.findall(r"<strong>(0\.\d+)</strong>", made.html)[:2]
    ]
    assert (
        shown == pytest.approx([summary["objective"], summary["lower_bound"]], abs=1e-8)
        and shown[0] > shown[1]
    )
    text = re.sub(r"<[^>]+>", "", made.html.split("</style>")[1])
    assert (
        "is malignant (the positive class) or benign. A linear classifier was trained"
        " on 400 rows with 30" in text
    )
    assert "nan" not in text.lower().split()


@pytest.mark.thorough
def test_two_runs_make_the_same_page(noisy):
    X, y, *_ = noisy
    pages = [
        re.sub(r"\d+-\d+-\d+T[\d:+]+", "", make_report(None, X[:60, :3], y[:60]).html)
        for _ in range(2)
    ]
    assert pages[0] == pages[1]
