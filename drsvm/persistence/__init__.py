"""Model files, which run no code when loaded.

`model_files` writes and reads them as `nodes`; `names` lists the classes allowed, and `checks` limits what is unpacked.
`onnx_models` exports pipelines for other programs.
"""

from drsvm.persistence.model_files import ModelFileError, load_metadata, load_model, save_model

__all__ = ["ModelFileError", "load_metadata", "load_model", "save_model"]
