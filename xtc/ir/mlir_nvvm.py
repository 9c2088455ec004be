# SPDX-License-Identifier: Apache-2.0
"""MLIR's nvvm dialect, in a separate module since only passes for GPUs need it."""

from mlir.dialects import nvvm

__all__ = ["nvvm"]
