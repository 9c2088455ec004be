# SPDX-License-Identifier: Apache-2.0
"""The error for a nest that later calls may make legal."""

from __future__ import annotations

from xtc.core.errors import UserError


class IncompleteError(UserError):
    """A nest is not legal yet, but another order, tile or annotation may make it legal.

    Schedules built by calls defer this error until they are used.
    """
