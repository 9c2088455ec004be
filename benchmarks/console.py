# SPDX-License-Identifier: Apache-2.0
"""Where benchmarks print their tables."""

from __future__ import annotations

from rich.console import Console

_WIDTH = 200


def wide_console() -> Console:
    """As wide as the terminal and at least 200 columns, so that a table in a file is whole."""
    return Console(width=max(Console().width, _WIDTH))
