"""The blocks of a page in reStructuredText or Markdown, and whether what a block prints is what the page shows.

Doctest and Sybil compare texts; here numbers may differ in their last digits, as they do from machine to machine.
"""

import math
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RST = re.compile(
    r"^(?P<indent> *)\.\. (?:code-block::|plot::) ?(?P<language>\w*)\n"
    r"(?P<options>(?:(?P=indent)   +:.*\n|(?P=indent)    +.*\n)*)"
    r"(?P<text>(?:\n|(?P=indent)   .*\n)+)",
    re.MULTILINE,
)
MARKDOWN = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

OUTPUT = ("text", "none", "plain")  # languages of what the block before has printed
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?(?![\w])")
# Gaps, which are as small as rounding permits, and seconds: both differ from machine to machine.
TINY_OR_TIME = re.compile(r"(?<![\w.])\d[\d.]*(?:e-\d+|(?= s\b))")


class Block(NamedTuple):
    """A block of a page: its language ("output" for what the block before it prints), its text and its first line."""

    language: str
    text: str
    line: int


def blocks_of(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    page = path.read_text(encoding="utf-8")
    for found in (MARKDOWN if path.suffix == ".md" else RST).finditer(page):
        language, text = found["language"], textwrap.dedent(found["text"]).strip("\n") + "\n"
        if path.suffix == ".rst" and ".. plot::" in found[0].splitlines()[0]:
            language = "python"
        shown = language in OUTPUT or (path.suffix == ".md" and not language)
        yield Block("output" if shown else language, text, page[: found.start("text")].count("\n") + 1)


def with_outputs(blocks: list[Block]) -> Iterator[tuple[Block, str | None]]:
    """Yield the blocks other than outputs, each with the output that the page shows next, if any."""
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language != "output":
            yield block, following.text if following and following.language == "output" else None


def console_commands(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the commands of a console block, each with the output that follows it, if any."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output if output.strip() else None


def assert_same_output(printed: str, shown: str) -> None:
    """Compare words exactly, numbers to two per cent, and neither gaps nor seconds."""
    printed, shown = (TINY_OR_TIME.sub("tiny", text) for text in (printed, shown))
    # Words, whatever the numbers, blanks, line breaks and lengths of rules.
    words = [" ".join(re.sub(r"─+", "─", NUMBER.sub("#", text)).split()) for text in (printed, shown)]
    assert words[0] == words[1]
    for pair in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        found, expected = (float(number.replace(",", "").replace("−", "-").rstrip(".")) for number in pair)
        assert math.isclose(found, expected, rel_tol=0.02, abs_tol=0.002), f"printed {found}, shown {expected}"
