"""`python -m cede.cli` is `cede`."""

from __future__ import annotations

import sys

from cede.cli.main import main

sys.exit(main())
