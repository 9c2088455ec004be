# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR's llvm dialect, beside xtc.ir.mlir: only some passes need what it imports."""

from mlir.dialects import llvm

__all__ = ["llvm"]
