"""How densely the code is written: `make lint` runs this check.

Whatever a formatter leaves alone is counted, so that code stays plain: one thing per
statement, and comments where a reader would stop. The figures of a folder:

chars      characters per line of code, without indentation
ternary    conditional expressions per 1,000 lines of code
packed     assignments such as `a, b = x, y` per 1,000 lines of code
compr      comprehensions per 1,000 lines of code
comments   lines that only hold a comment, per 100 lines of code and comments
tokens     words, numbers, texts and signs of the code: its size, however it is
           formatted. Comments and docstrings are free.

That no files import each other is checked by `test_imports.py`.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = {
    "drsvm": {
        "chars": 34,
        "ternary": 8,
        "packed": 8,
        "compr": 13,
        "tokens": 321_000,
    },
    "tests": {"chars": 38, "packed": 15},
    "benchmarks": {"chars": 38, "packed": 15},
    "examples": {"chars": 38, "packed": 15},
}
LEAST = {"drsvm": {"comments": 6}}

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BETWEEN_LINES = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines.update(range(docstring.lineno, docstring.end_lineno + 1))
    return lines


def is_packed(node: ast.AST) -> bool:
    """Test if a statement assigns several values that were not one result."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and isinstance(node.targets[0], ast.Tuple)
    )


def counts_of(path: Path) -> Counter:
    """Return what is counted in one file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = docstring_lines(tree)
    counts = Counter()
    code = set()
    for token in tokenize.generate_tokens(iter(source.splitlines(True)).__next__):
        if token.start[0] in docstrings or token.type in BETWEEN_LINES:
            continue
        if token.type != tokenize.COMMENT:
            counts["tokens"] += 1
            code.update(range(token.start[0], token.end[0] + 1))
        elif token.line.lstrip().startswith("#"):
            counts["comments"] += 1
    lines = source.splitlines()
    counts["lines"] = len(code)
    counts["chars"] = sum(len(lines[number - 1].strip()) for number in code)
    for node in ast.walk(tree):
        counts["ternary"] += isinstance(node, ast.IfExp)
        counts["compr"] += isinstance(node, COMPREHENSIONS)
        counts["packed"] += is_packed(node)
    return counts


def figures_of(folder: Path) -> dict[str, float]:
    """Return the figures of all files in a folder."""
    counts = Counter()
    for path in folder.rglob("*.py"):
        counts.update(counts_of(path))
    n_lines = counts["lines"]
    figures = {"chars": counts["chars"] / n_lines}
    for name in ("ternary", "packed", "compr"):
        figures[name] = 1000 * counts[name] / n_lines
    figures["comments"] = 100 * counts["comments"] / (n_lines + counts["comments"])
    figures["tokens"] = counts["tokens"]
    return figures


def main() -> None:
    """Print the figures, and fail if one of them is beyond its limit."""
    # Any other folder has no limits: python tests/density.py drsvm/solvers
    folders = sys.argv[1:] or list(MOST)
    complaints = []
    print(f"{'':24}   chars ternary  packed   compr comments  tokens")
    for folder in folders:
        figures = figures_of(ROOT / folder)
        shown = "".join(f"{value:8.1f}" for value in list(figures.values())[:-1])
        print(f"{folder:24}{shown} {figures['tokens']:8,.0f}")
        for name, limit in MOST.get(folder, {}).items():
            if figures[name] > limit:
                complaints.append(f"{folder}: {name} above {limit}")
        for name, limit in LEAST.get(folder, {}).items():
            if figures[name] < limit:
                complaints.append(f"{folder}: {name} below {limit}")
    sys.exit("\n".join(complaints) or 0)


if __name__ == "__main__":
    main()
