# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR's nvvm dialect, beside xtc.ir.mlir: only GPUs' passes need it."""

from mlir.dialects import nvvm

__all__ = ["nvvm"]
