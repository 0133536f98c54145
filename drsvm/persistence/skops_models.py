"""Models that skops has saved, of types that it or the user trusts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from drsvm.persistence.model_files import ModelFileError
from drsvm.utils.lazy import optional
from drsvm.utils.messages import Message, Parameter

# Types that run no code; every SimpleImputer has one.
HARMLESS = ("numpy.dtype",)
ZIP = b"PK\x03\x04"


def is_skops_file(path: Path) -> bool:
    """Return True for a file that may be one of skops: a zip archive."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(ZIP)) == ZIP


def load_skops(path: Path, trusted: Iterable[str] = ()) -> Any:
    """Load a model that skops has saved.

    Parameters
    ----------
    path : Path
        The file.
    trusted : iterable of str
        Types that skops does not trust by itself, such as "my_package.MyScaler".

    Raises
    ------
    ModelFileError
        If the file is damaged, or has other types: it names them.
    """
    skops = optional("skops.io", "loading this model needs", "skops")
    trusted = [*HARMLESS, *trusted]
    try:
        unknown = set(skops.get_untrusted_types(file=path)).difference(trusted)
        if not unknown:
            return skops.load(path, trusted=trusted)
    except Exception as error:
        # Zip archives and the building of objects raise many kinds.
        raise ModelFileError(
            f"{path}: is not a model that skops has saved, or is damaged ({error})."
        ) from None
    types = [Parameter("trust", name) for name in sorted(unknown)]
    what = "{}: has types that skops does not trust. If you do, add"
    raise ModelFileError(Message(f"{what}{' {}' * len(types)}.", path, *types))
