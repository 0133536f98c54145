"""Contents of small files, and errors about them."""

import pytest

from drsvm.tables import DataFileError

TABLE = "a,b,label\n1,2.5,yes\n3,4,no\n5,6,yes\n"
SPARSE = "1 1:0.5 3:2\n-1 2:1\n1 1:4\n"


def check_error(message, function, *given, **options):
    with pytest.raises(DataFileError, match=message):
        function(*given, **options)
