# SPDX-License-Identifier: Apache-2.0
"""Layouts and tensors under Tilus's module names, so that imports of kernels keep working."""

from xtc.tile.ir.layout.global_layout import GlobalLayout
from xtc.tile.ir.layout.shared_layout import SharedLayout
from xtc.tile.layout import RegisterLayout
from xtc.tile.values.runtime import GlobalTensor, RegisterTensor, SharedTensor

__all__ = [
    "GlobalLayout",
    "GlobalTensor",
    "RegisterLayout",
    "RegisterTensor",
    "SharedLayout",
    "SharedTensor",
]
