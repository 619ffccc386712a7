"""`python -m approvals` is the command `approvals`."""

import sys

from approvals.cli import main

sys.exit(main())
