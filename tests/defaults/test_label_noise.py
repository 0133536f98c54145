"""Wrong labels are told from overlap and from models that do not fit."""

import numpy as np
import pytest
from label_tables import CORRECT, LEARNABLE, VALUES, with_wrong_labels
from scipy.special import expit
from sklearn.datasets import make_classification
from thorough import LONG

from drsvm import find_label_issues
from drsvm.defaults.label_noise import wrong_labels


def decisions(odds, error=0.3, seed=1):
    """Return the decision values of two classifiers that know the log-odds up to errors."""
    rng = np.random.default_rng(seed)
    noisy = (odds + error * rng.normal(size=len(odds)) for _ in range(2))
    return [np.column_stack([-values / 2, values / 2]) for values in noisy]


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 4.0])
def test_overlap_is_not_taken_for_wrong_labels(scale):
    rng = np.random.default_rng(0)
    for odds in (scale * rng.normal(size=2000), scale * rng.standard_t(3, size=2000)):
        y = (rng.random(2000) < expit(odds)).astype(int)
        assert wrong_labels(decisions(odds), y) == (None, None)


@pytest.mark.parametrize(
    "shares", [(0.05, 0.05), (0.2, 0.2), (0.1, 0.3), (0.0, 0.2), (0.05, 0.45)]
)
def test_wrong_labels_are_counted(shares):
    rng = np.random.default_rng(0)
    odds = rng.choice([-1.0, 1.0], size=2000) * rng.uniform(2, 8, size=2000)
    y = (odds > 0).astype(int)
    wrong = rng.random(2000) < np.array(shares)[y]
    found, (low, high) = wrong_labels(decisions(odds), np.where(wrong, 1 - y, y))
    assert low <= wrong.sum() <= high
    assert found == pytest.approx(wrong.sum(), rel=0.25)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_or_pure_noise_prove_nothing(n_classes):
    for n, signal in [(8, 0), (20, 0), (20, 2), (50, 0), (50, 1), (200, 0), (2000, 0)]:
        rng = np.random.default_rng(n)
        y = np.arange(n) % n_classes
        values = [
            rng.normal(size=(n, n_classes)) + signal * np.eye(n_classes)[y]
            for _ in range(2)
        ]
        assert wrong_labels(values, y) == (None, None)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_interval_covers_the_number_where_overlap_reaches_deep_rows(seed):
    rng = np.random.default_rng(seed)
    odds = 4.0 * rng.normal(size=2000)
    y = (rng.random(2000) < expit(odds)).astype(int)
    # A hidden cause turns outcomes, except of extreme rows.
    is_turned = (rng.random(2000) < 0.06) & (np.abs(odds) < 4.8)
    wrong = rng.random(2000) < 0.15
    found, (low, high) = wrong_labels(decisions(odds), y ^ is_turned ^ wrong)
    assert low <= wrong.sum() <= high and low < found < high


def test_one_class_whose_deepest_rows_are_pure_is_an_overlap():
    """A hidden cause that turns outcomes unless the features are extreme."""
    rng = np.random.default_rng(0)
    odds = np.abs(rng.normal(size=3000)) * rng.choice([-1, 1], size=3000) * 3
    y = np.where(
        (odds < 0) & (odds > -5) & (rng.random(3000) < 0.15), 1, odds > 0
    ).astype(int)
    assert wrong_labels(decisions(odds, error=0.1), y) == (None, None)


def test_several_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1500)
    values = [rng.normal(size=(1500, 3)) + 6 * np.eye(3)[y] for _ in range(2)]
    wrong = rng.random(1500) < 0.15
    found, _ = wrong_labels(values, np.where(wrong, (y + 1) % 3, y))
    assert found == pytest.approx(wrong.sum(), rel=0.2)
    assert wrong_labels(values, y) == (None, None)


def test_a_linear_model_that_does_not_fit_is_no_proof_of_wrong_labels():
    X, y = make_classification(1500, 12, n_informative=6, flip_y=0, random_state=0)
    issues = find_label_issues(X, y, second_opinion="auto")
    assert (
        issues.n_contradicted > 30
        and issues.wrong_labels is None
        and issues.wrong_labels_interval is None
    )


@pytest.mark.filterwarnings("ignore:The classifier is constant")
@pytest.mark.skipif(
    not LONG, reason="takes minutes; DRSVM_HYPOTHESIS_PROFILE=long runs it"
)
def test_claims_on_sixty_tables_with_and_sixty_without_wrong_labels():
    false = 0
    said = 0
    near = 0
    covered = 0
    for number in range(120, 180):  # the rule was fixed on the first 120, among others
        rng = np.random.default_rng(number)
        correct = list(CORRECT.values())[number % len(CORRECT)](
            rng, int(rng.choice(VALUES))
        )
        false += (
            find_label_issues(*correct, second_opinion="auto").wrong_labels is not None
        )
        X, y = list(LEARNABLE.values())[number % len(LEARNABLE)](
            rng, int(rng.choice(VALUES))
        )
        y, wrong = with_wrong_labels(rng, y, by_class=number % 12 >= 6)
        found = find_label_issues(X, y, second_opinion="auto")
        if found.wrong_labels is not None:
            said += 1
            near += 0.5 <= found.wrong_labels / wrong.sum() <= 2.0
            covered += (
                found.wrong_labels_interval[0]
                <= wrong.sum()
                <= found.wrong_labels_interval[1]
            )
    print(
        f"{false} false claims; {said} of 60 found, {near} shares within a factor of two, {covered} in the interval"
    )
    assert false <= 1 and said >= 40 and near >= 30 and covered >= 0.9 * said
