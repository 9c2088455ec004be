# SPDX-License-Identifier: Apache-2.0
"""The syntax of CSL: text to tree and back. Knows nothing of types, machines or MLIR."""
