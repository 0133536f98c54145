"""Checks of archives from untrusted sources, before any object in them is built.

A few kilobytes of zip can unpack to gigabytes, and the directory of an archive may give wrong sizes. Therefore the
directory is checked first, which takes no time, and then every member is read only up to the size given there. After
that the schema is searched for types that no model of this library needs.
"""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from drsvm.persistence.names import ALLOWED_NAMES, FUNCTION_HOMES, PUBLIC_HOMES, make_public

ALLOWED_NODES = frozenset(
    f"{name}Node"
    for name in (
        *("Dict", "Pairs", "List", "Tuple", "Slice", "Json", "Scalar", "Type", "Function", "Object"),
        *("NdArray", "ObjectArray", "DType", "SparseMatrix"),
    )
)
"""The kinds of nodes (see `nodes`)."""

RATIO = 50
"""An archive may unpack to this many times its own size.

Saved models unpack to 1 to 45 times their size: weights hardly compress, but multipliers that are all 0 or π_i
compress well.
"""

SMALL = 64 << 20
"""Any archive may unpack to this many bytes: the size of the multipliers of four million rows."""

SMALL_TEXT = 16 << 20
"""Any schema.json may have this many bytes (names of 20,000 features); parsing takes up to 25 times as much memory."""

MEMBERS = 100_000
"""Maximum number of members of an archive; a model has about nine arrays per class."""

MEGABYTE = 1e6


class ArchiveError(ValueError):
    """An archive is rejected; the message gives the reason."""


# --- sizes --------------------------------------------------------------------------------------------------------


def check_archive(archive: bytes) -> None:
    """Reject an archive whose directory lists more than a model contains."""
    with ZipFile(io.BytesIO(archive)) as packed:
        _check_members(packed.infolist(), len(archive), max(SMALL, RATIO * len(archive)))


def unpacked(archive: bytes) -> bytes:
    """Return an archive with the same content, without compression.

    Sparse matrices are archives within the archive; their unpacked size counts.
    """
    return _unpacked(archive, len(archive), max(SMALL, RATIO * len(archive)), inner=".npz")


def _unpacked(archive: bytes, size: int, allowed: int, inner: str | None = None) -> bytes:
    plain = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as packed, ZipFile(plain, "w", ZIP_STORED) as written:
        members = packed.infolist()
        _check_members(members, size, allowed)
        allowed -= sum(member.file_size for member in members)
        for member in members:
            # Read with a bound: without one, zipfile inflates up to 2 GB before it compares sizes with the directory.
            with packed.open(member) as stream:
                content = stream.read(member.file_size + 1)
            if inner is not None and member.filename.endswith(inner):
                content = _unpacked(content, size, allowed)
                allowed -= len(content)
            written.writestr(member.filename, content)
    return plain.getvalue()


def _check_members(members: list[ZipInfo], size: int, allowed: int) -> None:
    total = sum(member.file_size for member in members)
    if total > allowed:
        raise _too_large("it", total, size)
    for member in members:
        if member.filename == "schema.json" and member.file_size > max(SMALL_TEXT, RATIO * size):
            raise _too_large("its schema.json", member.file_size, size)
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others are unpacked without a bound
            raise ArchiveError(f"{member.filename!r} in it has a compression method that drsvm models never use.")
    if len(members) > MEMBERS:
        raise ArchiveError(f"it has {len(members):,} parts; a drsvm model has at most {MEMBERS:,}.")
    if len({member.filename for member in members}) < len(members):
        raise ArchiveError("it has two parts with the same name, which drsvm models never have.")


def _too_large(what: str, total: int, size: int) -> ArchiveError:
    return ArchiveError(
        f"{what} would unpack to {total / MEGABYTE:,.0f} MB, {total / size:,.0f} times the size of the file, which no "
        "drsvm model does. Do not trust its source."
    )


# --- types --------------------------------------------------------------------------------------------------------


def with_public_names(archive: bytes, home_of: Callable[[str], str | None], compression: int = ZIP_STORED) -> bytes:
    """Return a copy of an archive in which the public module of a class replaces the one that `home_of` returns."""
    written = io.BytesIO()
    with ZipFile(io.BytesIO(archive)) as given, ZipFile(written, "w", compression) as renamed:
        schema = json.loads(given.read("schema.json"))
        for node in _nodes(schema):
            make_public(node, home_of)
        for member in given.namelist():
            content = json.dumps(schema, indent=2) if member == "schema.json" else given.read(member)
            renamed.writestr(member, content)
    return written.getvalue()


def foreign_types(archive: bytes) -> list[str]:
    """Return the names of all types and node types that are not allowed."""
    with ZipFile(io.BytesIO(archive)) as opened:
        schema = json.loads(opened.read("schema.json"))
    return sorted(set().union(*map(_foreign_in, _nodes(schema))))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a schema; reject a file shared by several objects, which skops would read for each one."""
    waiting: list[Any] = [schema]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            file = entry.get("file")
            if "__loader__" in entry and isinstance(file, str) and Path(file).stem != str(entry.get("__id__")):
                raise ArchiveError(f"{file!r} in it is not named after its object, unlike in any drsvm model.")
            yield entry
            waiting.extend(entry.values())
        elif isinstance(entry, list):
            waiting.extend(entry)


def _foreign_in(node: dict[str, Any]) -> set[str]:
    if not {"__class__", "__module__", "__loader__"} & set(node):
        return set()
    title, loader = node.get("__class__"), node.get("__loader__")
    name = f"{node.get('__module__')}.{title}"
    if name not in ALLOWED_NAMES:
        return {name}
    return set() if loader in _loaders_of(title, node["__module__"]) else {f"{name} ({loader})"}


def _loaders_of(title: Any, home: Any) -> frozenset[str]:
    """Return how something in the list may be built: a function is no object, and an estimator is no type."""
    special = {"FunctionNode", "ObjectNode", "SparseMatrixNode"}
    if title in FUNCTION_HOMES:
        return frozenset({"FunctionNode"})
    if title in PUBLIC_HOMES:
        return frozenset({"SparseMatrixNode" if home == "scipy.sparse" else "ObjectNode"})
    return ALLOWED_NODES - special
