"""`python -m dualgap` is the command `dualgap`."""

import sys

from dualgap.cli import main

sys.exit(main())
