"""The blocks of a page in reStructuredText or Markdown, and whether what a block prints
is what the page shows.

Doctest and Sybil compare texts. Here blanks, line breaks and the digits in `FRAGILE`
may differ, and so may the last digits of all numbers with older versions of the
dependencies than those that printed the pages.
"""

import math
import re
import textwrap
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

RST = re.compile(
    r"^(?P<indent> *)\.\. (?:code-block::|plot::) ?(?P<language>\w*)\n"
    r"(?P<options>(?:(?P=indent)   +:.*\n|(?P=indent)    +.*\n)*)"
    r"(?P<text>(?:\n|(?P=indent)   .*\n)+)",
    re.MULTILINE,
)
MARKDOWN = re.compile(
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)

OUTPUT = ("text", "none", "plain")  # languages of what the block before has printed
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?(?![\w])")

# Outputs of pages come from these versions or newer ones.
PRINTED_WITH = {"numpy": "2.4", "scipy": "1.17", "scikit-learn": "1.9", "numba": "0.68"}

# What differs between machines and is not compared, by name. A pattern has two groups:
# what stays, and the digits.
FRAGILE = {
    "time": (r"()(?<![\w.])\d[\d.]*(?= s\b)", "seconds"),
    "gap": (
        r"(\b(?:gap|most|than|within) +)\d\.\d+e-\d\d",
        "a proven gap is as small as rounding permits",
    ),
    "proof of a class": (
        r"(\d\.\d{6})\d\d +\d\.\de-\d\d\b",
        "its objective and its gap, in the table of all classes",
    ),
    "bounds": (
        r"((?:objective|lower bound|worst-case risk) +\d\.\d{6})\d+",
        "they are known up to the gap",
    ),
    "iterations": (
        r"(, |\d )\d+(?= iterations, | +optimal)",
        "rounding may decide whether one more is needed",
    ),
}


class Block(NamedTuple):
    """A block of a page: its language ("output" for what the block before it prints),
    its text and its first line.
    """

    language: str
    text: str
    line: int


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    page = path.read_text(encoding="utf-8")
    for found in (MARKDOWN if path.suffix == ".md" else RST).finditer(page):
        language = found["language"]
        text = textwrap.dedent(found["text"]).strip("\n") + "\n"
        if path.suffix == ".rst" and ".. plot::" in found[0].splitlines()[0]:
            language = "python"
        shown = language in OUTPUT or (path.suffix == ".md" and not language)
        yield Block(
            "output" if shown else language,
            text,
            page[: found.start("text")].count("\n") + 1,
        )


def with_outputs(blocks: list[Block]) -> Iterator[tuple[Block, str | None]]:
    """Yield the blocks other than outputs, each with the output that the page shows
    next, if any.
    """
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        if block.language != "output":
            yield (
                block,
                (
                    following.text
                    if following and following.language == "output"
                    else None
                ),
            )


def console_commands(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the commands of a console block, each with the output that follows it, if
    any.
    """
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output if output.strip() else None


def older_versions() -> bool:
    """Whether a dependency is older than the one that printed the pages."""
    numbers = {
        name: [version(name).split(".")[:2], printed.split(".")]
        for name, printed in PRINTED_WITH.items()
    }
    return any(
        list(map(int, here)) < list(map(int, printed))
        for here, printed in numbers.values()
    )


def comparable(output: str) -> str:
    """Return an output without fragile digits, blanks, line breaks and lengths of
    rules.
    """
    for name, (pattern, _) in FRAGILE.items():
        output = re.sub(pattern, rf"\1<{name}>", output)
    return " ".join(re.sub(r"─+", "─", output).split())


def assert_same_output(printed: str, shown: str) -> None:
    """Compare word by word and digit by digit.

    With older versions numbers need only agree to two per cent.
    """
    printed = comparable(printed)
    shown = comparable(shown)
    if not older_versions():
        assert printed == shown
        return
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    for pair in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        found, expected = (
            float(number.replace(",", "").replace("−", "-").rstrip("."))
            for number in pair
        )
        assert math.isclose(found, expected, rel_tol=0.02, abs_tol=0.002), (
            f"printed {found}, shown {expected}"
        )
