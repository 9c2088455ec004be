# SPDX-License-Identifier: Apache-2.0
"""Objects of device code: classes whose methods are transcribed where kernels call them."""

from __future__ import annotations

from xtc.tile.instructions.block import Instructions


class Class(Instructions):
    """The base class of helper objects that exist while a kernel is transcribed.

    Attributes that hold run-time values may change anywhere; others may not change in run-time
    loops or branches.
    """
