"""Progress: stages, parts, lines with the time left, and messages."""

import logging
import pickle
import sys
import threading

import pytest

from drsvm.utils import (
    Message,
    Parameter,
    capture_progress,
    duration,
    progress,
    report_progress,
    stage,
)
from drsvm.utils.progress import lines, part


def test_shares_of_a_stage_reach_the_listener(told):
    report_progress(0.1)  # outside of a stage
    with stage("reading"):
        report_progress(0.25)
    with stage("solving"):
        with part(0.0, 0.5):
            report_progress(0.5)
        with part(0.5, 1.0), part(0.5, 1.0):
            report_progress(0.0)
    solving = [("solving", share) for share in (0.25, 0.5, 0.75, 1.0, 1.0, 1.0)]
    assert told == [("reading", 0.25), ("reading", 1.0), *solving]


def test_work_that_fails_is_not_done(told):
    with pytest.raises(ValueError, match="broken"), stage("solving"), part(0.0, 0.5):
        raise ValueError("broken")
    report_progress(0.7)
    assert told == []


def test_progress_inside_of_captured_work_is_not_reported(told):
    with stage("solving"), part(0.0, 0.5):
        with capture_progress() as report_outer:
            with stage("inner"):
                report_progress(0.9)
            report_outer(0.2)
        report_progress(0.4)
    assert told[:2] == [("solving", 0.1), ("solving", 0.2)]


def test_progress_need_not_be_followed():
    with stage("solving"), part(0.0, 0.5), capture_progress() as report_outer:
        report_outer(0.5)
        report_progress(0.5)


def test_listeners_belong_to_a_thread(told):
    with stage("solving"):
        other = threading.Thread(target=report_progress, args=(0.3,))
        other.start()
        other.join()
        report_progress(0.6)
    assert told == [("solving", 0.6), ("solving", 1.0)]


def test_lines_appear_in_long_stages_only(clock):
    written = []
    begin = lines(written.append)
    for text, seconds, shares in (
        ("reading", 1.0, (0.5, 1.0)),
        ("solving", 60.0, (0.25, 0.26, 0.5, 1.0)),
    ):
        tell_listener = begin(text)
        for share in shares:
            clock.now += seconds
            tell_listener(share)
    assert written == [
        "solving: 25% after 60 s, about 3 min left",
        "solving: 50% after 3 min, about 3 min left",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (119.0, "119 s"), (150.0, "2 min"), (9000.0, "2 h")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


@pytest.fixture
def shown(monkeypatch, capsys):
    """Return a function that sends a message and returns what a notebook shows."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(progress, "_sent", set())
    monkeypatch.setattr(progress, "logger", logging.Logger("drsvm"))  # of no other test
    progress.logger.parent = logging.Logger("root", logging.WARNING)

    def shown(text="Please wait."):
        progress.message_once(text)
        return capsys.readouterr().err

    return shown


def test_an_interactive_session_shows_a_message_once_and_a_script_never(
    shown, monkeypatch
):
    assert shown() == "Please wait.\n"
    assert shown() == ""
    monkeypatch.delattr(sys, "ps1")
    assert shown("Another one.") == ""


def test_a_receiver_takes_its_place(shown):
    heard = []
    with progress.following(message=heard.append):
        assert shown() == "" and heard == ["Please wait."]


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_the_level_of_the_logger_is_respected(shown, level):
    progress.logger.setLevel(level)
    assert shown() == ""


HINT = Message("or {} more", Parameter("max_time"))
MESSAGE = Message("column {!r}: use {}, {}", "{a}", Parameter("drop", "my id"), HINT)


def test_a_message_is_a_text_for_python():
    assert MESSAGE == "column '{a}': use drop='my id', or max_time more"
    assert pickle.loads(pickle.dumps(MESSAGE)).spelled(str) == MESSAGE


def test_parameters_can_be_spelled_otherwise():
    assert (
        MESSAGE.spelled(lambda parameter: parameter.name.upper())
        == "column '{a}': use DROP, or MAX_TIME more"
    )
