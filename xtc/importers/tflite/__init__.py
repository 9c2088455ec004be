# SPDX-License-Identifier: Apache-2.0
"""Reads TensorFlow Lite models, float32 and int8, with the results of its reference kernels."""
