"""Parts that several files of this benchmark share.

benchopt imports this package before any data set or solver, so all of them find the
modules of the folder `benchmarks`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
