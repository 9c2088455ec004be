# SPDX-License-Identifier: Apache-2.0
"""Layouts of register tensors, by the module name of Tilus."""

from xtc.tile.layout import (
    RegisterLayout,
    canonicalize_layout,
    register_layout,
    visualize_layout,
)

__all__ = ["RegisterLayout", "canonicalize_layout", "register_layout", "visualize_layout"]
