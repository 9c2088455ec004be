# SPDX-License-Identifier: Apache-2.0
"""The meaning of CSL: types, evaluation at compile time, and LLVM IR for what is left to run."""
