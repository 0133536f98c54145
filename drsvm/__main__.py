"""Run the command line with ``python -m drsvm``."""

from drsvm.cli import main

if __name__ == "__main__":
    main()
