"""Opening files: compression, format, damage and permissions."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest
from file_contents import SPARSE, TABLE, check_error

from drsvm.tables import read

SUFFIXES = {gzip: "gz", bz2: "bz2", lzma: "xz"}


@pytest.mark.parametrize("packed", SUFFIXES)
@pytest.mark.parametrize("ending", ["svm", "csv"])
def test_compressed_files(write, packed, ending):
    content = (SPARSE if ending == "svm" else TABLE).encode()
    named = read(write(f"data.{ending}.{SUFFIXES[packed]}", packed.compress(content)))
    unnamed = read(write("data", packed.compress(content)))
    assert named.shape[0] == unnamed.shape[0] == 3


def test_the_content_decides_and_a_misleading_name_is_noted(write):
    data = read(write("data.csv", SPARSE))
    assert data.schema.kind == "sparse" and "contains svmlight data" in data.notes[0]


@pytest.mark.parametrize("content", [SPARSE, TABLE])
def test_a_missing_last_line_break_is_noted(write, content):
    assert not any("truncated" in note for note in read(write("data", content)).notes)
    assert any("truncated" in note for note in read(write("data", content[:-1])).notes)


@pytest.mark.parametrize("packed", SUFFIXES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_compressed_files(error_for, packed, share):
    rng = np.random.default_rng(0)
    text = "a,b,label\n" + "".join(
        f"{x},{y},{k % 2}\n" for k, (x, y) in enumerate(rng.normal(size=(4000, 2)))
    )
    content = packed.compress(text.encode())
    expected = "is truncated or damaged" if share else "is empty"
    assert expected in error_for(
        f"data.csv.{SUFFIXES[packed]}", content[: int(share * len(content))]
    )


def test_a_suffix_that_contradicts_the_compression(error_for):
    assert "ends in .gz, but is not compressed" in error_for("data.csv.gz", TABLE)
    assert "ends in .xz, but is compressed as .gz" in error_for(
        "data.csv.xz", gzip.compress(TABLE.encode())
    )


def test_missing_files_and_folders(write, tmp_path):
    write("train.csv", TABLE)
    check_error(r"no such file; did you mean train\.csv\?", read, tmp_path / "tran.csv")
    check_error(r"no such file\.$", read, tmp_path / "nowhere" / "x.csv")
    assert read(tmp_path).y.tolist() == ["yes", "no", "yes"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_rejected_without_being_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        check_error("cannot be read more than once: save it to a file", read, path)


def test_a_file_without_read_permission(write, monkeypatch):
    path = write("data.csv", TABLE)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def denied(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(type(path), "open", denied)
    check_error(r"permission denied: change its permissions", read, path)
