"""``python -m drsvm`` is the command line."""

from drsvm.cli import main

if __name__ == "__main__":
    main()
