# SPDX-License-Identifier: Apache-2.0
"""Raises Python's recursion limit for deeply nested programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from xtc_targets.wse.csl.errors import CslError

_DEEPEST = 20_000  # nested Python calls


@contextmanager
def deep_calls() -> Iterator[None]:
    """Allow recursion up to the parser's limit. Raises CslError beyond Python's limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    except RecursionError:
        raise CslError("the program is nested too deeply") from None
    finally:
        sys.setrecursionlimit(before)
