"""Messages whose parameters every interface spells in its own way."""

import pickle

from drsvm.messages import Message, Parameter

HINT = Message("or {} more", Parameter("max_time"))
MESSAGE = Message("column {!r}: use {}, {}", "{a}", Parameter("drop", "my id"), HINT)


def test_a_message_is_a_text_for_python():
    assert MESSAGE == "column '{a}': use drop='my id', or max_time more"
    assert pickle.loads(pickle.dumps(MESSAGE)).spelled(str) == MESSAGE


def test_parameters_can_be_spelled_otherwise():
    assert MESSAGE.spelled(lambda parameter: parameter.name.upper()) == "column '{a}': use DROP, or MAX_TIME more"
