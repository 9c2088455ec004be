# SPDX-License-Identifier: Apache-2.0
"""Gives a user's mistake its place where the code that notices it does not know the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation


@contextmanager
def located(where: SourceLocation | None) -> Iterator[None]:
    """A UserError raised inside is said to be at `where`, unless it names a place already."""
    try:
        yield
    except UserError as error:
        error.where = error.where or where
        raise
