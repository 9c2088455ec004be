# SPDX-License-Identifier: Apache-2.0
"""Mistakes in CSL programs, and where they were made."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation


class CslError(UserError):
    """A mistake in a CSL program, or in how it was asked to be compiled."""


class FormerProgramError(CslError):
    """A program from before SDK 1.1, when there was no WSE-3."""


Position = SourceLocation
"""File, line and column, both from 1."""

BUILT_IN = SourceLocation("<built in>", 1)
"""Where something is that no program wrote."""
