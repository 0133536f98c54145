"""Check the links of the built pages without a network: ``python docs/check_links.py
docs/_build/html``.

Every link to a page, an anchor or a file of the site must have a target, and a page
must load nothing from elsewhere: it has to work offline.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
"""What a browser fetches by itself; a link only when somebody follows it."""

NOT_FETCHED = {"canonical", "author", "search", "index", "next", "prev", "license"}
"""Values of rel with which a <link> is a statement about the page."""


class Page(HTMLParser):
    """The anchors of a page, the addresses that it links to, and those that it
    loads.
    """

    def __init__(self, file: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        address = values.get(LOADED.get(tag, ""))
        if address and not NOT_FETCHED & set((values.get("rel") or "").split()):
            self.loaded.append(address)


def is_elsewhere(address: str) -> bool:
    """Return whether an address is outside of the site."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def faults(root: Path):
    """Yield what is wrong with the pages below a folder."""
    root = root.resolve()
    files = [
        file
        for file in sorted(root.rglob("*.html"))
        if root / "_static" not in file.parents
    ]
    pages = {file: Page(file) for file in files}
    if not pages:
        yield f"{root}: there are no pages; build them first, with make docs"
    for file, page in pages.items():
        for address in page.loaded:
            if is_elsewhere(address) and not address.startswith("data:"):
                yield f"{file.relative_to(root)}: loads {address} from the network"
        for address in page.links + page.loaded:
            if not is_elsewhere(address) and not has_target(address, file, page, pages):
                yield f"{file.relative_to(root)}: no target for {address}"


def has_target(address: str, file: Path, page: Page, pages: dict[Path, Page]) -> bool:
    """Return whether the file of a local address exists, and its anchor."""
    parts = urlsplit(address)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target /= "index.html"
    anchor = unquote(parts.fragment)
    if target not in pages:
        return target.is_file()
    return not anchor or anchor in (page if target == file else pages[target]).anchors


def main() -> int:
    """Print the faults, and return how many there are, at most 1."""
    found = list(faults(Path(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
