"""Whether all public functions and methods are typed: reads what `pyright --verifytypes
drsvm --outputjson` prints.

For pyright, everything without a leading underscore is public; for users, what
`drsvm.__all__` lists. Types that are unknown because scikit-learn has none are not
counted.
"""

import inspect
import json
import sys

import drsvm


def public_names():
    """Yield where the public functions and classes are defined, with the bases of a
    class.
    """
    for value in (getattr(drsvm, name) for name in drsvm.__all__):
        for each in inspect.getmro(value) if inspect.isclass(value) else [value]:
            if each.__module__.startswith("drsvm."):
                yield f"{each.__module__}.{each.__qualname__}"


def untyped(symbols):
    """Yield the parameters and results of public functions and methods that have no
    annotation.
    """
    public = set(public_names())
    for symbol in symbols:
        home, _, method = symbol["name"].rpartition(".")
        if symbol["name"] in public or (home in public and not method.startswith("__")):
            for found in symbol["diagnostics"]:
                if "annotation" in found["message"] and symbol["category"] in (
                    "function",
                    "method",
                    "constructor",
                ):
                    yield f"{symbol['name']}: {' '.join(found['message'].split())}"


if __name__ == "__main__":
    symbols = json.load(sys.stdin)["typeCompleteness"]["symbols"]
    unseen = set(public_names()) - {symbol["name"] for symbol in symbols}
    sys.exit(
        "\n".join(
            [
                *(f"{name} is unknown to pyright" for name in sorted(unseen)),
                *untyped(symbols),
            ]
        )
        or 0
    )
