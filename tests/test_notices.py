"""Notices: in an interactive session they appear on standard error, unless something else shows them."""

import logging
import sys

import pytest

from drsvm import notices


@pytest.fixture
def shown(monkeypatch, capsys):
    """Return a function that sends a notice in an interactive session, and returns what appears."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(notices, "_told", set())
    monkeypatch.setattr(notices, "logger", logging.Logger("drsvm"))  # of no other test
    notices.logger.parent = logging.Logger("root", logging.WARNING)

    def shown(text="Please wait."):
        notices.tell_once(text)
        return capsys.readouterr().err

    return shown


def test_an_interactive_session_shows_a_notice_once(shown):
    assert shown() == "Please wait.\n"
    assert shown() == ""


def test_a_script_shows_nothing(shown, monkeypatch):
    monkeypatch.delattr(sys, "ps1")
    assert shown() == ""


def test_listeners_take_its_place(shown):
    heard = []
    with notices.listening(heard.append):
        assert shown() == "" and heard == ["Please wait."]


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_the_level_of_the_logger_is_respected(shown, level):
    notices.logger.setLevel(level)
    assert shown() == ""
