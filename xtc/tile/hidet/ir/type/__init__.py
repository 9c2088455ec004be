# SPDX-License-Identifier: Apache-2.0
"""Types of elements and pointers."""

from xtc.tile.types import DataType, PointerType, void_p

__all__ = ["DataType", "PointerType", "void_p"]
