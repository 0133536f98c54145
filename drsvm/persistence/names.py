"""The names in model files: what may occur there, and which nodes may name it.

A model file contains the public module of a class, the one from which users import it:
``drsvm.WassersteinSVC``, not ``drsvm.estimators.linear.WassersteinSVC``, which may
change.
"""

from importlib import import_module
from typing import Any, TypeAlias

# Names by the module from which users import them
Homes: TypeAlias = dict[str, tuple[str, ...]]

# The classifiers, what usually comes before them, and what they are made of
CLASSES: Homes = {
    "drsvm": (
        "WassersteinSVC",
        "WassersteinSVCCV",
        "WassersteinKernelSVC",
        "ClippedScaler",
        "Result",
    ),
    "drsvm.problem": ("History",),
    "drsvm.model": ("History",),
    "drsvm.tables": ("TableReader",),
    "sklearn.pipeline": (
        "Pipeline",
        "FeatureUnion",
    ),
    "sklearn.compose": (
        "ColumnTransformer",
        "make_column_selector",
    ),
    "sklearn.impute": (
        "SimpleImputer",
        "MissingIndicator",
        "KNNImputer",
    ),
    "sklearn.preprocessing": (
        "StandardScaler",
        "MinMaxScaler",
        "MaxAbsScaler",
        "RobustScaler",
        "QuantileTransformer",
        "PowerTransformer",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "TargetEncoder",
        "LabelEncoder",
        "LabelBinarizer",
        "PolynomialFeatures",
        "KBinsDiscretizer",
        "FunctionTransformer",
    ),
    "sklearn.feature_selection": (
        "VarianceThreshold",
        "SelectKBest",
        "SelectPercentile",
    ),
    "sklearn.decomposition": (
        "PCA",
        "TruncatedSVD",
    ),
    "sklearn.feature_extraction": ("DictVectorizer",),
    "sklearn.feature_extraction.text": (
        "TfidfVectorizer",
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
    ),
    "sklearn.calibration": (
        "CalibratedClassifierCV",
        "_CalibratedClassifier",
        "_SigmoidCalibration",
        "_TemperatureScaling",
    ),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.model_selection": (
        "FixedThresholdClassifier",
        "TunedThresholdClassifierCV",
    ),
    "sklearn.metrics._scorer": ("_CurveScorer",),
    "sklearn.frozen": ("FrozenEstimator",),
}
# Modules that files call by a former name
RENAMED = {"drsvm.model": "drsvm.problem"}
SPARSE: Homes = {
    "scipy.sparse": (
        "csr_array",
        "csr_matrix",
        "csc_array",
        "csc_matrix",
        "dia_array",
        "dia_matrix",
    ),
}
# Scores of features and of decisions, and numpy's functions of one array
FUNCTIONS: Homes = {
    "sklearn.metrics": (
        "accuracy_score",
        "balanced_accuracy_score",
        "f1_score",
        "fbeta_score",
        "precision_score",
        "recall_score",
    ),
    "sklearn.feature_selection": (
        "f_classif",
        "chi2",
        "f_regression",
        "mutual_info_classif",
        "mutual_info_regression",
        "r_regression",
    ),
    "numpy": (
        "abs",
        "absolute",
        "arcsinh",
        "arctan",
        "cbrt",
        "ceil",
        "clip",
        "cos",
        "deg2rad",
        "degrees",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "isfinite",
        "isnan",
        "log",
        "log10",
        "log1p",
        "log2",
        "negative",
        "rad2deg",
        "radians",
        "reciprocal",
        "rint",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "tan",
        "tanh",
        "trunc",
    ),
}
SCALARS: Homes = {
    "numpy": (
        "float64",
        "float32",
        "float16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint64",
        "uint32",
        "uint16",
        "uint8",
        "bool",
        "bool_",
        "str_",
    ),
}
PLAIN_TYPES: Homes = {
    "builtins": (
        "dict",
        "list",
        "tuple",
        "slice",
        "str",
        "int",
        "float",
        "bool",
        "NoneType",
    ),
    "numpy": (
        "ndarray",
        "dtype",
        "datetime64",
        *SCALARS["numpy"],
    ),
}
# Everything that a model file may name, with the kinds of nodes (see `nodes`) that may
# do so.
NODES: dict[str, list[str]] = {}
_HOMES_BY_KIND = {
    "ObjectNode": CLASSES,
    "SparseMatrixNode": SPARSE,
    "FunctionNode": FUNCTIONS,
    "TypeNode": PLAIN_TYPES,
    "ScalarNode": SCALARS,
}
for _kind, _homes in _HOMES_BY_KIND.items():
    for _home, _names in _homes.items():
        for _name in _names:
            NODES.setdefault(f"{_home}.{_name}", []).append(_kind)
NODES["builtins.dict"] += ["DictNode", "PairsNode"]
NODES["builtins.list"] += ["ListNode"]
NODES["builtins.tuple"] += ["TupleNode"]
NODES["builtins.slice"] += ["SliceNode"]
NODES["numpy.ndarray"] += ["NdArrayNode", "ObjectArrayNode"]
NODES["numpy.dtype"] += ["DTypeNode"]


def named(home: str, name: str) -> Any:
    """Return the class, function or type that a file calls by a name in the tables.

    None if it does not exist in the version that is installed.
    """
    # The type of None has a name, but no module has it.
    if name == "NoneType":
        return type(None)
    module = import_module(RENAMED.get(home, home))
    return getattr(module, name, None)


def public_name(thing: object, homes: Homes) -> tuple[str, str] | None:
    """Return the module and the name that files have for a class or function.

    Parameters
    ----------
    thing : object
        A class, a function or a type; anything else has no name.
    homes : dict
        One of the tables above.

    Returns
    -------
    tuple of two str, or None
        None if the table does not have it.
    """
    name = getattr(thing, "__name__", "")
    for home, names in homes.items():
        # Something else may have the same name.
        if name in names and named(home, name) is thing:
            return home, name
    return None
