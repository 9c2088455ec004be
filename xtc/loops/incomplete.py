# SPDX-License-Identifier: Apache-2.0
"""The error of a nest that more calls may still make legal."""

from __future__ import annotations

from xtc.core.errors import UserError


class IncompleteError(UserError):
    """A nest is not legal as it stands, but another order, tile or word may make it so.

    Schedules that are written call by call wait with it until they are used.
    """
