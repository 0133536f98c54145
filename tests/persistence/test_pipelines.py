"""Pipelines of scikit-learn's own transformers: each survives a round trip, with the same decisions."""

import numpy as np
import pytest
from archives import BY_QUANTILES
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    mutual_info_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC, WassersteinSVCCV, save_model, worst_case_risk
from drsvm.persistence import ModelFileError

RNG = np.random.default_rng(0)
Y = np.arange(80) % 2
X = RNG.normal(size=(80, 4)) + Y[:, None]
GAPPY = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
LEVELS = RNG.choice(5, size=(80, 2), p=[0.4, 0.4, 0.02, 0.1, 0.08])
LEVELS = np.array(["a", "b", "rare", None, np.nan], dtype=object)[LEVELS]
WORDS = [f"{['good', 'bad'][label]} film number {k % 7}" for k, label in enumerate(Y)]


SCALERS = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    Normalizer("l1"),
    PowerTransformer(),
]
NUMBERS = [
    *SCALERS,
    QuantileTransformer(n_quantiles=10),
    PolynomialFeatures(degree=2),
    KBinsDiscretizer(n_bins=3, encode="onehot", **BY_QUANTILES),
    VarianceThreshold(),
    SelectKBest(k=2),
    SelectKBest(mutual_info_classif, k=2),
    SelectPercentile(percentile=50),
    PCA(n_components=2),
    TruncatedSVD(n_components=2, random_state=0),
    FunctionTransformer(),
    FunctionTransformer(np.arcsinh, np.sinh),
    FeatureUnion([("pca", PCA(n_components=2)), ("scaled", StandardScaler())]),
    make_union(MinMaxScaler(), "passthrough"),
    Pipeline([("inner", StandardScaler())]),
    "passthrough",
]
IMPUTERS = [
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="constant", fill_value=-1.0),
    KNNImputer(n_neighbors=3),
    make_union(SimpleImputer(), MissingIndicator(features="all")),
]
TEXTS = [
    TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"]),
    make_pipeline(CountVectorizer(binary=True), TfidfTransformer(sublinear_tf=True)),
    HashingVectorizer(n_features=64),
    make_pipeline(CountVectorizer(), SelectKBest(chi2, k=3)),
    make_pipeline(TfidfVectorizer(), TruncatedSVD(n_components=2, random_state=0)),
]
DICTS = [{"word": text.split()[0], "number": k} for k, text in enumerate(WORDS)]
STEPS = (
    [(X, step) for step in NUMBERS]
    + [(GAPPY, step) for step in IMPUTERS]
    + [(WORDS, step) for step in TEXTS]
)


@pytest.mark.parametrize(
    ("rows", "step"),
    [*STEPS, (DICTS, DictVectorizer())],
    ids=lambda part: type(part).__name__,
)
def test_transformers_of_numbers_gaps_and_texts(round_trip, rows, step):
    loaded = round_trip(make_pipeline(step, WassersteinSVC()).fit(rows, Y), rows)
    assert repr(loaded[-1].result_).startswith("Result")


@pytest.mark.filterwarnings(
    "ignore:The fitted classifier is constant"
)  # the labels are random
@pytest.mark.parametrize(
    "step",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(
            min_frequency=5, handle_unknown="infrequent_if_exist", sparse_output=False
        ),
        OneHotEncoder(drop="if_binary", dtype=np.float32),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
        ),
        TargetEncoder(),
        make_pipeline(
            OrdinalEncoder(), SimpleImputer(strategy="most_frequent"), OneHotEncoder()
        ),
    ],
    ids=lambda step: type(step).__name__,
)
def test_encoders_of_levels_with_none_and_nan(round_trip, step):
    loaded = round_trip(
        make_pipeline(step, WassersteinSVC(radius=1e-3)).fit(LEVELS, Y), LEVELS
    )
    unseen = np.array([["never seen", "a"]], dtype=object)
    if getattr(step, "handle_unknown", "error") != "error":
        assert loaded.predict(unseen).shape == (1,)


def test_integer_and_fixed_levels(round_trip):
    codes = RNG.integers(0, 4, size=(80, 2))
    for encoder in (
        OneHotEncoder(),
        OneHotEncoder(categories=[[0, 1, 2, 3]] * 2),
        OrdinalEncoder(dtype=np.int32),
    ):
        round_trip(make_pipeline(encoder, WassersteinSVC()).fit(codes, Y), codes)


@pytest.mark.parametrize("remainder", ["drop", "passthrough", MinMaxScaler()], ids=str)
def test_columns_of_a_data_frame(round_trip, remainder):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": GAPPY[:, 0], "town": LEVELS[:, 0], "other": X[:, 1], "income": X[:, 2]}
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    steps = [
        ("numbers", numbers, ["age"]),
        ("levels", OneHotEncoder(handle_unknown="ignore"), ["town"]),
    ]
    steps += [
        ("text", CountVectorizer(analyzer="char"), "words"),
        ("nothing", "drop", ["other"]),
    ]
    columns = ColumnTransformer(steps, remainder=remainder)
    frame["words"] = WORDS
    loaded = round_trip(make_pipeline(columns, WassersteinSVC()).fit(frame, Y), frame)
    shuffled = (
        frame[["words", "income", "town", "other", "age"]]
        if remainder == "drop"
        else frame
    )
    np.testing.assert_array_equal(loaded.predict(shuffled), loaded.predict(frame))
    assert loaded[0].output_indices_["numbers"] == slice(0, 1)
    assert list(loaded[0].feature_names_in_) == list(frame.columns)


def test_selectors_of_columns_by_type_or_position(round_trip):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for chosen in (
        make_column_selector(pattern="a|b"),
        slice(1, 3),
        [True, False, True, False],
        [0, -1],
    ):
        columns = ColumnTransformer([("some", StandardScaler(), chosen)])
        round_trip(make_pipeline(columns, WassersteinSVC()).fit(frame, Y), frame)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("ensemble", [True, False])
def test_calibrated_classifiers(round_trip, method, ensemble):
    if method == "temperature" and "temperature" not in str(
        CalibratedClassifierCV._parameter_constraints["method"]
    ):
        pytest.skip("scikit-learn has this method from 1.8 on")
    inner = make_pipeline(StandardScaler(), WassersteinSVC())
    round_trip(
        CalibratedClassifierCV(inner, method=method, ensemble=ensemble, cv=3).fit(X, Y),
        X,
    )


def test_a_calibrated_classifier_at_the_end_of_a_pipeline(round_trip):
    round_trip(
        CalibratedClassifierCV(FrozenEstimator(WassersteinSVC().fit(X, Y))).fit(X, Y), X
    )
    round_trip(
        make_pipeline(
            StandardScaler(), CalibratedClassifierCV(WassersteinSVC(), cv=2)
        ).fit(X, Y),
        X,
    )


def test_thresholds_of_scikit_learn(round_trip):
    inner = make_pipeline(StandardScaler(), WassersteinSVC(calibration="sigmoid"))
    fixed = FixedThresholdClassifier(inner, threshold=0.3, pos_label=Y[0]).fit(X, Y)
    tuned = TunedThresholdClassifierCV(
        inner, scoring="balanced_accuracy", cv=3, store_cv_results=True
    ).fit(X, Y)
    # Which needs no fit
    frozen = FixedThresholdClassifier(FrozenEstimator(inner.fit(X, Y)), threshold=0.7)
    inside = make_pipeline(
        StandardScaler(),
        TunedThresholdClassifierCV(WassersteinSVC(), scoring="f1_macro", cv=2),
    )
    for model in (fixed, tuned, frozen, inside.fit(X, Y)):
        loaded = round_trip(model, X)
        audit = {"radius": 0.1, "loss": "zero-one"}
        assert worst_case_risk(loaded, X, Y, **audit) == worst_case_risk(
            model, X, Y, **audit
        )
    assert round_trip(tuned, X).best_threshold_ == tuned.best_threshold_
    own = TunedThresholdClassifierCV(
        WassersteinSVC(),
        scoring=make_scorer(lambda y, found: np.mean(y == found)),
        cv=2,
    )
    with pytest.raises(
        ModelFileError, match=r"it contains .*lambda.*not allowed in a model file"
    ):
        round_trip(own.fit(X, Y), X)


@pytest.mark.parametrize("threshold", ["half", None, [0.5, 0.6]])
def test_a_threshold_that_is_no_number_is_rejected(round_trip, threshold):
    model = FixedThresholdClassifier(WassersteinSVC(), threshold=0.5).fit(X, Y)
    with pytest.raises(
        ModelFileError, match="its content is not that of a drsvm model"
    ):
        round_trip(model.set_params(threshold=threshold), X)


def test_costs_are_saved_with_the_intercept_of_the_proof(round_trip):
    for labels in (Y, np.array(["no", "yes"])[Y]):
        a, b = np.unique(labels)
        model = WassersteinSVC(threshold={a: 1, b: 3}).fit(X, labels)
        loaded = round_trip(model, X)
        assert (
            loaded.threshold == model.threshold
            and loaded.threshold_ == model.threshold_ != 0.0
        )
        np.testing.assert_array_equal(
            loaded.certified_intercept_, model.certified_intercept_
        )


def test_sparse_rows_and_a_search(round_trip):
    rows = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = make_pipeline(
        MaxAbsScaler(), WassersteinSVCCV(radii=2, flip_costs=5.0, cv=2)
    ).fit(rows, Y)
    assert round_trip(model, rows)[-1].best_params_ == model[-1].best_params_


# --- rejection
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (FunctionTransformer(lambda rows: 2 * rows), "<lambda>"),
        (FunctionTransformer(np.nan_to_num), "nan_to_num"),
        (
            GaussianRandomProjection(n_components=2, random_state=0),
            "GaussianRandomProjection",
        ),
        (SelectFromModel(LinearSVC(random_state=0)), "SelectFromModel"),
        (SelectKBest(lambda rows, labels: np.arange(4.0), k=2), "<lambda>"),
        (PCA(n_components=2, random_state=np.random.RandomState(0)), "RandomState"),
    ],
    ids=["lambda", "function", "class", "selector", "score", "random state"],
)
def test_what_is_not_in_the_list_is_not_saved(file, step, named):
    model = make_pipeline(step, StandardScaler(), WassersteinSVC()).fit(X, Y)
    with pytest.raises(
        ModelFileError, match=rf"{named}.*joblib\.dump or skops\.io\.dump"
    ):
        save_model(model, file)
    assert not file.exists()


def test_a_pipeline_that_would_use_files_is_not_saved(tmp_path):
    """A cache folder is read and written, and unpickled, when a pipeline is fitted again."""
    model = make_pipeline(StandardScaler(), WassersteinSVC(), memory=str(tmp_path)).fit(
        X, Y
    )
    with pytest.raises(ModelFileError, match="Pipeline with memory="):
        save_model(model, tmp_path / "model.drsvm")
