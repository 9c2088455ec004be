# SPDX-License-Identifier: Apache-2.0
"""Errors in CSL programs, with their locations."""

from __future__ import annotations

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation


class CslError(UserError):
    """An error in a CSL program, or in the request to compile it."""


class FormerProgramError(CslError):
    """A program from before SDK 1.1, which supported only WSE-2."""


Position = SourceLocation
"""File, line and column, both from 1."""

BUILT_IN = SourceLocation("<built in>", 1)
"""The position of things that are not in a program."""
