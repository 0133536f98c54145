"""A GPU without a GPU: the mathematics of a sample in C++ gives the same numbers as in Python; a missing card."""

import ctypes
import importlib.util
import shutil
import subprocess
from functools import partial

import numba
import numpy as np
import pytest
from thorough import for_each

from drsvm import WassersteinKernelSVC, WassersteinSVC
from drsvm.compiled import interior_point_sample as interior_point
from drsvm.compiled.interior_point_passes import Step
from drsvm.compiled.interior_point_sample import Tile
from drsvm.engines.gpu import GpuError, cupy, samples_source

LOOP = """
#define __device__
#define FOR_EACH_SAMPLE(i, n) for (long long i = 0; i < (n); i++)
"""
PASSES = """
using namespace samples;
struct Call { double *state, *weights, *signs, *flips, *kappa; long long n; int step; Step along; };
#define TILE Tile{{c.state, c.n}, {c.weights}, {c.signs}, {c.flips, c.step}, {c.kappa, c.step}, c.n}
#define ROWS(k) Rows{a[k], c.n}
#define ENTRIES(k) Entries{a[k]}
extern "C" {
void center(Call c, double** a, double* x, double* out) { samples::center(TILE, ENTRIES(0), x[0], x[1]); }
void curvature(Call c, double** a, double* x, double* out) {
    auto sums = samples::curvature(TILE, ENTRIES(0), ROWS(1)); for (int k = 0; k < 2; k++) out[k] = sums.at[k]; }
void predict(Call c, double** a, double* x, double* out) {
    auto sums = samples::predict(TILE, ENTRIES(0), x[0], ROWS(1), ROWS(2), ROWS(3));
    for (int k = 0; k < 5; k++) out[k] = sums.at[k]; }
void longest_steps(Call c, double** a, double* x, double* out) {
    samples::longest_steps(TILE, c.along, ROWS(0), ROWS(1)); }
void move(Call c, double** a, double* x, double* out) { out[0] = samples::move(TILE, c.along, ROWS(0)); }
void sides(Call c, double** a, double* x, double* out) {
    auto sums = samples::sides(TILE, ROWS(0)); for (int k = 0; k < 4; k++) out[k] = sums.at[k]; }
}
"""
POINTER = ctypes.POINTER(ctypes.c_double)


class Call(ctypes.Structure):
    _fields_ = [
        *((name, POINTER) for name in ("state", "weights", "signs", "flips", "kappa")),
        ("n", ctypes.c_longlong),
        ("step", ctypes.c_int),
        ("along", ctypes.c_double * 5),
    ]


def pointer(array):
    return array.ctypes.data_as(POINTER)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return the functions in C++, by name."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("samples")
    (folder / "samples.cpp").write_text(samples_source(LOOP) + PASSES)
    options = ["-std=c++14", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(
        [compiler, *options, "samples.cpp", "-o", "samples.so"], cwd=folder, check=True
    )
    return ctypes.CDLL(str(folder / "samples.so"))


@pytest.fixture(scope="module")
def plain():
    """Offer the module of the kernels, not compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        spec = importlib.util.spec_from_file_location(
            "plain_samples", interior_point.__file__
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def random_samples(rng, n, extreme, flips):
    scale = 10.0 ** rng.uniform(-12, 6, n) if extreme else np.ones(n)
    weights = rng.random(n) * scale / n
    signs = rng.choice([-1.0, 1.0], n)
    # Slopes are costs of flips or, where there is no flip, radii of rows.
    flips, slopes = {
        "none": (np.zeros(1), np.zeros(1)),
        "same": (np.ones(1), np.array([1.5])),
        "own": (rng.integers(0, 2, n).astype(float), 3.0 * rng.random(n)),
    }[flips]
    margins = rng.normal(size=n) * (10.0 ** rng.uniform(-3, 6, n) if extreme else 1.0)
    return weights, signs, flips, slopes, margins


@for_each(extreme=[False, True], flips=["none", "same", "own"])
def test_the_same_numbers_as_in_python(compiled, plain, flips, extreme):
    rng = np.random.default_rng(5)
    n = 50
    weights, signs, flips, slopes, margins = random_samples(rng, n, extreme, flips)
    dm = 1e-2 * margins * rng.random(n)
    mu = 1e-3
    step = Step(np.zeros(0), 0.02, 0.1 * mu, 0.7, 0.8, 1e-3)
    outcomes = []
    for run in (partial(run_in_cpp, compiled), partial(run_in_python, plain)):
        state = np.zeros((6, n))
        correction = np.zeros((4, n))
        coefficients = np.zeros((2, n))
        rates = np.zeros((2, n))
        h = np.zeros(n)
        tile = Tile(state, weights, signs, flips, slopes)
        found = [
            run("center", tile, step, [margins], [1.3, mu], 0),
            run("curvature", tile, step, [h, coefficients], [], 2),
            run(
                "predict", tile, step, [dm, correction, coefficients, rates], [0.02], 5
            ),
            coefficients.copy(),
            rates.copy(),
        ]
        correction[3] = dm
        found += [
            run("longest_steps", tile, step, [correction, rates], [], 0),
            run("move", tile, step, [correction], [], 1),
            run("sides", tile, step, [coefficients], [], 4),
        ]
        outcomes.append([*found, state, correction, coefficients, rates, h])
    for in_cpp, in_python in zip(*outcomes, strict=True):
        np.testing.assert_allclose(in_cpp, in_python, rtol=1e-9, atol=1e-300)


def run_in_cpp(library, name, tile, step, arrays, numbers, n_sums):
    steps = step.target, step.lam_change, step.primal, step.dual, step.left
    call = Call(
        *map(pointer, tile),
        len(tile.weights),
        int(len(tile.flips) > 1),
        (ctypes.c_double * 5)(*steps),
    )
    out = np.zeros(5)
    numbers = np.array([*numbers, 0.0])
    pointers = (POINTER * len(arrays))(*map(pointer, arrays))
    getattr(library, name)(call, pointers, pointer(numbers), pointer(out))
    return out[:n_sums]


def run_in_python(module, name, tile, step, arrays, numbers, n_sums):
    flips, slopes = (
        one if len(one) > 1 else float(one[0]) for one in (tile.flips, tile.slopes)
    )
    along = [step] if name in ("longest_steps", "move") else []
    arguments = (
        tile._replace(flips=flips, slopes=slopes),
        *along,
        arrays[0],
        *numbers,
        *arrays[1:],
    )
    with np.errstate(all="ignore"):
        found = getattr(module, name)(*arguments)
    return np.array([] if found is None else np.atleast_1d(found), dtype=float)[:n_sums]


def test_a_missing_card_is_explained():
    try:
        cupy()
    except GpuError:
        pass
    else:
        pytest.skip("there is a GPU")
    X = np.eye(4)
    y = [0, 1, 0, 1]
    for estimator in (
        WassersteinSVC(threshold="optimum"),
        WassersteinKernelSVC(threshold="optimum"),
    ):
        with pytest.raises(GpuError, match=r"install CuPy .* or use engine='cpu'"):
            estimator.set_params(engine="gpu").fit(X, y)
        assert estimator.set_params(engine="cpu").fit(X, y).gap_ <= 1e-4
