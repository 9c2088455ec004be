# SPDX-License-Identifier: Apache-2.0
"""Layouts and tensors under the module names of Tilus, so that a kernel's imports stay."""

from xtc.tile.ir.layout.global_layout import GlobalLayout
from xtc.tile.ir.layout.shared_layout import SharedLayout
from xtc.tile.layout import RegisterLayout
from xtc.tile.values import GlobalTensor, RegisterTensor, SharedTensor

__all__ = [
    "GlobalLayout",
    "GlobalTensor",
    "RegisterLayout",
    "RegisterTensor",
    "SharedLayout",
    "SharedTensor",
]
