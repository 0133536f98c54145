"""The memory of a fit whose rows are on disk, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from thorough import unless_long

# a copy takes much more than the kernels that are compiled meanwhile
ROWS = 400_000
FEATURES = 100

SCRIPT = """
import os, sys, threading, time
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # each thread has blocks of its own
import numpy as np
from drsvm import WassersteinSVC

def memory():
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

def watch():
    global peak
    while True:
        peak = max(peak, memory())
        time.sleep(0.002)

X, y = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
WassersteinSVC().fit(np.array(X[:12_000]), y[:12_000]).predict(np.array(X[:100]))
start = peak = memory()
threading.Thread(target=watch, daemon=True).start()
model = WassersteinSVC().fit(X, y)
model.predict(X)
print(peak - start, model.gap_)
"""


@pytest.mark.thorough
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="RssAnon is known on Linux only"
)
@pytest.mark.parametrize("dtype", unless_long(["float32"], ["float64", "float32"]))
def test_rows_on_disk_are_not_copied(tmp_path, dtype):
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(
        tmp_path / "X.npy", "w+", dtype=dtype, shape=(ROWS, FEATURES)
    )
    y = random.choice(np.array([-1, 1], dtype=np.int8), size=ROWS)
    for first in range(0, ROWS, 50_000):
        X[first : first + 50_000] = random.standard_normal((50_000, FEATURES)) + 0.5
        X[first : first + 50_000, 0] += y[first : first + 50_000]
    X.flush()
    np.save(tmp_path / "y.npy", y)
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        str(tmp_path / "X.npy"),
        str(tmp_path / "y.npy"),
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    above, gap = map(float, finished.stdout.split())
    assert gap <= 1e-6
    assert above < 0.8 * ROWS * FEATURES * 4, "less than one copy of the float32 rows"
