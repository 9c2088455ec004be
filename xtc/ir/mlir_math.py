# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR's math dialect, beside xtc.ir.mlir: only tile kernels make its operations."""

from mlir.dialects import math

__all__ = ["math"]
