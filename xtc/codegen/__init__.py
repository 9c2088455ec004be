# SPDX-License-Identifier: Apache-2.0
"""Code generators: machine code by LLVM, and C."""
