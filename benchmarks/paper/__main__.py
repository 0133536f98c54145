"""Regenerate every table and figure of the paper from the available data: python
benchmarks/paper.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # where _common is

if __name__ == "__main__":
    from page import main

    main()
