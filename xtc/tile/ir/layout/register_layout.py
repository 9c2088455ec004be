# SPDX-License-Identifier: Apache-2.0
"""Layouts of register tensors, under Tilus's module name."""

from xtc.tile.layout import (
    RegisterLayout,
    canonicalize_layout,
    register_layout,
    visualize_layout,
)

__all__ = ["RegisterLayout", "canonicalize_layout", "register_layout", "visualize_layout"]
