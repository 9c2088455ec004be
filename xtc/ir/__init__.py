# SPDX-License-Identifier: Apache-2.0
"""MLIR: its bindings, passes, pipelines, analyses and builders."""
