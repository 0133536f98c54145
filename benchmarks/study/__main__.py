"""What the classifier gains and loses under label noise and shift, against tuned
rivals: python benchmarks/study.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # where _common is

if __name__ == "__main__":
    from page import main

    main()
