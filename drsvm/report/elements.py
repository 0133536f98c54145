"""HTML elements. Except for numbers, arguments are HTML: text must be escaped beforehand."""

from collections.abc import Sequence


def number(value, digits: int = 4) -> str:
    """Return a formatted number."""
    return f"{float(value):.{digits}g}".replace("-", "−")


def percent(share, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * float(share):.{digits}f}\u202f%"  # a narrow non-breaking space


def power(value) -> str:
    """Return a small number with its power of ten; negative rounding errors count as 0."""
    if value <= 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f'<span class="power">{mantissa} · 10<sup>{int(exponent)}</sup></span>'.replace("-", "−")


def tiles(items: Sequence[tuple[str, str, str]]) -> str:
    """Return large figures, each with a name and a remark."""
    cells = (
        f'<div class="tile"><dt>{name}</dt><dd>{value}<span class="aside">{aside}</span></dd></div>'
        for name, value, aside in items
    )
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], own: int | None = None, text: int = 1) -> str:
    """Return a table; `own` is the row to highlight, `text` the number of leading columns with text."""
    mark, stressed = ' class="text"', ' class="own"'
    titles = "".join(f'<th scope="col"{mark if k < text else ""}>{title}</th>' for k, title in enumerate(head))
    body = "".join(
        f"<tr{stressed if k == own else ''}>"
        + "".join(f"<td{mark if j < text else _kind(cell)}>{cell}</td>" for j, cell in enumerate(row))
        + "</tr>\n"
        for k, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _kind(cell: str) -> str:
    return ' class="bar"' if cell.startswith('<div class="track"') else ""


def bars(share: float) -> str:
    """Return a bar from the centre to the left (negative) or right, of length 0 to 1."""
    side, width = ("right" if share > 0 else "left"), f"{100 * abs(share):.1f}%"
    return f'<div class="track"><span class="{side}" style="width:{width}"></span></div>'


def figure(svg: str, description: str, caption: str, wide: bool = False) -> str:
    """Return a plot with its caption; the description is for screen readers."""
    kind = ' class="wide"' if wide else ""
    image = f'<div role="img" aria-label="{description}">{svg}</div>'
    return f"<figure{kind}>{image}<figcaption>{caption}</figcaption></figure>"
