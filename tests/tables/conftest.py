"""Fixtures of the reader tests."""

import pytest

from drsvm.tables import DataFileError, ReadOptions, read


@pytest.fixture(autouse=True)
def extras():
    pytest.importorskip("pyarrow")


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def error_for(write):
    """Return a function that writes a file, reads it and returns the error message."""

    def error_for(name, content, **options):
        path = write(name, content)
        with pytest.raises(DataFileError) as caught:
            read(path, ReadOptions(**options))
        message = str(caught.value)
        assert message.startswith(f"{path}: ") and message.endswith((".", "?"))
        return message.removeprefix(f"{path}: ")

    return error_for
