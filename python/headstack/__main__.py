"""``python -m headstack`` is the command line."""

import sys

from headstack.cli import main

sys.exit(main())
