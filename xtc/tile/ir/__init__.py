# SPDX-License-Identifier: Apache-2.0
"""Layouts and tensors under the module names of Tilus, so that a kernel's imports stay."""

from xtc.tile.global_layouts import GlobalLayout
from xtc.tile.layout import RegisterLayout
from xtc.tile.shared_layouts import SharedLayout
from xtc.tile.values import GlobalTensor, RegisterTensor, SharedTensor

__all__ = [
    "GlobalLayout",
    "GlobalTensor",
    "RegisterLayout",
    "RegisterTensor",
    "SharedLayout",
    "SharedTensor",
]
