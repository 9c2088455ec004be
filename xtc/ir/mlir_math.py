# SPDX-License-Identifier: Apache-2.0
"""MLIR's math dialect, in a separate module since only tile kernels create its operations."""

from mlir.dialects import math

__all__ = ["math"]
