"""`python -m k3data.train VERB …`: the verbs of `commands` on machines without the `k3data` command."""

from __future__ import annotations

import sys

from .commands import main

sys.exit(main())
