"""``python -m skbidag`` is the command ``skbidag``."""

import sys

from skbidag._cli import main

if __name__ == "__main__":
    sys.exit(main())
