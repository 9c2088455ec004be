# SPDX-License-Identifier: Apache-2.0
"""The semantics of CSL: types, compile-time evaluation, and LLVM IR for run-time code."""
