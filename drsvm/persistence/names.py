"""The names in model files: what may occur there, and which nodes may name it.

A model file contains the public module of a class, the one from which users import it:
``drsvm.WassersteinSVC``, not ``drsvm.estimators.linear.WassersteinSVC``, which may
change.
"""

from importlib import import_module
from typing import Any

# What usually comes before a linear classifier, and what it is made of.
CLASSES = {
    "drsvm": (
        "WassersteinSVC WassersteinSVCCV WassersteinKernelSVC ClippedScaler Result"
    ),
    "drsvm.problem": "History",
    "drsvm.model": "History",
    "drsvm.tables": "TableReader",
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.impute": "SimpleImputer MissingIndicator KNNImputer",
    "sklearn.preprocessing": (
        "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler QuantileTransformer "
        "PowerTransformer Normalizer OneHotEncoder OrdinalEncoder TargetEncoder "
        "LabelEncoder LabelBinarizer PolynomialFeatures KBinsDiscretizer "
        "FunctionTransformer"
    ),
    "sklearn.feature_selection": "VarianceThreshold SelectKBest SelectPercentile",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.feature_extraction": "DictVectorizer",
    "sklearn.feature_extraction.text": (
        "TfidfVectorizer CountVectorizer HashingVectorizer TfidfTransformer"
    ),
    "sklearn.calibration": (
        "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration "
        "_TemperatureScaling"
    ),
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.model_selection": "FixedThresholdClassifier TunedThresholdClassifierCV",
    "sklearn.metrics._scorer": "_CurveScorer",
    "sklearn.frozen": "FrozenEstimator",
}
# Modules that files call by a former name.
RENAMED = {"drsvm.model": "drsvm.problem"}
SPARSE = {
    "scipy.sparse": "csr_array csr_matrix csc_array csc_matrix dia_array dia_matrix"
}
# Scores of features and of decisions, and numpy's functions of one array.
FUNCTIONS = {
    "sklearn.metrics": (
        "accuracy_score balanced_accuracy_score f1_score fbeta_score precision_score "
        "recall_score"
    ),
    "sklearn.feature_selection": (
        "f_classif chi2 f_regression mutual_info_classif mutual_info_regression "
        "r_regression"
    ),
    "numpy": (
        "abs absolute arcsinh arctan cbrt ceil clip cos deg2rad degrees exp exp2 expm1 "
        "fabs floor isfinite isnan log log10 log1p log2 negative rad2deg radians "
        "reciprocal rint sign sin sinh sqrt square tan tanh trunc"
    ),
}
SCALARS = {
    "numpy": (
        "float64 float32 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 "
        "bool bool_ str_"
    )
}
PLAIN_TYPES = {
    "builtins": "dict list tuple slice str int float bool NoneType",
    "numpy": f"ndarray dtype datetime64 {SCALARS['numpy']}",
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
        for _name in _names.split():
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
    if name == "NoneType":
        return type(None)
    module = import_module(RENAMED.get(home, home))
    return getattr(module, name, None)


def public_name(thing: object, homes: dict[str, str]) -> tuple[str, str] | None:
    """Return the module and the name that files have for a class or function.

    None if it is not in the table.
    """
    name = getattr(thing, "__name__", "")
    for home, names in homes.items():
        # Something else may have the same name.
        if name in names.split() and named(home, name) is thing:
            return home, name
    return None
