"""Model files, which run no code when loaded.

`model_files` writes and reads them as `nodes`; `names` lists the classes allowed, and
`checks` limits what is unpacked; `audits` has what they keep of a test. `onnx_models`
exports pipelines for other programs, and `skops_models` reads what skops has saved.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# `as` marks what is public; the rest is for other folders and for tests.
if TYPE_CHECKING:
    from drsvm.persistence.audits import COLUMN_BYTES, ROW_BYTES, Audit, sample_of
    from drsvm.persistence.model_files import FORMAT, MAGIC, OpenModel, SavedModel, save
    from drsvm.persistence.model_files import ModelFileError as ModelFileError
    from drsvm.persistence.model_files import load_audit as load_audit
    from drsvm.persistence.model_files import load_metadata as load_metadata
    from drsvm.persistence.model_files import load_model as load_model
    from drsvm.persistence.model_files import save_model as save_model
    from drsvm.persistence.names import NODES
    from drsvm.persistence.nodes import Writer
    from drsvm.persistence.onnx_models import to_onnx
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
