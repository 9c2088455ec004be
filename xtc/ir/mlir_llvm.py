# SPDX-License-Identifier: Apache-2.0
"""MLIR's llvm dialect, in a separate module since only some passes need it."""

from mlir.dialects import llvm

__all__ = ["llvm"]
