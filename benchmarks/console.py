# SPDX-License-Identifier: Apache-2.0
"""The console for the tables of benchmarks."""

from __future__ import annotations

from rich.console import Console

_WIDTH = 200


def wide_console() -> Console:
    """A console as wide as the terminal, but at least 200 columns, for tables in files."""
    return Console(width=max(Console().width, _WIDTH))
