"""Model files, which run no code when loaded."""

from drsvm.persistence.model_files import ModelFileError, load_metadata, load_model, save_model

__all__ = ["ModelFileError", "load_metadata", "load_model", "save_model"]
