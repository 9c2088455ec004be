# SPDX-License-Identifier: Apache-2.0
"""Reads text in a picture with three networks from ONNX files."""
