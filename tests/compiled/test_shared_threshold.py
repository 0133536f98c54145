"""Epochs for q = 1, with weights that share a threshold, against the same steps on plain vectors."""

import math

import numpy as np
import pytest
from scipy import sparse

from drsvm.compiled import epigraph
from drsvm.compiled.proximal_epochs import Iterate, Terms, proximal_epoch_l1
from drsvm.compiled.row_access import Rows
from drsvm.compiled.subgradient_epochs import subgradient_epoch_l1
from drsvm.solvers import proximal_step


def random_epoch(seed, extreme=False):
    """Return the arguments of an epoch by name, over the whole range of data and parameters."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    d = int(rng.integers(1, 60))
    dense = random_rows(rng, n, d) * 10.0 ** rng.choice([0, 0, -2, 2])
    w = (
        rng.normal(size=d)
        * (rng.random(d) < rng.choice([0.0, 0.3, 1.0]))
        * 10.0 ** rng.uniform(-2, 1)
    )
    importance = np.ones(n) if rng.random() < 0.5 else rng.uniform(0.1, 3.0, size=n)
    if rng.random() < 0.2:
        importance[rng.integers(n)] = 0.0
    with_intercept = float(rng.random() < 0.5)
    epoch = {
        "rows": sparse.csr_array(dense),
        "signs": rng.choice([-1.0, 1.0], size=n),
        "importance": importance,
        "order": rng.integers(0, n, size=int(rng.integers(1, 3 * n + 1))),
        "w": w,
        "scalars": np.array(
            [
                np.abs(w).sum() * rng.choice([1, 1, 1.5, 0.5]),
                rng.normal() * with_intercept,
            ]
        ),
        "eta": 10.0 ** rng.uniform(-4, 2),
        "radius": float(rng.choice([0, 0.01, 0.1, 1, 10])),
        "kappa": float(rng.choice([0, 0.5, 1, 4, math.inf])),
        "l2": float(rng.choice([0, 0.1, 1])),
        "with_intercept": with_intercept,
    }
    if extreme:
        for name in ("rows", "w", "eta", "radius", "l2"):
            epoch[name] = epoch[name] * 10.0 ** rng.uniform(-10, 10)
    return epoch


def random_rows(rng, n, d):
    """Return sparse or dense rows: Gaussian, ±1, binary, or scaled by column.

    Sometimes with a zero row.
    """
    rows = (rng.random((n, d)) < rng.choice([0.1, 0.3, 0.9])).astype(float)
    kind = rng.integers(4)
    if kind == 0:
        rows *= rng.normal(size=(n, d))
    elif kind == 1:
        rows *= rng.choice([-1.0, 1.0], size=(n, d))
    elif kind == 2:
        rows *= rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=d)
    if rng.random() < 0.3:
        rows[rng.integers(n)] = 0.0
    return rows


def sparse_epoch(steps, eta, radius, kappa, l2, with_intercept, columns=400):
    """Return a long epoch from w = 0 on sparse rows with learnable labels."""
    rng = np.random.default_rng(1)
    n = 1000
    normal = {"rng": rng, "data_sampler": lambda size: rng.normal(size=size)}
    rows = sparse.random_array((n, columns), density=12 / columns, **normal)
    signs = np.where(
        rows @ rng.normal(size=columns) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0
    )
    return {
        "rows": rows.tocsr(),
        "signs": signs,
        "importance": rng.uniform(0.5, 1.5, size=n),
        "order": rng.integers(0, n, size=steps),
        "w": np.zeros(columns),
        "scalars": np.zeros(2),
        **{
            "eta": eta,
            "radius": radius,
            "kappa": kappa,
            "l2": l2,
            "with_intercept": float(with_intercept),
        },
    }


def run(kernel, epoch, *batch_size, share=1.0, means=None):
    """Return w, λ, b and the means of the multipliers after the epoch."""
    matrix = epoch["rows"]
    kappa = epoch["kappa"]
    n, d = matrix.shape
    indices, indptr = (
        part.astype(np.int32).view(np.uint32)
        for part in (matrix.indices, matrix.indptr)
    )
    arrays = [
        part.view()
        for part in (matrix.data, indices, indptr, epoch["signs"], epoch["importance"])
    ]
    for array in arrays:
        # As in a run: kernels are compiled for read-only rows
        array.flags.writeable = False
    rows = Rows(*arrays[:3], d, *arrays[3:])
    hinge_mean, flip_mean = means or (np.zeros(n), np.zeros(n))
    iterate = Iterate(epoch["w"].copy(), epoch["scalars"].copy(), hinge_mean, flip_mean)
    flips = math.isfinite(kappa)
    terms = Terms(
        epoch["radius"],
        kappa if flips else 0.0,
        flips,
        epoch["l2"],
        d,
        epoch["with_intercept"],
    )
    kernel(rows, epoch["order"], iterate, terms, epoch["eta"], share, *batch_size)
    return iterate.w, *iterate.scalars, hinge_mean, flip_mean


def steps_one_by_one(epoch):
    """Return w, λ, b and the list of (sample, σ₁, σ₂) of exact proximal steps."""
    w = epoch["w"]
    (lam, b) = epoch["scalars"]
    multipliers = []
    dense = epoch["rows"].toarray()
    for i in epoch["order"]:
        importance = epoch["importance"][i]
        eta = epoch["eta"]
        l2 = epoch["l2"]
        if importance == 0.0:
            w = w / (1.0 + eta * l2)
            rho = 1.0 + eta * l2
            new = np.empty_like(w)
            lam = epigraph.project(
                epigraph.ONE, w, lam - eta * epoch["radius"], rho, new
            )
            w = new
            multipliers.append((i, 0.0, 0.0))
            continue
        ball = {
            "radius": epoch["radius"] / importance,
            "flip_cost": epoch["kappa"],
            "norm": math.inf,
        }
        intercept = b if epoch["with_intercept"] else None
        settings = {
            "step": eta * importance,
            "l2": l2 / importance,
            "intercept": intercept,
            **ball,
        }
        step = proximal_step(dense[i], int(epoch["signs"][i]), w, lam, **settings)
        w = step.weights
        lam = step.radius_price
        b = step.intercept if epoch["with_intercept"] else b
        multipliers.append((i, step.hinge_dual, step.flip_dual))
    return w, lam, b, multipliers


def subgradient_steps(epoch, batch_size):
    """Return w, λ and b of projected subgradient steps, and the smallest distance of a sample to a kink of its loss."""
    w = epoch["w"]
    (lam, b) = epoch["scalars"]
    distance = math.inf
    dense = epoch["rows"].toarray()
    eta = epoch["eta"]
    kappa = epoch["kappa"]
    for first in range(0, epoch["order"].size, batch_size):
        batch = epoch["order"][first : first + batch_size]
        margins = epoch["signs"][batch] * (dense[batch] @ w + b)
        flipped = (
            1.0 + margins - kappa * lam
            if kappa < math.inf
            else np.full(batch.size, -1e9)
        )
        pieces = np.stack([1.0 - margins, flipped])
        ordered = np.sort(np.vstack([pieces, np.zeros(batch.size)]), axis=0)
        distance = min(distance, (ordered[2] - ordered[1]).min())
        hinge = (pieces[0] > 0) & (pieces[0] > pieces[1])
        flip = (pieces[1] > 0) & (pieces[1] > pieces[0])
        shares = epoch["importance"][batch] / batch.size
        gradient = shares * (hinge.astype(float) - flip) * epoch["signs"][batch]
        moved = (w + eta * gradient @ dense[batch]) / (1.0 + eta * epoch["l2"])
        s = (
            lam
            - eta * epoch["radius"]
            + (eta * kappa * (shares * flip).sum() if flip.any() else 0.0)
        )
        b = b + epoch["with_intercept"] * eta * gradient.sum()
        w = np.empty_like(moved)
        lam = epigraph.project(epigraph.ONE, moved, s, 1.0, w)
    return w, lam, b, distance


def assert_same_point(epoch, found, expected, tolerance):
    scale = 1.0 + max(np.abs(expected[0]).sum(), np.abs(epoch["w"]).sum(), expected[1])
    assert np.abs(found[0] - expected[0]).max() <= tolerance * scale
    assert abs(found[1] - expected[1]) <= tolerance * scale
    assert abs(found[2] - expected[2]) <= tolerance * (1.0 + abs(expected[2]))


@pytest.mark.parametrize("block", range(6))
def test_proximal_epoch_equals_single_steps(block):
    for seed in range(60 * block, 60 * (block + 1)):
        epoch = random_epoch(seed)
        assert_same_point(
            epoch, run(proximal_epoch_l1, epoch), steps_one_by_one(epoch), 1e-11
        )


LONG = [
    (0.01, 0.1, 1.0, 0.0, False),
    (0.01, 0.001, math.inf, 0.0, False),
    (0.1, 0.01, 1.0, 0.1, True),
    (1.0, 0.1, 0.5, 0.0, True),
    (0.03, 0.01, 4.0, 1.0, False),
    (0.03, 0.1, 0.0, 0.0, True),
    (0.01, 0.0, 1.0, 0.0, False),
]


@pytest.mark.thorough
@pytest.mark.parametrize("setting", LONG, ids=str)
def test_long_proximal_epoch_does_not_drift(setting):
    """Weights become zero and nonzero thousands of times, and bands are rebuilt."""
    epoch = sparse_epoch(3000, *setting)
    assert_same_point(
        epoch, run(proximal_epoch_l1, epoch), steps_one_by_one(epoch), 1e-11
    )


@pytest.mark.parametrize("setting", LONG, ids=str)
@pytest.mark.parametrize("batch_size", [1, 32])
def test_long_subgradient_epoch_does_not_drift(setting, batch_size):
    epoch = sparse_epoch(3000, *setting)
    *expected, distance = subgradient_steps(epoch, batch_size)
    if distance > 1e-9:  # at a kink, rounding decides the piece
        assert_same_point(
            epoch, run(subgradient_epoch_l1, epoch, batch_size), expected, 1e-10
        )


def test_subgradient_epoch_equals_single_steps():
    compared = 0
    for seed in range(300):
        epoch = random_epoch(seed)
        batch_size = (1, 2, 7, 100)[seed % 4]
        *expected, distance = subgradient_steps(epoch, batch_size)
        if distance > 1e-9:
            compared += 1
            assert_same_point(
                epoch, run(subgradient_epoch_l1, epoch, batch_size), expected, 1e-10
            )
    assert compared > 150


@pytest.mark.parametrize("kappa", [0.5, 1.0, 4.0, math.inf])
def test_means_follow_the_multipliers(kappa):
    epoch = sparse_epoch(800, 0.05, 0.02, kappa, 0.0, True)
    share = 0.3
    hinge, flip = np.full((2, 1000), 0.25)
    for i, sigma1, sigma2 in steps_one_by_one(epoch)[3]:
        hinge[i] += share * (sigma1 - hinge[i])
        flip[i] += share * (sigma2 - flip[i])
    means = np.full(1000, 0.25), np.full(1000, 0.25)
    *_, hinge_mean, flip_mean = run(proximal_epoch_l1, epoch, share=share, means=means)
    np.testing.assert_allclose(hinge_mean, hinge, atol=1e-9)
    np.testing.assert_allclose(flip_mean, flip, atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [proximal_epoch_l1, subgradient_epoch_l1], ids=["proximal", "subgradient"]
)
def test_extreme_numbers_give_finite_points(kernel):
    for seed in range(300):
        batch_size = ((1, 3, 50)[seed % 3],) if kernel is subgradient_epoch_l1 else ()
        epoch = random_epoch(seed, extreme=True)
        w, lam, b, hinge_mean, flip_mean = run(kernel, epoch, *batch_size)
        assert np.isfinite(w).all()
        assert math.isfinite(lam + b)
        assert min(hinge_mean.min(), flip_mean.min()) >= 0.0
        assert (hinge_mean + flip_mean).max() <= 1.0 + 1e-12
