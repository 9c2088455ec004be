# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Lite models, float32 and int8, as graphs that give what its reference kernels give."""
