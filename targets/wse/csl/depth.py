# SPDX-License-Identifier: Apache-2.0
"""Room for recursion: trees are deep where programs are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from xtc_targets.wse.csl.errors import CslError

_DEEPEST = 20_000  # Python calls within each other


@contextmanager
def deep_calls() -> Iterator[None]:
    """Python must not stop before the parser's own limit. Raises CslError where it does."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    except RecursionError:
        raise CslError("the program is nested too deeply") from None
    finally:
        sys.setrecursionlimit(before)
