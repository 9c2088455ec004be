# SPDX-License-Identifier: Apache-2.0
"""The syntax of CSL: parser and printer, independent of types, machines and MLIR."""
