"""Plots of the worst case of several classes."""

import numpy as np
import pytest
from plots import labels
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from drsvm.plotting import WorstCaseDisplay, class_looks

ANIMALS = np.array(["ant", "bee", "cat", "dog"])


@pytest.fixture(scope="module")
def animals():
    """Return 160 rows with five features and four overlapping classes."""
    X, codes = make_blobs(160, n_features=5, centers=4, cluster_std=4.0, random_state=0)
    return X, ANIMALS[codes]


@pytest.fixture(scope="module")
def model(animals):
    return LogisticRegression(max_iter=1000).fit(*animals)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_flips_from_class_to_class_are_those_of_the_distribution(animals, model, axes):
    X, y = animals
    display = WorstCaseDisplay.from_estimator(
        model, X, y, radius=0.2, flip_cost=1.0, ax=axes
    )
    worst = display.distribution_
    assert worst.mass[worst.flipped].sum() == pytest.approx(0.2)
    for i, before in enumerate(ANIMALS):
        for j, after in enumerate(ANIMALS):
            mass = worst.mass[
                worst.flipped & (y[worst.rows] == before) & (worst.labels == after)
            ].sum()
            assert display.flips[i, j] == pytest.approx(mass)
    flipped = worst.rows[worst.flipped]
    np.testing.assert_array_equal(np.flatnonzero(display.flipped), np.unique(flipped))
    np.testing.assert_array_equal(
        ANIMALS[display.flipped_to[flipped]], worst.labels[worst.flipped]
    )
    np.testing.assert_array_equal(ANIMALS[display.positive], y)
    assert display.flips_ax_ is axes[1]
    shown = [f"{100 * mass:.1f}" for mass in display.flips.ravel() if mass > 0]
    assert texts(axes[1]) == shown and len(shown) >= 3
    assert [label.get_text() for label in axes[1].get_xticklabels()] == ANIMALS.tolist()
    assert labels(axes[0]) == [*ANIMALS, "label flipped (outline: new label)"]


def test_moves_go_across_the_boundary_of_their_two_classes(animals, model, ax):
    X, y = animals
    display = WorstCaseDisplay.from_estimator(model, X, y, radius=0.2, ax=ax)
    worst = display.distribution_
    moved = worst.shift > 0
    lead, over = display.axis_labels[0].removeprefix("lead of ").split(" over ")

    def leads(rows):
        values = dict(zip(ANIMALS, model.decision_function(rows).T, strict=True))
        return values[lead] - values[over]

    np.testing.assert_allclose(display.points[:, 0], leads(X))
    assert 0 < len(display.moved_to) == np.count_nonzero(moved) <= 40
    np.testing.assert_allclose(
        np.sort(display.moved_to[:, 0]), np.sort(leads(worst.features[moved]))
    )
    steps = display.moved_to - display.moved_from
    # With norm 2 straight across
    np.testing.assert_allclose(steps[:, 1], 0.0, atol=1e-9)
    assert (
        set(ANIMALS[display.moved_labels]) == set(worst.labels[moved]) <= {lead, over}
    )
    assert (
        np.sign(steps[:, 0]) == np.where(ANIMALS[display.moved_labels] == lead, -1, 1)
    ).all()
    assert display.flips_ax_ is None and not display.flips.any()
    first, second = display.title.split("\n")
    assert first.startswith("no label flipped, ") and lead in second and over in second


def test_two_features_show_where_each_class_leads(animals, ax):
    X = animals[0][:, :2]
    y = animals[1]
    model = LogisticRegression().fit(X, y)
    display = WorstCaseDisplay.from_estimator(
        model, X, y, radius=0.1, flip_cost=1.0, ax=ax
    )
    np.testing.assert_array_equal(display.points, X)
    np.testing.assert_allclose(
        X @ display.normal.T + display.offset, model.decision_function(X)
    )
    assert "decision" in labels(ax)
    boundaries = [
        contour
        for contour in ax.collections
        if getattr(contour, "levels", [None])[0] == 0.0
    ]
    lines = [path.vertices for contour in boundaries for path in contour.get_paths()]
    values = np.sort(model.decision_function(np.vstack(lines)), axis=1)
    # The two largest tie on every boundary
    np.testing.assert_allclose(values[:, -1], values[:, -2], atol=0.05)


def test_sparse_rows_and_weights_look_the_same(animals, model, ax):
    X, y = animals
    weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    used = weights > 0
    parts = {"radius": 0.2, "flip_cost": 1.0, "ax": ax}
    few = WorstCaseDisplay.from_estimator(model, X[used], y[used], **parts)
    weighted = WorstCaseDisplay.from_estimator(
        model, sparse.csr_array(X), y, sample_weight=weights, **parts
    )
    for name in ("points", "positive", "flipped", "flipped_to", "flips"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(few, name), atol=1e-9
        )


def test_of_many_classes_the_most_concerned_have_names(axes):
    X, codes = make_blobs(
        600, n_features=6, centers=30, cluster_std=2.0, random_state=1
    )
    model = LogisticRegression(max_iter=1000).fit(X, codes)
    display = WorstCaseDisplay.from_estimator(
        model, X, codes, radius=0.1, flip_cost=1.0, ax=axes
    )
    assert len(display.class_names) == 11 and display.class_names[-1] == "20 others"
    worst = display.distribution_
    assert display.flips.shape == (11, 11) and display.flips.sum() == pytest.approx(
        worst.mass[worst.flipped].sum()
    )
    pairs = np.concatenate(
        [codes[worst.rows[worst.flipped]], worst.labels[worst.flipped]]
    )
    concerned = np.bincount(pairs, np.tile(worst.mass[worst.flipped], 2), minlength=30)
    named = [int(name) for name in display.class_names[:-1]]
    assert min(concerned[named]) >= max(np.delete(concerned, named)) - 1e-8
    looks = [(look["c"], look["marker"]) for look in class_looks(11)]
    assert len(set(looks)) == 11


def test_the_rows_that_move_are_drawn_among_few_of_many(animals, model, ax):
    X, y = animals
    X = np.tile(X, (30, 1))
    y = np.tile(y, 30)
    display = WorstCaseDisplay.from_estimator(
        model, X, y, radius=1e-3, flip_cost=10.0, max_points=60, ax=ax
    )
    worst = display.distribution_
    concerned = len(np.unique(worst.rows[worst.flipped | (worst.shift > 0)]))
    assert len(display.points) == 60
    assert display.n_moved + np.count_nonzero(display.flipped) >= min(concerned, 30)


@pytest.mark.parametrize("n_features", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("flip_cost", [1.0, np.inf])
def test_corner_cases_are_drawn(animals, axes, n_features, scale, flip_cost):
    """Few features, a classifier with zero weights, and one that no worst distribution exists for."""
    X = animals[0][:, :n_features]
    y = animals[1]
    coef = scale * LogisticRegression(max_iter=1000).fit(X, y).coef_
    model = (coef, np.zeros(4))
    display = WorstCaseDisplay.from_estimator(
        model, X, y, radius=0.1, flip_cost=flip_cost, ax=axes
    )
    assert (
        np.isfinite(display.ax_.get_xlim()).all()
        and np.isfinite(display.ax_.get_ylim()).all()
    )
    display.figure_.canvas.draw()


def test_classes_without_rows_are_drawn(animals, model, ax):
    X, y = animals
    some = y != "dog"
    display = WorstCaseDisplay.from_estimator(
        model, X[some], y[some], radius=0.2, flip_cost=1.0, ax=ax
    )
    assert display.class_names == tuple(ANIMALS) and set(display.positive) == {0, 1, 2}


def test_a_new_figure_has_a_second_plot_only_for_flips(animals, model):
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("Agg")
    X, y = animals
    for flip_cost, n_plots in ((1.0, 2), (np.inf, 1)):
        display = WorstCaseDisplay.from_estimator(
            model, X, y, radius=0.1, flip_cost=flip_cost
        )
        assert len(display.figure_.axes) == n_plots
        plt.close(display.figure_)


def test_columns_name_the_axes_only_where_they_are_the_features(animals, ax):
    pd = pytest.importorskip("pandas")
    X, y = animals
    frame = pd.DataFrame(X, columns=list("abcde"))
    search = GridSearchCV(
        make_pipeline(PCA(2), LogisticRegression()), {"logisticregression__C": [1.0]}
    ).fit(frame, y)
    display = WorstCaseDisplay.from_estimator(search, frame, y, radius=0.1, ax=ax)
    assert display.axis_labels == ("feature 0", "feature 1")
    plain = LogisticRegression().fit(frame[["a", "b"]], y)
    display = WorstCaseDisplay.from_estimator(
        plain, frame[["a", "b"]], y, radius=0.1, ax=ax
    )
    assert display.axis_labels == ("a", "b")
    with pytest.raises(ValueError, match="a name for each of the 2 features, got 1"):
        WorstCaseDisplay.from_estimator(
            plain, frame[["a", "b"]], y, radius=0.1, feature_names=["a"], ax=ax
        )


def test_errors_name_the_argument(animals, model, ax):
    X, y = animals
    shown = {
        "points": [[0, 0]],
        "moved_from": np.empty((0, 2)),
        "moved_to": np.empty((0, 2)),
        "normal": [1, 0],
    }
    shown |= {
        "offset": 0.0,
        "axis_labels": ("x", "y"),
        "class_names": ("a", "b", "c"),
        "flipped": [True],
    }
    with pytest.raises(ValueError, match="flipped_to is required with 3 classes"):
        WorstCaseDisplay(**shown, positive=[0])
    with pytest.raises(
        ValueError,
        match="flipped_to must have the places of labels among class_names, 0 to 2",
    ):
        WorstCaseDisplay(**shown, positive=[0], flipped_to=[3])
    display = WorstCaseDisplay(**shown, positive=[0], flipped_to=[2])
    with pytest.raises(ValueError, match="WorstCaseDisplay needs 1 matplotlib axes"):
        display.plot([ax, ax])  # there is nothing to show on the second
    with pytest.raises(ValueError, match="WorstCaseDisplay needs 1 matplotlib axes"):
        WorstCaseDisplay.from_estimator(model, X, y, radius=0.1, ax=[ax] * 3)
