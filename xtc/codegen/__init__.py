# SPDX-License-Identifier: Apache-2.0
"""Code generators: LLVM machine code and C."""
