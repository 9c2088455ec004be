# SPDX-License-Identifier: Apache-2.0
"""The syntax of CSL: parser and printer. It knows nothing of types, machines or MLIR."""
