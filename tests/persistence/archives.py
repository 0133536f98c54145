"""Model files by their parts: the members of the archive behind the first line, and the nodes of its schema."""

import hashlib
import io
import json
import zipfile
from inspect import signature

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer

from drsvm.persistence import FORMAT, MAGIC, Writer

# What KBinsDiscretizer is given where its default will change; scikit-learn 1.6 has no
# such parameter.
BY_QUANTILES = {"quantile_method": "averaged_inverted_cdf"}
if "quantile_method" not in signature(KBinsDiscretizer).parameters:
    BY_QUANTILES = {}


def data(n_classes=2, n=90):
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam", "other"])[np.arange(n) % n_classes]
    return rng.normal(size=(n, 3)) + (y == "spam")[:, None], y


def with_checksum(archive, version=FORMAT):
    return (
        MAGIC
        + f"{version} sha256:{hashlib.sha256(archive).hexdigest()}\n".encode()
        + archive
    )


def archive_of(file):
    return file.partition(b"\n")[2]


def unpacked(file):
    with zipfile.ZipFile(io.BytesIO(archive_of(file))) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def packed(members, compression=zipfile.ZIP_DEFLATED):
    return with_checksum(zipped(members, compression))


def schema_only(schema):
    return packed(
        {"schema.json": schema if isinstance(schema, str) else json.dumps(schema)}
    )


def node(home, name, loader, content=None, **parts):
    return {
        "__module__": home,
        "__class__": name,
        "__loader__": loader,
        "content": content,
        **parts,
    }


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


class FreeWriter(Writer):
    """Writes anything, also what may not be in a model file: it is named by the module that defines it."""

    def _named(self, value):
        self.foreign.clear()
        written = super()._named(value)
        if written is not None:
            return written
        home, _, name = self.foreign.pop().rpartition(".")
        return node(home, name, "FunctionNode" if callable(value) else "ObjectNode", {})


def dumped(content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("schema.json", json.dumps(FreeWriter(archive).node(content)))
    return with_checksum(out.getvalue())
