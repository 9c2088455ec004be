# SPDX-License-Identifier: Apache-2.0
"""Objects of device code: classes whose methods are transcribed where kernels call them."""

from __future__ import annotations

from xtc.tile.instructions import Instructions


class Class(Instructions):
    """The base of a class whose objects exist while a kernel is transcribed.

    Attributes that hold run-time values may be set anywhere; others not in loops of run time.
    """
