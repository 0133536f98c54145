"""Model files, which run no code when loaded.

`model_files` writes and reads them as `nodes`; `names` lists the classes allowed, and
`checks` limits what is unpacked; `audits` has what they keep of a test. `onnx_models`
exports pipelines for other programs.
"""

from drsvm.persistence.model_files import (
    ModelFileError,
    load_audit,
    load_metadata,
    load_model,
    save_model,
)

__all__ = ["ModelFileError", "load_audit", "load_metadata", "load_model", "save_model"]
