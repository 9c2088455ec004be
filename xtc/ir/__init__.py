# SPDX-License-Identifier: Apache-2.0
"""The door to MLIR: bindings, passes, pipelines, analyses and builders."""
