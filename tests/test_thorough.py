"""The cases that `make test` chooses."""

from itertools import product
from types import SimpleNamespace

from thorough import covering


class Case(SimpleNamespace):
    thorough = False
    __hash__ = object.__hash__

    def get_closest_marker(self, name):
        return self if self.thorough and name == "thorough" else None


def cases(function, *parameters):
    """Return a test function with all combinations of the ids of its parameters, as
    pytest collects it.
    """
    names = {f"{function}[{'-'.join(ids)}]": ids for ids in product(*parameters)}
    return [
        Case(nodeid=name, callspec=SimpleNamespace(_idlist=ids))
        for name, ids in names.items()
    ]


def test_every_value_of_every_parameter_is_tried():
    items = cases("test_solvers", "abcdefgh", "123", "12")
    chosen = covering(items)
    assert len(chosen) < 12 and chosen == [item for item in items if item in chosen]
    for position, values in enumerate(("abcdefgh", "123", "12")):
        assert {item.callspec._idlist[position] for item in chosen} == set(values)
    assert chosen == covering(items)


def test_a_list_of_cases_is_tried_in_full_and_thorough_tests_are_left_out():
    items = [
        *cases("test_messages", "abcdefgh"),
        Case(nodeid="test_without_parameters"),
    ]
    assert covering([*items, Case(nodeid="test_thoroughly", thorough=True)]) == items
