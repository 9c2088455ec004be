# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain ai.onnx.ml; importing this package adds them to the table."""

from xtc.importers.onnx.ops.ml import features, linear, trees

__all__ = ["features", "linear", "trees"]
