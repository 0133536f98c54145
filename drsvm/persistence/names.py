"""The names in model files: what may occur there, under names that do not depend on the module that defines it.

A model file contains the public module of a class, the one from which users import it: ``drsvm.WassersteinSVC``, not
``drsvm.learn.estimators.WassersteinSVC``, which may change.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

_MODULES = {
    "drsvm": "WassersteinSVC WassersteinSVCCV Result History",
    "drsvm.datasets": "TableReader",
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.impute": "SimpleImputer MissingIndicator KNNImputer",
    "sklearn.preprocessing": (
        "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler QuantileTransformer PowerTransformer Normalizer "
        "Binarizer OneHotEncoder OrdinalEncoder TargetEncoder LabelEncoder LabelBinarizer PolynomialFeatures "
        "KBinsDiscretizer SplineTransformer FunctionTransformer"
    ),
    "sklearn.feature_selection": (
        "VarianceThreshold SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe SelectFromModel RFE"
    ),
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
    "sklearn.feature_extraction.text": "TfidfVectorizer CountVectorizer HashingVectorizer TfidfTransformer",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.linear_model": "LogisticRegression Lasso Ridge RidgeClassifier",
    "sklearn.svm": "LinearSVC",
    "scipy.sparse": "csr_array csr_matrix csc_array csc_matrix dia_array dia_matrix",
    "scipy.interpolate": "BSpline",
}

PUBLIC_HOMES = {name: home for home, names in _MODULES.items() for name in names.split()}
"""The classes that may occur in model files, with their public modules."""

_FUNCTIONS = {
    "sklearn.feature_selection": "f_classif chi2 f_regression mutual_info_classif mutual_info_regression r_regression",
    "numpy": (
        "abs absolute arcsinh arctan cbrt ceil clip cos deg2rad degrees exp exp2 expm1 fabs floor isfinite isnan log "
        "log10 log1p log2 negative rad2deg radians reciprocal rint sign sin sinh sqrt square tan tanh trunc"
    ),
}

FUNCTION_HOMES = {name: home for home, names in _FUNCTIONS.items() for name in names.split()}
"""The functions that may occur in model files: scores, and numpy's functions of one array."""

PLAIN_TYPES = {
    "builtins": "dict list tuple slice str int float bool NoneType",
    "numpy": (
        "ndarray dtype float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool str_ datetime64"
    ),
}

ALLOWED_NAMES = frozenset(
    f"{home}.{name}" for homes in (_MODULES, _FUNCTIONS, PLAIN_TYPES) for home in homes for name in homes[home].split()
)
"""Everything that a model file may name."""

HOMES_IN_FORMAT_1 = {
    "WassersteinSVC": "drsvm.estimators",
    "WassersteinSVCCV": "drsvm.model_selection",
    "Result": "drsvm.result",
    "History": "drsvm.result",
    "SimpleImputer": "sklearn.impute._base",
    "StandardScaler": "sklearn.preprocessing._data",
    "MaxAbsScaler": "sklearn.preprocessing._data",
    "csr_array": "scipy.sparse._csr",
    "csr_matrix": "scipy.sparse._csr",
}
"""The modules in files of format 1: those that defined the classes in version 0.1.0."""


_MOVED = {"drsvm.History": "drsvm.model"}
"""Names that model files keep although they are imported from another module today."""


def _module_of(home: str, name: str) -> Any:
    return import_module(_MOVED.get(f"{home}.{name}", home))


def public_name(thing: Any, homes: dict[str, str]) -> tuple[str, str] | None:
    """Return the public module and the name of a class or function, or None if it is not in the list."""
    name = getattr(thing, "__name__", "")
    home = homes.get(name)
    return (home, name) if home is not None and getattr(_module_of(home, name), name, None) is thing else None


def named(home: str, name: str) -> Any:
    """Return a class, a function or a type by its name in a model file, which has been checked."""
    if f"{home}.{name}" not in ALLOWED_NAMES:
        raise ValueError(f"{home}.{name} is not allowed")
    return type(None) if name == "NoneType" else getattr(_module_of(home, name), name)


def defining_home(name: str) -> str | None:
    """Return the module that currently defines a class of `PUBLIC_HOMES`; None for other names."""
    home = PUBLIC_HOMES.get(name)
    return None if home is None else getattr(_module_of(home, name), name).__module__


def make_public(node: dict[str, Any], home_of: Callable[[str], str | None]) -> None:
    """Replace the module in a node by the public one if `home_of` returns that module for its class."""
    name, module = node.get("__class__"), node.get("__module__")
    if isinstance(name, str) and module is not None and module == home_of(name):
        node["__module__"] = PUBLIC_HOMES[name]
